"""Watermarks are set to 0 when everything earlier has been polled, and have to be at 0 then."""

from types import SimpleNamespace

import pytest
from tabulate import tabulate

from tests.common.pfc.cases.fresh_watermarks import clear_watermarks
from tests.common.pfc.cases.switch_counters import HEADROOM, QUEUES
from tests.common.pfc.model.errors import QualificationError


class Switch:
    """Shows so many bytes of each group, and of no queue; a clear takes effect some readings later, or never.

    Attributes:
        counts: parts of the names of the watermarks that its polls read.
    """

    name = "dut"

    def __init__(self, shown, later, counts=("XOFF_ROOM", "QUEUE")):
        self.shown = shown
        self.later = later
        self.counts = counts
        self.asked = []

    def guarded(self, command):
        return f"held && {command}"

    def ask(self, commands):
        self.asked.append(list(commands.values()))
        return {name: self.answer(command) for name, command in commands.items()}

    def answer(self, command):
        if " HGET " in command and command.endswith("_BYTES"):
            return "0" if any(part in command.split()[-1] for part in self.counts) else ""
        if not command.startswith("show") or "queue" in command:
            return ""
        self.later -= 1
        return tabulate([["Ethernet0", self.shown if self.later > 0 else 0, "N/A"]], ["Port", "PG3", "PG4"],
                        tablefmt="simple")


class Clock:
    """Notes how long was waited."""

    def __init__(self):
        self.passed_s = 0.0

    def now(self):
        return self.passed_s

    def sleep(self, seconds):
        self.passed_s += seconds


PLACES = {HEADROOM: {"Ethernet0": [3, 4]}, QUEUES: {"Ethernet4": [3]}}
CLEARS = ["held && sonic-clear priority-group watermark headroom", "held && sonic-clear queue watermark unicast"]


@pytest.mark.parametrize("later, waited_s", [(0, 65.0), (2, 65.5), (9, 69.0)])
def test_they_are_cleared_when_what_was_before_has_been_polled(later, waited_s):
    switch, clock = Switch(4096, later), Clock()
    counted = clear_watermarks(SimpleNamespace(dut=switch, clock=clock), 65, PLACES)
    assert counted == PLACES, counted
    assert switch.asked[1:3] == [CLEARS, [HEADROOM, QUEUES]], switch.asked
    assert clock.passed_s == waited_s, f"waited for {clock.passed_s} s"


def test_those_that_no_poll_reads_are_left_alone():
    """A clear would write a 0 there, which would be judged."""
    switch = Switch(4096, 0, counts=("XOFF_ROOM",))
    counted = clear_watermarks(SimpleNamespace(dut=switch, clock=Clock()), 65, PLACES)
    assert list(counted) == [HEADROOM] and switch.asked[1] == CLEARS[:1], switch.asked


def test_groups_that_a_clear_leaves_out_are_set():
    """orchagent knows those that there were when it cleared for the first time."""
    switch = Switch(4096, 12)  # one reading more than the deadline has
    clear_watermarks(SimpleNamespace(dut=switch, clock=Clock()), 65, PLACES)
    (asked,) = [one[0] for one in switch.asked if " HSET " in one[0]]
    expected = 'held && sonic-db-cli COUNTERS_DB HSET "USER_WATERMARKS:$(sonic-db-cli COUNTERS_DB HGET'
    expected += ' COUNTERS_PG_NAME_MAP Ethernet0:3)" SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES 0'
    assert asked == expected, asked


def test_a_switch_that_does_not_clear_them_is_not_measured():
    lab = SimpleNamespace(dut=Switch(4096, 1000), clock=Clock())
    with pytest.raises(QualificationError) as raised:
        clear_watermarks(lab, 65, PLACES)
    expected = "dut Ethernet0: expected 0 bytes in the watermark of PG3 (`show priority-group watermark headroom`) 5 s"
    expected += " after `sonic-clear priority-group watermark headroom`, got 4096"
    assert str(raised.value) == expected, raised.value
