"""What is not PASS, by what went wrong: the first thing that a reader wants to know."""
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, and_, func, select

from tests.common.pfc.record.verdict import Status

from .. import schema
from ..queries import Rows, counting
from .ports import PortResults

MOST_PLACES = 12
"""Places of a group that are listed; all of them are in the matrix."""
MOST_GROUPS = 60
LONGEST_SHAPE = 200


@dataclass
class Group:
    """Verdicts that are not PASS for one reason: the same check, or, without a check, causes of the same form.

    `places` are the first of them, each with its port, priority, test case, the check's expected and seen, and the
    cause where it says more than these.
    """

    status: Status
    title: str
    count: int = 0
    places: Rows = field(default_factory=list)
    cases: set[tuple[str, str]] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)
    priorities: set[int] = field(default_factory=set)

    def add(self, row: Mapping[str, Any], port: PortResults) -> None:
        """Count a verdict."""
        self.count += 1
        self.ports.add(port.number)
        if row["plan_id"] or row["scenario"]:
            self.cases.add((row["plan_id"], row["scenario"]))
        if row["priority"] is not None:
            self.priorities.add(row["priority"])
        if len(self.places) < MOST_PLACES:
            expected = shown_json(row["expected"])
            seen = shown_json(row["seen"])
            said = f"expected {expected}, got {seen}" in row["cause"]
            self.places.append({**row, "port": port, "expected": expected, "seen": seen,
                                "cause": "" if said else row["cause"]})

    @property
    def columns(self) -> list[str]:
        """Those of expected, seen and cause that say something of one of the places."""
        return [name for name in ("expected", "seen", "cause") if any(place[name] for place in self.places)]


def failures(connection: Connection, run_id: str, ports: Sequence[PortResults]) -> list[Group]:
    """The groups of a run: FAIL before ERROR, those with the most verdicts first; then what was not measured at all."""
    by_series = {series: port for port in ports for series in port.series}
    groups: dict[tuple[Status, str], Group] = {}
    measured: set[str] = set()
    for found in connection.execute(_not_pass(run_id)).mappings():
        row: dict[str, Any] = {**found}
        port = by_series[row["series_id"]]
        measured.add(row["series_id"])
        key = Status(row["status"]), row["name"] or _shape(row["cause"] or "", port)
        title = row["name"] or row["cause"] or ""
        groups.setdefault(key, Group(key[0], title)).add(row, port)
    for row, port in _unmeasured(ports, measured):
        key = Status(row["status"]), f"metric {row['cause']}"
        groups.setdefault(key, Group(key[0], row["cause"])).add(row, port)
    return sorted(groups.values(), key=lambda group: (group.status is not Status.FAIL, -group.count))


def shown_json(text: str | None) -> str:
    """A value that is stored as JSON, as it is shown: a text as it is, all else as JSON."""
    value = None if text is None else json.loads(text)
    return "" if value is None else value if isinstance(value, str) else str(text)


def _unmeasured(ports: Sequence[PortResults], explained: set[str]) -> Iterator[tuple[dict[str, Any], PortResults]]:
    """Metrics that are not PASS although no verdict says so: nothing was measured, or the run has not finished."""
    for port in ports:
        for row in port.metrics:
            if row["status"] != Status.PASS and row["series_id"] not in explained:
                yield {"record_id": "", "priority": None, "plan_id": "", "scenario": "", "expected": None,
                       "seen": None, **{name: row[name] for name in ("metric_name", "status", "cause")}}, port


def _not_pass(run_id: str) -> Select[Any]:
    """The verdicts that are not PASS, each with the first check that decides it."""
    record = schema.records.c
    check = schema.checks.c
    other = schema.checks.alias("other").c
    first = (select(func.min(other.position))
             .where(other.run_id == record.run_id, other.record_id == record.record_id, other.required == 1,
                    other.status == record.status).scalar_subquery())
    return (select(record.record_id, record.series_id, record.priority, record.plan_id, record.scenario,
                   record.metric_name, record.status, record.cause, check.name, check.expected, check.seen)
            .outerjoin_from(schema.records, schema.checks, and_(
                check.run_id == record.run_id, check.record_id == record.record_id, check.position == first))
            .where(record.run_id == run_id, record.status != Status.PASS.value, counting())
            .order_by(record.timestamp, record.record_id))


def _shape(cause: str, port: PortResults) -> str:
    """A cause without what is different from place to place: names of ports and numbers."""
    for name in (port.device_id, port.port_id):
        cause = cause.replace(name, "*") if name else cause
    return "cause " + re.sub(r"[0-9]+", "#", cause)[:LONGEST_SHAPE]
