"""JSON is `jsonb` in PostgreSQL, and has an index there; a view of verdicts; what is known to be wrong."""
from __future__ import annotations

import json

from alembic import op
from sqlalchemy import Column, Connection, MetaData, Table, Text

from test_reporting.pfc.schema import Moment, verdicts_view

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

JSON_COLUMNS = {"runs": ("expected", "info", "faults"), "checks": ("expected", "seen"),
                "records": ("evidence", "deviations", "labels", "extra", "faults"), "metrics": ("labels", "faults")}
KEYS = {"runs": ("run_id",), "records": ("run_id", "record_id"), "checks": ("run_id", "record_id", "position"),
        "metrics": ("metric_id",)}
NO_JSON = "(Infinity|NaN)"
"""What Python writes for numbers that JSON has not."""
DEFECTS = Table("defects", MetaData(), Column("defect_id", Text, primary_key=True),
                *(Column(name, Text, nullable=False) for name in ("title", "owner", "link", "check_name", "plan_id",
                                                                  "device_id", "hwsku", "os_version")),
                Column("added", Moment, nullable=False))


def upgrade() -> None:
    """Change the types, then add what is new."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        _to_jsonb(connection)
    DEFECTS.create(connection)
    op.create_index("runs_by_testbed", "runs", ["testbed", "started"])
    connection.exec_driver_sql(verdicts_view(connection.dialect.name))


def _to_jsonb(connection: Connection) -> None:
    for table, columns in JSON_COLUMNS.items():
        for column in columns:
            _mend(connection, table, column)
        changes = [f"ALTER COLUMN {column} TYPE jsonb USING {column}::jsonb" for column in columns]
        if "faults" in columns:
            op.execute(f"ALTER TABLE {table} ALTER COLUMN faults DROP DEFAULT")
            changes.append("ALTER COLUMN faults SET DEFAULT '[]'")
        op.execute(f"ALTER TABLE {table} {', '.join(changes)}")
    op.create_index("metrics_by_labels", "metrics", ["labels"], postgresql_using="gin",
                    postgresql_ops={"labels": "jsonb_path_ops"})


def _mend(connection: Connection, table: str, column: str) -> None:
    """Write numbers that JSON has not as texts: `jsonb` takes nothing else."""
    keys = KEYS[table]
    found = connection.exec_driver_sql(
        f"SELECT {', '.join(keys)}, {column} FROM {table} WHERE {column} ~ %s", (NO_JSON,)).all()
    where = " AND ".join(f"{key} = %s" for key in keys)
    for row in found:
        text = json.dumps(json.loads(row[-1], parse_constant=str), ensure_ascii=False, sort_keys=True)
        connection.exec_driver_sql(f"UPDATE {table} SET {column} = %s WHERE {where}", (text, *row[:-1]))
