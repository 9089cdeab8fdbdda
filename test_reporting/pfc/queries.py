"""Questions to the database. Rows come back as plain mappings, in the order a reader expects (Ethernet8 before 16)."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from . import schema
from .errors import StoreError
from .record import VERDICT, format_moment
from .run import QUALIFICATION
from .store import storable
from .verdict import Status, Verdict, aggregate

Rows = list[dict[str, Any]]
JSON_COLUMNS = frozenset({"labels", "evidence", "extra", "expected", "seen", "info"})


def list_runs(connection: Connection, limit: int) -> Rows:
    """The latest runs, the newest last, each with how many of its metrics are PASS, FAIL and ERROR."""
    table = schema.runs.c
    newest = connection.execute(select(schema.runs).order_by(table.started.desc(), table.run_id)
                                .limit(limit)).mappings().all()
    return [{**run, **_counts(connection, run["run_id"])} for run in reversed(newest)]


def find_run(connection: Connection, run_id: str | None = None) -> dict[str, Any]:
    """One run: the one named, or the latest qualification.

    Raises:
        StoreError: there is none of that name, or none at all; the sentence names the latest ones.
    """
    table = schema.runs.c
    wanted = table.origin == QUALIFICATION if run_id is None else table.run_id == storable(run_id)
    query = select(schema.runs).where(wanted).order_by(table.started.desc(), table.run_id).limit(1)
    found = connection.execute(query).mappings().one_or_none()
    if found:
        return dict(found)
    latest = [run["run_id"] for run in list_runs(connection, 5)]
    asked = "no qualification run" if run_id is None else f"no run '{run_id}'"
    there = f"; the latest are {', '.join(latest)}" if latest else ", it is empty"
    raise StoreError(f"the database has {asked}{there}")


def run_verdict(connection: Connection, run: Mapping[str, Any]) -> Verdict:
    """The verdict of a run; of one that has not finished, of what there is so far (never PASS)."""
    if run["status"] is not None:
        return Verdict(Status(run["status"]), run["cause"])
    rows = [row for row in metric_rows(connection, run["run_id"]) if row["status"] is not None]
    return aggregate((Verdict(Status(row["status"]), row["cause"]) for row in rows), finished=False)


def metric_rows(connection: Connection, run_id: str | None = None) -> Rows:
    """The rows of `metrics`, of one run or of all."""
    found = connection.execute(select(schema.metrics).where(*_of_run(schema.metrics.c.run_id, run_id))
                               .order_by(schema.metrics.c.timestamp)).mappings()
    return sorted(map(_plain, found), key=lambda row: [
        row["run_id"], *(natural(row[name]) for name in ("device_id", "port_id", "metric_name"))])


def record_rows(connection: Connection, run_id: str) -> Rows:
    """The records of a run in the order of their time, each with its `checks`."""
    checks: dict[str, Rows] = {}
    for row in connection.execute(select(schema.checks).where(schema.checks.c.run_id == run_id)
                                  .order_by(schema.checks.c.record_id, schema.checks.c.position)).mappings():
        checks.setdefault(row["record_id"], []).append(_plain(row))
    found = connection.execute(select(schema.records).where(schema.records.c.run_id == run_id)
                               .order_by(schema.records.c.timestamp, schema.records.c.record_id)).mappings()
    return [{**_plain(row), "checks": checks.get(row["record_id"], [])} for row in found]


def failed_checks(connection: Connection, run_id: str) -> Rows:
    """The required checks of a run that are not PASS, each with device, port, priority and scenario of its record."""
    records, checks = schema.records.c, schema.checks.c
    found = connection.execute(
        select(schema.checks, records.device_id, records.port_id, records.priority, records.scenario)
        .join_from(schema.checks, schema.records)
        .where(checks.run_id == run_id, checks.status != Status.PASS.value, checks.required == 1)
        .order_by(records.timestamp, records.record_id, checks.position)).mappings()
    return [_plain(row) for row in found]


def unexplained_records(connection: Connection, run_id: str) -> Rows:
    """The verdict records of a run that are not PASS although no check says why: their cause does."""
    records, checks = schema.records.c, schema.checks.c
    explained = select(checks.record_id).where(checks.run_id == run_id, checks.status != Status.PASS.value,
                                               checks.required == 1)
    found = connection.execute(
        select(schema.records)
        .where(records.run_id == run_id, records.kind == VERDICT, records.status != Status.PASS.value,
               records.record_id.not_in(explained))
        .order_by(records.timestamp, records.record_id)).mappings()
    return [_plain(row) for row in found]


def run_rows(connection: Connection, run_id: str | None = None) -> Rows:
    """The rows of `runs`, of one run or of all."""
    found = connection.execute(select(schema.runs).where(*_of_run(schema.runs.c.run_id, run_id))
                               .order_by(schema.runs.c.started, schema.runs.c.run_id)).mappings()
    return [_plain(row) for row in found]


def natural(text: str) -> list[tuple[int, str]]:
    """A sort key that puts Ethernet8 before Ethernet16."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", text)]


def _of_run(column: ColumnElement[Any], run_id: str | None) -> list[ColumnElement[bool]]:
    return [] if run_id is None else [column == run_id]


def _counts(connection: Connection, run_id: str) -> dict[str, int]:
    table = schema.metrics.c
    found = connection.execute(select(table.status, func.count())
                               .where(table.run_id == run_id, table.status.is_not(None)).group_by(table.status)).all()
    return {str(status): 0 for status in Status} | {row[0]: row[1] for row in found}


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row with its JSON columns read and its times written."""
    return {name: json.loads(value) if name in JSON_COLUMNS else
            format_moment(value) if hasattr(value, "utcoffset") else value for name, value in row.items()}
