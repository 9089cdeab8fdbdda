"""Waiting until a condition holds: on whatever clock, asked at once, and given up at the deadline."""

import time

import pytest

from tests.common.pfc.lab.clock import WallClock, wait_for
from tests.common.unit_tests.pfc.shell_switch import Clock


@pytest.mark.parametrize(("true_at", "deadline_s", "interval_s", "met", "ended_at"), [
    (0.0, 5.0, 0.5, True, 0.0),
    (2.0, 5.0, 0.5, True, 2.0),
    (5.0, 5.0, 0.5, True, 5.0),
    (9.0, 5.0, 0.5, False, 5.0),
    (2.5, 5.0, 2.0, True, 4.0),
    (4.5, 5.0, 2.0, True, 5.0),
    (9.0, 5.0, 20.0, False, 5.0),
    (0.0, 0.0, 0.5, True, 0.0),
    (0.5, 0.0, 0.5, False, 0.0),
])
def test_wait_for(true_at, deadline_s, interval_s, met, ended_at):
    """It returns as soon as it sees that the condition holds, and gives up at the deadline, not later; the last wait is
    shorter where the deadline is nearer, and what holds only then is seen too."""
    clock = Clock()
    seen = wait_for(lambda: clock.now() >= true_at, deadline_s, clock, interval_s)
    assert (seen, clock.now()) == (met, ended_at), f"expected {met} at {ended_at} s, got {seen} at {clock.now()} s"


def test_a_condition_that_takes_long_itself_is_not_asked_again_after_the_deadline():
    """Reading a switch takes seconds: the deadline is one of the clock, not of the waits alone."""
    clock = Clock()
    asked = []

    def slow():
        asked.append(clock.now())
        clock.sleep(4.0)
        return False

    assert not wait_for(slow, 5.0, clock, 0.5), "it never holds"
    assert asked == [0.0, 4.5], asked


def test_the_wall_clock_passes_by_itself_and_is_not_exact():
    """It never goes back, whatever the time of day is set to, and what lasts milliseconds is not measured by it."""
    clock = WallClock()
    before_s = clock.now()
    clock.sleep(0.01)
    assert clock.moment() - before_s >= 0.01, "it has slept"
    assert before_s <= time.monotonic() <= before_s + 60, "it is the monotonic clock"
    assert not clock.exact, "generators start flows late"
