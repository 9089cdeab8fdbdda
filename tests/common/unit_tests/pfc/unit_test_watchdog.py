"""The watchdog's times, starting and stopping it, and what a sender's counts say about it."""

import re
from contextlib import nullcontext
from fractions import Fraction

import pytest

from tests.common.pfc.lab.cli_text import watchdog_rows
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.reservation import Reservation
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.lab.watchdog import DROP, FORGET_POLL_INTERVAL, FORWARD, Timers, Watchdog, watching
from tests.common.pfc.model.counters import WatchdogRow
from tests.common.pfc.model.errors import QualificationError, SwitchUnreachable
from tests.common.unit_tests.pfc.shell_switch import Clock, ShellHost

PORTS = ("Ethernet0", "Ethernet64")
KEPT = "{ true; } || exit 1; true"
"""The core's own reservation is written nowhere."""


class FakeDut:
    """A switch that remembers what it was asked, and has the rows that `pfcwd start` leaves."""

    name = "vtb-t0-01"
    guarded = Dut.guarded

    def __init__(self, found, rows=PORTS, action=DROP, polls=""):
        """`found`: PFC_WD as it was found; None: the switch is not reserved. `action`: what its rows then have;
        `polls`: what the row about polling it has."""
        self.reservation = None if found is None else Reservation(watchdog=found)
        self.rows, self.asked = rows, []
        self.said = {"actions": "\n".join([action] * len(rows)), "polls": polls}

    def ask(self, commands):
        """Every command prints the rows, but for what asks for their actions, and whether it is polled."""
        self.asked += commands.values()
        rows = "\n".join(f"PFC_WD|{port}" for port in self.rows)
        return {name: self.said.get(name, rows) for name in commands}

    def counters(self, also, statistics):
        """No counters."""
        self.asked += also.values()
        return statistics


def changes(dut):
    """What the switch was told to change: each such command begins with a look whether the switch is reserved."""
    return [command.split("} || exit 1; ")[1] for command in dut.asked if command.startswith("{ ") and command != KEPT]


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
    with pytest.raises(KeyboardInterrupt), watching(dut, Clock(), PORTS, (3, 4)) as watchdog:
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
    with watching(dut, Clock(), PORTS, (3, 4)) as watchdog:
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


def test_a_switch_that_is_away_when_a_case_ends_is_waited_for():
    """Otherwise the watchdog would run on in every later case."""
    dut = FakeDut({})
    counters, away = dut.counters, [None, None]

    def later(**asked):
        if away:
            away.pop()
            raise SwitchUnreachable("vtb-t0-01: connection refused")
        return counters(**asked)

    dut.counters = later
    with watching(dut, Clock(), PORTS, (3, 4)) as watchdog:
        watchdog.start(Timers(DROP))
    assert changes(dut)[-2] == "pfcwd stop Ethernet0 Ethernet64" and watchdog.timers is None, changes(dut)


def test_nothing_is_stopped_twice_or_without_a_start():
    """A case that stopped it, or never came that far."""
    dut = FakeDut({})
    with watching(dut, Clock(), PORTS, (3, 4)) as watchdog:
        watchdog.start(Timers(DROP))
        queues = "Ethernet0:3 Ethernet0:4 Ethernet64:3 Ethernet64:4"
        assert watchdog.stop() == f"pfcwd show stats && echo && pfcwd show stats -e {queues}", watchdog.queues
    assert len(changes(dut)) == 5, changes(dut)
    other = FakeDut({})
    with watching(other, Clock(), PORTS, (3, 4)):
        pass
    assert not other.asked, other.asked


def test_a_start_that_changes_nothing_is_no_start():
    """SONiC's `pfcwd start` skips a port without PFC and ends with status 0."""
    with pytest.raises(QualificationError) as error:
        Watchdog(FakeDut({}, PORTS[:1]), PORTS, (3, 4)).start(Timers(DROP))
    expected = "vtb-t0-01 Ethernet64: expected a row PFC_WD|Ethernet64 in CONFIG_DB after `pfcwd start`, got none"
    assert str(error.value).startswith(expected), str(error.value)


@pytest.mark.parametrize("polls", ["", "enable", "disable"])
def test_one_that_is_not_polled_detects_nothing(polls):
    """What it is asked for then is no measurement; it is stopped again. Without the row it is polled."""
    dut = FakeDut({}, polls=polls)
    expected = re.escape("vtb-t0-01: FLEX_COUNTER_TABLE|PFCWD has FLEX_COUNTER_STATUS 'disable' in CONFIG_DB")
    refused = pytest.raises(QualificationError, match=expected) if polls == "disable" else nullcontext()
    with refused, watching(dut, Clock(), PORTS, (3, 4)) as watchdog:
        watchdog.start(Timers(DROP))
    assert "pfcwd stop Ethernet0 Ethernet64" in changes(dut)[3:], changes(dut)


def test_it_is_not_started_where_nobody_knows_what_was_found():
    """Without a reservation nothing is changed."""
    dut = FakeDut(None)
    with pytest.raises(QualificationError, match="on a reserved switch only"):
        Watchdog(dut, PORTS, (3, 4)).start(Timers(DROP))
    assert not dut.asked, dut.asked


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
