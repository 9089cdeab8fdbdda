"""The watchdog's times, starting and stopping it, and what a sender's counts say about it."""

import dataclasses
import re
from fractions import Fraction
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.watchdog.quiet import WALL_TIMERS, ShortPause, longest_s, start_pauses
from tests.common.pfc.cases.watchdog.repeated import SHORT_STORMS, _short_storms
from tests.common.pfc.cases.watchdog.steps import TIMERS
from tests.common.pfc.cases.watchdog.timers import StormOnTraffic, TimedStormsRun, _time_kept, validity
from tests.common.pfc.lab.cli_text import watchdog_rows
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.reservation import Reservation
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.lab.watchdog import DROP, FORGET_POLL_INTERVAL, FORWARD, Timers, Watchdog, watching
from tests.common.pfc.model.counters import DutCounters, WatchdogRow
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.model.ports import ConnectedPort, PortPair
from tests.common.pfc.model.qos import PortQos, SharedBuffer
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.shell_switch import Clock, ShellHost
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

PORTS = ("Ethernet0", "Ethernet64")
QOS = PortQos("vtb-t0-01", "Ethernet0", (3, 4), {0: (8,), 3: (3,), 4: (4,)}, "AZURE")
RX, TX = (ConnectedPort("vtb-t0-01", port, f"generator {port}", port, 100_000) for port in PORTS)
SUBJECT = PortUnderTest(PortPair(RX, TX), QOS, SharedBuffer("egress_lossless_pool", 15_000_000), "broadcom")


KEPT = "{ true; } && true"
"""The core's own reservation is written nowhere."""


class FakeDut:
    """A switch that remembers what it was asked, and has the rows that `pfcwd start` leaves."""

    name = "vtb-t0-01"
    guarded = Dut.guarded

    def __init__(self, found, rows=PORTS, action=DROP):
        """`found`: PFC_WD as it was found; None: the switch is not reserved. `action`: what its rows then have."""
        self.reservation = None if found is None else Reservation(watchdog=found)
        self.rows, self.asked = rows, []
        self.action = action

    def ask(self, commands):
        """Every command prints the rows, but for what asks for their actions."""
        self.asked += commands.values()
        rows = "\n".join(f"PFC_WD|{port}" for port in self.rows)
        return {name: "\n".join([self.action] * len(self.rows)) if name == "actions" else rows for name in commands}

    def counters(self, also, statistics):
        """No counters."""
        self.asked += also.values()
        return statistics


def changes(dut):
    """What the switch was told to change: each such command begins with a look whether the switch is reserved."""
    return [command.split("} && ")[1] for command in dut.asked if command.startswith("{ ") and command != KEPT]


@pytest.mark.parametrize(
    ("asic", "detection"), [("broadcom", (400, 601)), ("cisco-8000 voq", (200, 601)), ("vs", (200, 601))]
)
def test_bounds(asic, detection):
    """So many polls as D (R) takes and one more; where an interval may count that was paused in part, one earlier."""
    timers = Timers(DROP, 400, 300, 200)
    assert timers.detection_bounds_ms(asic, Fraction(1)) == detection, timers
    assert timers.restoration_bounds_ms(Fraction(1)) == (400, 601), "300 ms are two polls of 200 ms"
    assert (timers.latest_detection_s, timers.latest_restoration_s) == (0.8, 0.7), timers


@pytest.mark.parametrize(
    ("found", "back"),
    [
        ({"GLOBAL": {"POLL_INTERVAL": "250"}}, 250),
        ({"GLOBAL": {"BIG_RED_SWITCH": "disable"}}, 100),
        ({}, 100),
    ],
)
def test_it_is_started_and_stopped_whatever_happens(found, back):
    """On its ports only; the polling interval is the one found afterwards, or the switch's own default."""
    dut = FakeDut(found)
    with pytest.raises(KeyboardInterrupt), watching(dut, PORTS, (3, 4)) as watchdog:
        watchdog.start(Timers(DROP, 400, 300, 200))
        raise KeyboardInterrupt
    assert changes(dut) == [
        "pfcwd stop Ethernet0 Ethernet64",
        "pfcwd interval 200",
        "pfcwd start --action drop Ethernet0 Ethernet64 400 --restoration-time 300",
        "pfcwd stop Ethernet0 Ethernet64",
        f"sonic-db-cli CONFIG_DB HSET 'PFC_WD|GLOBAL' POLL_INTERVAL {back}",
    ], changes(dut)


@pytest.mark.parametrize("left, written", [("", []), ("100", ["100"]), ("200", ["100"])])
def test_the_watchdog_polls_as_before_where_nothing_said_how_often(tmp_path, left, written):
    """orchagent does not act on the removal of the interval: its default is written first, where something was left."""
    switch = ShellHost.installed(tmp_path)
    switch.configure({})
    with SwitchRestorer(switch, "run-1", Clock()).watchdog_stopped() as reservation:
        reservation.scripts["watchdog-polls"] = FORGET_POLL_INTERVAL
        switch.configure({"GLOBAL": {"POLL_INTERVAL": left}} if left else {})
    assert switch.config_db()["PFC_WD"] == {}, switch.config_db()
    said = switch.home / "written"
    assert (said.read_text(encoding="ascii").split() if said.exists() else []) == written, "100 ms is what it has"


def test_another_action_and_other_times_while_it_runs():
    """It is not stopped before; that CONFIG_DB has the action is checked."""
    dut = FakeDut({})
    with watching(dut, PORTS, (3, 4)) as watchdog:
        watchdog.start(Timers(FORWARD, 2000, 2000))
        watchdog.start_over(Timers(DROP))
        assert watchdog.timers == Timers(DROP), watchdog.timers
    assert changes(dut)[3:5] == [
        "pfcwd start --action drop Ethernet0 Ethernet64 200 --restoration-time 200", "pfcwd stop Ethernet0 Ethernet64",
    ], changes(dut)
    other = Watchdog(FakeDut({}, action=FORWARD), PORTS, (3, 4))
    other.start(Timers(FORWARD))
    expected = ("expected action drop in the rows PFC_WD|Ethernet0, PFC_WD|Ethernet64 of CONFIG_DB after `pfcwd start`,"
                " got forward, forward")
    with pytest.raises(QualificationError, match=re.escape(expected)):
        other.start_over(Timers(DROP))


def test_nothing_is_stopped_twice_or_without_a_start():
    """A case that stopped it, or never came that far."""
    dut = FakeDut({})
    with watching(dut, PORTS, (3, 4)) as watchdog:
        watchdog.start(Timers(DROP))
        queues = "Ethernet0:3 Ethernet0:4 Ethernet64:3 Ethernet64:4"
        assert watchdog.stop() == f"pfcwd show stats && echo && pfcwd show stats -e {queues}", watchdog.queues
    assert len(changes(dut)) == 5, changes(dut)
    other = FakeDut({})
    with watching(other, PORTS, (3, 4)):
        pass
    assert not other.asked, other.asked


def test_a_start_that_changes_nothing_is_no_start():
    """SONiC's `pfcwd start` skips a port without PFC and ends with status 0."""
    with pytest.raises(QualificationError) as error:
        Watchdog(FakeDut({}, PORTS[:1]), PORTS, (3, 4)).start(Timers(DROP))
    expected = "vtb-t0-01 Ethernet64: expected a row PFC_WD|Ethernet64 in CONFIG_DB after `pfcwd start`, got none"
    assert str(error.value).startswith(expected), str(error.value)


def test_it_is_not_started_where_nobody_knows_what_was_found():
    """Without a reservation nothing is changed."""
    dut = FakeDut(None)
    with pytest.raises(QualificationError, match="on a reserved switch only"):
        Watchdog(dut, PORTS, (3, 4)).start(Timers(DROP))
    assert not dut.asked, dut.asked


@pytest.mark.parametrize("buffered", [0, 5_000])
def test_times_from_counts(buffered):
    """A sender of 50 % that is held 300 ms, and whose frames are dropped until 250 ms after a storm of 800 ms: the
    buffer leaves the first open by what it takes, and not the second."""
    fps = Fraction(100_000 * 10**6, 8 * 1044) / 2
    sent = round(fps * Fraction("2.7")) + buffered  # of 3 s
    lost = round(fps * Fraction("0.75")) + buffered
    test = FlowPlan("test", Role.TEST, 3, 1024, 50.0, seconds=3)
    free = FlowPlan("background", Role.BACKGROUND, 0, 1024, 25.0, seconds=3)
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
    flow = FlowStats(test, False, sent, sent - lost)
    due = round(fps / 2 * 3)
    stats = {
        "test": flow,
        "background": FlowStats(free, False, due, due),
        "storm": FlowStats(storm, False, round(5960 * 0.8), 0),
    }
    late = {name: dataclasses.replace(flow, frames_tx=4711) for name, flow in stats.items()}
    early = {name: dataclasses.replace(flow, frames_tx=flow.frames_tx + 4711) for name, flow in stats.items()}
    storm = StormOnTraffic(SUBJECT, Timers(DROP), late, early, stats, True, "")
    low, high = storm.detection_ms(flow)
    assert low <= 300 <= high and high - low < 3, (float(low), float(high))
    assert abs(storm.restoration_ms(flow) - 250) < Fraction("0.1"), float(storm.restoration_ms(flow))
    assert dataclasses.replace(storm, exact=False).late_ms == 200, "a poll and 100 ms on hardware"


@pytest.mark.parametrize("sent, received, lacking", [
    (0.8, 0.7, []),
    (1.0, 0.7, ["time-kept"]),
    (1.0, 1.0, []),
])
def test_a_generator_that_sends_later_what_was_held_tells_no_times(sent, received, lacking):
    """By the wall clock: all was sent when it was counted, although a storm dropped some. Where nothing was dropped
    either, the storm did nothing, and that is judged."""
    flow = FlowPlan("test", Role.TEST, 3, 1024, 20.0)
    free = FlowPlan("background", Role.BACKGROUND, 0, 1024, 20.0)
    stats = {"test": FlowStats(flow, False, round(1_000_000 * sent), round(1_000_000 * received)),
             "background": FlowStats(free, False, 1_000_000, 1_000_000)}
    begun = {name: dataclasses.replace(one, frames_tx=0) for name, one in stats.items()}
    storm = StormOnTraffic(SUBJECT, Timers(DROP), begun, stats, stats, False, "")
    assert [check.name for check in unmet(_time_kept(storm))] == lacking, stats


class Starts:
    """A clock, and a generator that notes when it was told to start which flows, each of which takes so long."""

    def __init__(self, exact, takes_s=0.5):
        self.exact, self.time, self.started = exact, 0.0, []
        self.takes_s = takes_s

    def now(self):
        """Seconds."""
        return self.time

    def sleep(self, seconds):
        """Passes them."""
        self.time += seconds

    def start(self, names):
        """Takes half a second, as an API server does, or longer on a busy machine; they start at the end of it."""
        self.started.append((self.time, names))
        self.time += self.takes_s


@pytest.mark.parametrize(("exact", "takes_s", "expected"), [
    (True, 0.5, [(0.0, ["a", "b", "c"])]), (False, 0.5, [(0.0, ["a"]), (2.2, ["b"]), (4.4, ["c"])]),
    (False, 4.0, [(0.0, ["a"]), (5.2, ["b"]), (10.4, ["c"])]),
])
def test_pauses_that_must_not_meet_are_started_one_by_one_where_starts_are_late(exact, takes_s, expected):
    """On hardware flows that are started by one call start within a second of each other. Where a call takes longer
    than that, the next one waits: without that, pauses would meet, and a watchdog that sees a storm would fail."""
    lab = Starts(exact, takes_s)
    bench = SimpleNamespace(clock=lab, generator=lab)
    start_pauses(bench, [ShortPause(2.2 * n, FlowPlan(name, Role.STORM, None, 64)) for n, name in enumerate("abc")])
    assert [(pytest.approx(time), names) for time, names in lab.started] == expected, lab.started


@pytest.mark.parametrize(("timers", "asic", "exact", "expected"), [
    (TIMERS, "broadcom", True, 0.19),
    (TIMERS, "mellanox", True, 0.095),
    (TIMERS, "cisco-8000", True, 0.095),
    (WALL_TIMERS, "broadcom", False, 0.4),
    (WALL_TIMERS, "cisco-8000", False, 0.3),
])
def test_how_long_no_storm_may_be_detected(timers, asic, exact, expected):
    """On hardware a poll may be late and the next one on time: as much less, and a poll."""
    found = longest_s(timers, asic, exact)
    assert found == pytest.approx(expected), found


def test_statistics_of_all_queues_and_of_the_watched_ones_in_one_answer():
    """`pfcwd show stats; echo; pfcwd show stats -e ...`: a queue without any is in the second table only."""
    head = """\
      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  -----------  -------------------------  ------------  ------------  -----------------  -----------------
"""
    cells = ("{}  operational                        {}           {}           0/0                0/0"
             "                0/0\n")
    some, none = cells.format("Ethernet8:3", "2/2", "0/9"), cells.format("Ethernet0:3", "0/0", "0/0")
    rows = watchdog_rows(f"{head}{some}\n{head}{none}")
    assert rows == {
        "Ethernet8:3": WatchdogRow("operational", 2, 2, tx_dropped=9),
        "Ethernet0:3": WatchdogRow("operational", 0, 0),
    }, rows


def storm_on_traffic(timers, lasted_s=1.0, gap="", test_tx=1000, label=""):
    """A storm of so many seconds on test traffic of which so many frames were sent, on an exact clock."""
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960)
    test = FlowPlan("test", Role.TEST, 3, 1024, 40.0, seconds=3)
    stats = {
        "storm": FlowStats(storm, False, round(5960 * lasted_s), 0, gap=gap),
        "test": FlowStats(test, False, test_tx, 0),
    }
    return StormOnTraffic(SUBJECT, timers, stats, stats, stats, True, label)


def lacking_of(*storms):
    """Names of the checks that say why these storms were no measurement, where background and links do not matter."""
    none = dict.fromkeys(PORTS, (0,) * 8)
    read = DutCounters(none, none, {}, {}, (), {})
    phases = {storm.label: storm.stats for storm in storms}
    run = TimedStormsRun(SUBJECT, read, read, read, (3,), phases, storms[-1].timers, (), storms)
    return [check.name for check in unmet(validity(run)) if check.name not in ("link-up", "lossy-background")]


@pytest.mark.parametrize(("lasted_s", "lacking"), [
    (0.81, []), (0.79, ["storm-ran"]), (1.79, []), (1.81, ["storm-ended"]),
])
def test_a_storm_ends_after_it_is_detected_and_before_the_data(lasted_s, lacking):
    """It is sent at twice the rate that holds a pause: half of it would do, if it were only to hold one. And who stops
    it late, on a busy machine, has no data left by which to see when the switch restores the queue."""
    assert lacking_of(storm_on_traffic(Timers(DROP, 400, 200, 200), lasted_s)) == lacking, lasted_s


@pytest.mark.parametrize(("wrong", "lacking"), [
    ({}, []), ({"gap": "the storm had a gap"}, ["storm-running"]), ({"test_tx": 0}, ["load-applied"]),
])
def test_each_of_several_storms_has_to_be_a_measurement(wrong, lacking):
    """Not the last one only: there is a row of numbers of each."""
    first, last = storm_on_traffic(Timers(DROP), label="first", **wrong), storm_on_traffic(Timers(DROP), label="last")
    assert lacking_of(first, last) == lacking, wrong
    assert lacking_of(last, first) == lacking, wrong


def test_short_storms_meet_data():
    """Some switches detect no storm at an empty queue. Whoever starts nothing beside what runs can send them."""
    world = FakeWorld()
    dut = Dut(FakeHost(world))
    lab = open_lab(plan_port(dut, TESTER_PORTS, "Ethernet0", None), dut, FakeApi(world), FakeClock(world))
    run = _short_storms(lab, (3, 4), SimpleNamespace(counters=dut.counters, queues=()), dut.counters())
    data = run.flows("over", Role.TEST)
    assert len(run.flows("over", Role.STORM)) == SHORT_STORMS, run.phases
    assert [flow.plan.priority for flow in data] == [3, 4] * SHORT_STORMS, data
    assert not any(flow.transmitting for flow in data) and all(flow.frames_tx for flow in data), data
