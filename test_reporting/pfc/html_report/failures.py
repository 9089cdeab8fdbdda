"""What is not PASS, by what went wrong: the first thing that a reader wants to know."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, select

from tests.common.pfc.record.verdict import Status

from .. import schema
from ..defects import Defect
from ..queries import Rows, counting
from .ports import PortResults
from .victims import Loss

MOST_PLACES = 12
"""Places of a group that are listed; all of them are in the matrix."""
MOST_GROUPS = 60
LONGEST_SHAPE = 200
PRIORITIES = re.compile(r"( priorit(y|ies) [0-7](, [0-7])*)?: ")
"""What a sentence has between the port that it is about and what it says."""


@dataclass
class Group:
    """Verdicts that are not PASS for one reason: the same check, or, without a check, causes of the same form.

    `places` are the first of them, each with its port, priority, victims, test case, the check's expected and seen, and
    the cause where it says more than these; `priorities` are those that lost, not those that were paused.
    """

    status: Status
    title: str
    count: int = 0
    places: Rows = field(default_factory=list)
    cases: set[tuple[str, str]] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)
    builds: set[tuple[str, str, str]] = field(default_factory=set)
    priorities: set[int] = field(default_factory=set)

    def add(self, row: Mapping[str, Any], port: PortResults, loss: Loss | None) -> None:
        """Count a verdict; `loss`: what its checks come to, None: it has none."""
        self.count += 1
        self.ports.add(port.number)
        self.builds |= {(port.device_id, metric["hwsku"], metric["os_version"]) for metric in port.metrics}
        if row["plan_id"] or row["scenario"]:
            self.cases.add((row["plan_id"], row["scenario"]))
        victims = port.shown_at(row["record_id"], row["priority"])
        self.priorities |= {priority for priority in victims if priority is not None}
        if len(self.places) < MOST_PLACES:
            says_so = loss is not None and f"expected {loss.expected}, got " in row["cause"]
            said = says_so or row["record_id"] in port.victims
            self.places.append({
                **row, "port": port, "victims": victims, "expected": loss.expected if loss else "",
                "seen": loss.seen if loss else "", "at": loss.place if loss else "",
                "cause": "" if said else row["cause"]})

    def known_as(self, defects: Sequence[Defect]) -> Defect | None:
        """The known defect that all of it is of; None: there is none."""
        plan_ids = sorted({plan_id for plan_id, _ in self.cases})
        return next((one for one in defects if self.cases and self.status is Status.FAIL
                     and all(one.covers(self.title, plan_ids, *build) for build in self.builds)), None)

    @property
    def columns(self) -> list[str]:
        """Those of expected, seen and cause that say something of one of the places."""
        return [name for name in ("expected", "seen", "cause") if any(place[name] for place in self.places)]


def failures(connection: Connection, run_id: str, ports: Sequence[PortResults],
             losses: Mapping[str, Loss]) -> list[Group]:
    """The groups of a run: FAIL before ERROR, those with the most verdicts first; then what was not measured at all."""
    by_series = {series: port for port in ports for series in port.series}
    groups: dict[tuple[Status, str], Group] = {}
    measured: set[str] = set()
    causes = _named_causes(_rows(connection, run_id), by_series, losses)
    for row in _rows(connection, run_id):
        port = by_series[row["series_id"]]
        measured.add(row["series_id"])
        loss = losses.get(row["record_id"])
        reason = _without_place(row["cause"] or "", port)
        shape = _shape(reason, port)
        name = loss.name if loss else causes.get((row["status"], shape), "")
        key = Status(row["status"]), name or shape
        groups.setdefault(key, Group(key[0], name or reason)).add(row, port, loss)
    for row, port in _unmeasured(ports, measured):
        key = Status(row["status"]), f"metric {row['cause']}"
        groups.setdefault(key, Group(key[0], row["cause"])).add(row, port, None)
    return sorted(groups.values(), key=lambda group: (group.status is not Status.FAIL, -group.count))


def _rows(connection: Connection, run_id: str) -> Iterator[dict[str, Any]]:
    """The verdicts that are not PASS, one by one: there may be very many."""
    return ({**row} for row in connection.execute(_not_pass(run_id)).mappings())


def _named_causes(rows: Iterable[Mapping[str, Any]], by_series: Mapping[str, PortResults],
                  losses: Mapping[str, Loss]) -> dict[tuple[str, str], str]:
    """The check that a cause is of, by status and the form of the cause: of what one check found the verdicts of other
    metrics have the cause alone."""
    found = {}
    for row in rows:
        loss = losses.get(row["record_id"])
        if loss is not None and row["cause"]:
            port = by_series[row["series_id"]]
            found[row["status"], _shape(_without_place(row["cause"], port), port)] = loss.name
    return found


def _unmeasured(ports: Sequence[PortResults], explained: set[str]) -> Iterator[tuple[dict[str, Any], PortResults]]:
    """Metrics that are not PASS although no verdict says so: nothing was measured, or the run has not finished."""
    for port in ports:
        for row in port.metrics:
            if row["status"] != Status.PASS and row["series_id"] not in explained:
                yield {"record_id": "", "priority": None, "plan_id": "", "scenario": "",
                       **{name: row[name] for name in ("metric_name", "status", "cause")}}, port


def _not_pass(run_id: str) -> Select[Any]:
    """The verdicts that are not PASS."""
    record = schema.records.c
    return (select(record.record_id, record.series_id, record.priority, record.plan_id, record.scenario,
                   record.metric_name, record.status, record.cause)
            .where(record.run_id == run_id, record.status != Status.PASS.value, counting())
            .order_by(record.timestamp, record.record_id))


def _without_place(cause: str, port: PortResults) -> str:
    """A cause without the port and the priorities that it begins with: the page names them beside it."""
    name = f"{port.device_id} {port.port_id}"
    found = PRIORITIES.match(cause, len(name)) if cause.startswith(name) else None
    return cause if found is None else cause[found.end():]


def _shape(cause: str, port: PortResults) -> str:
    """A cause without what is different from place to place: names of ports and numbers."""
    for name in (port.device_id, port.port_id):
        cause = cause.replace(name, "*") if name else cause
    return "cause " + re.sub(r"[0-9]+", "#", cause)[:LONGEST_SHAPE]
