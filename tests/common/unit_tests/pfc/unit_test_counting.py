"""Data counters: what the switch's commands print, what they gained, and what is let pass on hardware."""

from dataclasses import replace

import pytest

from tests.common.pfc.cases.counting import (
    CASES, DATA, ENDS, PAUSED_US, PAUSES, DataRun, PausesRun, _held_queue_stands_still, _history_kept, _octets_agree,
    judge_pauses,
    queue_by_queue,
)
from tests.common.pfc.cases.pauses import pause_lossless
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.switch_counters import (
    IN_OCTETS, OUT_OCTETS, OWN_FRAMES, PortCounts, data_commands, delay_s, may_gain, own_frames, port_counts,
)
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, PauseFrame, Role, pfc_frame
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

PORTS = """\
     IFACE    STATE      RX_OK    RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR    TX_OK    TX_BPS    TX_DRP
----------  -------  ---------  --------  ---------  --------  --------  --------  -------  --------  --------
 Ethernet0        U         12  0.00 B/s      0.00%         0       3,4         0       56  0.00 B/s         7
Ethernet64        U  1,234,567  0.00 B/s      0.00%         0         8         0        9  0.00 B/s        10
 Ethernet4        U        N/A  0.00 B/s      0.00%         0         0         0        0  0.00 B/s         0
""".replace("  3,4", "   34")
QUEUES = """\
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC0               0                0            0             0
Ethernet0    UC1               0                0            0             0
Ethernet0    UC2               0                0            0             0
Ethernet0    UC3              30             3000            2           200
Ethernet0    UC4              40             4000            0             0
Ethernet0    UC5               0                0            0             0
Ethernet0    UC6               0                0            0             0
Ethernet0   MC10               1              100            1           100
"""
GROUPS = """\
Ingress PG dropped packets:
      Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7
----------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet64      0      1      2      3      4      5      6      7
"""

ONE_EACH = {priority: priority for priority in range(8)}


def reading(ports=PORTS, queues=QUEUES, groups=GROUPS):
    """A reading of the fake switch, with what these commands print."""
    host = FakeHost(FakeWorld())
    subject = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None).subject
    asked = data_commands(subject.pair.rx.port)
    host.answers |= {asked[name]: (text, 0) for name, text in (("data", ports), ("queue", queues), ("groups", groups))}
    return subject, Dut(host).counters(also=asked)


def storm_of_empty_pauses(subject, early, late, allowed):
    """A run of 1000 frames that enable nobody."""
    storm = FlowPlan("storm", Role.STORM, None, 64, pause=PauseFrame((0,) * 8))
    phases = {"storm": {"storm": FlowStats(storm, False, 1000, 0)}}
    return PausesRun(subject, early, late, late, (3, 4), phases, PortCounts(*[allowed] * 4), {})


def test_a_reading():
    """Of both ports, unicast queues and priority groups; all in one call."""
    subject, read = reading()
    counted = queue_by_queue(subject, ONE_EACH, read)
    ports = counted.leaving, counted.entering["Ethernet64"]
    assert ports == (PortCounts(12, 34, 56, 7), PortCounts(1234567, 8, 9, 10)), counted
    idle = dict.fromkeys(range(7), 0)
    assert (counted.queues, counted.queue_drops) == ({**idle, 3: 30, 4: 40}, {**idle, 3: 2}), counted
    assert counted.group_drops == {"Ethernet64": {group: group for group in range(8)}}, counted


def test_what_a_run_gained():
    """A counter that fell shows as a negative number."""
    subject, early = reading()
    _, late = reading(PORTS.replace("12  0.00", "11  0.00"), QUEUES.replace("  30 ", "  35 "))
    gained = queue_by_queue(subject, ONE_EACH, late).since(queue_by_queue(subject, ONE_EACH, early))
    idle = dict.fromkeys(range(7), 0)
    assert (gained.leaving, gained.queues, gained.least()) == (PortCounts(-1, 0, 0, 0), {**idle, 3: 5}, -1), gained


@pytest.mark.parametrize("lacking", [
    QUEUES.replace("            2           200", "          N/A           N/A"),
    QUEUES.replace("              30             3000", "             N/A              N/A"),
    "\n".join(line for line in QUEUES.splitlines() if "UC3" not in line),
])
def test_a_queue_without_counters_is_no_queue_that_drops_nothing(lacking):
    """A drop counter that is not there must not be taken for one that stands at 0."""
    with pytest.raises(QualificationError) as refusal:
        subject, lacks = reading(queues=lacking)
        queue_by_queue(subject, ONE_EACH, lacks)
    expected = f"{DEVICE} Ethernet0 priority 3: `show queue counters` printed no Counter/pkts and Drop/pkts for queue"
    assert str(refusal.value).startswith(expected), refusal


@pytest.mark.parametrize("port, sentence", [
    ("Ethernet8", "`show interfaces counters` printed no RX_OK, RX_DRP, TX_OK, TX_DRP for Ethernet8, or N/A: "),
    ("Ethernet4", "`show interfaces counters` printed no RX_OK, RX_DRP, TX_OK, TX_DRP for Ethernet4, or N/A: "),
])
def test_a_port_without_counters_is_refused(port, sentence):
    """One sentence."""
    with pytest.raises(QualificationError) as refusal:
        port_counts(PORTS, port)
    assert str(refusal.value).startswith(sentence), refusal


@pytest.mark.parametrize("exact, frames, passes", [
    (True, 0, True), (True, 1, False), (False, OWN_FRAMES, True), (False, OWN_FRAMES + 1, False),
])
def test_frames_of_ones_own_are_let_pass_where_there_are_some(exact, frames, passes):
    """On hardware, where hosts and the switch speak for themselves."""
    subject, early = reading()
    _, late = reading(PORTS.replace("         12 ", f"{12 + frames:11} "))
    made = list(judge_pauses(storm_of_empty_pauses(subject, early, late, own_frames(exact))))
    assert [(check.name, check.status is Status.PASS) for check in made[-2:]] == [
        ("pauses-are-no-data", passes), ("pauses-are-no-drops", True)
    ], made


@pytest.mark.parametrize("idle, lasted_s, most", [
    (0, 1000.0, 0), (-7, 10.0, 0), (2, 0.5, 3), (2, 71.0, 8), (148, 1.0, 148 + 7), (148, 142.0, 148 + 888),
])
def test_what_a_counter_may_gain_by_itself(idle, lasted_s, most):
    """In a moment every protocol may be due; then three times what the idle switch counts. None that stands still."""
    assert may_gain(idle, 71.0, lasted_s) == most, may_gain(idle, 71.0, lasted_s)


class Talking(FakeHost):
    """A switch whose counter RX_OK goes on by some frames a second, and by some more in a storm."""

    fps = 2.0
    in_storm = 0

    def shell(self, command, **options):
        """As ever."""
        storms = [flow for flow in self._world.flows.values() if flow.pauses and flow.started is not None]
        received = 12 + int(self.fps * self._world.now) + (self.in_storm if storms else 0)
        self.answers["show interfaces counters"] = (PORTS.replace("         12 ", f"{received:11} "), 0)
        return super().shell(command, **options)


@pytest.mark.parametrize("fps, in_storm, passes", [
    (0.0, 0, True), (0.0, 1, False), (2.0, 0, True), (2.0, 100, True), (2.0, 250, False),
])
def test_what_moves_on_the_idle_switch_is_let_pass(fps, in_storm, passes):
    """As fast as there, with room for a burst; what stands still there must go on to."""
    world = FakeWorld()
    host = Talking(world)
    host.fps, host.in_storm = fps, in_storm
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None)
    outcome = Qualifier(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world))).qualify(PAUSES, (3, 4))
    made = {one.name: one for verdict in outcome.verdicts for one in verdict.checks}
    assert (made["pauses-are-no-data"].status is Status.PASS) == passes, made["pauses-are-no-data"].message


def run_of_octets(octets, others):
    """1000 frames of 1024 bytes from one port to the other and 100 pauses; beside them the ports counted some more."""
    subject, read = reading()
    early = queue_by_queue(subject, ONE_EACH, read)
    leaving = replace(early.leaving, tx_ok=early.leaving.tx_ok + 1000 + others)
    entering = replace(early.entering["Ethernet64"], rx_ok=early.entering["Ethernet64"].rx_ok + 1000 + others)
    late = replace(early, leaving=leaving, entering={"Ethernet64": entering})
    storm = FlowPlan("storm", Role.STORM, None, 64, pause=PauseFrame((0,) * 8))
    data = FlowPlan("data", Role.TEST, 3, 1024)
    drained = {"data": FlowStats(data, False, 1000, 1000), "storm": FlowStats(storm, False, 100, 0)}
    scenario = pause_lossless((3, 4), subject.qos)
    return DataRun(
        subject, read, read, read, (3, 4), {"drained": drained}, scenario, "", early=early, storming=late, late=late,
        allowed=early.since(early), octets=octets,
    )


@pytest.mark.parametrize("port, name, counted, others, passes", [
    ("Ethernet64", IN_OCTETS, 1000 * 1024, 0, True),
    ("Ethernet64", IN_OCTETS, 1000 * 1020, 0, True),  # without FCS
    ("Ethernet64", IN_OCTETS, 1000 * 1020 - 1, 0, False),
    ("Ethernet64", IN_OCTETS, 1000 * 1044, 0, True),  # with preamble and gap
    ("Ethernet64", IN_OCTETS, 1000 * 1064 + 1, 0, False),
    ("Ethernet64", IN_OCTETS, 1000 * 1064 + 1, 1, True),  # the switch counted a frame more
    ("Ethernet0", OUT_OCTETS, 1000 * 1020, 0, True),
    ("Ethernet0", OUT_OCTETS, 1000 * 512, 0, False),
    ("Ethernet0", OUT_OCTETS, 0, 0, False),
    ("Ethernet0", OUT_OCTETS, 1000 * 1064 + 9238, 1, True),
    ("Ethernet0", IN_OCTETS, 0, 0, True),  # an ASIC that counts no pauses there
    ("Ethernet0", IN_OCTETS, 100 * 64, 0, True),  # one that does
    ("Ethernet0", IN_OCTETS, 100 * 104 + 1, 0, False),
])
def test_bytes_of_ports(port, name, counted, others, passes):
    """Those of the frames, as ASICs may count them."""
    octets = {"Ethernet0": {}, "Ethernet64": {}, port: {name: counted}}
    made = list(_octets_agree(run_of_octets(octets, others)))
    assert [(check.name, check.status is Status.PASS) for check in made] == [("octets-agree", passes)], made
    assert made[0].where == f"{DEVICE} {port}" and name in made[0].expected, made


def test_a_switch_that_counts_no_bytes_of_ports_is_not_judged_by_them():
    """COUNTERS_DB need not have the fields."""
    assert not list(_octets_agree(run_of_octets({"Ethernet0": {}, "Ethernet64": {}}, 0))), "nothing to judge"


def test_pauses_of_a_storm_without_data_say_something_of_both_metrics():
    """Nothing may be counted for a priority that no frame enables, lossless or lossy."""
    subject, read = reading()
    wrong = replace(read, pfc_rx={"Ethernet0": tuple(count + 1 for count in read.pfc_rx["Ethernet0"])})
    for late, passes in ((read, True), (wrong, False)):
        made = list(judge_pauses(storm_of_empty_pauses(subject, read, late, 0)))[:-2]
        assert [check.name for check in made] == ["no-other-pause-counted"] * 8, made
        assert {check.metric_name for check in made} == {LOSSLESS, LOSSY}, made
        assert {check.status is Status.PASS for check in made} == {passes}, made


@pytest.mark.parametrize("is_exact, paused_us, ends, bad", [
    (True, 5_000_083, 1, []), (True, 4_999_000, 1, ["pause-time-counted"]),
    (True, 5_000_083, 2, ["pause-ends-counted"]),
    (True, 0, 0, []), (False, 4_600_000, 10, []), (False, 4_400_000, 11, ["pause-time-counted", "pause-ends-counted"]),
    (False, 10_000_000, 0, []),
])
def test_the_history_of_pauses(is_exact, paused_us, ends, bad):
    """As long as the storm of 5 s, and one pause; what does not move is not judged."""
    subject, read = reading()
    run = storm_of_empty_pauses(replace(subject, tolerances=EXACT if is_exact else HARDWARE), read, read, 0)
    phases = {"storm": {"storm": replace(run.storm, frames_tx=29_800)}}
    run = replace(run, phases=phases, history={PAUSED_US.format(3): paused_us, ENDS.format(3): ends})
    made = [check.name for check in _history_kept(run, 3) if check.status is Status.FAIL]
    assert made == bad, made


@pytest.mark.parametrize("history, bad", [
    ({}, []), ({PAUSED_US.format(3): 0, PAUSED_US.format(5): 0, ENDS.format(5): 0}, []),
    ({PAUSED_US.format(3): 0, PAUSED_US.format(5): 5_000_000},
     [("no-other-pause-history", 5), ("pause-time-counted", 3)]),
    ({PAUSED_US.format(5): 5_000_000}, [("no-other-pause-history", 5)]),
    ({PAUSED_US.format(3): 5_000_000, PAUSED_US.format(4): 0}, [("pause-time-counted", 4)]),
    ({ENDS.format(3): 0, ENDS.format(5): 1}, [("no-other-pause-history", 5)]),
])
def test_the_history_of_other_priorities(history, bad):
    """Only what is paused moves; and what has a counter that moves for another one moves too."""
    subject, read = reading()
    run = storm_of_empty_pauses(subject, read, read, 0)
    storm = replace(run.storm, plan=replace(run.storm.plan, pause=pfc_frame([3, 4], 65535)), frames_tx=29_800)
    run = replace(run, phases={"storm": {"storm": storm}}, history=history)
    made = [(check.name, check.priority) for check in judge_pauses(run)
            if "history" in check.name or "time" in check.name if check.status is Status.FAIL]
    assert made == bad, made


def test_how_old_priority_group_counters_are():
    """They need not be polled: most measurements do not ask for them."""
    enabled = {"FLEX_COUNTER_TABLE": {"PG_DROP": {"FLEX_COUNTER_STATUS": "enable"}}}
    slow = {"FLEX_COUNTER_TABLE": {"PG_DROP": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "30000"}}}
    delays = [delay_s(config_db, DEVICE, "PG_DROP") for config_db in ({}, enabled, slow)]
    assert delays == [None, 11, 31], delays


def test_a_switch_that_does_not_poll_priority_groups_is_error():
    """Drops there would go unseen."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    qualifier = Qualifier(open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world)))
    outcome = qualifier.qualify(DATA, CASES[DATA].targets.on(plan.subject)[0])
    assert {(one.metric_name, one.status) for one in outcome.verdicts} >= {(LOSSLESS, Status.ERROR)}, outcome
    assert outcome.verdicts[0].cause.startswith(
        f"{DEVICE}: its drops of priority groups are not polled, FLEX_COUNTER_TABLE|PG_DROP is not enabled"
    ), outcome.verdicts[0]


class Clearing(FakeHost):
    """A switch whose port counters somebody clears after the second reading in a case, the first in the storm."""

    def shell(self, command, **options):
        """As ever; the third batch with port counters shows smaller ones."""
        if sum("show interfaces counters" in call for call in self.calls) == 2:
            self.answers["show interfaces counters"] = (PORTS.replace("         12 ", "          0 "), 0)
        return super().shell(command, **options)


@pytest.mark.parametrize("kind, world, status, sentence", [
    (FakeHost, FakeWorld(), Status.PASS, ""),
    (Clearing, FakeWorld(), Status.ERROR, "data counters that only grow in the run, got one that fell by 12"),
    (FakeHost, FakeWorld(storm_fps_factor=0.1), Status.ERROR, "a storm of at least 14901 pause frames, got 2980"),
    (FakeHost, FakeWorld(counts_pause=False), Status.FAIL, "29800 PFC frames in the receive counter once the storm"),
    (FakeHost, FakeWorld(watchdog_storms=1), Status.ERROR, "expected a stopped watchdog, got a watchdog that detected"),
])
def test_a_storm_without_data(kind, world, status, sentence):
    """What keeps the run from being a measurement is ERROR."""
    host = kind(world)
    host.answers["show interfaces counters"] = (PORTS, 0)
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None)
    outcome = Qualifier(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world))).qualify(PAUSES, (3, 4))
    verdict = next(one for one in outcome.verdicts if one.metric_name == LOSSLESS)
    said = " ".join([verdict.cause or "", *verdict.messages])
    assert verdict.status is status and sentence in said, said


@pytest.mark.parametrize("asic, frames, passes", [
    ("broadcom", 0, True), ("broadcom", 1, False), ("broadcom-dnx voq", 700, True), ("broadcom-dnx voq", 701, False),
])
def test_a_paused_queue_counts_no_frame_or_what_comes_in_for_it(asic, frames, passes):
    """700 frames were sent while it was paused; a virtual output queue counts these."""
    run = run_of_octets({}, 0)
    queues = {**run.early.queues, 3: run.early.queues.get(3, 0) + frames}
    data = FlowStats(FlowPlan("data", Role.TEST, 3, 1024), False, 700, 0)
    run = replace(run, subject=replace(run.subject, asic=asic), storming=replace(run.early, queues=queues),
                  phases={"paused": {"data": data}})
    made = list(_held_queue_stands_still(run))
    assert [check.status is Status.PASS for check in made] == [passes], made
