"""Exact time: picoseconds, rational periods, closed-form counts of a regular schedule.

Everything in the data plane is an integer number of picoseconds. A rate whose period is no integer (30 % of a line,
5960 frames a second) keeps its exact rational period: instant i is `base + floor(i * period)`, so no error accumulates.
"""
from __future__ import annotations

from fractions import Fraction

from pfctest.timing import (MAX_QUANTA, PS_PER_SECOND, WIRE_OVERHEAD_BYTES, frame_time_ps, pause_time_ps, ps_per_byte,
                            quantum_ps)

__all__ = ["MAX_QUANTA", "PS_PER_MS", "PS_PER_METRE", "PS_PER_SECOND", "PS_PER_US", "WIRE_OVERHEAD_BYTES", "Schedule",
           "frame_time_ps", "pause_time_ps", "ps_per_byte", "quantum_ps", "refresh_period_ps", "simplest_rational"]

PS_PER_MS = 10**9
PS_PER_US = 10**6
PS_PER_METRE = 5_000
"""Propagation delay of a cable (5 ns/m; glass and copper are within a few per cent of it)."""


def refresh_period_ps(speed_mbps: int) -> int:
    """How often a switch repeats an XOFF: twice in the longest pause time."""
    return pause_time_ps(MAX_QUANTA, speed_mbps) // 2


class Schedule:
    """Instants `base_ps + (i // burst) * burst_period_ps + floor((i % burst) * period)` for i = 0, 1, 2, ...

    Attributes:
        base_ps: instant 0.
        step, rest, parts: the period as `step + rest / parts` picoseconds.
        burst: instants in a burst, 0 for no bursts (one that never ends).
    """

    __slots__ = ("base_ps", "step", "rest", "parts", "burst", "burst_period_ps")

    def __init__(self, base_ps: int, rate_per_second: Fraction, burst: int = 0, burst_period_ps: int = 0) -> None:
        period = PS_PER_SECOND / Fraction(rate_per_second)
        self.base_ps = base_ps
        self.parts = period.denominator
        self.step, self.rest = divmod(period.numerator, period.denominator)
        self.burst = burst
        self.burst_period_ps = burst_period_ps

    @property
    def longest_gap_ps(self) -> int:
        """The longest time between two instants in a row."""
        inside_ps = self.step + (1 if self.rest else 0)
        if not self.burst:
            return inside_ps
        between_ps = self.burst_period_ps - self._offset_ps(self.burst - 1)
        return between_ps if self.burst == 1 else max(inside_ps, between_ps)

    def instant_ps(self, number: int) -> int:
        """The instant with this number (0 is the first)."""
        if not self.burst:
            return self.base_ps + self._offset_ps(number)
        bursts, rest = divmod(number, self.burst)
        return self.base_ps + bursts * self.burst_period_ps + self._offset_ps(rest)

    def count(self, until_ps: int) -> int:
        """How many instants are at or before `until_ps`."""
        elapsed_ps = until_ps - self.base_ps
        if elapsed_ps < 0:
            return 0
        if not self.burst:
            return self._count(elapsed_ps)
        bursts, rest_ps = divmod(elapsed_ps, self.burst_period_ps)
        return bursts * self.burst + min(self.burst, self._count(rest_ps))

    def _offset_ps(self, number: int) -> int:
        return number * (self.step * self.parts + self.rest) // self.parts

    def _count(self, elapsed_ps: int) -> int:
        return ((elapsed_ps + 1) * self.parts - 1) // (self.step * self.parts + self.rest) + 1


def simplest_rational(value: float, relative_error: float = 2.0**-24) -> Fraction:
    """The rational with the smallest denominator within `relative_error` of `value`.

    A rate written as a decimal or a 32-bit float (7.1428571 % for 50/7 %) becomes the rate that was meant; exact rates
    share short common periods, rounded ones do not.

    Raises:
        ValueError: the value is negative or not a number.
    """
    if not value >= 0:
        raise ValueError(f"rate {value} is no number at or above 0")
    exact = Fraction(value)
    low, high = exact * (1 - Fraction(relative_error)), exact * (1 + Fraction(relative_error))
    terms: list[int] = []
    while low.denominator != 1 and low.numerator // low.denominator == high.numerator // high.denominator:
        whole = low.numerator // low.denominator
        terms.append(whole)
        low, high = 1 / (high - whole), 1 / (low - whole)
    result = Fraction(-(-low.numerator // low.denominator))
    for whole in reversed(terms):
        result = whole + 1 / result
    return result


def repeated_ps(sum_ps: int, number: int, times: int, period_ps: int) -> int:
    """What the sum of some instants grows by when as many come so many times more, a period later each time.

    Args:
        sum_ps: the sum of the instants; `number` how many there are.
    """
    return times * sum_ps + number * period_ps * (times * (times + 1) // 2)
