"""Questions about several runs: what differs between two, and how a testbed did over time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (ColumnElement, Connection, Integer, Select, and_, case, cast, func, literal, null, select,
                        tuple_, union_all)

from tests.common.pfc.record.records import VERDICT
from tests.common.pfc.record.run import QUALIFICATION
from tests.common.pfc.record.verdict import Status

from . import schema
from .queries import Rows, counted, counting, natural, plain
from .sql_rows import series_id, sql_text

PLACE = ("device_id", "port_id", "priority", "plan_id", "scenario", "metric_name")
RANK = (Status.PASS, Status.ERROR, Status.FAIL)
"""Of several records of one place the worst is its status."""
FLAKY_RUNS = 10
FLAKY_CHANGES = 2
"""A verdict that changed so often with one build has come back."""
CaseKey = tuple[str, int | None, str, str]  # series_id, priority, plan id, scenario


@dataclass(frozen=True)
class Selection:
    """Which metrics a trend is about; an empty text: all. `with_broken`: also of runs on a testbed that was broken on
    purpose."""

    testbed: str = ""
    device_id: str = ""
    port_id: str = ""
    metric_name: str = ""
    with_broken: bool = False


def differences(connection: Connection, before: str, after: str) -> Rows:
    """Where two runs differ, in the order of ports: `change`, `before`, `after` (None: not measured), and the place.

    `change` is "new failure", "fixed", "could not be measured", "measured again", "gone" or "new"; `flaky` says whether
    the verdict of that place came back in the latest runs of the testbed (`flaky_cases`).
    """
    found = connection.execute(_differing(sql_text(before), sql_text(after))).all()
    unsteady = flaky_cases(connection, sql_text(after)) if found else set()
    rows = [{**{name: getattr(row, name) for name in PLACE}, "before": _status(row.before), "after": _status(row.after),
             "change": _change(_status(row.before), _status(row.after)),
             "flaky": (row.series_id, row.priority, row.plan_id, row.scenario) in unsteady} for row in found]
    return sorted(rows, key=lambda row: [natural("" if row[name] is None else str(row[name])) for name in PLACE])


def flaky_cases(connection: Connection, run_id: str, runs: int = FLAKY_RUNS) -> set[CaseKey]:
    """The test cases of ports (and priorities) whose verdict came back in the latest runs of one build: PASS, FAIL,
    PASS, or FAIL, PASS, FAIL. A new build begins anew, ERROR is neither, and runs on a testbed that was broken on
    purpose are left out.

    Args:
        connection: to the database.
        run_id: runs of this one's testbed, up to and with it, are looked at.
        runs: how many.
    """
    verdicts = _verdicts(_latest(connection, run_id, runs)).subquery()
    case_columns = [verdicts.c[name] for name in ("series_id", "priority", "plan_id", "scenario")]
    one_build = [*case_columns, verdicts.c.os_version]
    before = func.lag(verdicts.c.rank).over(partition_by=one_build, order_by=[verdicts.c.started, verdicts.c.run_id])
    steps = select(*one_build, verdicts.c.rank, before.label("before")).subquery()
    names = [steps.c[column.name] for column in case_columns]
    query = (select(*names).where(steps.c.before != steps.c.rank).group_by(*names, steps.c.os_version)
             .having(func.count() >= FLAKY_CHANGES))
    return {(row.series_id, row.priority, row.plan_id, row.scenario) for row in connection.execute(query)}


def flaky_series(connection: Connection, run_id: str, runs: int = FLAKY_RUNS) -> set[str]:
    """The `series_id` of each device, port and metric that has a flaky test case; arguments as of `flaky_cases`."""
    return {case_key[0] for case_key in flaky_cases(connection, run_id, runs)}


def _latest(connection: Connection, run_id: str, runs: int) -> Select[Any]:
    """The ids of the latest runs of a run's testbed that say something of its switches."""
    table = schema.runs.c
    this = connection.execute(select(table.testbed, table.started).where(table.run_id == run_id)).one()
    return (select(table.run_id).where(table.testbed == this.testbed, table.started <= this.started,
                                       table.finished.is_not(None), table.origin == QUALIFICATION,
                                       table.faults == schema.NO_FAULTS)
            .order_by(table.started.desc(), table.run_id.desc()).limit(runs))


def _verdicts(latest: Select[Any]) -> Select[Any]:
    """PASS or FAIL (as a place in `RANK`) of each test case in each of these runs, of those that failed in any."""
    table = schema.records.c
    failed = select(schema.metrics.c.series_id).where(schema.metrics.c.run_id.in_(latest),
                                                      schema.metrics.c.status == Status.FAIL.value)
    looked_at = and_(table.run_id.in_(latest), table.series_id.in_(failed), table.kind == VERDICT)
    place = [table.series_id, func.coalesce(table.priority, literal(-1)), table.plan_id, table.scenario]
    failing = select(*place).where(looked_at, table.status == Status.FAIL.value)
    keys = [table[name] for name in ("run_id", "series_id", "priority", "plan_id", "scenario", "os_version")]
    rank = func.max(_rank())
    return (select(*keys, schema.runs.c.started, rank.label("rank"))
            .join(schema.runs, schema.runs.c.run_id == table.run_id)
            .where(looked_at, counting(), tuple_(*place).in_(failing))
            .group_by(*keys, schema.runs.c.started).having(rank != RANK.index(Status.ERROR)))


def trend(connection: Connection, selection: Selection, limit: int) -> Rows:
    """The latest qualifications, the newest last: each with how many of the selected metrics are PASS, FAIL, ERROR.

    Those on a testbed that was broken on purpose are among them on request only.
    """
    table = schema.runs.c
    query = select(schema.runs).where(*_qualifications(selection)).order_by(table.started.desc(), table.run_id)
    if not selection.with_broken:
        query = query.where(table.faults == schema.NO_FAULTS)
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


def broken_runs(connection: Connection, selection: Selection) -> int:
    """How many of the qualifications that a trend is about were on a testbed that was broken on purpose."""
    query = select(func.count()).where(*_qualifications(selection), schema.runs.c.faults != schema.NO_FAULTS)
    return connection.scalar(query) or 0


def numbers(connection: Connection, selection: Selection, limit: int) -> Rows:
    """The latest values of metrics that are numbers, the newest last, with `run_id`, place, `timestamp`, `unit`."""
    table = schema.metrics.c
    query = (select(table.run_id, table.device_id, table.port_id, table.metric_name, table.timestamp, table.value,
                    table.unit).where(table.status.is_(None), *_selected(selection))
             .order_by(table.timestamp.desc(), table.metric_id).limit(limit))
    if selection.testbed:
        query = query.where(table.testbed == sql_text(selection.testbed))
    if not selection.with_broken:
        query = query.where(table.faults == schema.NO_FAULTS)
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


def _qualifications(selection: Selection) -> list[ColumnElement[bool]]:
    table = schema.runs.c
    ours = [table.origin == QUALIFICATION]
    return [*ours, table.testbed == sql_text(selection.testbed)] if selection.testbed else ours


def _selected(selection: Selection) -> list[Any]:
    given = {name: sql_text(getattr(selection, name)) for name in ("device_id", "port_id", "metric_name")}
    if all(given.values()):  # an index finds these
        return [schema.metrics.c.series_id == series_id(**given)]
    return [schema.metrics.c[name] == text for name, text in given.items() if text]


def _differing(before: str, after: str) -> Select[Any]:
    """One pass over the records of both runs: the worst status of each place in either, where they are not the same."""
    table = schema.records.c
    place = [table.series_id, *(table[name] for name in PLACE)]
    nothing = cast(null(), Integer)
    both = union_all(
        select(*place, _rank().label("before"), nothing.label("after")).where(_counting(before)),
        select(*place, nothing.label("before"), _rank().label("after")).where(_counting(after))).subquery()
    worst = {name: func.max(both.c[name]) for name in ("before", "after")}
    # series_id stands for device, port and metric, which are long to compare; they are the same within it
    keys = [both.c[name] for name in ("series_id", "priority", "plan_id", "scenario")]
    texts = [func.min(both.c[name]).label(name) for name in ("device_id", "port_id", "metric_name")]
    query = (select(*keys, *texts, *(value.label(name) for name, value in worst.items())).group_by(*keys)
             .having(func.coalesce(worst["before"], literal(-1)) != func.coalesce(worst["after"], literal(-1))))
    return query


def _rank() -> ColumnElement[int]:
    """SQL of a record's place in `RANK`."""
    return case({status.value: number for number, status in enumerate(RANK)}, value=schema.records.c.status)


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
