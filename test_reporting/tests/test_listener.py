from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy

import test_reporting.pfc.engine
import test_reporting.pfc.store
from test_reporting.pfc.cli import main
from test_reporting.pfc.errors import RecordError
from test_reporting.pfc.listener import Listener
from test_reporting.pfc.verdict import Status
from test_reporting.tests import samples
from test_reporting.tests.samples import RUN, RUN_ID, ask, lines, verdict


@pytest.fixture
def said():
    return []


@pytest.fixture
def folder(database):
    return database.parent / RUN_ID


@pytest.fixture
def listener(folder, url, said):
    listener = Listener(folder, url, said.append)
    listener.start(RUN)
    return listener


@pytest.fixture
def sync(url, capsys):
    """Run the command `sync`; returns exit status and what it said."""

    def run():
        status = main(["--db", url, "sync"])
        return status, *capsys.readouterr()

    return run


def test_a_run_from_start_to_end(listener, folder, database, said):
    listener.expect([("vtb-t0-01", "Ethernet0", "pfc.lossless"), ("vtb-t0-01", "Ethernet0", "pfc.lossy")])
    assert [row[4] for row in ask(database)] == ["ERROR", "ERROR"]
    listener.record(verdict(1))
    listener.record(verdict(2, metric_name="pfc.lossy"))
    assert lines(folder / "records.jsonl") == [verdict(1), verdict(2, metric_name="pfc.lossy")]
    assert [row[4] for row in ask(database)] == ["ERROR", "ERROR"]
    outcome = listener.finish()
    assert (outcome.status, outcome.cause, outcome.stored, outcome.lost) == (Status.PASS, None, True, ())
    assert [(metric.metric_name, metric.status) for metric in outcome.metrics] == [
        ("pfc.lossless", Status.PASS), ("pfc.lossy", Status.PASS)]
    assert [row[3:] for row in ask(database)] == [(0, "PASS"), (0, "PASS")]
    assert ask(database, "select status from runs") == [("PASS",)]
    assert said == []


@pytest.mark.parametrize("statuses, expected", [
    ([], Status.ERROR), (["PASS"], Status.PASS), (["PASS", "ERROR"], Status.ERROR), (["ERROR", "FAIL"], Status.FAIL)])
def test_outcome_and_database_say_the_same(listener, database, statuses, expected):
    for number, status in enumerate(statuses):
        listener.record(verdict(number, status))
    outcome = listener.finish()
    assert outcome.status is expected
    assert ask(database, "select status, cause from runs") == [(outcome.status, outcome.cause)]
    assert [(row[0], row[1], row[2], row[4]) for row in ask(database)] == [
        (metric.device_id, metric.port_id, metric.metric_name, metric.status) for metric in outcome.metrics]


def test_of_several_causes_outcome_and_database_name_the_same(listener, database):
    listener.expect([("vtb-t0-01", "Ethernet99", "pfc.lossy")])
    for number in (5, 3, 9, 1, 7):
        listener.record(verdict(number, "FAIL", port_id=f"Ethernet{number % 4}", cause=f"cause {number}"))
    outcome = listener.finish()
    assert outcome.cause == "cause 3 (and 1 more) (and 1 more)", "one more of its port, one more port"
    assert ask(database, "select status, cause from runs") == [("FAIL", outcome.cause)]
    assert dict(ask(database, "select port_id, cause from metrics")) == {
        metric.port_id: metric.cause for metric in outcome.metrics}


def test_a_record_is_in_the_file_before_it_is_in_the_database(listener, folder, monkeypatch):
    seen = []
    monkeypatch.setattr(test_reporting.pfc.store.Store, "deliver",
                        lambda self, run, records: seen.append(len(lines(folder / "records.jsonl"))))
    listener.record(verdict(1))
    assert seen == [1]


def test_a_part_that_does_not_name_the_job_leaves_the_run_in_it(folder, url, said):
    Listener(folder, url, said.append).start({**RUN, "job_id": "night"})
    Listener(folder, url, said.append).start(RUN)
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["job_id"] == "night"
    Listener(folder, url, said.append).start({**RUN, "job_id": "morning"})
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["job_id"] == "morning"
    assert not said


def test_lines_that_the_suite_wrote_itself_are_counted_once(listener, folder, database):
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        for number, status in ((1, "PASS"), (2, "FAIL")):
            file.write(json.dumps(verdict(number, status)) + "\n")
    listener.record(verdict(1))
    assert len(lines(folder / "records.jsonl")) == 2
    outcome = listener.finish()
    assert (outcome.status, outcome.stored) == (Status.FAIL, True)
    assert ask(database, "select count(*) from records") == [(2,)]


def test_lines_that_the_suite_wrote_itself_can_be_taken_in_at_once(listener, folder, database):
    for number in (1, 2):
        with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(verdict(number)) + "\n")
        listener.take_in()
        assert ask(database, "select count(*) from records") == [(number,)]
    listener.record(verdict(3))
    assert ask(database, "select count(*) from records") == [(3,)]
    assert listener.finish().status is Status.PASS


def test_a_line_of_the_file_that_cannot_be_read_keeps_the_run_from_pass(listener, folder, database, said):
    listener.record(verdict(1))
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write("garbage\n")
    outcome = listener.finish()
    assert outcome.status is Status.ERROR
    assert "records.jsonl: it is not JSON" in said[0] and outcome.cause == said[0]
    assert [row[4] for row in ask(database)] == ["ERROR"]


def test_a_wrong_record_is_refused_and_not_kept(listener, folder):
    with pytest.raises(RecordError, match="field 'status' is 'MAYBE'"):
        listener.record(verdict(status="MAYBE"))
    with pytest.raises(RecordError, match=f"field 'run_id' is 'other'; it must be '{RUN_ID}'"):
        listener.record_all([verdict(1), verdict(2, run_id="other")])
    assert not (folder / "records.jsonl").exists()


@pytest.mark.parametrize("method, arguments", [("record", [verdict()]), ("expect", [[]]), ("finish", [])])
def test_start_comes_first(folder, url, method, arguments):
    with pytest.raises(RecordError, match="was not started"):
        getattr(Listener(folder, url), method)(*arguments)


@pytest.mark.parametrize("run, sentence", [
    ({}, "run: field 'run_id' is missing or empty"), ({"run_id": 7}, "run: field 'run_id' is 7; it must be a text"),
    ({"run_id": "r", "started": "now"}, "run: field 'started' is 'now'; it must be a UTC time such as "
                                        "2026-01-31T13:00:00.000000Z, or null"),
    ({"run_id": "r", "expected": [["d", "p"]]}, "run: field 'expected' holds ['d', 'p']; each entry must be "
                                                "[device, port, metric]")])
def test_wrong_run_info_is_refused(folder, url, run, sentence):
    with pytest.raises(RecordError) as refused:
        Listener(folder, url).start(run)
    assert str(refused.value) == sentence


def away(database, monkeypatch):
    database.parent.parent.joinpath("away").write_text("")
    return f"sqlite:///{database.parent.parent / 'away' / 'pfc.db'}"


def read_only(database, monkeypatch):
    """As SQLite itself says it, for root too, whom no file permission stops."""
    create_engine = sqlalchemy.create_engine

    def create_read_only_engine(*args, **options):
        engine = create_engine(*args, **options)
        sqlalchemy.event.listen(engine, "connect", lambda connection, _: connection.execute("pragma query_only = on"))
        return engine

    monkeypatch.setattr(test_reporting.pfc.engine, "create_engine", create_read_only_engine)
    return f"sqlite:///{database}"


def garbage(database, monkeypatch):
    database.parent.mkdir(parents=True, exist_ok=True)
    database.with_name("garbage.db").write_bytes(b"garbage" * 1000)
    return f"sqlite:///{database.with_name('garbage.db')}"


@pytest.mark.parametrize("trouble", [away, read_only, garbage])
def test_a_database_in_trouble_loses_nothing(trouble, database, folder, url, said, sync, monkeypatch):
    with monkeypatch.context() as patch:
        listener = Listener(folder, trouble(database, patch), said.append)
        listener.start(RUN)
        for number in range(5):
            listener.record(verdict(number))
        outcome = listener.finish()
    assert (outcome.status, outcome.stored, outcome.lost) == (Status.PASS, False, ())
    assert len(said) == 2, "one sentence when it happens, one at the end"
    assert "the run goes on" in said[0] and f"sync --results {folder.parent}" in said[1]
    assert len(lines(folder / "records.jsonl")) == 5
    assert sync() == (0, f"5 records delivered to {url}\n", "")
    assert sync() == (0, f"0 records delivered to {url}\n", "")
    assert [row[3:] for row in ask(database)] == [(0, "PASS")]


def test_a_locked_database_is_waited_for_once(listener, database, said, monkeypatch):
    monkeypatch.setattr(test_reporting.pfc.engine, "BUSY_SECONDS", 0.1)
    listener._targets._targets[0]._sink = None  # the next delivery opens the database anew, with less patience
    lock = sqlite3.connect(database, isolation_level=None)
    lock.execute("begin exclusive")
    for number in range(3):
        listener.record(verdict(number))
    assert len(said) == 1 and "cannot be opened: database is locked; the run goes on" in said[0]
    lock.execute("rollback")
    lock.close()
    outcome = listener.finish()
    assert (outcome.stored, len(said)) == (True, 1)
    assert ask(database, "select count(*) from records") == [(3,)]


def test_a_database_that_vanishes_in_the_middle_is_made_anew(listener, database, said):
    listener.record(verdict(1))
    database.unlink()
    listener.record(verdict(2))
    listener.record(verdict(3))
    assert listener.finish().stored and len(said) == 1
    assert ask(database, "select count(*) from records") == [(3,)]


def test_a_file_that_takes_nothing_leaves_it_to_the_database(listener, folder, database, said):
    (folder / "records.jsonl").mkdir()
    listener.record(verdict(1))
    listener.record(verdict(2, "FAIL"))
    assert "records.jsonl cannot be written: Is a directory; records are kept in memory" in said[0]
    outcome = listener.finish()
    assert (outcome.status, outcome.stored, outcome.lost) == (Status.FAIL, True, ())
    assert ask(database, "select count(*) from records") == [(2,)]


def test_a_file_that_recovers_gets_what_it_missed(listener, folder, said):
    (folder / "records.jsonl").mkdir()
    listener.record(verdict(1))
    (folder / "records.jsonl").rmdir()
    listener.record(verdict(2))
    assert listener.finish().stored
    assert sorted(line["timestamp"] for line in lines(folder / "records.jsonl")) == [
        verdict(1)["timestamp"], verdict(2)["timestamp"]]


def test_when_nothing_takes_a_record_the_run_is_not_pass(database, folder, said, monkeypatch):
    database.parent.mkdir()
    listener = Listener(folder, away(database, monkeypatch), said.append)
    listener.start(RUN)
    (folder / "records.jsonl").mkdir()
    listener.record(verdict(1))
    outcome = listener.finish()
    assert (outcome.status, outcome.stored) == (Status.ERROR, False)
    assert outcome.cause == said[-1] == f"1 records of run {RUN_ID} are neither in a file nor in every database"
    assert [json.loads(line) for line in outcome.lost] == [verdict(1)]
    assert json.loads((folder / "run.json").read_text())["finished"] is None


def test_a_full_disk_loses_nothing(database, url, processes):
    database.parent.mkdir()
    process = processes.Process(target=samples.fill_the_disk, args=(str(database.parent), url, 100_000, 110))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    said, status, stored = json.loads((database.parent / "said.json").read_text())
    assert (status, stored, len(said)) == ("PASS", True, 1)
    assert "pfc.db cannot be written: " in said[0] and "the run goes on" in said[0]
    assert len(lines(database.parent / RUN_ID / "records.jsonl")) == 110
    assert ask(database, "select count(*) from records") == [(110,)]
    assert ask(database, "pragma integrity_check") == [("ok",)]


def test_twenty_kills_during_writes_lose_and_double_nothing(database, url, tmp_path, sync, processes):
    database.parent.mkdir()
    promised = samples.write_killed(processes, database.parent, url)
    assert sync()[0] == 0
    stored = [row[0] for row in ask(database, "select json_extract(evidence, '$.number') from records")]
    assert len(stored) == len(set(stored))
    assert len(promised) >= 20 and promised <= set(stored)
    assert set(stored) == {line["evidence"]["number"] for line in lines(database.parent / RUN_ID / "records.jsonl")}
    assert [row[3:] for row in ask(database)] == [(None, "ERROR")], "a run that was killed is not PASS"
    assert ask(database, "pragma integrity_check") == [("ok",)]


def test_two_runs_that_write_at_once_do_not_disturb_each_other(database, url, processes):
    database.parent.mkdir()
    writers = [processes.Process(target=samples.write_some, args=(str(database.parent / run_id), run_id, 60, url))
               for run_id in ("run-a", "run-b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert ask(database, "select run_id, count(*) from records group by run_id") == [("run-a", 60), ("run-b", 60)]
    assert ask(database, "select run_id, status from runs order by run_id") == [("run-a", "PASS"), ("run-b", "PASS")]


def test_processes_that_create_the_same_database_at_once_all_find_it(tmp_path, processes):
    urls = [f"sqlite:///{tmp_path / str(number)}.db" for number in range(12)]
    openers = [processes.Process(target=samples.open_all, args=(urls,)) for _ in range(3)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join(60)
    assert [opener.exitcode for opener in openers] == [0, 0, 0]


def test_two_deliveries_of_the_same_run_at_once_deliver_it_once(database, url, tmp_path, processes):
    folders = []
    for number in range(4):
        listener = Listener(database.parent / f"run-{number}", f"sqlite:///{tmp_path / 'other.db'}")
        listener.start({**RUN, "run_id": f"run-{number}"})
        listener.record_all([verdict(place, run_id=f"run-{number}") for place in range(50)])
        listener.finish()
        folders.append(str(database.parent / f"run-{number}"))
    deliverers = [processes.Process(target=samples.deliver_some, args=(folders, url)) for _ in range(2)]
    for deliverer in deliverers:
        deliverer.start()
    for deliverer in deliverers:
        deliverer.join(60)
    assert [deliverer.exitcode for deliverer in deliverers] == [0, 0]
    assert ask(database, "select count(*), count(distinct record_id) from records") == [(200, 200)]
    assert ask(database, "select count(*) from metrics where status = 'PASS'") == [(4,)]


def test_nothing_but_the_standard_library_until_a_database_is_opened():
    code = ("import sys, test_reporting.pfc, test_reporting.pfc.cli, test_reporting.telemetry.reporter_factory as f\n"
            "f.TelemetryReporterFactory.create_final_metrics_reporter({})\n"
            "loaded = {name.partition('.')[0] for name in sys.modules}\n"
            "sys.exit(str(loaded & {'sqlalchemy', 'tabulate', 'tests', 'virtual_testbed'} or ''))")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.strip() == ""
