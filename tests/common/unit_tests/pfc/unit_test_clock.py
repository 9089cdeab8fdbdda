"""Waiting on a clock, and which clock that is."""

import pytest

from tests.common.pfc.lab import option
from tests.common.pfc.lab.clock import WallClock, wait_for
from tests.common.pfc.lab.option import open_clock
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.fakes import FakeClock, FakeWorld


@pytest.mark.parametrize("true_at, met, ended_at", [(0.0, True, 0.0), (2.0, True, 2.0), (9.0, False, 5.0)])
def test_wait_for(true_at, met, ended_at):
    """It returns as soon as the condition holds, and gives up at the deadline, not later."""
    clock = FakeClock(FakeWorld())
    seen = wait_for(lambda: clock.now() >= true_at, 5.0, clock)
    assert (seen, clock.now()) == (met, ended_at), f"expected {met} at {ended_at} s, got {seen} at {clock.now()} s"


def test_hardware_is_waited_for_on_the_wall_clock():
    """No endpoint."""
    assert isinstance(open_clock({"conf-name": "lab"}), WallClock), "expected the wall clock"


@pytest.mark.parametrize("key", ["clock", "realtime_clock"])
def test_a_clock_that_nothing_here_reads_is_refused(monkeypatch, key):
    """By the wall clock such a testbed would be measured wrongly."""
    monkeypatch.setattr(option, "options", lambda: ())
    with pytest.raises(QualificationError, match="^testbed lab has a clock of its own, which nothing here reads"):
        open_clock({"conf-name": "lab", key: "http://127.0.0.1:1/clock"})
