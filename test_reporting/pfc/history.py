"""Questions about several runs: what differs between two, and how a testbed did over time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (ColumnElement, Connection, Integer, Select, and_, case, cast, func, literal, null, select,
                        union_all)

from tests.common.pfc.record.run import QUALIFICATION
from tests.common.pfc.record.verdict import Status

from . import schema
from .queries import Rows, counted, counting, natural, plain
from .sql_rows import series_id, sql_text

PLACE = ("device_id", "port_id", "priority", "plan_id", "scenario", "metric_name")
RANK = (Status.PASS, Status.ERROR, Status.FAIL)
"""Of several records of one place the worst is its status."""
FLAKY_RUNS = 10


@dataclass(frozen=True)
class Selection:
    """Which metrics a trend is about; an empty text: all."""

    testbed: str = ""
    device_id: str = ""
    port_id: str = ""
    metric_name: str = ""


def differences(connection: Connection, before: str, after: str) -> Rows:
    """Where two runs differ, in the order of ports: `change`, `before`, `after` (None: not measured), and the place.

    `change` is "new failure", "fixed", "could not be measured", "measured again", "gone" or "new"; `flaky` says whether
    that metric of the port was both PASS and FAIL in the latest runs of the testbed with one and the same build.
    """
    found = connection.execute(_differing(sql_text(before), sql_text(after))).all()
    unsteady = flaky_series(connection, sql_text(after)) if found else set()
    rows = [{**{name: getattr(row, name) for name in PLACE}, "before": _status(row.before), "after": _status(row.after),
             "change": _change(_status(row.before), _status(row.after)), "flaky": row.series_id in unsteady}
            for row in found]
    return sorted(rows, key=lambda row: [natural("" if row[name] is None else str(row[name])) for name in PLACE])


def flaky_series(connection: Connection, run_id: str, runs: int = FLAKY_RUNS) -> set[str]:
    """The `series_id` of each device, port and metric that was both PASS and FAIL in the latest runs.

    Args:
        connection: to the database.
        run_id: runs of this one's testbed, up to and with it, are looked at.
        runs: how many.
    """
    table = schema.runs.c
    metrics = schema.metrics.c
    this = connection.execute(select(table.testbed, table.started).where(table.run_id == run_id)).one()
    latest = (select(table.run_id).where(table.testbed == this.testbed, table.started <= this.started,
                                         table.finished.is_not(None), table.origin == QUALIFICATION)
              .order_by(table.started.desc()).limit(runs))
    query = (select(metrics.series_id).where(metrics.run_id.in_(latest), metrics.status.in_(("PASS", "FAIL")))
             .group_by(metrics.series_id, metrics.os_version).having(func.count(metrics.status.distinct()) > 1))
    return set(connection.scalars(query))


def trend(connection: Connection, selection: Selection, limit: int) -> Rows:
    """The latest qualifications, the newest last: each with how many of the selected metrics are PASS, FAIL, ERROR."""
    table = schema.runs.c
    query = select(schema.runs).where(table.origin == QUALIFICATION).order_by(table.started.desc(), table.run_id)
    if selection.testbed:
        query = query.where(table.testbed == sql_text(selection.testbed))
    runs = connection.execute(query.limit(limit)).mappings().all()
    ids = [run["run_id"] for run in runs]
    by_run = _by_run(connection, ids, selection)
    found = connection.execute(
        select(schema.metrics.c.run_id, func.max(schema.metrics.c.os_version))
        .where(schema.metrics.c.run_id.in_(ids), schema.metrics.c.status.is_not(None))
        .group_by(schema.metrics.c.run_id)).all()
    builds = {row[0]: row[1] for row in found}
    return [{**plain(run), "os_version": builds.get(run["run_id"], ""), **counted(by_run.get(run["run_id"], []))}
            for run in reversed(runs)]


def numbers(connection: Connection, selection: Selection, limit: int) -> Rows:
    """The latest values of metrics that are numbers, the newest last, with `run_id`, place, `timestamp`, `unit`."""
    table = schema.metrics.c
    query = (select(table.run_id, table.device_id, table.port_id, table.metric_name, table.timestamp, table.value,
                    table.unit).where(table.status.is_(None), *_selected(selection))
             .order_by(table.timestamp.desc(), table.metric_id).limit(limit))
    if selection.testbed:
        query = query.where(table.testbed == sql_text(selection.testbed))
    return [plain(row) for row in reversed(connection.execute(query).mappings().all())]


def _by_run(connection: Connection, ids: Sequence[str], selection: Selection) -> dict[str, list[tuple[str, int]]]:
    table = schema.metrics.c
    found = connection.execute(
        select(table.run_id, table.status, func.count())
        .where(table.run_id.in_(ids), table.status.is_not(None), *_selected(selection))
        .group_by(table.run_id, table.status)).all()
    by_run: dict[str, list[tuple[str, int]]] = {}
    for row in found:
        by_run.setdefault(row[0], []).append((row[1], row[2]))
    return by_run


def _selected(selection: Selection) -> list[Any]:
    given = {name: sql_text(getattr(selection, name)) for name in ("device_id", "port_id", "metric_name")}
    if all(given.values()):  # an index finds these
        return [schema.metrics.c.series_id == series_id(**given)]
    return [schema.metrics.c[name] == text for name, text in given.items() if text]


def _differing(before: str, after: str) -> Select[Any]:
    """One pass over the records of both runs: the worst status of each place in either, where they are not the same."""
    table = schema.records.c
    rank = case({status.value: number for number, status in enumerate(RANK)}, value=table.status)
    place = [table.series_id, *(table[name] for name in PLACE)]
    nothing = cast(null(), Integer)
    both = union_all(
        select(*place, rank.label("before"), nothing.label("after")).where(_counting(before)),
        select(*place, nothing.label("before"), rank.label("after")).where(_counting(after))).subquery()
    worst = {name: func.max(both.c[name]) for name in ("before", "after")}
    # series_id stands for device, port and metric, which are long to compare; they are the same within it
    keys = [both.c[name] for name in ("series_id", "priority", "plan_id", "scenario")]
    texts = [func.min(both.c[name]).label(name) for name in ("device_id", "port_id", "metric_name")]
    query = (select(*keys, *texts, *(value.label(name) for name, value in worst.items())).group_by(*keys)
             .having(func.coalesce(worst["before"], literal(-1)) != func.coalesce(worst["after"], literal(-1))))
    return query


def _counting(run_id: str) -> ColumnElement[bool]:
    return and_(schema.records.c.run_id == run_id, counting())


def _status(rank: int | None) -> Status | None:
    return None if rank is None else RANK[rank]


def _change(before: Status | None, after: Status | None) -> str:
    if after is Status.FAIL:
        return "new failure"
    if after is Status.ERROR:
        return "could not be measured"
    if after is None:
        return "gone"
    return {None: "new", Status.FAIL: "fixed", Status.ERROR: "measured again"}[before]
