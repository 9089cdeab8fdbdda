"""The verdicts of a run that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from ..record.case import Outcome, PlannedItem
from ..record.collector import VerdictCollector
from ..record.records import Record, RunLabels
from ..record.verdict import PortVerdict, Status
from .earlier import Earlier, key_of


class ResumedCollector(VerdictCollector):
    """Collects the verdicts of a run beside those of an earlier part of it, which has their records."""

    def __init__(self, run: RunLabels, earlier: Earlier) -> None:
        """Nothing is planned yet.

        Args:
            run: what records carry of a device that is not announced.
            earlier: the earlier part. The next try of what was ERROR there replaces its record. What was PASS or FAIL
                there stays, also where its item is measured again for the sake of another verdict.
        """
        super().__init__(run)
        self._replaced = earlier.unmeasured()
        self._measured = earlier.measured()

    def recall(self, item: PlannedItem, verdicts: Sequence[PortVerdict]) -> None:
        """Counts an item that had its verdicts in the earlier part of the run."""
        self._planned.append(item)
        self._verdicts[item] = list(verdicts)

    def add(self, item: PlannedItem, outcome: Outcome) -> list[Record]:
        """Adds the verdicts of an item. One that the earlier part of the run has measured is kept as that says it,
        unless only now it is FAIL; then there is no new record."""
        kept = self._verdicts.setdefault(item, [])
        new: list[Record] = []
        for verdict in outcome.verdicts:
            key = key_of(verdict, outcome.case.plan_id)
            earlier = self._measured.get(key)
            if earlier is not None and (earlier.status is Status.FAIL or verdict.status is not Status.FAIL):
                kept.append(earlier)
            else:
                kept.append(verdict)
                new.append(_in_place_of(self._replaced.get(key), self._record(outcome, verdict)))
        return new


def _in_place_of(earlier: Record | None, record: Record) -> Record:
    """A record that takes the place of an earlier one, if there is one: it is the later one, also where the clock was
    set back in between."""
    if earlier is None:
        return record
    moment = max(record.timestamp, earlier.timestamp + timedelta(microseconds=1))
    return replace(record, replaces=earlier.record_id, timestamp=moment)
