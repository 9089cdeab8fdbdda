"""Storms that end by themselves and go on nevertheless: how many flows, started when, and what becomes of a gap."""

import dataclasses

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS, pause_lossless
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.storm_sequence import pause_storm, scenario_traffic
from tests.common.pfc.conditions.option import LEAST_STORM_S
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.lab.counter_polling import PollDelays
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.pfc.model.traffic import FlowPlan, Role
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.storm_chain.chain import MOST_FLOWS, OVERLAP_S, RunningStorm, StormClock, chain_of
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

SHORT = dataclasses.replace(HARDWARE, storm_limit_s=LEAST_STORM_S, reason="flows as short as they may be")
SLOW = PollDelays(70.0, 10.0)  # a switch that polls the counters of its ports every 69 s: the storm lasts 76 s
STORM = "Pause Storm vtb-t0-01 Ethernet0"
SUCCESSORS = [f"{STORM} successor {number}" for number in (1, 2, 3, 4)]


class Noting(FakeWorld):
    """A world that notes which storm was started when; see `FakeWorld`."""

    def __post_init__(self):
        """Nothing has been started."""
        super().__post_init__()
        self.starts = []

    def start(self, name):
        """A flow starts."""
        if self.flows[name].priority is None:
            self.starts.append((name, self.now))
        super().start(name)


class Deaf(Noting):
    """The generator says yes to the start of the first successor, and does nothing."""

    def start(self, name):
        """A flow starts, or not."""
        if name != SUCCESSORS[0]:
            super().start(name)


class Mute(Deaf):
    """It does nothing, and a flow that never sent a frame counts as transmitting, as on IxNetwork."""

    def counts(self, name):
        """Frames sent, frames received, whether it still transmits."""
        return (0, 0, True) if name == SUCCESSORS[0] and self.starts else super().counts(name)


class Fickle(Noting):
    """The first flow stops after 12 s."""

    def pass_time(self, seconds):
        """Time passes."""
        super().pass_time(seconds)
        storm = self.flows.get(STORM)
        if storm is not None and storm.started is not None and self.now - storm.started >= 12:
            self.stop(STORM)


class Late(Noting):
    """The call in which the first successor is started takes 11 s."""

    def start(self, name):
        """A flow starts."""
        if name == SUCCESSORS[0]:
            self.pass_time(11.0)
        super().start(name)


class Refusing(Noting):
    """The generator refuses to start the first successor."""

    def start(self, name):
        """A flow starts, or not."""
        if name == SUCCESSORS[0]:
            raise RuntimeError("no more flows on this port")
        super().start(name)


def lab_of(world, tolerances=SHORT, delays=None):
    """A lab around a world."""
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    plan = dataclasses.replace(plan, subject=dataclasses.replace(plan.subject, tolerances=tolerances))
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    return dataclasses.replace(lab, delays=delays or lab.delays)


def storm_of(needed_s, limit_s):
    """A storm that is needed for so long, of flows that last so long."""
    return FlowPlan("storm", Role.STORM, None, 64, needed_s=needed_s, limit_s=limit_s)


def storms(traffic):
    """Names of all pause flows of the configuration."""
    return [flow.name for flow in traffic.config.flows if flow.rate.choice == "pps"]


@pytest.mark.parametrize(("needed_s", "limit_s", "flows"), [
    (10, 30, 1), (30, 30, 1), (30.1, 30, 2), (50, 30, 2), (50.1, 30, 3), (47, 60, 1), (106, 60, 2), (330, 30, 16),
])
def test_as_many_flows_as_the_longest_storm_of_a_case_takes(needed_s, limit_s, flows):
    """Each but the last counts for its length less the overlap."""
    chain = chain_of(storm_of(needed_s, limit_s))
    assert len(chain.flows) == flows and chain.seconds == limit_s, chain
    assert len(set(chain.flows)) == flows and chain.flows[0] == "storm", chain.flows
    assert limit_s + (flows - 1) * (limit_s - OVERLAP_S) >= needed_s, "it ends too soon"


def test_a_chain_of_too_many_flows_is_refused():
    """The sentence names a limit that would do."""
    with pytest.raises(QualificationError) as error:
        chain_of(storm_of(331, 30))
    said = "storm: a storm of 331 s takes 17 flows of 30 s each, at most 16 are made: the testbed's pfc_conditions need"
    assert str(error.value) == f"{said} a storm_limit_s of 31 or more", str(error.value)
    assert len(chain_of(storm_of(331, 31)).flows) <= MOST_FLOWS, "the limit that it names does not do"


def test_a_storm_of_a_few_seconds_is_never_more_than_one_flow():
    """Nor is one at whose exact rate a case looks."""
    lab = lab_of(Noting())
    for storm in (pause_storm(lab, (3,)), dataclasses.replace(pause_storm(lab, (3,), 500.0), seconds=5)):
        traffic = lab.builder.build([storm])
        assert storms(traffic) == [STORM], storms(traffic)


def test_all_flows_of_a_chain_are_alike():
    """The same frames at the same rate from the same port, each as long as the testbed allows."""
    lab = lab_of(Noting(), delays=SLOW)
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    flows = [flow.serialize("dict") for flow in traffic.config.flows if flow.rate.choice == "pps"]
    assert [flow.pop("name") for flow in flows] == [STORM, *SUCCESSORS], "106 s: 30 s, and 20 s more for each of four"
    assert all(flow == flows[0] for flow in flows), flows
    assert flows[0]["duration"]["fixed_seconds"]["seconds"] == LEAST_STORM_S, flows[0]["duration"]
    assert traffic.names(Role.STORM) == [STORM], "a chain is one storm"


def test_a_storm_that_is_needed_longer_goes_on():
    """Each flow is started once, an overlap before the end of the one before; what was sent is counted together."""
    world = Noting()
    outcome = Qualifier(lab_of(world, delays=SLOW)).qualify(SINGLE_LOSSLESS, (3,))
    assert {one.status for one in outcome.verdicts} == {Status.PASS}, [one.messages for one in outcome.verdicts]
    began = world.starts[0][1]
    starts = [(name, round(at - began, 6)) for name, at in world.starts]
    assert starts == [(STORM, 0), (SUCCESSORS[0], 20), (SUCCESSORS[1], 40), (SUCCESSORS[2], 60)], starts
    storm = outcome.evidence["flows"]["drained"][STORM]
    assert storm["frames_tx_of_each"] == [5960 * 30, 5960 * 30, 5960 * 30, 5960 * 16], storm
    assert storm["frames_tx"] == sum(storm["frames_tx_of_each"]), storm
    assert outcome.evidence["dut_pfc_rx_in_all"][3] == storm["frames_tx"], outcome.evidence["dut_pfc_rx_in_all"]
    assert not world.storm_on(), "a flow goes on"


def test_storms_of_several_ports_go_on_together():
    """In one call, however many they are: an API server may take a second for each."""
    world = Noting()
    lab = lab_of(world)
    one = pause_storm(lab, (3,), 10.0)
    storms_of_both = [dataclasses.replace(one, name=name, enters=port, leaves="Ethernet64")
                      for name, port in (("a", "Ethernet0"), ("b", "Ethernet64"))]
    calls, transmit = [], lab.generator._transmit
    lab.generator._transmit = lambda names, verb: (calls.append((verb, names)), transmit(names, verb))
    lab.generator.push(lab.builder.build(storms_of_both))
    lab.generator.start(["a", "b"])
    lab.clock.sleep(25.0)
    lab.generator.stop(["a", "b"])
    parts = ["a", "b"], ["a successor 1", "b successor 1"]
    assert calls[:2] == [("START", parts[0]), ("START", parts[1])], calls
    assert calls[2:] == [("STOP", ["a", "a successor 1", "b", "b successor 1"])], calls
    sent = {name: (flow.parts, flow.gap) for name, flow in lab.generator.stats(["a", "b"]).items()}
    assert sent == dict.fromkeys("ab", ((5960 * 25, 5960 * 5), "")), sent


@pytest.mark.parametrize("killed_s", [0.5, 19.5, 20.5, 45.0, 61.0])
def test_a_killed_run_is_quiet_within_the_length_of_one_flow(killed_s):
    """Nobody waits any more, so nothing more is started."""
    world = Noting()
    lab = lab_of(world, delays=SLOW)
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    lab.generator.push(traffic)
    lab.generator.start(traffic.names(Role.STORM))
    lab.clock.sleep(killed_s)
    running, started = world.storm_on(), len(world.starts)
    world.pass_time(LEAST_STORM_S)
    assert running and not world.storm_on(), "the storm goes on without anybody"
    assert len(world.starts) == started == 1 + int(killed_s // 20), world.starts


@pytest.mark.parametrize(("world", "cause"), [
    (Deaf(), f"got {SUCCESSORS[0]} not transmitting 20.0 s after its start"),
    (Mute(), f"got {SUCCESSORS[0]} without a frame 20.0 s after its start"),
    (Fickle(), f"got {STORM} not transmitting 20.0 s after its start"),
    (Late(), f"got {SUCCESSORS[0]} started 1.0 s after the end of the one before"),
    (Refusing(), f"got no start of {SUCCESSORS[0]}: the traffic generator's API server: no more flows on this port"),
], ids=lambda value: type(value).__name__ if isinstance(value, FakeWorld) else "")
def test_a_storm_with_a_gap_is_no_measurement(world, cause):
    """ERROR, and the sentence says what was wrong with the storm."""
    outcome = Qualifier(lab_of(world, delays=SLOW)).qualify(SINGLE_LOSSLESS, (3,))
    assert {one.status for one in outcome.verdicts} == {Status.ERROR}, [one.messages for one in outcome.verdicts]
    assert cause in (outcome.verdicts[0].cause or ""), outcome.verdicts[0].messages
    names = {check.name for one in outcome.verdicts for check in one.checks} - {"storm-stopped"}
    assert names == (set() if isinstance(world, Refusing) else {"storm-running"}), names
    assert not world.storm_on(), "a flow goes on"


@pytest.mark.parametrize(("tolerances", "away_s", "status"), [
    (SHORT, 21.0, Status.PASS), (SHORT, 23.0, Status.ERROR), (HARDWARE, 51.0, Status.PASS),
    (HARDWARE, 53.0, Status.ERROR),
])
def test_a_run_that_was_away_for_too_long_is_no_measurement(tolerances, away_s, status):
    """The switch is asked 8 s after the storm began. When that takes so long, the flow has ended by then, also where
    one flow should have been enough."""
    world = Noting()
    lab = dataclasses.replace(lab_of(world, tolerances), dut=SlowDut(world, away_s))
    outcome = Qualifier(lab).qualify(SINGLE_LOSSLESS, (3,))
    assert {one.status for one in outcome.verdicts} == {status}, [one.messages for one in outcome.verdicts]
    cause = outcome.verdicts[0].cause or ""
    assert status is Status.PASS or f"got {STORM} not transmitting" in cause, outcome.verdicts


class SlowDut(Dut):
    """A switch that takes its time when a storm is on."""

    def __init__(self, world, seconds):
        """`world` is where so many seconds pass."""
        super().__init__(FakeHost(world))
        self._world, self._seconds = world, seconds

    def ask(self, commands):
        """Runs commands."""
        if self._world.storm_on():
            self._world.pass_time(self._seconds)
        return super().ask(commands)


def test_a_successor_is_judged_when_the_flow_that_it_relieves_is_over():
    """Its statistics may be late, and until then the other one sends."""
    storm, all_well = RunningStorm(chain_of(storm_of(40, 30)), 100.0), {"storm": True, "storm successor 1": True}
    storm.follow(120.0, 120.5)
    storm.look(129.9, {**all_well, "storm successor 1": False}, {"storm": 9, "storm successor 1": 0})
    assert not storm.gap, storm.gap
    storm.look(130.0, {"storm": False, "storm successor 1": True}, {"storm": 9, "storm successor 1": 1})
    assert not storm.gap, storm.gap
    storm.look(130.0, {"storm": False, "storm successor 1": True}, {"storm": 9, "storm successor 1": 0})
    assert storm.gap == "storm successor 1 without a frame 10.0 s after its start", storm.gap


def test_waiting_wakes_up_for_what_is_due_and_takes_no_longer():
    """The moments are kept also where they come in one wait, and the wait ends when it would have ended."""
    world, seen = FakeWorld(), []
    dues = [3.0, 5.0, 9.0]

    def keep():
        while dues and world.now >= dues[0]:
            seen.append((dues.pop(0), world.now))
        return dues[0] if dues else None

    clock = StormClock(FakeClock(world), keep)
    clock.sleep(2.0)
    clock.sleep(4.0)
    assert (seen, world.now) == ([(3.0, 3.0), (5.0, 5.0)], 6.0), (seen, world.now)
    clock.sleep(4.0)
    assert (seen[-1], clock.now()) == ((9.0, 9.0), 10.0), seen
    clock.sleep(1.0)
    assert clock.now() == 11.0 and clock.exact and not StormClock(WallClock(), keep).exact, clock.now()


def test_nothing_is_due_of_a_storm_that_was_stopped():
    """Or whose last flow runs."""
    storm = RunningStorm(chain_of(storm_of(40, 30)), 100.0)
    assert (storm.due_s, storm.successor) == (120.0, "storm successor 1"), storm.due_s
    storm.follow(120.0, 120.1)
    assert (storm.due_s, storm.successor, storm.gap) == (None, None, ""), storm.due_s
    other = RunningStorm(chain_of(storm_of(40, 30)), 100.0)
    other.stopped = True
    assert other.due_s is None, other.due_s
