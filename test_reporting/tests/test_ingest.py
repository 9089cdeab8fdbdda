"""The files that sonic-mgmt's `tests/common/telemetry` writes, and reporters of its stub."""
from __future__ import annotations

import json

import pytest

from test_reporting.pfc.cli import main
from test_reporting.pfc.telemetry_sink import store_reporter
from test_reporting.telemetry.metric_definitions import FINAL_STATUS
from test_reporting.tests.samples import ask

CONTEXT = {"test.file": "test_a.py", "test.testcase": "test_a", "test.testbed": "vtb-t0", "test.os.version": "202505",
           "test.job.id": "unknown"}


def record(name="port.tx.util", data=42.5, kind="gauge", **labels):
    return {"metric_name": name, "metric_type": kind, "description": "a description", "unit": "percent",
            "labels": {"device.id": "switch-A", "device.port.id": "Ethernet8", **labels}, "data": data,
            "timestamp": 1769864400123456789, "timestamp_iso": "2026-01-31T13:00:00.123456"}


@pytest.fixture
def write(tmp_path):
    def write_file(name, *records, **context):
        path = tmp_path / "logs" / f"{name}.metrics.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"metadata": {"reporter_type": "db", "test_context": {**CONTEXT, **context},
                                                 "record_count": len(records)}, "records": records}))
        return path

    return write_file


def test_a_file_is_stored_once(write, database, capsys):
    buckets = {"bucket_counts": [1, 3], "buckets": [1.0], "total_count": 4, "sum": 9.5, "min": None, "max": 5.0}
    path = write("test_a", record(), record("latency", buckets, "histogram"), record("pfc.lossless", 0),
                 record("pfc.lossy", 1, priority="3"))
    for _ in range(2):
        assert main(["ingest", str(path)]) == 0
        assert capsys.readouterr().out == f"{path}: 4 records\n"
    assert ask(database) == [
        ("switch-A", "Ethernet8", "latency", 4, None), ("switch-A", "Ethernet8", "pfc.lossless", 0, "PASS"),
        ("switch-A", "Ethernet8", "pfc.lossy", 1, "FAIL"), ("switch-A", "Ethernet8", "port.tx.util", 42.5, None)]
    assert ask(database, "select count(*), count(distinct run_id) from records") == [(4, 1)]
    assert ask(database, "select json_extract(evidence, '$.histogram.sum'), json_extract(extra, '$.description'), "
                         "unit, os_version, scenario, testbed, timestamp from records "
                         "where metric_name = 'latency'") == [
        (9.5, "a description", "percent", "202505", "test_a", "vtb-t0", "2026-01-31T13:00:00.123456Z")]


def test_a_folder_and_several_databases(write, database, url, tmp_path):
    write("test_a", record())
    write("test_b", record(data=7), **{"test.job.id": "job-7"})
    second = tmp_path / "second.db"
    assert main(["--db", url, "--db", f"sqlite:///{second}", "ingest", str(tmp_path / "logs")]) == 0
    for path in (database, second):
        assert ask(path, "select value from metrics order by value") == [(7,), (42.5,)]
        assert ask(path, "select run_id from runs where job_id = 'job-7'") == [("job-7",)]


def test_what_is_no_record_is_named_and_keeps_no_other_back(write, database, capsys):
    path = write("test_a", record(data="fast"), record(data=float("nan")), {"metric_name": "x"},
                 record("pfc.lossy", 7), 7, record())
    assert main(["ingest", str(path)]) == 3
    said = capsys.readouterr()
    assert said.out == f"{path}: 1 records\n"
    places = [line.partition(": ")[2].partition(": ")[0] for line in said.err.splitlines()]
    assert places == [f"{path} record 1", f"{path} record 2", f"{path} record 3", "metric 'pfc.lossy'",
                      f"{path} record 5"]
    assert ask(database, "select count(*) from records") == [(1,)]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metadata": 7, "records": []}',
                                  '{"metadata": {"test_context": {}}, "records": {}}'])
def test_a_file_that_is_no_such_file_is_refused(tmp_path, database, capsys, text):
    path = tmp_path / "x.metrics.json"
    path.write_text(text)
    assert main(["ingest", str(path)]) == 3
    assert capsys.readouterr().err.startswith(f"error: {path}: ")


def test_nothing_to_ingest_is_refused(tmp_path, database, capsys):
    assert main(["ingest", str(tmp_path)]) == 3
    assert capsys.readouterr().err == f"error: {tmp_path} is neither a file nor a folder with *.metrics.json files\n"


class FinalMetricsReporter:
    """As sonic-mgmt's stub has it."""

    def __init__(self, common_labels):
        self.common_labels = common_labels
        self.metrics = []


def test_what_a_reporter_of_the_untouched_stub_holds_is_stored(database):
    reporter = FinalMetricsReporter({"test.testbed": "TB", "test.job.id": "job-7"})
    place = {"device.id": "switch-A", "device.port.id": "Ethernet8"}
    reporter.metrics += [{"labels": place, "name": "pfc.lossy", "value": FINAL_STATUS.PASS},
                         {"labels": place, "name": "no_loss_max_rate", "value": 99.5}]
    store_reporter(reporter)
    store_reporter(reporter)
    assert reporter.metrics == []
    assert ask(database) == [("switch-A", "Ethernet8", "no_loss_max_rate", 99.5, None),
                             ("switch-A", "Ethernet8", "pfc.lossy", 0, "PASS")]
    assert ask(database, "select run_id, testbed from runs") == [("job-7", "TB")]
