"""What flows come to in all, over several configurations."""
from dataclasses import replace

from tests.common.pfc.accounting.totals import FlowTotals
from tests.common.pfc.cases.flows import RESUMED
from tests.common.pfc.cases.storm_sequence import pause_storm
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import Generator
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_flows import DATA, TESTER_PORTS, make_lab


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
    generator.watched_by(totals)
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
    generator.watched_by(totals)
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


class ClearingApi(FakeApi):
    """Statistics begin anew with a start for which nothing runs, as snappi_ixnetwork has it."""

    cleared: dict[str, tuple[int, int]] = {}

    def set_control_state(self, payload):
        """Everything counted so far is gone."""
        counts = {name: self._world.counts(name) for name in self._world.flows}
        starts = payload.choice == "traffic" and payload.traffic.flow_transmit.state == "start"
        if starts and not any(running for _, _, running in counts.values()):
            self.cleared = {name: (sent, received) for name, (sent, received, _) in counts.items()}
        super().set_control_state(payload)

    def get_metrics(self, payload):
        """Since then."""
        answer = super().get_metrics(payload)
        for metric in answer.flow_metrics:
            sent, received = self.cleared.get(metric.name, (0, 0))
            metric.frames_tx = max(0, metric.frames_tx - sent)
            metric.frames_rx = max(0, metric.frames_rx - received)
        return answer


def test_totals_have_all_flows_of_a_storm_that_is_a_chain_also_where_a_later_start_clears_them():
    """SOAK-1 was FAIL for a correct switch: pauses of the second flow were explained by nothing."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    plan = replace(plan, subject=replace(plan.subject, tolerances=HARDWARE))
    lab = plan.lab(Dut(FakeHost(world)), ClearingApi(world), FakeClock(world))
    storm = replace(pause_storm(lab, (3,), 70.0), needed_s=100.0)
    data = replace(DATA, name="Resumed", phase=RESUMED)
    watched = FlowTotals(lab.generator)
    lab.generator.watched_by(watched)
    lab.generator.push(lab.builder.build([storm, data]))
    lab.generator.start([storm.name])
    lab.clock.sleep(80.0)
    lab.generator.stop([storm.name])
    sent = sum(world.counts(name)[0] for name in world.flows if name.startswith(storm.name))
    lab.generator.start([data.name])
    lab.generator.run_out([data.name], 1.0)
    totals = {flow.plan.name: flow.frames_tx for flow in watched.take()}
    assert totals[storm.name] == sent > 60 * (storm.fps or 0), totals
    assert totals[data.name] > 0, totals
