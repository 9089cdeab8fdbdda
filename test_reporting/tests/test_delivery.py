"""What becomes of a run's records: on the disk first, then in every database, whatever is in trouble."""
from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy

import test_reporting.pfc.engine
import test_reporting.pfc.store
from tests.common.pfc.record.effective_records import judge
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.record_file import RunEnd
from tests.common.pfc.record.verdict import Status
from test_reporting.pfc.cli import main
from test_reporting.tests import samples
from test_reporting.tests.samples import RUN, RUN_ID, ask, lines, parsed, started, verdict

EXPECTED = [["vtb-t0-01", "Ethernet0", "pfc.lossless"], ["vtb-t0-01", "Ethernet0", "pfc.lossy"]]


@pytest.fixture
def said():
    return []


@pytest.fixture
def folder(database):
    return database.parent / RUN_ID


@pytest.fixture
def writer(folder, url, said):
    return started(folder, url, said.append)


@pytest.fixture
def sync(url, capsys):
    """Run the command `sync`; returns exit status and what it said."""

    def run():
        status = main(["--db", url, "sync"])
        return status, *capsys.readouterr()

    return run


def test_a_run_from_start_to_end(folder, url, database, said):
    writer = started(folder, url, said.append, run={**RUN, "expected": EXPECTED})
    assert [row[4] for row in ask(database)] == ["ERROR", "ERROR"]
    writer.write(parsed(verdict(1)))
    writer.write(parsed(verdict(2, metric_name="pfc.lossy")))
    found = parsed(*lines(folder / "records.jsonl"))
    assert [record.status for record in found] == ["PASS", "PASS"]
    assert [row[4] for row in ask(database)] == ["ERROR", "ERROR"]
    assert writer.finish() == RunEnd(stored=True)
    assert [row[3:] for row in ask(database)] == [(0, "PASS"), (0, "PASS")]
    assert ask(database, "select status from runs") == [("PASS",)]
    assert said == []


@pytest.mark.parametrize("statuses, expected", [
    ([], Status.ERROR), (["PASS"], Status.PASS), (["PASS", "ERROR"], Status.ERROR), (["ERROR", "FAIL"], Status.FAIL)])
def test_records_and_database_say_the_same(writer, database, statuses, expected):
    written = parsed(*[verdict(number, status) for number, status in enumerate(statuses)])
    writer.write(written)
    writer.finish()
    judged = judge(written, finished=True)
    assert judged.status is expected
    assert ask(database, "select status, cause from runs") == [(judged.status, judged.cause)]
    assert [row[4] for row in ask(database)] == [judged.status for _ in statuses[:1]]


def test_of_several_causes_the_first_is_named(folder, url, database, said):
    run = {**RUN, "expected": [["vtb-t0-01", "Ethernet99", "pfc.lossy"]]}
    writer = started(folder, url, said.append, run=run)
    for number in (5, 3, 9, 1, 7):
        writer.write(parsed(verdict(number, "FAIL", port_id=f"Ethernet{number % 4}", cause=f"cause {number}")))
    writer.finish()
    assert ask(database, "select status, cause from runs") == [
        ("FAIL", "cause 3 (and 1 more) (and 1 more)")], "one more of its port, one more port"
    assert dict(ask(database, "select port_id, cause from metrics")) == {
        "Ethernet1": "cause 1 (and 2 more)", "Ethernet3": "cause 3 (and 1 more)", "Ethernet99": "nothing was measured"}


def test_a_record_is_in_the_file_before_it_is_in_the_database(writer, folder, monkeypatch):
    seen = []
    monkeypatch.setattr(test_reporting.pfc.store.Store, "deliver",
                        lambda self, run, records: seen.append(len(lines(folder / "records.jsonl"))))
    writer.write(parsed(verdict(1)))
    assert seen == [1]


def test_what_is_delivered_is_not_read_from_the_file(writer, folder, database, monkeypatch):
    """Records are handed on as they were made."""
    monkeypatch.setattr("test_reporting.pfc.sync.deliver_folder", lambda *_: pytest.fail("the folder was read"))
    writer.write(parsed(verdict(1)))
    writer.write(parsed(verdict(2, metric_name="pfc.lossy")))
    assert writer.finish() == RunEnd(stored=True)
    assert ask(database, "select count(*) from records") == [(2,)]


def test_a_part_that_does_not_name_the_job_leaves_the_run_in_it(folder, url, said):
    started(folder, url, said.append, run={**RUN, "job_id": "night"})
    started(folder, url, said.append)
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["job_id"] == "night"
    started(folder, url, said.append, run={**RUN, "job_id": "morning"})
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["job_id"] == "morning"
    assert not said


def test_a_record_of_another_run_is_refused_and_nothing_kept(writer, folder):
    with pytest.raises(RecordError, match=f"field 'run_id' is 'other'; it must be '{RUN_ID}'"):
        writer.write(parsed(verdict(1), verdict(2, run_id="other")))
    assert not (folder / "records.jsonl").exists()


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
        writer = started(folder, trouble(database, patch), said.append)
        for number in range(5):
            writer.write(parsed(verdict(number)))
        assert writer.finish() == RunEnd(stored=False)
    assert len(said) == 2, "one sentence when it happens, one at the end"
    assert "the run goes on" in said[0] and f"sync --results {folder.parent}" in said[1]
    assert len(lines(folder / "records.jsonl")) == 5
    assert sync() == (0, f"5 records delivered to {url}\n", "")
    assert sync() == (0, f"0 records delivered to {url}\n", "")
    assert [row[3:] for row in ask(database)] == [(0, "PASS")]


def test_a_locked_database_is_waited_for_once(writer, database, said, monkeypatch):
    monkeypatch.setattr(test_reporting.pfc.engine, "BUSY_SECONDS", 0.1)
    writer._delivery._destinations[0]._sink = None  # the next delivery opens the database anew, with less patience
    lock = sqlite3.connect(database, isolation_level=None)
    lock.execute("begin exclusive")
    for number in range(3):
        writer.write(parsed(verdict(number)))
    assert len(said) == 1 and "cannot be opened: database is locked; the run goes on" in said[0]
    lock.execute("rollback")
    lock.close()
    assert (writer.finish(), len(said)) == (RunEnd(stored=True), 1)
    assert ask(database, "select count(*) from records") == [(3,)]


def test_a_database_that_vanishes_in_the_middle_is_made_anew(writer, database, said):
    writer.write(parsed(verdict(1)))
    database.unlink()
    writer.write(parsed(verdict(2)))
    writer.write(parsed(verdict(3)))
    assert writer.finish().stored and len(said) == 1
    assert ask(database, "select count(*) from records") == [(3,)]


def test_a_file_that_takes_nothing_leaves_it_to_the_database(writer, folder, database, said):
    (folder / "records.jsonl").mkdir()
    written = parsed(verdict(1), verdict(2, "FAIL"))
    for record in written:
        writer.write([record])
    assert "records.jsonl cannot be written: Is a directory; records are kept in memory" in said[0]
    assert writer.finish() == RunEnd(stored=True, unspooled=tuple(written))
    assert ask(database, "select status from runs") == [("FAIL",)]
    assert ask(database, "select count(*) from records") == [(2,)]


def test_a_file_that_recovers_gets_what_it_missed(writer, folder, said):
    (folder / "records.jsonl").mkdir()
    writer.write(parsed(verdict(1)))
    (folder / "records.jsonl").rmdir()
    writer.write(parsed(verdict(2)))
    assert writer.finish().stored
    assert sorted(line["timestamp"] for line in lines(folder / "records.jsonl")) == [
        verdict(1)["timestamp"], verdict(2)["timestamp"]]


def test_when_nothing_takes_a_record_the_run_is_not_pass(database, folder, said, monkeypatch):
    database.parent.mkdir()
    writer = started(folder, away(database, monkeypatch), said.append)
    (folder / "records.jsonl").mkdir()
    written = parsed(verdict(1))
    writer.write(written)
    end = writer.finish()
    assert end == RunEnd(False, tuple(written), tuple(written))
    assert said[-1] == f"1 records of run {RUN_ID} are neither in a file nor in every database"
    assert json.loads((folder / "run.json").read_text())["finished"] is None


def test_a_full_disk_loses_nothing(database, url, processes):
    database.parent.mkdir()
    process = processes.Process(target=samples.fill_the_disk, args=(str(database.parent), url, 100_000, 110))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    said, stored = json.loads((database.parent / "said.json").read_text())
    assert (stored, len(said)) == (True, 1)
    assert ask(database, "select status from runs") == [("PASS",)]
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
        run = {**RUN, "run_id": f"run-{number}"}
        writer = started(database.parent / f"run-{number}", f"sqlite:///{tmp_path / 'other.db'}", run=run)
        writer.write(parsed(*[verdict(place, run_id=f"run-{number}") for place in range(50)]))
        writer.finish()
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
    """And of the suite nothing but the record library."""
    code = ("import sys, test_reporting.pfc, test_reporting.pfc.cli, test_reporting.telemetry.reporter_factory as f\n"
            "f.TelemetryReporterFactory.create_final_metrics_reporter({})\n"
            "own = ('tests', 'tests.common', 'tests.common.pfc', 'tests.common.pfc.record')\n"
            "suite = [name for name in sys.modules if name.partition('.')[0] == 'tests' and name not in own\n"
            "         and not name.startswith(own[-1] + '.')]\n"
            "loaded = {name.partition('.')[0] for name in sys.modules}\n"
            "sys.exit(str(suite or loaded & {'sqlalchemy', 'tabulate', 'virtual_testbed', 'snappi'} or ''))")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.strip() == ""
