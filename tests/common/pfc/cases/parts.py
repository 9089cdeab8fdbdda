"""Cases that measure several things, one after the other: each with checks of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..record.case import Target
from ..record.verdict import Check
from .engine import Checks, Procedure, RunT, Targets


@dataclass(frozen=True)
class CasePart(Generic[RunT]):
    """One of the measurements of a case.

    Attributes:
        run: what was measured.
        validity: checks of the measurement itself, as of `Procedure`.
        judge: checks of the switch.
        key: of its numbers in the record; empty: they are the case's own.
        words: what messages say of which part it is; empty: nothing.
    """

    run: RunT
    validity: Checks[RunT]
    judge: Checks[RunT]
    key: str = ""
    words: str = ""


@dataclass(frozen=True)
class RunInParts:
    """All parts of a case; it was a measurement if each of them was.

    Attributes:
        parts: in the order in which they are judged.
        settled: the counters after the part that was measured last, as of `Measured`.
        configured: how the switch was configured for them, for the record.
    """

    parts: tuple[CasePart[Any], ...]
    settled: DutCounters | None
    configured: Mapping[str, Any] = field(default_factory=dict)

    def evidence(self) -> dict[str, Any]:
        """How the switch was configured, and the numbers of all parts, for the record."""
        found = dict(self.configured)
        for part in self.parts:
            found |= {part.key: part.run.evidence()} if part.key else part.run.evidence()
        return found


MeasureParts = Callable[[Lab, Target, DutCounters], RunInParts]
"""The course of such a case, as of `Procedure.measure`."""


def in_parts(measure: MeasureParts, targets: Targets) -> Procedure[RunInParts]:
    """The procedure of a case that is measured so: its checks are those of its parts."""
    return Procedure(measure, validity, judge, targets)


def validity(run: RunInParts) -> Iterator[Check]:
    """Whether each part was a measurement."""
    for part in run.parts:
        yield from saying(part.validity(part.run), part.words)


def judge(run: RunInParts) -> Iterator[Check]:
    """All checks of the parts of a run that was a measurement."""
    for part in run.parts:
        yield from saying(part.judge(part.run), part.words)


def saying(made: Iterable[Check], words: str) -> Iterator[Check]:
    """Checks whose messages say so too: of which of several parts they are; empty: nothing."""
    return (replace(check, expected=f"{check.expected} ({words})") if words else check for check in made)
