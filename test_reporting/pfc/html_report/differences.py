"""What differs from a baseline run, and which metrics are flaky."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from tests.common.pfc.record.verdict import Status

from .. import history, schema
from ..queries import Rows, faults_of
from .ports import PortResults

CHANGES = ("new failure", "could not be measured", "gone", "new", "fixed", "measured again")
"""The kinds of differences, what a reader must know first at the beginning."""
WORSE = 3
"""How many of these kinds, from the beginning, are for the worse; the last of them is no verdict any more."""
GONE = "gone"
MOST_GONE = 12
"""Places that are gone are listed at once only where there are few: a run that measures less has many."""
MOST_ROWS = 100


@dataclass(frozen=True)
class Change:
    """The differences of one kind; `rows` are the first of them, each with its `port` in the page (None: gone)."""

    title: str
    count: int
    rows: Rows

    @property
    def is_bad(self) -> bool:
        """Whether it is worse than the baseline."""
        return self.title in CHANGES[:WORSE]

    @property
    def is_open(self) -> bool:
        """Whether its rows are listed at once."""
        return self.is_bad and (self.title != GONE or self.count <= MOST_GONE)


@dataclass(frozen=True)
class Comparison:
    """A run, the baseline that it is compared with (None: there is none of its testbed), and what differs."""

    baseline: Mapping[str, Any] | None
    changes: list[Change]

    @property
    def worse(self) -> int:
        """How many places have a worse verdict than in the baseline."""
        return sum(change.count for change in self.changes if change.is_bad and change.title != GONE)

    @property
    def gone(self) -> int:
        """How many places of the baseline were not measured again."""
        return sum(change.count for change in self.changes if change.title == GONE)

    @property
    def faults(self) -> list[str]:
        """What was broken on purpose in the baseline's testbed."""
        return faults_of(self.baseline) if self.baseline is not None else []


def compare(connection: Connection, run: Mapping[str, Any], baseline: Sequence[Mapping[str, Any]],
            ports: Sequence[PortResults], alone: bool) -> Comparison:
    """Compare a run with the baseline.

    Args:
        connection: to the database.
        run: the run.
        baseline: the runs that the user named as the baseline.
        ports: the run's ports.
        alone: one run is compared with one, whatever their testbeds; else each with the one of its testbed.
    """
    before = next((one for one in baseline if alone or one["testbed"] == run["testbed"]), None)
    if before is None:
        return Comparison(None, [])
    by_place = {(port.device_id, port.port_id): port for port in ports}
    victims = _victims(connection, run["run_id"], ports)
    rows = [{**row, "victims": victims.get(tuple(row[name] for name in history.PLACE), ()),
             "port": by_place.get((row["device_id"], row["port_id"]))}
            for row in history.differences(connection, before["run_id"], run["run_id"])]
    kinds = {kind: [row for row in rows if row["change"] == kind] for kind in CHANGES}
    return Comparison(before, [Change(kind, len(found), found[:MOST_ROWS]) for kind, found in kinds.items() if found])


def _victims(
    connection: Connection, run_id: str, ports: Sequence[PortResults]
) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """The priorities that lost, by the place that was tested, where they are not that place's own."""
    record = schema.records.c
    victims = {record_id: found for port in ports for record_id, found in port.victims.items()}
    rows = connection.execute(select(record.record_id, *(record[name] for name in history.PLACE))
                              .where(record.run_id == run_id, record.status == Status.FAIL.value))
    return {tuple(place): victims[record_id] for record_id, *place in rows if record_id in victims}


def left_out(baseline: Sequence[Mapping[str, Any]], comparisons: Sequence[Comparison],
             runs: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], str]]:
    """The runs of the baseline that no run of the page is compared with, and why."""
    used = {one.baseline["run_id"] for one in comparisons if one.baseline is not None}
    here = {run["testbed"] for run in runs}
    return [(run, "another run of the baseline on this testbed is compared" if run["testbed"] in here
             else "no run here is of this testbed") for run in baseline if run["run_id"] not in used]


def flaky(connection: Connection, run_id: str, ports: Sequence[PortResults]) -> Rows:
    """The rows of `metrics` with a test case whose verdict came back in the testbed's latest runs."""
    unsteady = history.flaky_series(connection, run_id)
    return [{**row, "port": port} for port in ports for row in port.metrics if row["series_id"] in unsteady]
