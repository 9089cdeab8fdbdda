"""Records say for which job, on whose behalf, with which software and deviations; keys begin with the run.

A primary key cannot be changed in SQLite: tables are made anew and filled from copies of the old ones.
"""
from __future__ import annotations

from alembic import op
from sqlalchemy import (CheckConstraint, Column, Connection, ForeignKey, ForeignKeyConstraint, Index, Integer, MetaData,
                        String, Table, Text, text)

from test_reporting.pfc.schema import AGREEMENT, Moment, number_type
from test_reporting.pfc.sql_rows import series_id

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

CHANGED = ("metrics", "checks", "records")
BEHALF = {"sqlite": "coalesce(json_extract(o.labels, '$.\"device.on_behalf_of\"'), '')",
          "postgresql": "coalesce(cast(o.labels AS jsonb) ->> 'device.on_behalf_of', '')"}
COMMON = "o.testbed, o.device_id, {behalf}, o.port_id, "
COPY = {
    "records": "SELECT o.run_id, o.record_id, s.series_id, o.kind, o.timestamp, coalesce(r.job_id, ''), " + COMMON +
    "o.priority, o.scenario, o.plan_id, o.metric_name, o.value, o.unit, o.status, o.cause, NULL, o.os_version, "
    "o.hwsku, coalesce(r.software_version, ''), o.evidence, '[]', o.labels, o.extra "
    "FROM old_records o JOIN old_series s USING (device_id, port_id, metric_name) "
    "LEFT JOIN runs r ON r.run_id = o.run_id",
    "checks": "SELECT run_id, record_id, position, name, metric_name, required, status, expected, seen, place, message "
    "FROM old_checks",
    "metrics": "SELECT o.metric_id, o.run_id, s.series_id, " + COMMON + "o.metric_name, o.value, o.unit, o.status, "
    "o.cause, o.timestamp, o.os_version, o.hwsku, o.labels "
    "FROM old_metrics o JOIN old_series s USING (device_id, port_id, metric_name)",
}
metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


Table("runs", metadata, Column("run_id", Text, primary_key=True))
Table("records", metadata, Column("run_id", Text, ForeignKey("runs.run_id"), primary_key=True),
      Column("record_id", String(64), primary_key=True), Column("series_id", String(32), nullable=False),
      Column("kind", String(8), nullable=False), Column("timestamp", Moment, nullable=False),
      *_texts("job_id", "testbed", "device_id", "on_behalf_of", "port_id"), Column("priority", Integer),
      *_texts("scenario", "plan_id", "metric_name"), Column("value", number_type()), *_texts("unit"),
      Column("status", String(5)), Column("cause", Text), Column("replaces", String(64)),
      *_texts("os_version", "hwsku", "software_version", "evidence", "deviations", "labels", "extra"),
      CheckConstraint(AGREEMENT, name="records_status_and_value"),
      Index("records_by_series", "series_id", "run_id"),
      Index("records_tried_again", "run_id", "replaces", sqlite_where=text("replaces IS NOT NULL"),
            postgresql_where=text("replaces IS NOT NULL")))
Table("checks", metadata, Column("run_id", Text, primary_key=True), Column("record_id", String(64), primary_key=True),
      Column("position", Integer, primary_key=True, autoincrement=False), *_texts("name", "metric_name"),
      Column("required", Integer, nullable=False), Column("status", String(5), nullable=False),
      *_texts("expected", "seen", "place", "message"),
      ForeignKeyConstraint(["run_id", "record_id"], ["records.run_id", "records.record_id"], name="checks_of_record"),
      CheckConstraint("status IN ('PASS', 'FAIL', 'ERROR')", name="checks_status"),
      Index("checks_by_run", "run_id", "status"))
Table("metrics", metadata, Column("metric_id", String(64), primary_key=True),
      Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
      Column("series_id", String(32), nullable=False),
      *_texts("testbed", "device_id", "on_behalf_of", "port_id", "metric_name"), Column("value", number_type()),
      *_texts("unit"), Column("status", String(5)), Column("cause", Text), Column("timestamp", Moment, nullable=False),
      *_texts("os_version", "hwsku", "labels"),
      CheckConstraint(AGREEMENT, name="metrics_status_and_value"),
      Index("metrics_one_verdict", "run_id", "series_id", unique=True,
            sqlite_where=text("status IS NOT NULL"), postgresql_where=text("status IS NOT NULL")),
      Index("metrics_by_series", "series_id", "timestamp"), Index("metrics_by_run", "run_id"))


def upgrade() -> None:
    """Copy all rows into tables of the new form."""
    connection = op.get_bind()
    _name_series(connection)
    for name in CHANGED:
        op.execute(f"CREATE TABLE old_{name} AS SELECT * FROM {name}")
        op.drop_table(name)
    metadata.create_all(connection)
    for name, query in COPY.items():
        # exec_driver_sql: SQLAlchemy would take the colons of text() for parameters
        connection.exec_driver_sql(f"INSERT INTO {name} " + query.format(behalf=BEHALF[connection.dialect.name]))
        op.drop_table(f"old_{name}")
    op.drop_table("old_series")
    op.create_index("runs_by_job", "runs", ["job_id"], postgresql_using="hash")


def _name_series(connection: Connection) -> None:
    """Make the table `old_series`: the digest of each device, port and metric."""
    names = _texts("device_id", "port_id", "metric_name")
    series = Table("old_series", MetaData(), *names, *_texts("series_id"))
    series.create(connection)
    found = connection.execute(text("SELECT device_id, port_id, metric_name FROM records UNION "
                                    "SELECT device_id, port_id, metric_name FROM metrics")).all()
    if found:
        connection.execute(series.insert(), [{"device_id": row[0], "port_id": row[1], "metric_name": row[2],
                                              "series_id": series_id(row[0], row[1], row[2])} for row in found])
