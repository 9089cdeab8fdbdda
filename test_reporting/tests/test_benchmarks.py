from __future__ import annotations

import pytest

from test_reporting.tests import benchmarks
from test_reporting.tests.samples import ask


@pytest.fixture
def small(monkeypatch):
    for name, value in {"DEVICES": 1, "PORTS": 16, "SCENARIOS": 1, "RUN_RECORDS": 128, "ONE_BY_ONE": 3}.items():
        monkeypatch.setattr(benchmarks, name, value)


def test_all_figures_are_there_and_what_they_measure_is_stored(small, database, url, tmp_path):
    database.parent.mkdir()
    figures = list(benchmarks.figures_of(url, [256, 1000], tmp_path))
    asked = ("ingest_per_s", "matrix_s", "compare_s", "trend_s", "record_s")
    assert [name for name, _, _ in figures] == [
        *(f"reporting.sqlite.{size}.{name}" for size in ("0k", "1k") for name in asked),
        "reporting.sqlite.last_over_first"]
    assert {unit for _, _, unit in figures} == {"1/s", "s", "ratio"}
    assert ask(database, "select count(*), count(distinct record_id) from records where run_id like 'run-%'") == [
        (1024, 1024)]
    assert ask(database, "select distinct status from runs where run_id like 'run-%'") == [("FAIL",)]
    assert ask(database, "select run_id, count(*) from records where run_id like 'one-by-one%' group by 1") == [
        ("one-by-one-1000", 3), ("one-by-one-256", 3)]
