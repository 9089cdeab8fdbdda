"""Collects the outcomes of a session: writes their records, adds up the verdict of each device, port and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .case import PlanCase, named
from .outcome import Outcome
from .records import RecordsUnwritable, RecordWriter, RunLabels, make_record
from .verdict import PortVerdict, Status, combine

VerdictKey = tuple[str, str, str, int | None, str]  # device, port, plan id, priority (None: the whole port), metric


@dataclass(frozen=True)
class Planned:
    """One item that the session means to run: it must end in a verdict for each metric and each priority of its target
    (none: of the whole port)."""

    device: str
    port: str
    target: tuple[int, ...]
    case: PlanCase

    def keys(self) -> list[VerdictKey]:
        """What it has one verdict each of."""
        return [(self.device, self.port, self.case.plan_id, priority, metric)
                for priority in self.target or (None,) for metric in self.case.metrics]

    @property
    def where(self) -> str:
        """`vtb-t0-01 Ethernet8 priority 3`, for messages."""
        return f"{self.device} {self.port}" + (f" {named(self.target)}" if self.target else "")


@dataclass(frozen=True)
class MetricResult:
    """The verdict of one metric of one device and port, over all scenarios and priorities, with every reason for not
    being PASS."""

    device: str
    port: str
    metric_name: str
    status: Status
    messages: list[str] = field(default_factory=list)


class Listener:
    """Hears every outcome. What was planned and never heard of is ERROR."""

    def __init__(self, writer: RecordWriter | None, run: RunLabels) -> None:
        """Args:
        writer: None: keep no records.
        run: what records carry of a device that is not announced."""
        self._writer = writer
        self._run = run
        self._labels: dict[str, RunLabels] = {}
        self._planned: list[Planned] = []
        self._verdicts: dict[Planned, list[PortVerdict]] = {}
        self._replaced: dict[VerdictKey, str] = {}
        self._standing: dict[VerdictKey, PortVerdict] = {}
        self.records: list[dict[str, Any]] = []
        self.lost: list[str] = []

    def announce(self, device: str, labels: RunLabels) -> None:
        """What all records of `device` carry."""
        self._labels[device] = labels

    def plan(self, planned: Planned) -> None:
        """An item was collected."""
        self._planned.append(planned)

    def withdraw(self, planned: Planned) -> None:
        """A collected item is not going to be run after all."""
        self._planned.remove(planned)

    def hear(self, planned: Planned, outcome: Outcome) -> list[PortVerdict]:
        """An item has verdicts: their records are on the disk when this returns, or `lost` says why not. One that an
        earlier part of the run has a measured verdict of is kept as that says it, unless only now it is FAIL.

        Returns:
            The verdicts as they are kept.
        """
        kept, new = list[PortVerdict](), list[PortVerdict]()
        for verdict in outcome.verdicts:
            earlier = self._standing.get(verdict_key(outcome.case, verdict))
            if earlier is not None and (earlier.status is Status.FAIL or verdict.status is not Status.FAIL):
                kept.append(earlier)
            else:
                kept.append(verdict)
                new.append(verdict)
        self._verdicts.setdefault(planned, []).extend(kept)
        self._write(replace(outcome, verdicts=new))
        return kept

    def recall(self, planned: Planned, verdicts: Sequence[PortVerdict]) -> None:
        """An item had its verdicts in an earlier part of the run, which keeps their records."""
        self._planned.append(planned)
        self._verdicts[planned] = list(verdicts)

    def replace(self, earlier: Mapping[VerdictKey, str]) -> None:
        """Records of an earlier part of the run that were ERROR: those of the next try take their places."""
        self._replaced = dict(earlier)

    def stand_by(self, earlier: Mapping[VerdictKey, PortVerdict]) -> None:
        """Verdicts of an earlier part of the run that were measured, also those of items that are measured again for
        the sake of another verdict: they have their records."""
        self._standing = dict(earlier)

    def miss(self, planned: Planned, cause: str, keep: bool = True) -> None:
        """An item ended without a verdict of its own, because something around it broke. Later causes add nothing.

        Args:
            planned: the item.
            cause: what broke.
            keep: whether that is recorded; else the item is left for a run that goes on with this one.
        """
        if planned in self._verdicts:
            return
        verdicts = [
            PortVerdict(planned.device, planned.port, priority, metric, [], cause)
            for priority in planned.target or (None,)
            for metric in planned.case.metrics
        ]
        if keep:
            self.hear(planned, Outcome(planned.case, verdicts, {}))
        else:
            self._verdicts[planned] = verdicts

    @property
    def planned(self) -> list[Planned]:
        """Every collected item."""
        return list(self._planned)

    @property
    def unheard(self) -> list[Planned]:
        """Planned items that have no verdict yet."""
        return [planned for planned in self._planned if planned not in self._verdicts]

    def results(self) -> list[MetricResult]:
        """The verdict of each device, port and metric, in the order in which they were planned."""
        verdicts: dict[tuple[str, str, str], list[PortVerdict]] = {}
        for heard in self._verdicts.values():
            for verdict in heard:
                verdicts.setdefault((verdict.device, verdict.port, verdict.metric_name), []).append(verdict)
        return [
            MetricResult(*key, combine(one.status for one in ones), _unique(ones)) for key, ones in verdicts.items()
        ]

    def all_passed(self) -> bool:
        """Whether something was measured, everything planned is PASS, and no record was lost."""
        results = self.results()
        complete = bool(results) and not self.unheard and not self.lost
        return complete and all(result.status is Status.PASS for result in results)

    def _write(self, outcome: Outcome) -> None:
        records = [
            make_record(self._labels.get(verdict.device, self._run), outcome.case, verdict, outcome.evidence,
                        self._replaced.get(verdict_key(outcome.case, verdict)))
            for verdict in outcome.verdicts
        ]
        self.records += records
        if self._writer is None:
            return
        try:
            self._writer.write(records)
        except RecordsUnwritable as error:
            self.lost.append(str(error))


def verdict_key(case: PlanCase, verdict: PortVerdict) -> VerdictKey:
    """What an item has one verdict of."""
    return verdict.device, verdict.port, case.plan_id, verdict.priority, verdict.metric_name


def _unique(verdicts: list[PortVerdict]) -> list[str]:
    return list(dict.fromkeys(message for verdict in verdicts for message in verdict.messages))
