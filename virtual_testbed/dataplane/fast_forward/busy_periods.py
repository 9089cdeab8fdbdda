"""How long a line can stay busy, and how much can wait for it: bounds from the streams that it carries.

A stream sends a frame at most every `period_ps`, each up to `jitter_ps` late; `FrameTimes` bounds what its frames need
of the line. These are the usual bounds of network calculus, in integers and never too small.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

ROUNDS = 10_000


def ceil_div(number: int, parts: int) -> int:
    """A quotient, rounded up."""
    return -(-number // parts)


class FrameTimes(NamedTuple):
    """What frames of several sizes, sent in turn, need of a line: n in a row at most `first_ps`, and for each but the
    first the mean of a turn of `turn_frames`, which needs `turn_ps`.
    """

    first_ps: int
    turn_ps: int
    turn_frames: int

    @classmethod
    def of(cls, times_ps: Sequence[int]) -> FrameTimes:
        """Of the times on the line in a turn, in the order of the frames; 0: that one takes another way.

        What n frames in a row need beyond n times the mean is a difference of two sums of deviations from it; since
        these are 0 over a turn, the greatest is that of the highest and the lowest sum, wherever they are.
        """
        turn_ps = sum(times_ps)
        sums = [*accumulate(len(times_ps) * time_ps - turn_ps for time_ps in times_ps)]
        return cls(ceil_div(max(sums) - min(sums) + turn_ps, len(times_ps)), turn_ps, len(times_ps))

    def most_ps(self, frames: int) -> int:
        """The most time that so many in a row need."""
        return self.first_ps + ceil_div((frames - 1) * self.turn_ps, self.turn_frames)


class Stream(NamedTuple):
    """One flow or train on one line."""

    period_ps: int
    times: FrameTimes
    jitter_ps: int

    @property
    def turn_period_ps(self) -> int:
        """The least time between two frames of the same place in the turn."""
        return self.period_ps * self.times.turn_frames


def is_overloaded(streams: Sequence[Stream]) -> bool:
    """True when the streams leave the line no idle time in the long run."""
    common = 1
    busy = 0  # busy / common: share of the line
    for stream in streams:
        busy = busy * stream.turn_period_ps + stream.times.turn_ps * common
        common *= stream.turn_period_ps
    return busy >= common


def busy_period_ps(streams: Sequence[Stream], backlog_ps: int) -> int | None:
    """Time after which the line has been idle at least once, whatever the phases, with `backlog_ps` of work at first.

    Returns:
        None when there is no such time, or none is found in a bounded search.
    """
    if is_overloaded(streams):
        return None
    bound_ps = backlog_ps + sum(stream.times.first_ps for stream in streams)
    for _ in range(ROUNDS):
        work_ps = backlog_ps + sum(
            stream.times.most_ps(frames_within(stream.period_ps, bound_ps + stream.jitter_ps)) for stream in streams)
        if work_ps <= bound_ps:
            return bound_ps
        bound_ps = work_ps
    return None


def frames_within(period_ps: int, span_ps: int) -> int:
    """Most frames that come due in any time of this length, at most one in each period."""
    return span_ps // period_ps + 1
