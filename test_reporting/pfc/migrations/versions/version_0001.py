"""The first schema: runs, records, checks, metrics."""
from __future__ import annotations

from alembic import op
from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text, text

from test_reporting.pfc.schema import AGREEMENT, Moment, number_type

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


Table("runs", metadata, Column("run_id", Text, primary_key=True), *_texts("testbed"),
      Column("started", Moment, nullable=False), Column("finished", Moment), Column("status", String(5)),
      Column("cause", Text), Column("origin", String(16), nullable=False),
      *_texts("job_id", "software_version", "expected", "info"),
      CheckConstraint("status IS NULL OR status IN ('PASS', 'FAIL', 'ERROR')", name="runs_status"),
      CheckConstraint("status IS NULL OR status <> 'PASS' OR finished IS NOT NULL", name="runs_pass_is_finished"),
      Index("runs_by_start", "started"))
Table("records", metadata, Column("record_id", String(64), primary_key=True),
      Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False), Column("kind", String(8), nullable=False),
      Column("timestamp", Moment, nullable=False), *_texts("testbed", "device_id", "port_id"),
      Column("priority", Integer), *_texts("scenario", "plan_id", "metric_name"), Column("value", number_type()),
      *_texts("unit"), Column("status", String(5)), Column("cause", Text),
      *_texts("os_version", "hwsku", "evidence", "labels", "extra"),
      CheckConstraint(AGREEMENT, name="records_status_and_value"),
      Index("records_by_metric", "run_id", "device_id", "port_id", "metric_name"))
Table("checks", metadata, Column("record_id", String(64), ForeignKey("records.record_id"), primary_key=True),
      Column("position", Integer, primary_key=True, autoincrement=False),
      Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False), *_texts("name", "metric_name"),
      Column("required", Integer, nullable=False), Column("status", String(5), nullable=False),
      *_texts("expected", "seen", "place", "message"),
      CheckConstraint("status IN ('PASS', 'FAIL', 'ERROR')", name="checks_status"),
      Index("checks_by_run", "run_id", "status"))
Table("metrics", metadata, Column("metric_id", String(64), primary_key=True),
      Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
      *_texts("testbed", "device_id", "port_id", "metric_name"), Column("value", number_type()), *_texts("unit"),
      Column("status", String(5)), Column("cause", Text), Column("timestamp", Moment, nullable=False),
      *_texts("os_version", "hwsku", "labels"),
      CheckConstraint(AGREEMENT, name="metrics_status_and_value"),
      Index("metrics_one_verdict", "run_id", "device_id", "port_id", "metric_name", unique=True,
            sqlite_where=text("status IS NOT NULL"), postgresql_where=text("status IS NOT NULL")),
      Index("metrics_by_port", "device_id", "port_id", "metric_name", "timestamp"))


def upgrade() -> None:
    """Create the tables."""
    metadata.create_all(op.get_bind())
