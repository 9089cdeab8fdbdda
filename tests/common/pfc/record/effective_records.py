"""Which records of a metric count, and what they come to: every reader of records decides by this rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from .verdict import Status, combine

NOTHING_MEASURED = "nothing was measured"
NOT_FINISHED = "the run has not finished"
NO_CAUSE = "no cause was given"


@dataclass(frozen=True)
class Verdict:
    """A status with its cause; PASS has none."""

    status: Status
    cause: str | None = None


def aggregate(verdicts: Iterable[Verdict], finished: bool = True) -> Verdict:
    """Makes one verdict of many, by the rule of `combine`, with the first cause and how many more there are.

    Args:
        verdicts: the verdicts of one metric, or the metrics of one run.
        finished: whether all that had to be measured has been; before that, the best possible outcome is ERROR.
    """
    found = list(verdicts)
    status = combine(verdict.status for verdict in found)
    if status is Status.PASS:
        return Verdict(status) if finished else Verdict(Status.ERROR, NOT_FINISHED)
    causes = [verdict.cause or NO_CAUSE for verdict in found if verdict.status is status]
    if not causes:
        return Verdict(status, NOTHING_MEASURED)
    return Verdict(status, causes[0] + (f" (and {len(causes) - 1} more)" if causes[1:] else ""))


class Judged(Protocol):
    """A verdict record, or the row that keeps one."""

    @property
    def record_id(self) -> str:
        """Its identity."""

    @property
    def timestamp(self) -> datetime:
        """When it was measured, UTC."""

    @property
    def status(self) -> str | None:
        """PASS, FAIL or ERROR."""

    @property
    def cause(self) -> str | None:
        """Why it is not PASS."""

    @property
    def replaces(self) -> str | None:
        """The id of the record that it was made in place of."""


@dataclass(frozen=True)
class Outline:
    """Verdict fields of a record, without evidence: a long run has more of that than fits into memory."""

    record_id: str
    timestamp: datetime
    status: str | None
    cause: str | None
    replaces: str | None

    @classmethod
    def of(cls, record: Judged) -> Outline:
        """The outline of a record."""
        return cls(record.record_id, record.timestamp, record.status, record.cause, record.replaces)


One = TypeVar("One", bound=Judged)


def effective_records(records: Sequence[One]) -> list[One]:
    """The records that count: an ERROR that was tried again later does not. A FAIL does, whatever came after it.

    Args:
        records: all verdict records of one metric of a port in one run, in any order.
    """
    again: dict[str, datetime] = {}
    for record in records:
        if record.replaces:
            again[record.replaces] = max(record.timestamp, again.get(record.replaces, record.timestamp))
    return [record for record in records
            if record.status != Status.ERROR or again.get(record.record_id, record.timestamp) <= record.timestamp]


def judge(records: Iterable[Judged], finished: bool) -> Verdict:
    """The verdict of one metric of a port: of the records that count, in the order of their time.

    Before the run has finished it is never PASS.
    """
    in_order = sorted(effective_records(list(records)), key=lambda record: (record.timestamp, record.record_id))
    return aggregate((Verdict(Status(str(record.status)), record.cause) for record in in_order), finished)
