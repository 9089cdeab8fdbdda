"""The latest runs of a testbed as a strip, and since when the verdict is what it is."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from tests.common.pfc.record.run import QUALIFICATION
from tests.common.pfc.record.verdict import Status

from .. import schema
from ..queries import faults_of
from .texts import counted, moment

MOST_RUNS = 20


@dataclass(frozen=True)
class PastRun:
    """A run of the strip; `build` is empty where nothing was measured, `faults`: what was broken on purpose."""

    run_id: str
    status: str
    started: str
    build: str
    faults: tuple[str, ...]


@dataclass(frozen=True)
class PastRuns:
    """The runs of a testbed up to one of them, the newest last; `since` says in words since when it is as it is."""

    runs: list[PastRun]
    since: str


def read_past(connection: Connection, run: Mapping[str, Any], status: Status) -> PastRuns:
    """Read the runs of a run's testbed that had ended when it began, and the run itself.

    Args:
        connection: to the database.
        run: its row of `runs`.
        status: its verdict.
    """
    table = schema.runs.c
    found = connection.execute(
        select(schema.runs).where(table.testbed == run["testbed"], table.origin == QUALIFICATION,
                                  table.started <= run["started"], table.run_id != run["run_id"],
                                  table.status.is_not(None))
        .order_by(table.started.desc(), table.run_id.desc()).limit(MOST_RUNS - 1)).mappings().all()
    rows: list[Mapping[str, Any]] = [*(dict(row) for row in reversed(found)), run]
    builds = _builds(connection, [row["run_id"] for row in rows])
    runs = [PastRun(row["run_id"], str(status if row is run else row["status"]), moment(row["started"]),
                    builds.get(row["run_id"], ""), tuple(faults_of(row))) for row in rows]
    return PastRuns(runs, _since(runs))


def _builds(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    table = schema.metrics.c
    found = connection.execute(select(table.run_id, table.os_version).distinct()
                               .where(table.run_id.in_(ids), table.os_version != "").order_by(table.os_version)).all()
    return {row.run_id: row.os_version for row in found}


def _since(runs: Sequence[PastRun]) -> str:
    """Since when, of the runs whose testbed was broken as this one's; what could not be measured says nothing."""
    this = runs[-1]
    if this.status == Status.ERROR:
        return ""
    alike = [one for one in runs if one.faults == this.faults and one.status != Status.ERROR]
    row = 0
    while row < len(alike) and alike[-1 - row].status == this.status:
        row += 1
    times = counted(row, "run")
    if row == len(alike):
        known = "this run, the only one" if row == 1 else f"all {times}"
        judged = [one for one in runs if one.status != Status.ERROR]
        if len(alike) == len(judged):
            return f"{this.status} in {known} known"
        were = "that was" if row == 1 else "that were"
        return f"{this.status} in {known} {were} {'broken like this' if this.faults else 'not broken on purpose'}"
    before = alike[-1 - row]
    build = f" of {before.build}" if before.build and before.build != this.build else ""
    again = f", {times} in a row" if row > 1 else ""
    return (f"{this.status} since {alike[-row].started}{again}; {before.status} in the run before that{build}, "
            f"{before.started}")
