from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.records import encode_line
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc import kusto
from test_reporting.pfc.database import open_sink
from test_reporting.pfc.errors import StoreError
from test_reporting.tests.samples import RUN, RUN_ID, verdict

SCRIPT = (Path(kusto.__file__).parent / "kql" / "setup.kql").read_text(encoding="utf-8")
HOSTILE = "'); drop \"table\" \0 <b>\u202e\ud800" + "x" * 10_240


def records(*documents):
    return [parse_line(encode_line(document)) for document in documents]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "kusto" / f"{RUN_ID}.TestMetrics.json"


@pytest.fixture
def sink(tmp_path):
    return open_sink(f"kusto:///{tmp_path / 'kusto'}")


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_the_script_creates_the_columns_that_the_files_fill():
    table = re.search(r"\.create-merge table TestMetrics \((.*?)\n\)", SCRIPT, re.DOTALL).group(1)
    assert dict(column.split(": ") for column in " ".join(table.split()).split(", ")) == {
        name: kind for name, (kind, _) in kusto.COLUMNS.items()}
    parts = re.search(r"'TestMetricsMappingV1' (.*?\n    '\]')", SCRIPT, re.DOTALL).group(1)
    mapping = json.loads("".join(re.findall(r"'(.*)'", parts)))
    assert [(column["column"], column["Properties"]["path"]) for column in mapping] == [
        (name, f"$.{key}") for name, (_, key) in kusto.COLUMNS.items()]


def test_a_row_has_what_the_record_says(sink, file):
    run = run_of({**RUN, "job_id": "job-7", "software_version": "1.0"})
    assert sink.deliver(run, records(verdict(1, "FAIL", deviations=["d"], on_behalf_of="t1",
                                             faults=["pause-ignored"]))) == 1
    row, = rows(file)
    assert list(row) == [key for _, key in kusto.COLUMNS.values()]
    assert (row["id"], row["tracking_id"], row["result"], row["value"], row["summary"], row["metric_type"]) == (
        RUN_ID, "job-7", "FAIL", 1, "the cause", "verdict")
    assert (row["timestamp"], row["software_version"], row["on_behalf_of"], row["deviations"]) == (
        "2026-01-31T13:00:00.000001Z", "1.0", "t1", ["d"])
    assert row["faults"] == ["pause-ignored"]
    assert row["evidence"] == {"frames": {"sent": 1000, "received": 12}}
    assert (row["checks"][0]["expected"], row["checks"][0]["seen"]) == ("0 frames", 12)


def test_a_record_is_there_once_however_often_and_by_whom_it_is_delivered(sink, file, tmp_path):
    run = run_of(RUN)
    assert sink.deliver(run, []) == 0 and not file.exists()
    assert sink.deliver(run, records(verdict(1), verdict(2))) == 2
    other = open_sink(f"kusto:///{tmp_path / 'kusto'}")
    assert other.deliver(run, records(verdict(2), verdict(3))) == 1
    assert sink.deliver(run, records(verdict(3), verdict(4), verdict(1))) == 1
    assert [row["timestamp"][-3:] for row in rows(file)] == ["01Z", "02Z", "03Z", "04Z"]


def test_a_line_that_its_writer_was_killed_in_is_cut_off_and_comes_again(sink, file):
    sink.deliver(run_of(RUN), records(verdict(1), verdict(2)))
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    assert open_sink(sink.url).deliver(run_of(RUN), records(verdict(1), verdict(2))) == 1
    assert file.read_bytes() == whole


def test_hostile_texts(sink, file):
    sink.deliver(run_of(RUN), records(verdict(1, port_id=HOSTILE, labels={HOSTILE: HOSTILE})))
    row, = rows(file)
    assert "\0" not in row["port_id"] and "\\u0000" in row["port_id"] and len(file.read_bytes().splitlines()) == 1


@pytest.mark.parametrize("url, sentence", [("kusto:///", "'kusto:///' names no folder"),
                                           ("kusto://cluster/db", "'kusto://cluster/db' names no folder")])
def test_a_wrong_url_is_refused(url, sentence):
    with pytest.raises(StoreError, match=sentence):
        open_sink(url)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "kusto").write_text("")
    with pytest.raises(StoreError, match="cannot be written: "):
        open_sink(f"kusto:///{tmp_path / 'kusto'}").deliver(run_of(RUN), records(verdict(1)))
