"""Waiting: one poller, and the clock it waits on. That is the wall clock, unless an option has another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """What the qualification waits on."""

    @property
    def exact(self) -> bool:
        """Whether flows start and end at the instant at which they are told to (simulated time), so that what lasts
        milliseconds can be measured; else in seconds only."""

    def now(self) -> float:
        """Seconds since some fixed moment."""

    def moment(self) -> float:
        """As `now`, but known without asking where nobody but this clock moves the time: for notes beside a run."""

    def sleep(self, seconds: float) -> None:
        """Returns when `seconds` have passed on this clock."""


class WallClock:
    """Real time."""

    exact = False

    def now(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()

    def moment(self) -> float:
        """As `now`."""
        return self.now()

    def sleep(self, seconds: float) -> None:
        """Waits in real time."""
        time.sleep(seconds)


def wait_for(condition: Callable[[], bool], deadline_s: float, clock: Clock, interval_s: float = 0.5) -> bool:
    """Polls `condition` every `interval_s`: True as soon as it holds, False when `deadline_s` have passed on `clock`
    without."""
    end = clock.now() + deadline_s
    while not condition():
        left_s = end - clock.now()
        if left_s <= 0:
            return False
        clock.sleep(min(interval_s, left_s))
    return True
