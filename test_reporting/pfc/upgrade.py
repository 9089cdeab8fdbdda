"""The version of a database: new ones get the tables as they are now, older ones are brought there by Alembic."""
from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from . import schema
from .engine import Database, insert_or
from .errors import StoreError

MIGRATIONS = Path(__file__).parent / "migrations"
OLDER = ("0001", "0002", "0003")
"""Versions that are brought to `schema.VERSION`; any other is of a later software."""


def prepare(database: Database) -> None:
    """Create the tables of a database that has none; bring an older one to this version.

    Raises:
        StoreError: it cannot be reached, is of a later version, or cannot be brought to this one.
    """
    with database.reading("opened") as connection:
        if _version(connection) == schema.VERSION:
            return
    with database.changing() as connection:
        found = _version(connection)  # anew: another process may have been faster
        if found is None:
            create_tables(connection)
        elif found in OLDER:
            upgrade(connection, database.url, found)
        elif found != schema.VERSION:
            raise StoreError(f"database {database.url} has schema version {found}; this software knows "
                             f"{schema.VERSION} and older ones")


def create_tables(connection: Connection) -> None:
    """Create all tables as they are now, and say so where Alembic looks for it."""
    for table in schema.metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if index is not schema.METRIC_LABELS or connection.dialect.name == "postgresql":
                connection.execute(CreateIndex(index, if_not_exists=True))
    connection.exec_driver_sql(schema.verdicts_view(connection.dialect.name))
    connection.execute(insert_or(connection.dialect.name, schema.version)
                       .values(version_num=schema.VERSION).on_conflict_do_nothing())


def upgrade(connection: Connection, url: str, found: str, target: str = schema.VERSION) -> None:
    """Run the migrations from version `found` to `target`, all in the transaction of `connection`.

    Raises:
        StoreError: Alembic is not installed, or a migration failed; the database is as it was.
    """
    try:
        from alembic import command, config
    except ImportError as error:
        raise StoreError(f"database {url} has schema version {found} and must be brought to {target}: "
                         f"Alembic is not installed ({error})") from error
    settings = config.Config()
    settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    settings.attributes["connection"] = connection
    try:
        command.upgrade(settings, target)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise StoreError(f"database {url} of schema version {found} cannot be brought to {target}: {reason}"
                         ) from error


def _version(connection: Connection) -> str | None:
    """The version of the schema; None for a database without one."""
    if not inspect(connection).has_table(schema.version.name):
        return None
    return connection.scalar(select(schema.version.c.version_num))
