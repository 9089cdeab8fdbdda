"""Runs, records and metrics say what was broken on purpose; of older ones nothing is known to have been."""
from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

CHANGED = ("runs", "records", "metrics")


def upgrade() -> None:
    """Add the column to each table."""
    for name in CHANGED:
        op.add_column(name, Column("faults", Text, nullable=False, server_default="[]"))
