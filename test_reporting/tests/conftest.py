from __future__ import annotations

import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest

from test_reporting.pfc.cli import main
from test_reporting.tests.bundle_samples import CAPTURE, VERSIONS, make_run
from test_reporting.tests.samples import RUN, RUN_ID, parsed, started, verdict

MEMORY = "/dev/shm"


@pytest.fixture
def tmp_path():
    """A folder in memory where there is one: everything here waits for the disk again and again; tests need not."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def processes():
    """Start processes that have everything imported, so that starting one is cheap."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["test_reporting.tests.samples", "test_reporting.pfc.store", "psycopg",
                                    "sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite"])
    return context


@pytest.fixture
def database(tmp_path, monkeypatch):
    """The database of this test, which $PFC_REPORT_DB names."""
    path = tmp_path / "results" / "pfc.db"
    monkeypatch.setenv("PFC_REPORT_DB", f"sqlite:///{path}")
    return path


@pytest.fixture
def run(database):
    """Store a run of these records."""

    def store(*records, run_id=RUN_ID, finish=True, **fields):
        writer = started(database.parent / run_id, run={**RUN, "run_id": run_id, **fields})
        writer.write(parsed(*[{**record, "run_id": run_id} for record in records]))
        return writer.finish() if finish else None

    return store


@pytest.fixture
def url(database):
    return f"sqlite:///{database}"


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL server for all tests that need one."""
    from test_reporting.tests.postgresql import PostgreSQL, Unavailable
    try:
        server = PostgreSQL()
    except Unavailable as error:
        pytest.skip(str(error))
    yield server
    server.remove()


@pytest.fixture
def folder(database):
    """The folder of a finished run with evidence."""
    return make_run(database.parent / RUN_ID, verdict(1, evidence={"files": [VERSIONS, CAPTURE]}),
                    verdict(2, "FAIL", port_id="Ethernet8", cause="12 frames leaked", on_behalf_of="t1-01"))


@pytest.fixture
def packed(folder, tmp_path, capsys):
    """A bundle of that run."""
    path = tmp_path / "out.zip"
    assert main(["bundle", RUN_ID, "--output", str(path)]) == 0
    return path
