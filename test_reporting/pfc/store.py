"""The reporting database: records delivered exactly once, and one verdict of each metric, device and port of a run.

Everything of one delivery happens in one transaction. A record that is there already is left alone, so delivering
twice, or from two processes at once, is harmless.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, create_engine, insert, inspect, make_url, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from . import schema
from .errors import StoreError
from .record import FINAL, VERDICT, Record
from .run import QUALIFICATION, Key, Run
from .verdict import Status, Verdict, aggregate

BUSY_SECONDS = 5
BATCH = 500
READING = "BEGIN"
WRITING = "BEGIN IMMEDIATE"  # takes the lock at once, so that what is read before the first write stays true


class Store:
    """One open database."""

    def __init__(self, url: str) -> None:
        """Open it and create the tables that it lacks.

        Raises:
            StoreError: it cannot be reached, or is of another version.
        """
        self.url = make_url(url).render_as_string(hide_password=True)
        # A connection for each transaction: nothing stays open between them, also in a process that forks. Transactions
        # are begun by hand, because Python's driver begins none before a CREATE and none before a SELECT.
        self._engine = create_engine(url, poolclass=NullPool,
                                     connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})
        with self._transaction("opened") as connection:
            found = _version(connection)
        if found is None:
            with self._transaction("opened", WRITING) as connection:
                _create_tables(connection)
        elif found != schema.VERSION:
            raise StoreError(f"database {self.url} has schema version {found}; this software knows {schema.VERSION}")

    def deliver(self, run: Run, records: Sequence[Record]) -> int:
        """Store a run, and the records that are not yet there; returns how many those were.

        The metrics that the records touch are judged anew. Until the run has finished none of them is PASS.

        Raises:
            StoreError: nothing of this was stored.
        """
        with self._transaction("written", WRITING) as connection:
            return _deliver(connection, run, records)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to query; all its answers are of the same moment.

        Raises:
            StoreError: the database cannot be read.
        """
        with self._transaction("read") as connection:
            yield connection

    @contextmanager
    def _transaction(self, doing: str, begin: str = READING) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                connection.exec_driver_sql(begin)
                yield connection
        except (SQLAlchemyError, OSError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(f"database {self.url} cannot be {doing}: {reason}") from error


def storable(value: str) -> str:
    """A text as every database takes it: NUL and lone surrogates, which some refuse, are written as `\\u0000`."""
    return value.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode("utf-8")


def storable_json(value: Any) -> str:
    """A value as JSON text, its texts as `storable` leaves them."""
    return json.dumps(_storable_tree(value), ensure_ascii=False, sort_keys=True)


def _storable_tree(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(name)): _storable_tree(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable_tree(item) for item in value]
    return value


def _row(**columns: Any) -> dict[str, Any]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in columns.items()}


def _version(connection: Connection) -> str | None:
    """The version of the schema; None for a database without one."""
    if not inspect(connection).has_table(schema.version.name):
        return None
    return connection.scalar(select(schema.version.c.version_num))


def _create_tables(connection: Connection) -> None:
    """Create all tables, unless another process was faster."""
    for table in schema.metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))
    connection.execute(insert_or(schema.version).values(version_num=schema.VERSION).on_conflict_do_nothing())


def _deliver(connection: Connection, run: Run, records: Sequence[Record]) -> int:
    run_id = storable(run.run_id)
    this_run = select(schema.runs).where(schema.runs.c.run_id == run_id)
    before = connection.execute(this_run).one_or_none()
    _put_run(connection, run)
    new = _missing(connection, records)
    _put_records(connection, new)
    stored = connection.execute(this_run).one()
    finishing = stored.finished is not None and (before is None or before.finished is None)
    keys = dict.fromkeys(_storable_key(record.key) for record in new if record.kind == VERDICT)
    if before is None or before.expected != stored.expected:
        keys |= dict.fromkeys(_storable_key(key) for key in run.expected)
    if finishing:
        keys |= dict.fromkeys(_keys_of_run(connection, run_id))
    for key in keys:
        _judge(connection, stored, key)
    if stored.finished is not None:
        _judge_run(connection, stored)
    return len(new)


def _storable_key(key: Key) -> Key:
    return storable(key[0]), storable(key[1]), storable(key[2])


def _put_run(connection: Connection, run: Run) -> None:
    """Insert the run. What a qualification says later of its own run replaces the earlier; telemetry only joins in."""
    row = _row(run_id=run.run_id, testbed=run.testbed, started=run.started, finished=run.finished, origin=run.origin,
               job_id=run.job_id, software_version=run.software_version,
               expected=storable_json([list(key) for key in run.expected]), info=storable_json(run.info))
    statement = insert_or(schema.runs).values(row)
    if run.origin == QUALIFICATION:
        unchanging = {"run_id", "finished"} if run.finished is None else {"run_id"}
        changed = {name: value for name, value in row.items() if name not in unchanging}
        connection.execute(statement.on_conflict_do_update(index_elements=["run_id"], set_=changed))
    else:
        connection.execute(statement.on_conflict_do_nothing())


def _missing(connection: Connection, records: Iterable[Record]) -> list[Record]:
    """Those records, each once, that the database does not have."""
    by_id = {storable(record.record_id): record for record in records}
    ids = list(by_id)
    column = schema.records.c.record_id
    for start in range(0, len(ids), BATCH):
        for found in connection.scalars(select(column).where(column.in_(ids[start:start + BATCH]))).all():
            del by_id[found]
    return list(by_id.values())


def _put_records(connection: Connection, new: Sequence[Record]) -> None:
    rows = [_record_row(record) for record in new]
    checks = [row for record in new for row in _check_rows(record)]
    numbers = [_number_row(record) for record in new if record.kind == FINAL]
    for table, found in ((schema.records, rows), (schema.checks, checks), (schema.metrics, numbers)):
        if found:
            connection.execute(insert(table), found)


def _record_row(record: Record) -> dict[str, Any]:
    return _row(
        record_id=record.record_id, run_id=record.run_id, kind=record.kind, timestamp=record.timestamp,
        testbed=record.testbed, device_id=record.device_id, port_id=record.port_id, priority=record.priority,
        scenario=record.scenario, plan_id=record.plan_id, metric_name=record.metric_name, unit=record.unit,
        value=record.status.number if record.status else record.value,
        status=record.status and record.status.value, cause=record.cause, os_version=record.os_version,
        hwsku=record.hwsku, evidence=storable_json(record.evidence), labels=storable_json(record.labels),
        extra=storable_json(record.extra))


def _check_rows(record: Record) -> Iterator[dict[str, Any]]:
    for position, check in enumerate(record.checks):
        yield _row(record_id=record.record_id, position=position, run_id=record.run_id, name=check.name,
                   metric_name=check.metric_name, required=int(check.required), status=check.status.value,
                   expected=storable_json(check.expected), seen=storable_json(check.seen), place=check.where,
                   message=check.message)


def _number_row(record: Record) -> dict[str, Any]:
    row = _record_row(record)
    return {"metric_id": row["record_id"], **{name: row[name] for name in schema.metrics.c.keys() if name in row}}


def _keys_of_run(connection: Connection, run_id: str) -> list[Key]:
    """What the run has a verdict of so far; what it expects is among that since the run is known."""
    table = schema.metrics.c
    found = connection.execute(select(table.device_id, table.port_id, table.metric_name)
                               .where(table.run_id == run_id, table.status.is_not(None))).all()
    return [(row.device_id, row.port_id, row.metric_name) for row in found]


def _judge(connection: Connection, run: Row[Any], key: Key) -> None:
    """Make the one row of a metric, device and port from all its verdict records."""
    table = schema.records.c
    found = connection.execute(
        select(table.status, table.cause, table.timestamp, table.os_version, table.hwsku, table.labels)
        .where(table.run_id == run.run_id, table.device_id == key[0], table.port_id == key[1],
               table.metric_name == key[2], table.kind == VERDICT)
        .order_by(table.timestamp, table.record_id)).all()
    verdict = aggregate((Verdict(Status(record.status), record.cause) for record in found),
                        run.finished is not None)
    os_version, hwsku = (found[-1].os_version, found[-1].hwsku) if found else ("", "")
    labels = {"test.testbed": run.testbed, "test.job.id": run.job_id, "test.os.version": os_version,
              "device.id": key[0], "device.port.id": key[1]}
    labels = {name: value for name, value in labels.items() if value}
    for record in found:
        labels.update(json.loads(record.labels))
    row = {"metric_id": _metric_id(run.run_id, key), "run_id": run.run_id, "testbed": run.testbed,
           "device_id": key[0], "port_id": key[1], "metric_name": key[2], "unit": "",
           "value": verdict.status.number, "status": verdict.status.value, "cause": verdict.cause,
           "timestamp": found[-1].timestamp if found else run.finished or run.started,
           "os_version": os_version, "hwsku": hwsku, "labels": storable_json(labels)}
    connection.execute(insert_or(schema.metrics).values(row)
                       .on_conflict_do_update(index_elements=["metric_id"], set_=row))


def _metric_id(run_id: str, key: Key) -> str:
    return sha256(json.dumps([run_id, *key]).encode("ascii")).hexdigest()[:32]


def _judge_run(connection: Connection, run: Row[Any]) -> None:
    """The run's own verdict. A run of telemetry that reported nothing but numbers has none."""
    table = schema.metrics.c
    found = connection.execute(select(table.status, table.cause)
                               .where(table.run_id == run.run_id, table.status.is_not(None))).all()
    if not found and run.origin != QUALIFICATION:
        return
    verdict = aggregate(Verdict(Status(row.status), row.cause) for row in found)
    connection.execute(update(schema.runs).where(schema.runs.c.run_id == run.run_id)
                       .values(status=verdict.status.value, cause=verdict.cause))
