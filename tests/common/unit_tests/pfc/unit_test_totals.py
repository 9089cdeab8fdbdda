"""What flows come to in all, over several configurations."""
from dataclasses import replace

from tests.common.pfc.accounting.totals import FlowTotals, totals_from_now_on
from tests.common.pfc.lab.generator import Generator
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeWorld
from tests.common.unit_tests.pfc.unit_test_flows import DATA, make_lab


class Cable(FakeApi):
    """A frame of each flow is on its way for half a second after the flow was stopped."""

    stopped_s = -1.0

    def set_control_state(self, payload):
        """The clock is looked at."""
        super().set_control_state(payload)
        self.stopped_s = self._world.now

    def get_metrics(self, payload):
        """One frame less received."""
        answer = super().get_metrics(payload)
        for metric in answer.flow_metrics if self._world.now < self.stopped_s + 0.5 else ():
            metric.frames_rx -= min(1, metric.frames_rx)
        return answer


def test_totals_of_what_was_stopped_have_what_was_still_on_its_way():
    """Although the next configuration is pushed at once."""
    world = FakeWorld()
    generator = Generator(Cable(world), FakeClock(world))
    traffic = make_lab().builder.build([replace(DATA, seconds=None)])
    totals = FlowTotals(generator)
    generator.observed_by(totals)
    for _ in range(2):
        generator.push(traffic)
        generator.start([DATA.name])
        generator.clock.sleep(2)
        generator.stop()
    first, _ = totals.take()
    assert first.frames_rx == first.frames_tx > 0, first


def test_counts_that_another_start_clears_are_kept(monkeypatch):
    """The larger of both counts: some generators clear all when one flow is started."""
    world = FakeWorld()
    generator = Generator(FakeApi(world), FakeClock(world))
    later = replace(DATA, name="Later")
    totals = FlowTotals(generator)
    generator.observed_by(totals)
    generator.push(make_lab().builder.build([DATA, later]))
    generator.start([DATA.name])
    generator.clock.sleep(2)
    whole = generator.counted([DATA.name])[DATA.name].frames_tx
    generator.start([later.name])
    read = Generator._metrics
    monkeypatch.setattr(Generator, "_metrics", lambda self, names: {
        name: replace(one, frames_tx=0, frames_rx=0) if name == DATA.name else one
        for name, one in read(self, names).items()
    })
    assert {flow.plan.name: flow.frames_tx for flow in totals.take()}[DATA.name] == whole > 0, whole
    assert totals.take() == [], "what was taken is in no further total"


def test_counts_that_two_later_starts_clear_are_kept(monkeypatch):
    """CLASS-1 was FAIL for a correct switch: at the second such start all that was kept was taken for 0."""
    world = FakeWorld()
    generator = Generator(FakeApi(world), FakeClock(world))
    flows = [DATA, replace(DATA, name="Later"), replace(DATA, name="Last")]
    totals = FlowTotals(generator)
    generator.observed_by(totals)
    generator.push(make_lab().builder.build(flows))
    read = Generator._metrics
    whole = {}
    for flow in flows:
        generator.start([flow.name])
        monkeypatch.setattr(Generator, "_metrics", lambda self, names, shown=flow.name: {
            name: one if name == shown else replace(one, frames_tx=0, frames_rx=0)
            for name, one in read(self, names).items()
        })
        generator.clock.sleep(2)
        generator.stop([flow.name])
        whole[flow.name] = generator.counted([flow.name])[flow.name].frames_tx
    assert {flow.plan.name: flow.frames_tx for flow in totals.take()} == whole, whole
    assert all(whole.values()), whole


def test_a_generator_is_counted_once():
    """Totals that begin anew take the place of those before, and have nothing of what came earlier."""
    world = FakeWorld()
    generator = Generator(FakeApi(world), FakeClock(world))
    totals = totals_from_now_on(generator)
    generator.push(make_lab().builder.build([DATA]))
    generator.start([DATA.name])
    generator.clock.sleep(2)
    assert totals_from_now_on(generator) is totals and list(generator.observers) == [totals], generator.observers
    assert totals.take() == [], "what was sent before"
