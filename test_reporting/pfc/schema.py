"""The tables. They hold what the records say; `docs/reporting.md` describes them for those who query them.

A status and its number must agree, in whatever way a row gets in: PASS is 0, FAIL is 1, ERROR has no number and a
cause. A row without status is a plain number. SQL accepts a check whose answer is NULL: hence the `IS NOT NULL`s.

Keys begin with the run, so that what is written together lies together, however large a table is. Texts that may have
any length (ports, metrics, jobs) are in no B-tree, which holds 2700 bytes in PostgreSQL; a digest is there in their
place: `series_id`, of device, port and metric.
"""
from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (CheckConstraint, Column, DateTime, Dialect, Double, ForeignKey, ForeignKeyConstraint, Index,
                        Integer, MetaData, Numeric, String, Table, Text, text)
from sqlalchemy.types import TypeDecorator, TypeEngine

from tests.common.pfc.record.parsing import parse_moment
from tests.common.pfc.record.records import format_moment

from .json_text import JsonText

VERSION = "0004"
NO_FAULTS = "[]"
"""The column `faults` where nothing was broken on purpose."""
AGREEMENT = """
(status IS NOT NULL AND value IS NOT NULL AND status = 'PASS' AND value = 0 AND cause IS NULL)
OR (status IS NOT NULL AND value IS NOT NULL AND status = 'FAIL' AND value = 1 AND cause IS NOT NULL)
OR (status IS NOT NULL AND status = 'ERROR' AND value IS NULL AND cause IS NOT NULL)
OR (status IS NULL AND value IS NOT NULL)
"""


class Moment(TypeDecorator[datetime]):
    """A UTC time: text of the records' form in SQLite, which has no type for it; elsewhere a timestamp with zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column's type in this database."""
        return dialect.type_descriptor(String(27) if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """A time on its way into the database."""
        return format_moment(value) if value and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """A time on its way out of the database."""
        return parse_moment(value) if isinstance(value, str) else value


def number_type() -> Double[float]:
    """A column's type for values; SQLite's NUMERIC keeps 0 and 1 as queries write them, instead of 0.0 and 1.0."""
    return Double(asdecimal=False).with_variant(Numeric(asdecimal=False), "sqlite")


def _run_id(**options: Any) -> Column[str]:
    return Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False, **options)


def _faults() -> Column[str]:
    return Column("faults", JsonText, nullable=False, server_default=NO_FAULTS)


metadata = MetaData()

# The table in which Alembic keeps the version of a schema: later versions find here what they have to migrate.
version = Table("alembic_version", metadata, Column("version_num", String(32), primary_key=True))

runs = Table(
    "runs", metadata,
    Column("run_id", Text, primary_key=True),
    Column("testbed", Text, nullable=False),
    Column("started", Moment, nullable=False),
    Column("finished", Moment),
    Column("status", String(5)),
    Column("cause", Text),
    Column("origin", String(16), nullable=False),
    Column("job_id", Text, nullable=False),
    Column("software_version", Text, nullable=False),
    Column("expected", JsonText, nullable=False),
    Column("info", JsonText, nullable=False),
    _faults(),
    CheckConstraint("status IS NULL OR status IN ('PASS', 'FAIL', 'ERROR')", name="runs_status"),
    CheckConstraint("status IS NULL OR status <> 'PASS' OR finished IS NOT NULL", name="runs_pass_is_finished"),
    Index("runs_by_start", "started"),
    Index("runs_by_testbed", "testbed", "started"),
    Index("runs_by_job", "job_id", postgresql_using="hash"),
)

records = Table(
    "records", metadata,
    _run_id(primary_key=True),
    Column("record_id", String(64), primary_key=True),
    Column("series_id", String(32), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("timestamp", Moment, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("testbed", Text, nullable=False),
    Column("device_id", Text, nullable=False),
    Column("on_behalf_of", Text, nullable=False),
    Column("port_id", Text, nullable=False),
    Column("priority", Integer),
    Column("scenario", Text, nullable=False),
    Column("plan_id", Text, nullable=False),
    Column("metric_name", Text, nullable=False),
    Column("value", number_type()),
    Column("unit", Text, nullable=False),
    Column("status", String(5)),
    Column("cause", Text),
    Column("replaces", String(64)),
    Column("os_version", Text, nullable=False),
    Column("hwsku", Text, nullable=False),
    Column("software_version", Text, nullable=False),
    Column("evidence", JsonText, nullable=False),
    Column("deviations", JsonText, nullable=False),
    Column("labels", JsonText, nullable=False),
    Column("extra", JsonText, nullable=False),
    _faults(),
    CheckConstraint(AGREEMENT, name="records_status_and_value"),
    Index("records_by_series", "series_id", "run_id"),  # run_id first would rival the key until there are statistics
    Index("records_tried_again", "run_id", "replaces", sqlite_where=text("replaces IS NOT NULL"),
          postgresql_where=text("replaces IS NOT NULL")),
)

checks = Table(
    "checks", metadata,
    Column("run_id", Text, primary_key=True),
    Column("record_id", String(64), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("metric_name", Text, nullable=False),
    Column("required", Integer, nullable=False),
    Column("status", String(5), nullable=False),
    Column("expected", JsonText, nullable=False),
    Column("seen", JsonText, nullable=False),
    Column("place", Text, nullable=False),
    Column("message", Text, nullable=False),
    ForeignKeyConstraint(["run_id", "record_id"], ["records.run_id", "records.record_id"], name="checks_of_record"),
    CheckConstraint("status IN ('PASS', 'FAIL', 'ERROR')", name="checks_status"),
    Index("checks_by_run", "run_id", "status"),
)

metrics = Table(
    "metrics", metadata,
    Column("metric_id", String(64), primary_key=True),
    _run_id(),
    Column("series_id", String(32), nullable=False),
    Column("testbed", Text, nullable=False),
    Column("device_id", Text, nullable=False),
    Column("on_behalf_of", Text, nullable=False),
    Column("port_id", Text, nullable=False),
    Column("metric_name", Text, nullable=False),
    Column("value", number_type()),
    Column("unit", Text, nullable=False),
    Column("status", String(5)),
    Column("cause", Text),
    Column("timestamp", Moment, nullable=False),
    Column("os_version", Text, nullable=False),
    Column("hwsku", Text, nullable=False),
    Column("labels", JsonText, nullable=False),
    _faults(),
    CheckConstraint(AGREEMENT, name="metrics_status_and_value"),
    Index("metrics_one_verdict", "run_id", "series_id", unique=True,
          sqlite_where=text("status IS NOT NULL"), postgresql_where=text("status IS NOT NULL")),
    Index("metrics_by_series", "series_id", "timestamp"),
    Index("metrics_by_run", "run_id"),
)

# What is known to be wrong and whose it is; an empty text is any.
defects = Table(
    "defects", metadata,
    Column("defect_id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("check_name", Text, nullable=False),
    Column("plan_id", Text, nullable=False),
    Column("device_id", Text, nullable=False),
    Column("hwsku", Text, nullable=False),
    Column("os_version", Text, nullable=False),
    Column("added", Moment, nullable=False),
)

METRIC_LABELS = Index("metrics_by_labels", metrics.c.labels, postgresql_using="gin",
                      postgresql_ops={"labels": "jsonb_path_ops"}).ddl_if(dialect="postgresql")
"""Finds rows of `metrics` by what their labels hold (`labels @> '{...}'`); SQLite has no such index."""

BROKEN_ON_PURPOSE = {"sqlite": "m.faults <> '[]'", "postgresql": "m.faults <> '[]'::jsonb"}
DIAGNOSIS = {"sqlite": "json_extract(r.info, '$.diagnosis')", "postgresql": "r.info ->> 'diagnosis'"}
VERDICTS_VIEW = """
CREATE VIEW verdicts AS
SELECT m.run_id, r.job_id, r.testbed, r.origin, r.started, r.finished, r.status AS run_status, {diagnosis} AS diagnosis,
       m.device_id, m.on_behalf_of, m.port_id, m.metric_name, m.status, m.value, m.cause, m.timestamp AS measured,
       m.os_version, m.hwsku, r.software_version, {broken} AS broken, m.faults, m.labels, r.info
FROM metrics m JOIN runs r ON r.run_id = m.run_id
WHERE m.status IS NOT NULL
"""
"""The view of verdicts, one row of each metric of a port in a run: nothing in it needs a cast."""


def verdicts_view(dialect: str) -> str:
    """The SQL that creates the view `verdicts`."""
    return VERDICTS_VIEW.format(diagnosis=DIAGNOSIS[dialect], broken=BROKEN_ON_PURPOSE[dialect])
