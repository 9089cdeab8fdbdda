from __future__ import annotations

import sqlite3
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from test_reporting.pfc import schema
from test_reporting.pfc.database import open_store
from test_reporting.pfc.errors import StoreError
from test_reporting.pfc.upgrade import MIGRATIONS, OLDER
from test_reporting.tests import old_database
from test_reporting.tests.samples import ask

CHANGES = [("verdict", 1, "FAIL", "job-7", "t1-01", "0.1.0", "[]", None),
           ("final", 2.5, None, "job-7", "", "0.1.0", "[]", None)]


@pytest.fixture
def old(database, url):
    database.parent.mkdir()
    old_database.make(url)
    return url


def shape(path):
    """Tables (but Alembic's own), indexes and constraints, in whatever layout and order they were written."""
    return {name: sorted("".join(sql.split()).replace('"', "").rstrip(")").split(",")) for name, sql in
            ask(path, "select name, sql from sqlite_master where sql is not null and name <> 'alembic_version'")}


def test_an_older_database_is_brought_to_this_version_with_all_its_rows(old, database):
    assert ask(database, "select version_num from alembic_version") == [("0001",)]
    before = ask(database, "select device_id, port_id, metric_name, value, status, cause, labels from metrics")
    open_store(old)
    assert ask(database, "select version_num from alembic_version") == [(schema.VERSION,)]
    assert ask(database, "select device_id, port_id, metric_name, value, status, cause, labels from metrics") == before
    assert ask(database, "select kind, value, status, job_id, on_behalf_of, software_version, deviations, replaces "
                         "from records order by record_id") == CHANGES
    for table in ("runs", "records", "metrics"):
        assert ask(database, f"select distinct faults from {table}") == [("[]",)], "of older ones no fault is known"
    assert ask(database, "select run_id, record_id, message from checks") == [("r", "id-1", "expected 0, got 1")]
    assert ask(database, "select count(distinct series_id) from records join metrics using (series_id)") == [(2,)]
    assert ask(database, "pragma integrity_check") == [("ok",)] and not ask(database, "pragma foreign_key_check")


def test_a_migrated_database_is_as_a_new_one(old, database, tmp_path):
    open_store(old)
    open_store(f"sqlite:///{tmp_path / 'new.db'}")
    assert shape(database) == shape(tmp_path / "new.db")
    engine = create_engine(old)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": not_of_postgresql_alone})
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


def not_of_postgresql_alone(thing, *_):
    """Whether SQLite has such a thing too."""
    return thing is not schema.METRIC_LABELS


def test_every_version_has_its_migration():
    names = {path.stem.removeprefix("version_") for path in (MIGRATIONS / "versions").glob("version_*.py")}
    assert names == {*OLDER, schema.VERSION}


def test_a_migration_that_fails_leaves_the_database_as_it_was(old, database):
    connection = sqlite3.connect(database)
    connection.execute("pragma ignore_check_constraints = on")
    with connection:
        connection.execute("update records set status = 'MAYBE'")
    connection.close()
    before = shape(database)
    with pytest.raises(StoreError, match="of schema version 0001 cannot be brought to 0004: CHECK constraint failed"):
        open_store(old)
    assert shape(database) == before and ask(database, "select count(*) from records") == [(2,)]


def test_without_alembic_an_older_database_is_refused(old, monkeypatch):
    monkeypatch.setitem(sys.modules, "alembic", None)
    with pytest.raises(StoreError, match="version 0001 and must be brought to 0004: Alembic is not installed"):
        open_store(old)
