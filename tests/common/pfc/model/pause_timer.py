"""The timer of a paused class: each pause frame that names the class sets it anew (IEEE 802.1Qbb)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise


@dataclass(frozen=True)
class Held:
    """What frames that come again and again do to a class.

    Attributes:
        seconds: how long it is paused in each period.
        times: how often in each period that begins.
    """

    seconds: Fraction
    times: int


def held_in_period(frames: Sequence[tuple[Fraction, Fraction]], period: Fraction) -> Held:
    """How long a class is paused when each frame sets its timer to a new time, whatever was left of the one before.

    Args:
        frames: when each of them comes, in seconds from the beginning of the period, in that order; and its time, in
            seconds.
        period: seconds after which they all come again.
    """
    arrivals = [*(at for at, _ in frames), *(at + period for at, _ in frames[:1])]
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    times = [time for _, time in frames]
    lapsed = [time < gap for time, gap in zip(times, gaps, strict=True)]
    begun = sum(before and time > 0 for before, time in zip([*lapsed[-1:], *lapsed[:-1]], times, strict=True))
    return Held(sum(map(min, times, gaps), Fraction(0)), begun)
