"""Collects the verdicts of a run: what was planned, what came of it, the verdict of each device, port and metric."""

from __future__ import annotations

from collections.abc import Sequence

from .case import Outcome, PlannedItem
from .records import Record, RunLabels, SeriesKey, make_record
from .verdict import MetricVerdict, PortVerdict, Status, combine


class VerdictCollector:
    """Judges a run, once. What was planned and has no verdict is ERROR. It writes nothing: it returns the records."""

    def __init__(self, run: RunLabels) -> None:
        """Nothing is planned yet; `run`: what records carry of a device that is not announced."""
        self._run = run
        self._labels: dict[str, RunLabels] = {}
        self._planned: list[PlannedItem] = []
        self._verdicts: dict[PlannedItem, list[PortVerdict]] = {}

    def announce(self, device: str, labels: RunLabels) -> None:
        """Notes what all records of `device` carry."""
        self._labels[device] = labels

    def plan(self, item: PlannedItem) -> None:
        """Expects verdicts of an item, which was collected."""
        self._planned.append(item)

    def withdraw(self, item: PlannedItem) -> None:
        """Expects no verdicts of an item any more: it is not going to be run after all."""
        self._planned.remove(item)

    def add(self, item: PlannedItem, outcome: Outcome) -> list[Record]:
        """Adds the verdicts of an item; returns the records that are new, and have to be written."""
        self._verdicts.setdefault(item, []).extend(outcome.verdicts)
        return [self._record(outcome, verdict) for verdict in outcome.verdicts]

    def missing(self, item: PlannedItem, cause: str) -> Sequence[Record]:
        """Makes an item ERROR that ended without a verdict, because something around it broke; returns the records,
        which have to be written. Where it has a verdict, nothing changes."""
        if item in self._verdicts:
            return ()
        return self.add(item, Outcome(item.case, item.unmeasured(cause), {}))

    def leave(self, item: PlannedItem, cause: str) -> None:
        """Makes an item ERROR that is left for a run that goes on with this one: it has no record."""
        self._verdicts.setdefault(item, item.unmeasured(cause))

    @property
    def planned(self) -> list[PlannedItem]:
        """Every collected item."""
        return list(self._planned)

    @property
    def unmeasured(self) -> list[PlannedItem]:
        """Planned items that have no verdict yet."""
        return [item for item in self._planned if item not in self._verdicts]

    @property
    def expected(self) -> list[SeriesKey]:
        """Device, port and metric of everything that is planned, in their order."""
        return sorted({(item.device, item.port, metric) for item in self._planned for metric in item.case.metrics})

    def verdicts_of(self, item: PlannedItem) -> list[PortVerdict]:
        """The verdicts of an item so far."""
        return list(self._verdicts.get(item, ()))

    def labels_of(self, device: str) -> RunLabels:
        """What the records of a device carry."""
        return self._labels.get(device, self._run)

    def metric_verdicts(self) -> list[MetricVerdict]:
        """The verdict of each device, port and metric, in the order in which they were planned."""
        return metric_verdicts([verdict for verdicts in self._verdicts.values() for verdict in verdicts])

    def all_passed(self) -> bool:
        """Whether something was measured, and everything that was planned is PASS."""
        found = self.metric_verdicts()
        return bool(found) and not self.unmeasured and all(one.status is Status.PASS for one in found)

    def _record(self, outcome: Outcome, verdict: PortVerdict) -> Record:
        return make_record(self.labels_of(verdict.device), outcome.case, verdict, outcome.evidence)


def metric_verdicts(verdicts: Sequence[PortVerdict]) -> list[MetricVerdict]:
    """Verdicts of scenarios and priorities as one of each device, port and metric, in the order of the first ones."""
    found: dict[SeriesKey, list[PortVerdict]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.device, verdict.port, verdict.metric_name), []).append(verdict)
    return [MetricVerdict(*key, combine(one.status for one in ones), _each_once(ones)) for key, ones in found.items()]


def _each_once(verdicts: Sequence[PortVerdict]) -> list[str]:
    """Every reason for not being PASS."""
    return list(dict.fromkeys(message for verdict in verdicts for message in verdict.messages))
