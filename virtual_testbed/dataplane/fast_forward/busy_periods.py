"""How long a line can stay busy, and how much can wait for it: bounds from the streams that it carries.

A stream sends a frame at most every `period_ps`, each up to `jitter_ps` late, and occupies the line for `tx_time_ps` a
frame. These are the usual bounds of network calculus, in integers and never too small.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ROUNDS = 10_000


class Stream(NamedTuple):
    """One flow or train on one line."""

    period_ps: int
    tx_time_ps: int
    jitter_ps: int


def is_overloaded(streams: Sequence[Stream]) -> bool:
    """True when the streams leave the line no idle time in the long run."""
    common = 1
    busy = 0  # busy / common: share of the line
    for stream in streams:
        busy = busy * stream.period_ps + stream.tx_time_ps * common
        common *= stream.period_ps
    return busy >= common


def busy_period_ps(streams: Sequence[Stream], backlog_ps: int) -> int | None:
    """Time after which the line has been idle at least once, whatever the phases, with `backlog_ps` of work at first.

    Returns:
        None when there is no such time, or none is found in a bounded search.
    """
    if is_overloaded(streams):
        return None
    bound_ps = backlog_ps + sum(stream.tx_time_ps for stream in streams)
    for _ in range(ROUNDS):
        work_ps = backlog_ps + sum(
            ((bound_ps + stream.jitter_ps) // stream.period_ps + 1) * stream.tx_time_ps for stream in streams)
        if work_ps <= bound_ps:
            return bound_ps
        bound_ps = work_ps
    return None


def frames_within(period_ps: int, span_ps: int) -> int:
    """Most frames that come due in any time of this length, at most one in each period."""
    return span_ps // period_ps + 1
