"""Estimates the time that the ports of a testbed take which are left, from how fast the others were measured."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class News:
    """When a look found new verdicts (seconds), and how many ports this command had measured by then."""

    moment: float
    ports: int


class Eta:
    """The time left of the run on a testbed (ETA), estimated each time that new verdicts are seen."""

    def __init__(self, one_by_one: bool) -> None:
        """Nothing was seen yet.

        Args:
            one_by_one: whether one port is measured after another, if only the second time (`--both`); else the ports
                of a wave get their verdicts together, and the time between two of them says nothing.
        """
        self._one_by_one = one_by_one
        self.measuring: float | None = None
        """When measuring began."""
        self._first: News | None = None
        self._last: News | None = None

    def take(self, news: News) -> None:
        """Takes in new verdicts."""
        self._first = self._first or news
        self._last = news

    def seconds_left(self, left: int, now: float) -> float:
        """The time that so many ports take; 0: it is not known."""
        if self._last is None:
            return 0.0
        return max(0.0, self._seconds_each() * left - (now - self._last.moment))

    def _seconds_each(self) -> float:
        """Of a port; 0: unknown yet. What comes before the first port (the preflight of all) does not come again."""
        assert self._first is not None and self._last is not None
        if self._first.ports == 1 and self._last.ports < 2:
            return 0.0
        if self._first.ports == 1 and self._one_by_one:
            return (self._last.moment - self._first.moment) / (self._last.ports - 1)
        if self.measuring is None or self._last.ports < 1:
            return 0.0
        return (self._last.moment - self.measuring) / self._last.ports
