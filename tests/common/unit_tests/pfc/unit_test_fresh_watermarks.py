"""Watermarks are set to 0 when everything earlier has been polled, and have to be at 0 then."""

from types import SimpleNamespace

import pytest
from tabulate import tabulate

from tests.common.pfc.cases.fresh_watermarks import clear_watermarks
from tests.common.pfc.cases.switch_counters import HEADROOM, QUEUES
from tests.common.pfc.model.errors import QualificationError


class Switch:
    """Shows so many bytes of each group, and of no queue; a clear takes effect some readings later, or never."""

    name = "dut"

    def __init__(self, shown, later):
        self.shown = shown
        self.later = later
        self.asked = []

    def guarded(self, command):
        return f"held && {command}"

    def ask(self, commands):
        self.asked.append(list(commands.values()))
        self.later -= 1
        shown = self.shown if self.later > 0 else 0
        table = tabulate([["Ethernet0", shown, "N/A"]], ["Port", "PG3", "PG4"], tablefmt="simple")
        return {name: "" if "queue" in command else table for name, command in commands.items()}


class Clock:
    """Notes how long was waited."""

    def __init__(self):
        self.passed_s = 0.0

    def now(self):
        return self.passed_s

    def sleep(self, seconds):
        self.passed_s += seconds


PLACES = {HEADROOM: {"Ethernet0": [3, 4]}, QUEUES: {"Ethernet4": [3]}}


@pytest.mark.parametrize("later, waited_s", [(0, 61.0), (3, 61.5), (9, 64.5)])
def test_they_are_cleared_when_what_was_before_has_been_polled(later, waited_s):
    switch, clock = Switch(4096, later), Clock()
    clear_watermarks(SimpleNamespace(dut=switch, clock=clock), 61, PLACES)
    cleared = ["held && sonic-clear priority-group watermark headroom", "held && sonic-clear queue watermark unicast"]
    assert switch.asked[:2] == [cleared, [HEADROOM, QUEUES]], switch.asked
    assert clock.passed_s == waited_s, f"waited for {clock.passed_s} s"


def test_a_switch_that_does_not_clear_them_is_not_measured():
    lab = SimpleNamespace(dut=Switch(4096, 1000), clock=Clock())
    with pytest.raises(QualificationError) as raised:
        clear_watermarks(lab, 61, PLACES)
    expected = "dut Ethernet0: expected 0 bytes in the watermark of PG3 (`show priority-group watermark headroom`) 5 s"
    expected += " after `sonic-clear priority-group watermark headroom`, got 4096"
    assert str(raised.value) == expected, raised.value
