"""How late traffic generators are is measured, and what is waited for is waited for so much longer."""

from dataclasses import replace

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import procedures
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab import preflight
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import AT_ONCE, POLL_S, Generator, GeneratorTiming
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.preflight import know_timing
from tests.common.pfc.model.errors import QualificationError, SwitchUnreachable
from tests.common.pfc.model.traffic import FlowPlan, Role
from tests.common.pfc.record.verdict import LOSSLESS, Status
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

FLOW = FlowPlan("Timing Flow", Role.CLEAN, 3, 1024, percent=1.0, seconds=300)
START_S = 4.0
STOP_S = 3.0
REFRESH_S = 2.0
LATE = GeneratorTiming(START_S, STOP_S, REFRESH_S)


class LateApi(FakeApi):
    """Traffic generators that take their time: a start, a stop, and the next statistics.

    Attributes:
        start_s, stop_s: how long a call takes; the frames begin and end in its middle.
        refresh_s: how often statistics are taken; 0: they are those of the moment.
        taken_s: when the statistics were taken that were last read.
    """

    start_s = 0.0
    stop_s = 0.0
    refresh_s = 0.0

    def __init__(self, world):
        super().__init__(world)
        self.taken_s = 0.0
        self._shown = {}

    def set_control_state(self, payload):
        """Half before, half after."""
        if payload.choice != "traffic":
            return
        takes_s = self.start_s if payload.traffic.flow_transmit.state == "start" else self.stop_s
        self._world.pass_time(takes_s / 2)
        super().set_control_state(payload)
        self._world.pass_time(takes_s / 2)

    def get_metrics(self, payload):
        """As they were at the last whole `refresh_s`."""
        now_s = self._world.now
        taken_s = now_s if not self.refresh_s else now_s // self.refresh_s * self.refresh_s
        if taken_s != self.taken_s or not self.refresh_s or not self._shown:
            self._shown = {name: self._counts_at(name, taken_s) for name in self._world.flows}
            self.taken_s = taken_s
        answer = super().get_metrics(payload)
        for metric in answer.flow_metrics:
            metric.frames_tx, metric.frames_rx, running = self._shown[metric.name]
            metric.transmit = "started" if running else "stopped"
        return answer

    def _counts_at(self, name, moment_s):
        now_s = self._world.now
        started_s = self._world.flows[name].started
        if started_s is None or moment_s < started_s:
            return 0, 0, False
        self._world.now = moment_s
        counted = self._world.counts(name)
        self._world.now = now_s
        return counted


class InexactClock(FakeClock):
    """A wall clock, as far as anybody can tell."""

    exact = False


def make_lab(world=None, clock=InexactClock, api=LateApi, timing=None, **habits):
    """The fake lab's port with a generator that is late."""
    world = world or FakeWorld()
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    generators = api(world)
    for name, value in habits.items():
        setattr(generators, name, value)
    return open_lab(plan, Dut(FakeHost(world)), generators, clock(world), timing=timing)


def pushed(lab, *flows):
    """The lab's generator with these flows."""
    lab.generator.push(lab.builder.build(flows or [FLOW]))
    return lab.generator


def test_a_generator_that_is_never_late():
    found = pushed(make_lab()).learn_timing(FLOW.name)
    assert (found.start_s, found.stop_s) == (0.0, 0.0), found
    assert found.refresh_s == pytest.approx(POLL_S), "as often as it is looked at"


@pytest.mark.parametrize("refresh_s", [1.0, 2.0, 5.0])
def test_stale_statistics_and_slow_calls_are_measured(refresh_s):
    lab = make_lab(start_s=START_S, stop_s=STOP_S, refresh_s=refresh_s)
    found = pushed(lab).learn_timing(FLOW.name)
    assert (found.start_s, found.stop_s) == (START_S, STOP_S), found
    assert refresh_s - POLL_S <= found.refresh_s <= refresh_s + POLL_S, found


def test_the_longest_time_between_statistics_counts():
    """A generator may be late once, and early then."""
    lab = make_lab(refresh_s=1.0)
    generator = pushed(lab)
    api = generator.api
    ages = iter([1.0, 1.0, 3.0])

    def changes(payload):
        answer = LateApi.get_metrics(api, payload)
        if api._world.now - api.taken_s >= api.refresh_s - POLL_S:
            api.refresh_s = next(ages, 1.0)
        return answer

    api.get_metrics = changes
    found = generator.learn_timing(FLOW.name)
    assert found.refresh_s >= 2.0, found


def test_statistics_that_never_change_are_told_in_one_sentence():
    """And the flow does not go on."""
    world = FakeWorld(idle=(0, 1, 2, 3, 4, 5, 6))
    lab = make_lab(world)
    sentence = ("^expected the statistics of Timing Flow.* to change every 30 s or sooner while it is sent, got 0"
                " changes in 120 s$")
    with pytest.raises(QualificationError, match=sentence):
        know_timing(lab)
    assert not lab.generator.is_timed, "nothing is known of it"
    assert all(flow.stopped is not None for flow in world.flows.values()), world.flows


def test_a_flow_that_ends_before_enough_was_seen_is_told():
    """Its statistics stand still then."""
    generator = pushed(make_lab(refresh_s=2.0), replace(FLOW, seconds=3))
    with pytest.raises(QualificationError, match="got [12] changes in 120 s$"):
        generator.learn_timing(FLOW.name)


def test_statistics_are_waited_for():
    """What is read has everything in it that came before."""
    lab = make_lab(refresh_s=REFRESH_S, timing=LATE)
    generator = pushed(lab)
    generator.start([FLOW.name])
    lab.clock.sleep(1.0)
    asked_s = lab.clock.now()
    stats = generator.stats([FLOW.name])[FLOW.name]
    assert lab.clock.now() == asked_s + REFRESH_S, lab.clock.now()
    assert generator.api.taken_s >= asked_s, "taken after the question"
    assert stats.frames_tx > 0, stats


def test_nobody_waits_for_statistics_of_the_moment():
    lab = make_lab()
    generator = pushed(lab)
    generator.start([FLOW.name])
    asked_s = lab.clock.now()
    generator.stats([FLOW.name])
    assert lab.clock.now() == asked_s, "at once"


def test_a_flow_that_has_ended_is_not_stopped_for_statistics_that_are_old(caplog):
    """They say that it goes on for as long as they are old; the grace time is so much longer."""
    lab = make_lab(refresh_s=15.0, timing=replace(LATE, refresh_s=15.0))
    generator = pushed(lab, replace(FLOW, seconds=1))
    generator.start([FLOW.name])
    generator.run_out([FLOW.name], 1.0)
    assert not [message for message in caplog.messages if "still transmitting" in message], caplog.messages


@pytest.mark.parametrize("sent", [0, 5])
def test_a_flow_that_was_held_from_its_first_frame_on_counts_as_stopped(monkeypatch, caplog, sent):
    """PFC-1 was ERROR on a switch that goes on sending XOFF after the storm: snappi_ixnetwork says of a flow that has
    sent nothing that it is started, also once it was stopped."""
    generator = pushed(make_lab(), replace(FLOW, seconds=1))
    read = Generator._metrics
    monkeypatch.setattr(Generator, "_metrics", lambda self, names: {
        name: replace(one, transmitting=True, frames_tx=sent) for name, one in read(self, names).items()})
    generator.start([FLOW.name])
    if sent:
        with pytest.raises(QualificationError, match=f"^the traffic generator did not stop {FLOW.name}$"):
            generator.run_out([FLOW.name], 1.0)
    else:
        generator.run_out([FLOW.name], 1.0)
        told = f"flows that have sent nothing count as stopped, as they were told to: {FLOW.name}"
        assert told in caplog.messages, caplog.messages


def test_until_it_is_known_a_generator_counts_as_one_that_is_never_late():
    world = FakeWorld()
    generator = Generator(FakeApi(world), InexactClock(world))
    assert (generator.timing, generator.is_timed) == (AT_ONCE, False), generator.timing
    known = Generator(FakeApi(world), InexactClock(world), timing=LATE)
    assert (known.timing, known.is_timed) == (LATE, True), known.timing
    exact = Generator(FakeApi(world), FakeClock(world))
    assert exact.is_timed, "simulated time is exact: there is nothing to measure"


def test_a_generator_learns_it_from_a_flow_of_its_own():
    generator = pushed(make_lab(start_s=START_S, stop_s=STOP_S, refresh_s=REFRESH_S))
    found = generator.learn_timing(FLOW.name)
    assert generator.timing is found and (found.start_s, found.stop_s) == (START_S, STOP_S), found


def losing_at_first(monkeypatch, clock):
    """A lab whose first clean flows lose a frame of priority 6, and no later ones."""
    world = FakeWorld(lost={6: 1})
    send = preflight.send_clean_flows

    def sent(lab, traffic):
        stats = send(lab, traffic)
        world.lost = {}
        return stats
    monkeypatch.setattr(preflight, "send_clean_flows", sent)
    return make_lab(world, clock, FakeApi, timing=AT_ONCE)


@pytest.mark.parametrize("clock, status", [(InexactClock, Status.PASS), (FakeClock, Status.FAIL)])
def test_clean_flows_that_lost_frames_are_sent_once_more_on_hardware(monkeypatch, clock, status):
    """There the first ones may meet a neighbour that is being learned; what is lost again is FAIL. What the first ones
    lost stays in the record."""
    outcome = Qualifier(losing_at_first(monkeypatch, clock)).qualify(SINGLE_LOSSLESS, (3,))
    lossless, lossy = outcome.verdicts
    assert (lossless.status, lossy.status) == (Status.PASS, status), lossy.messages
    lost = {check.name: check.message for check in lossy.checks if check.status is Status.FAIL}
    where = "vtb-t0-01 Ethernet0 priority 6: expected all 1000 frames received"
    assert lost == ({"clean-flow": f"{where} without any storm, got 999"} if status is Status.FAIL
                    else {"clean-flow-first": f"{where} when sent first, got 999"}), "the record says it in any case"


def test_frames_that_the_first_clean_flow_lost_make_no_verdict_of_their_own(monkeypatch):
    """Of a case that owes nothing for the metric of the priority that lost them."""
    lab = losing_at_first(monkeypatch, InexactClock)
    case = replace(SINGLE_LOSSLESS, metrics=(LOSSLESS,))
    monkeypatch.setitem(procedures(), case, procedures()[SINGLE_LOSSLESS])
    found = Qualifier(lab).qualify(case, (3,)).verdicts
    assert [(one.metric_name, one.status) for one in found] == [(LOSSLESS, Status.PASS)], found
    assert "clean-flow-first" in {check.name for check in found[0].checks}, found[0].checks


def test_a_switch_that_did_not_answer_is_asked_again_by_the_next_case(monkeypatch):
    """Any other failure of the preflight holds for all cases."""
    qualifier = Qualifier(make_lab(clock=FakeClock, api=FakeApi))
    asked = []

    def broken(lab):
        asked.append(lab)
        raise SwitchUnreachable("vtb-t0-01: no route") if len(asked) < 2 else QualificationError("the link is down")
    monkeypatch.setattr("tests.common.pfc.cases.qualifier.preflight", broken)
    causes = [qualifier.qualify(SINGLE_LOSSLESS, (3,)).verdicts[0].cause for _ in range(3)]
    assert causes == ["vtb-t0-01: no route", "the link is down", "the link is down"] and len(asked) == 2, causes


@pytest.mark.parametrize("clock, measured", [(InexactClock, 1), (FakeClock, 0)])
def test_the_preflight_measures_it_once_for_a_port_and_not_in_simulated_time(clock, measured):
    lab = make_lab(clock=clock)
    qualifier = Qualifier(lab)
    for _ in range(2):
        outcome = qualifier.qualify(SINGLE_LOSSLESS, (3,))
        statuses = {verdict.status for verdict in outcome.verdicts}
        assert statuses == {Status.PASS}, [verdict.messages for verdict in outcome.verdicts]
    timed = [config for config in lab.generator.api.configs
             if [flow.name for flow in config.flows] == [lab.builder.flow_name("Timing Flow")]]
    assert len(timed) == measured, timed


def test_a_correct_switch_passes_on_generators_that_are_late():
    """What is waited for is known, so that nothing is read too early."""
    lab = make_lab(start_s=START_S, stop_s=STOP_S, refresh_s=REFRESH_S)
    outcome = Qualifier(lab).qualify(SINGLE_LOSSLESS, (3,))
    statuses = {verdict.status for verdict in outcome.verdicts}
    assert statuses == {Status.PASS}, [verdict.messages for verdict in outcome.verdicts]
    assert lab.generator.timing.start_s == START_S, lab.generator.timing
