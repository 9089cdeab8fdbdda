"""Questions to the database. Rows come back as plain mappings, in the order a reader expects (Ethernet8 before 16)."""
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, or_, select

from tests.common.pfc.record.records import VERDICT, format_moment
from tests.common.pfc.record.run import QUALIFICATION
from tests.common.pfc.record.effective_records import Verdict, aggregate
from tests.common.pfc.record.verdict import Status

from . import schema
from .errors import StoreError
from .sql_rows import sql_text

Rows = list[dict[str, Any]]
JSON_COLUMNS = frozenset({"labels", "evidence", "extra", "expected", "seen", "info", "deviations", "faults"})


def list_runs(connection: Connection, limit: int) -> Rows:
    """The latest runs, the newest last, each with how many of its metrics are PASS, FAIL and ERROR."""
    table = schema.runs.c
    newest = connection.execute(select(schema.runs).order_by(table.started.desc(), table.run_id)
                                .limit(limit)).mappings().all()
    return [{**run, **_metric_counts(connection, run["run_id"])} for run in reversed(newest)]


def find_run(connection: Connection, run_id: str | None = None) -> dict[str, Any]:
    """One run: the one named, or the latest qualification.

    Raises:
        StoreError: there is none of that name, or none at all; the sentence names the latest ones.
    """
    table = schema.runs.c
    wanted = table.origin == QUALIFICATION if run_id is None else table.run_id == sql_text(run_id)
    query = select(schema.runs).where(wanted).order_by(table.started.desc(), table.run_id).limit(1)
    found = connection.execute(query).mappings().one_or_none()
    if found:
        return dict(found)
    latest = [run["run_id"] for run in list_runs(connection, 5)]
    asked = "no qualification run" if run_id is None else f"no run '{run_id}'"
    there = f"; the latest are {', '.join(latest)}" if latest else ", it is empty"
    raise StoreError(f"the database has {asked}{there}")


def runs_of(connection: Connection, name: str | None = None) -> Rows:
    """The runs that a user names: one by its id, all of a job by the job's id, or the latest qualification.

    Raises:
        StoreError: there is none.
    """
    table = schema.runs.c
    if name is not None:
        found = connection.execute(
            select(schema.runs).where(or_(table.job_id == sql_text(name), table.run_id == sql_text(name)))
            .order_by(table.started, table.run_id)).mappings().all()
        own = [dict(run) for run in found if run["run_id"] == sql_text(name)]
        if found:
            return own or [dict(run) for run in found]
    return [find_run(connection, name)]


def faults_of(run: Mapping[str, Any]) -> list[str]:
    """What was broken on purpose in the testbed of a run: of its row of `runs`, as it is stored or `plain`."""
    faults: list[str] = json.loads(run["faults"]) if isinstance(run["faults"], str) else run["faults"]
    return faults


def diagnosis_of(run: Mapping[str, Any]) -> str:
    """What the failed checks of a run come to, of its row as of `faults_of`; empty: nothing was said."""
    info = json.loads(run["info"]) if isinstance(run["info"], str) else run["info"]
    said = info.get("diagnosis", "")
    return said if isinstance(said, str) else json.dumps(said)


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
    return sorted(map(plain, found), key=lambda row: [
        row["run_id"], *(natural(row[name]) for name in ("device_id", "port_id", "metric_name"))])


def record_rows(connection: Connection, run_id: str) -> Rows:
    """The records of a run in the order of their time, each with its `checks`.

    `counts`: it is a verdict, and no ERROR that was tried again.
    """
    return _records(connection, [schema.records.c.run_id == sql_text(run_id)])


def port_records(connection: Connection, run_id: str, device_id: str, port_id: str) -> Rows:
    """As `record_rows`, of one port: a run may have more records than fit into memory, a port has some hundred."""
    metrics = schema.metrics.c
    records = schema.records.c
    series = select(metrics.series_id).where(metrics.run_id == sql_text(run_id), metrics.port_id == sql_text(port_id),
                                             metrics.device_id == sql_text(device_id))
    return _records(connection, [records.run_id == sql_text(run_id), records.series_id.in_(series)])


def _records(connection: Connection, wanted: Sequence[ColumnElement[bool]]) -> Rows:
    records = schema.records.c
    checks: dict[str, Rows] = {}
    those = select(records.record_id).where(*wanted)  # not a join: that would read every check of the run
    for row in connection.execute(select(schema.checks).where(schema.checks.c.record_id.in_(those))
                                  .order_by(schema.checks.c.record_id, schema.checks.c.position)).mappings():
        checks.setdefault(row["record_id"], []).append(plain(row))
    found = connection.execute(select(schema.records, counting().label("counts")).where(*wanted)
                               .order_by(records.timestamp, records.record_id)).mappings()
    return [{**plain(row), "checks": checks.get(row["record_id"], [])} for row in found]


def failed_checks(connection: Connection, run_id: str) -> Rows:
    """The required checks of a run that are not PASS, each with device, port, priority and scenario of its record."""
    records = schema.records.c
    checks = schema.checks.c
    found = connection.execute(
        select(schema.checks, records.device_id, records.port_id, records.priority, records.scenario)
        .join_from(schema.checks, schema.records)
        .where(checks.run_id == run_id, checks.status != Status.PASS.value, checks.required == 1, counting())
        .order_by(records.timestamp, records.record_id, checks.position)).mappings()
    return [plain(row) for row in found]


def unexplained_records(connection: Connection, run_id: str) -> Rows:
    """The verdict records of a run that are not PASS although no check says why: their cause does."""
    records = schema.records.c
    checks = schema.checks.c
    explained = select(checks.record_id).where(checks.run_id == run_id, checks.status != Status.PASS.value,
                                               checks.required == 1)
    found = connection.execute(
        select(schema.records)
        .where(records.run_id == run_id, counting(), records.status != Status.PASS.value,
               records.record_id.not_in(explained))
        .order_by(records.timestamp, records.record_id)).mappings()
    return [plain(row) for row in found]


def matrix(connection: Connection, run_id: str) -> Rows:
    """The verdicts of a run by device, port and priority (None: of all together), in the order of ports.

    Each row has `status` (FAIL if any record is, else ERROR if any, else PASS) and how many are PASS, FAIL, ERROR. A
    metric that was expected and not measured is in no row; a run that has not finished is not PASS whatever they say.
    """
    table = schema.records.c
    place = [table.device_id, table.on_behalf_of, table.port_id, table.priority]
    numbers = [func.sum(case((table.status == status.value, 1), else_=0)).label(status.value) for status in Status]
    found = connection.execute(select(*place, *numbers).where(table.run_id == sql_text(run_id), counting())
                               .group_by(table.series_id, *place)).mappings()
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found:
        cell = cells.setdefault(tuple(row[column.name] for column in place), {**row, **counted([])})
        for status in Status:
            cell[status.value] += row[status.value]
    worst = ({**cell, "status": next((status for status in (Status.FAIL, Status.ERROR) if cell[status]), Status.PASS)}
             for cell in cells.values())
    return sorted(worst, key=lambda cell: [*(natural(cell[name]) for name in ("device_id", "port_id")),
                                           -1 if cell["priority"] is None else cell["priority"]])


def run_rows(connection: Connection, run_id: str | None = None) -> Rows:
    """The rows of `runs`, of one run or of all."""
    found = connection.execute(select(schema.runs).where(*_of_run(schema.runs.c.run_id, run_id))
                               .order_by(schema.runs.c.started, schema.runs.c.run_id)).mappings()
    return [plain(row) for row in found]


def natural(text: str) -> list[tuple[int, str]]:
    """A sort key that puts Ethernet8 before Ethernet16."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", text)]


def _of_run(column: ColumnElement[Any], run_id: str | None) -> list[ColumnElement[bool]]:
    return [] if run_id is None else [column == run_id]


def counted(found: Iterable[tuple[str, int]]) -> dict[str, int]:
    """How many are PASS, FAIL and ERROR."""
    return {str(status): 0 for status in Status} | dict(found)


def counting() -> ColumnElement[bool]:
    """SQL of `effective_records`: a verdict, and no ERROR that was tried again later."""
    record = schema.records.c
    again = schema.records.alias("again").c
    tried_again = (select(literal(1)).where(again.run_id == record.run_id, again.replaces == record.record_id,
                                            again.series_id == record.series_id, again.timestamp > record.timestamp)
                   .exists())
    return and_(record.kind == VERDICT, or_(record.status != Status.ERROR.value, ~tried_again))


def plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row with its JSON columns read, its times written, and whole numbers as such (PostgreSQL has doubles)."""
    return {name: _plain_value(name, value) for name, value in row.items()}


def _metric_counts(connection: Connection, run_id: str) -> dict[str, int]:
    table = schema.metrics.c
    found = connection.execute(select(table.status, func.count())
                               .where(table.run_id == run_id, table.status.is_not(None)).group_by(table.status)).all()
    return counted((row[0], row[1]) for row in found)


def _in_order(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with its keys in the same order, whichever database it comes from."""
    return dict(sorted(pairs))


def _plain_value(name: str, value: Any) -> Any:
    if name in JSON_COLUMNS:
        return json.loads(value, object_pairs_hook=_in_order)
    if isinstance(value, datetime):
        return format_moment(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
