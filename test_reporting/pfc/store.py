"""The reporting database: records delivered exactly once, and one verdict of each metric, device and port of a run.

Everything of one delivery happens in one transaction. A record that is there already is left alone, so delivering
twice, or from two processes at once, is harmless. Writers of one run wait for each other, those of different runs
do not (in PostgreSQL; SQLite has one writer at a time).
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tests.common.pfc.record.effective_records import Verdict, aggregate, judge
from tests.common.pfc.record.records import FINAL, ON_BEHALF_OF, VERDICT, Record, SeriesKey
from tests.common.pfc.record.run import QUALIFICATION, Run
from tests.common.pfc.record.verdict import Status

from . import defects, schema
from .defects import Defect
from .engine import Database, insert_or
from .sql_rows import check_rows, digest, metric_id, record_row, run_row, series_id, sql_json, sql_key, sql_text
from .upgrade import prepare

StoredRun = Row[*tuple[Any, ...]]
BATCH = 500
RUN_COLUMNS = (schema.runs.c.run_id, schema.runs.c.testbed, schema.runs.c.started, schema.runs.c.finished,
               schema.runs.c.origin, schema.runs.c.job_id, schema.runs.c.faults)
_records = schema.records.c
PRESENT = select(_records.record_id).where(_records.run_id == bindparam("run"),
                                           _records.record_id.in_(bindparam("ids", expanding=True)))
"""Which of some records the database has."""
JUDGED = (select(_records.record_id, _records.replaces, _records.status, _records.cause, _records.timestamp,
                 _records.os_version, _records.hwsku, _records.on_behalf_of, _records.labels)
          .where(_records.run_id == bindparam("run"), _records.series_id == bindparam("series"),
                 _records.kind == VERDICT)
          .order_by(_records.timestamp, _records.record_id))
"""The verdict records of a device, port and metric in a run, in the order of their time."""


class Store:
    """One open database."""

    def __init__(self, url: str) -> None:
        """Open it, create the tables of a new one, and bring those of an older one to this version.

        Raises:
            StoreError: it cannot be reached, or is of a later version.
        """
        self._database = Database(url)
        self.url = self._database.url
        self._known: Run | None = None
        prepare(self._database)

    def deliver(self, run: Run, records: Sequence[Record]) -> int:
        """Store a run, and the records that are not yet there; returns how many those were.

        The metrics that the records touch are judged anew. Until the run has finished none of them is PASS.

        Raises:
            StoreError: nothing of this was stored.
        """
        with self._database.writing() as connection:
            stored = _Delivery(connection, run).deliver(records, is_known=run is self._known)
        self._known = run
        return stored

    def add_defect(self, defect: Defect) -> bool:
        """Store what is known to be wrong; returns whether it was not there yet.

        Raises:
            StoreError: it cannot be stored.
        """
        with self._database.writing() as connection:
            return defects.add(connection, defect)

    def remove_defect(self, defect_id: str) -> bool:
        """Forget what is known to be wrong; returns whether it was there.

        Raises:
            StoreError: it cannot be removed.
        """
        with self._database.writing() as connection:
            return defects.remove(connection, defect_id)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to query; all its answers are of the same moment.

        Raises:
            StoreError: the database cannot be read.
        """
        with self._database.reading() as connection:
            yield connection


class _Delivery:
    """One delivery of one run, inside a transaction."""

    def __init__(self, connection: Connection, run: Run) -> None:
        self._connection = connection
        self._run = run
        self._run_id = sql_text(run.run_id)

    def deliver(self, records: Sequence[Record], is_known: bool) -> int:
        """`is_known`: the run was delivered before just as it is, so that it need not be written again."""
        before = self._stored_run()
        stored, announced = (before, ()) if before is not None and is_known else self._put_run(before)
        new = self._missing(records)
        self._put_records(new)
        is_ending = stored.finished is not None and (before is None or before.finished is None)
        keys = dict.fromkeys(sql_key(key) for key in
                             (*announced, *(record.series for record in new if record.kind == VERDICT)))
        if is_ending:
            keys |= dict.fromkeys(self._keys())
        if keys:
            self._connection.execute(_upsert_metrics(self._connection.dialect.name),
                                     [self._judged(stored, key) for key in keys])
        if stored.finished is not None and (keys or is_ending):
            self._judge_run(stored)
        return len(new)

    def _stored_run(self) -> StoredRun | None:
        """The run as it is stored, locked: other writers of this run wait until this transaction ends."""
        query = select(*RUN_COLUMNS).where(schema.runs.c.run_id == self._run_id).with_for_update()
        return self._connection.execute(query).one_or_none()

    def _put_run(self, before: StoredRun | None) -> tuple[StoredRun, tuple[SeriesKey, ...]]:
        """Write the run; returns it as it is stored then, and what it expects if that is new.

        What a qualification says later of its own run replaces the earlier; telemetry only joins in.
        """
        row = run_row(self._run)
        expected = self._expected() if before is not None else None
        statement = insert_or(self._connection.dialect.name, schema.runs).values(row)
        if self._run.origin == QUALIFICATION:
            unchanging = {"run_id", "finished"} if self._run.finished is None else {"run_id"}
            changed = {name: value for name, value in row.items() if name not in unchanging}
            self._connection.execute(statement.on_conflict_do_update(index_elements=["run_id"], set_=changed))
        else:
            self._connection.execute(statement.on_conflict_do_nothing())
        stored = self._stored_run()
        assert stored is not None, "the run was put above, in this transaction"
        return stored, self._run.expected if expected != self._expected() else ()

    def _expected(self) -> str | None:
        return self._connection.scalar(select(schema.runs.c.expected).where(schema.runs.c.run_id == self._run_id))

    def _missing(self, records: Iterable[Record]) -> list[Record]:
        """Those records, each once, that the database does not have."""
        by_id = {sql_text(record.record_id): record for record in records}
        ids = list(by_id)
        for start in range(0, len(ids), BATCH):
            asked = {"run": self._run_id, "ids": ids[start:start + BATCH]}
            for found in self._connection.scalars(PRESENT, asked).all():
                del by_id[found]
        return list(by_id.values())

    def _put_records(self, new: Sequence[Record]) -> None:
        rows = [record_row(self._run, record) for record in new]
        checks = [row for record in new for row in check_rows(record)]
        numbers = [_number_row(self._run_id, row) for row in rows
                   if row["kind"] == FINAL and row["status"] is None]
        for table, found in ((schema.records, rows), (schema.checks, checks), (schema.metrics, numbers)):
            if found:
                self._connection.execute(insert(table), found)

    def _keys(self) -> list[SeriesKey]:
        """What the run has a verdict of so far; what it expects is among that since the run is known."""
        table = schema.metrics.c
        found = self._connection.execute(select(table.device_id, table.port_id, table.metric_name)
                                         .where(table.run_id == self._run_id, table.status.is_not(None))).all()
        return [(row.device_id, row.port_id, row.metric_name) for row in found]

    def _judged(self, run: StoredRun, key: SeriesKey) -> dict[str, Any]:
        """The one row of a metric, device and port, made from all its verdict records."""
        found = self._connection.execute(JUDGED, {"run": self._run_id, "series": series_id(*key)}).all()
        verdict = judge(found, run.finished is not None)
        last = found[-1] if found else None
        labels = {"test.testbed": run.testbed, "test.job.id": run.job_id,
                  "test.os.version": last.os_version if last else "", ON_BEHALF_OF: last.on_behalf_of if last else "",
                  "device.id": key[0], "device.port.id": key[1],
                  "test.run.id": run.run_id if run.origin == QUALIFICATION else "",
                  "test.faults": "; ".join(json.loads(run.faults))}
        labels = {name: value for name, value in labels.items() if value} | (json.loads(last.labels) if last else {})
        return {"metric_id": metric_id(self._run_id, key), "run_id": self._run_id, "series_id": series_id(*key),
                "testbed": run.testbed, "device_id": key[0], "on_behalf_of": last.on_behalf_of if last else "",
                "port_id": key[1], "metric_name": key[2], "unit": "", "value": verdict.status.number,
                "status": verdict.status.value, "cause": verdict.cause,
                "timestamp": last.timestamp if last else run.finished or run.started,
                "os_version": last.os_version if last else "", "hwsku": last.hwsku if last else "",
                "labels": sql_json(labels), "faults": run.faults}

    def _judge_run(self, run: StoredRun) -> None:
        """The run's own verdict. A run of telemetry that reported nothing but numbers has none."""
        table = schema.metrics.c
        found = self._connection.execute(
            select(table.status, table.cause).where(table.run_id == self._run_id, table.status.is_not(None))
            .order_by(table.timestamp, table.series_id)).all()
        if not found and run.origin != QUALIFICATION:
            return
        verdict = aggregate(Verdict(Status(row.status), row.cause) for row in found)
        self._connection.execute(update(schema.runs).where(schema.runs.c.run_id == self._run_id)
                                 .values(status=verdict.status.value, cause=verdict.cause))


@cache
def _upsert_metrics(dialect: str) -> sqlite.Insert | postgresql.Insert:
    """The INSERT of rows of `metrics` that replaces those that are there."""
    statement = insert_or(dialect, schema.metrics)
    new = {column.name: statement.excluded[column.name] for column in schema.metrics.c}
    return statement.on_conflict_do_update(index_elements=["metric_id"], set_=new)


def _number_row(run_id: str, row: dict[str, Any]) -> dict[str, Any]:
    number = {name: row[name] for name in schema.metrics.c.keys() if name in row}
    return {**number, "metric_id": digest([run_id, row["record_id"]])}
