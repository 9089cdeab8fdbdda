"""What PASS, FAIL and ERROR mean, and how many verdicts become one. Pure: no files, no database, no clock."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

NOTHING_MEASURED = "nothing was measured"
NOT_FINISHED = "the run has not finished"
NO_CAUSE = "no cause was given"


class Status(StrEnum):
    """The outcome of a check, a record, a metric or a run."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"

    @property
    def number(self) -> int | None:
        """The value stored for this status: sonic-mgmt's FINAL_STATUS numbers; ERROR has none."""
        return {Status.PASS: 0, Status.FAIL: 1, Status.ERROR: None}[self]


@dataclass(frozen=True)
class Verdict:
    """A status with its cause; PASS has none."""

    status: Status
    cause: str | None = None


def aggregate(verdicts: Iterable[Verdict], finished: bool = True) -> Verdict:
    """Make one verdict of many: FAIL if any is FAIL, else ERROR if any is ERROR or there is none, else PASS.

    Args:
        verdicts: the verdicts of one metric, or the metrics of one run.
        finished: whether all that had to be measured has been; before that, the best possible outcome is ERROR.
    """
    found = list(verdicts)
    for status in (Status.FAIL, Status.ERROR):
        causes = [verdict.cause or NO_CAUSE for verdict in found if verdict.status is status]
        if causes:
            return Verdict(status, causes[0] + (f" (and {len(causes) - 1} more)" if causes[1:] else ""))
    if not found:
        return Verdict(Status.ERROR, NOTHING_MEASURED)
    return Verdict(Status.PASS) if finished else Verdict(Status.ERROR, NOT_FINISHED)
