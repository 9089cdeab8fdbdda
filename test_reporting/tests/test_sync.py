"""Delivering long runs in parts."""
from __future__ import annotations

import json

import pytest

import test_reporting.pfc.sync
from tests.common.pfc.record.run import write_run
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc.database import open_store
from test_reporting.pfc.errors import StoreError
from test_reporting.pfc.sync import deliver_folder
from test_reporting.tests.samples import RUN, RUN_ID, ask, verdict


class Breaking:
    """A database that is away after some deliveries."""

    def __init__(self, store, deliveries):
        self.store, self.url, self.left = store, store.url, deliveries

    def deliver(self, run, records):
        if not self.left:
            raise StoreError("it is away")
        self.left -= 1
        return self.store.deliver(run, records)


@pytest.fixture
def folder(database, monkeypatch):
    """A run of 25 records that has ended, delivered 10 at a time."""
    monkeypatch.setattr(test_reporting.pfc.sync, "BATCH", 10)
    folder = database.parent / RUN_ID
    write_run(folder, run_of({**RUN, "finished": "2026-01-31T13:05:00Z"}))
    (folder / "records.jsonl").write_text("".join(json.dumps(verdict(number)) + "\n" for number in range(25)))
    return folder


def test_a_long_run_is_delivered_in_parts(folder, database, url):
    assert deliver_folder(folder, open_store(url)).delivered == 25
    assert deliver_folder(folder, open_store(url)).delivered == 0
    assert ask(database, "select count(*) from records") == [(25,)]
    assert ask(database, "select status from runs") == [("PASS",)]


@pytest.mark.parametrize("deliveries", [0, 1, 2])
def test_what_breaks_off_is_no_finished_run_and_is_completed_later(folder, database, url, deliveries):
    store = open_store(url)
    with pytest.raises(StoreError):
        deliver_folder(folder, Breaking(store, deliveries))
    assert ask(database, "select count(*) from records") == [(10 * deliveries,)]
    assert ask(database, "select distinct status from metrics where status = 'PASS'") == []
    assert deliver_folder(folder, store).delivered == 25 - 10 * deliveries
    assert ask(database, "select status from runs") == [("PASS",)]


@pytest.mark.parametrize("count", [0, 10, 20])
def test_runs_of_any_length(folder, database, url, count):
    lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
    (folder / "records.jsonl").write_text("".join(lines[:count]))
    assert deliver_folder(folder, open_store(url)).delivered == count
    assert ask(database, "select status from runs") == [("PASS" if count else "ERROR",)]
