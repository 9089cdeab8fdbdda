"""Checks, and places of checks, that only some of the further families make (`model/checking.py` has the others)."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.checking import Place, at_priority, fail_unless, metric_of
from ..model.measurement import PortUnderTest
from ..record.verdict import LOSSLESS, Check


def at_port_for(subject: PortUnderTest, priorities: Sequence[int], port: str | None = None) -> Place:
    """A port (None: that under test) whose own figure is wrong because of these priorities: one alone is named; lossy
    ones are not the lossless metric's. None are known: the whole port."""
    if len(priorities) == 1:
        return at_priority(subject, priorities[0], port)
    return Place(subject.where(port=port), metric_of(subject, priorities) if priorities else LOSSLESS)


def at_most(name: str, place: Place, most: int, what: str, seen: int) -> Check:
    """A check of the switch: `at most 100 frames received`."""
    return fail_unless(name, place, seen <= most, f"at most {most} {what}", seen)
