"""The same on a real PostgreSQL server, which these tests start themselves and share."""
from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

import test_reporting.pfc.engine
from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.record_file import RunEnd
from tests.common.pfc.record.records import encode_line
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc import schema
from test_reporting.pfc.cli import main
from test_reporting.pfc.database import open_store
from test_reporting.pfc.engine import Database
from test_reporting.pfc.errors import StoreError
from test_reporting.pfc.sql_rows import sql_text
from test_reporting.tests import old_database, samples
from test_reporting.tests.samples import COLUMNS, RUN, RUN_ID, ask, lines, parsed, started, verdict
from test_reporting.tests.test_telemetry import EXAMPLE, TELEMETRY
from test_reporting.tests.test_upgrade import CHANGES

FINISHED = {**RUN, "finished": "2026-01-31T13:05:00.000000Z"}
TABLES = ("alembic_version", "checks", "defects", "metrics", "records", "runs", "verdicts")
INCOMPRESSIBLE = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FA5), k=10_240)))


@pytest.fixture
def name(postgresql):
    """An empty database of the server."""
    return postgresql.new_database()


@pytest.fixture
def server_url(postgresql, name, tmp_path, monkeypatch):
    """Its URL, which $PFC_REPORT_DB holds; the current folder is the test's own."""
    url = postgresql.url(name)
    monkeypatch.setenv("PFC_REPORT_DB", url)
    monkeypatch.chdir(tmp_path)
    return url


@pytest.fixture
def query(postgresql, name):
    return lambda text=COLUMNS: postgresql.ask(text, name)


@pytest.fixture
def run_all(processes):
    """Run processes at once; all of them must end well."""

    def run(target, *arguments):
        started = [processes.Process(target=target, args=args) for args in arguments]
        for process in started:
            process.start()
        for process in started:
            process.join(60)
        assert [process.exitcode for process in started] == [0] * len(started)

    return run


def records(*documents):
    return [parse_line(encode_line(document)) for document in documents]


def shown(url):
    """The URL as it may be shown."""
    return url.replace("p%40ss%2Fword", "***").replace("=/dev/shm/", "=%2Fdev%2Fshm%2F")


def test_the_example_of_the_stub_ends_as_the_same_row_in_both(postgresql, name, database, tmp_path):
    code = EXAMPLE.format(telemetry=str(TELEMETRY), value="")
    both = {**os.environ, "PFC_REPORT_DB": f"sqlite:///{database} {postgresql.url(name)}"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path, env=both)
    assert ask(database) == postgresql.ask(COLUMNS, name) == [("switch-A", "Ethernet8", "pfc.lossy", 0, "PASS")]
    for table in TABLES:
        assert postgresql.ask("select column_name from information_schema.columns where table_schema = 'public' "
                              f"and table_name = '{table}' order by ordinal_position", name) == ask(
            database, f"select name from pragma_table_info('{table}')"), table


def test_a_run_from_start_to_end(server_url, query, tmp_path):
    said = []
    expected = [["vtb-t0-01", "Ethernet0", "pfc.lossless"], ["vtb-t0-01", "Ethernet0", "pfc.lossy"]]
    run = {**RUN, "job_id": "job-7", "software_version": "9.9", "expected": expected}
    writer = started(tmp_path / RUN_ID, server_url, said.append, run=run)
    assert [row[4] for row in query()] == ["ERROR", "ERROR"]
    writer.write(parsed(verdict(1, on_behalf_of="t1-01", deviations=["counts no lossy pauses"])))
    writer.write(parsed(verdict(2, "FAIL", metric_name="pfc.lossy")))
    assert [row[3:] for row in query()] == [(None, "ERROR"), (1, "FAIL")]
    assert (writer.finish(), said) == (RunEnd(stored=True), [])
    assert query("select status from runs") == [("FAIL",)]
    assert [row[3:] for row in query()] == [(0, "PASS"), (1, "FAIL")]
    assert query("select job_id, on_behalf_of, software_version, deviations, to_char(timestamp at time zone 'UTC', "
                 "'HH24:MI:SS.US'), evidence -> 'frames' ->> 'sent' from records where status = 'PASS'") == [
        ("job-7", "t1-01", "9.9", ["counts no lossy pauses"], "13:00:00.000001", "1000")]


def test_the_commands_say_the_same_of_both(server_url, database, tmp_path, monkeypatch, capsys):
    writer = started(tmp_path / RUN_ID, [f"sqlite:///{database}", server_url], run={**FINISHED, "software_version": ""})
    writer.write(parsed(verdict(1), verdict(2, "FAIL", port_id="Ethernet4"),
                        verdict(3, "ERROR", port_id="Ethernet8")))
    assert writer.finish().stored
    for number, (run_id, status, faults) in enumerate((
            ("b", "FAIL", []), ("c", "FAIL", ["pause-ignored@Ethernet0"]), ("d", "PASS", [])), start=14):
        run = {**FINISHED, "run_id": run_id, "faults": faults, "started": f"2026-01-31T{number}:00:00Z"}
        writer = started(tmp_path / run_id, [f"sqlite:///{database}", server_url], run=run)
        writer.write(parsed(verdict(number, status, run_id=run_id, faults=faults)))
        assert writer.finish().stored
    for command in (["list"], ["show"], ["export", "--format", "csv"], ["export", "--format", "json"],
                    ["export", "--format", "junit"], ["trend"], ["trend", "--with-broken"], ["compare", RUN_ID, "c"],
                    ["compare", "b", "d"]):
        said = []
        for url in (f"sqlite:///{database}", server_url):
            status = main(["--db", url, *command])
            said.append((status, *capsys.readouterr()))
        assert said[0] == said[1] and said[0][2] == "", command
    assert "│ flaky   │\n" in said[1][1].partition("fixed")[2], said[1][1]


@pytest.mark.parametrize("text", [
    "'); drop table metrics; --", '"', "a\0b", "x" * 10_240, INCOMPRESSIBLE, "\u202e\u05d0", "<script>x</script>",
    "\ud800", "%s {} \\u0000 :x", "\U0001f600"], ids=range(10))
def test_hostile_texts_are_stored_as_they_are(server_url, query, text):
    store = open_store(server_url)
    documents = [verdict(labels={"x": text, f"key {text}": 1}, evidence={"deep": [{"x": text}]}, scenario=text),
                 verdict(1, port_id=text, device_id=f"d{text}", metric_name=f"m{text}")]
    assert store.deliver(run_of({**FINISHED, "job_id": text, "info": {"x": text}}), records(*documents)) == 2
    assert store.deliver(run_of(FINISHED), records(*documents)) == 0
    assert query("select port_id from metrics where port_id <> 'Ethernet0'") == [(sql_text(text),)]
    assert query("select labels, evidence, scenario from records where port_id = 'Ethernet0'") == [
        ({"x": sql_text(text), f"key {sql_text(text)}": 1}, {"deep": [{"x": sql_text(text)}]}, sql_text(text))]
    assert query("select labels ->> 'x' from records where port_id = 'Ethernet0'") == [(sql_text(text),)]


@pytest.mark.parametrize("change", [
    "status = 'PASS', value = null, cause = null", "status = 'ERROR', value = 0, cause = 'c'", "value = 1"])
def test_the_schema_itself_keeps_status_and_value_in_agreement(postgresql, server_url, query, change):
    open_store(server_url).deliver(run_of(FINISHED), records(verdict()))
    for table in ("metrics", "records"):
        with pytest.raises(Exception, match="status_and_value"):
            query(f"update {table} set {change}")


def test_many_writers_at_once_do_not_disturb_each_other(server_url, query, tmp_path, run_all):
    parts = [(tmp_path / "a" / RUN_ID, RUN_ID), (tmp_path / "b" / RUN_ID, RUN_ID), (tmp_path / "other", "other")]
    run_all(samples.write_some, *((str(folder), run_id, 16, server_url) for folder, run_id in parts))
    assert query("select run_id, count(*) from records group by run_id order by run_id") == [
        (RUN_ID, 16), ("other", 16)], "two writers of one run that say the same say it once"
    assert query("select run_id, status from runs order by run_id") == [(RUN_ID, "PASS"), ("other", "PASS")]


def test_two_parts_of_a_run_are_one_run(server_url, query, tmp_path, run_all):
    run_all(samples.write_some, *((str(tmp_path / part), RUN_ID, 16, server_url) for part in ("part-1", "part-2")))
    assert query("select count(*), count(distinct record_id) from records") == [(32, 32)]
    assert query("select count(*), min(status) from metrics") == [(8, "PASS")]


def test_processes_that_open_a_new_database_at_once_all_find_it(postgresql, run_all):
    urls = [postgresql.url(postgresql.new_database()) for _ in range(3)]
    run_all(samples.open_all, *((urls,) for _ in range(3)))


def test_two_deliveries_of_the_same_runs_at_once_deliver_them_once(server_url, query, tmp_path, run_all):
    folders = []
    for number in range(4):
        run = {**RUN, "run_id": f"run-{number}"}
        writer = started(tmp_path / f"run-{number}", f"sqlite:///{tmp_path / 'other.db'}", run=run)
        writer.write(parsed(*[verdict(place, run_id=f"run-{number}") for place in range(50)]))
        writer.finish()
        folders.append(str(tmp_path / f"run-{number}"))
    run_all(samples.deliver_some, (folders, server_url), (folders[::-1], server_url))
    assert query("select count(*), count(distinct record_id) from records") == [(200, 200)]
    assert query("select count(*) from metrics where status = 'PASS'") == [(4,)]


def sync(url, capsys):
    status = main(["--db", url, "sync", "--results", "."])
    return status, *capsys.readouterr()


def test_a_server_that_stops_in_the_middle_loses_nothing(postgresql, server_url, query, tmp_path, capsys):
    said = []
    writer = started(tmp_path / RUN_ID, server_url, said.append)
    writer.write(parsed(verdict(1)))
    postgresql.stop()
    try:
        writer.write(parsed(verdict(2), verdict(3, "FAIL")))
        writer.write(parsed(verdict(4)))
        outcome = writer.finish()
    finally:
        postgresql.start()
    assert (outcome, len(said)) == (RunEnd(stored=False), 2)
    assert "the run goes on" in said[0] and "deliver the records later with" in said[1]
    assert query("select count(*) from records") == [(1,)]
    assert sync(server_url, capsys) == (0, f"3 records delivered to {shown(server_url)}\n", "")
    assert sync(server_url, capsys) == (0, f"0 records delivered to {shown(server_url)}\n", "")
    assert query("select count(*), min(metric_name) from metrics where status = 'FAIL'") == [(1, "pfc.lossless")]


def test_a_server_that_comes_back_in_time_has_everything_at_the_end(postgresql, server_url, query, tmp_path):
    said = []
    writer = started(tmp_path / RUN_ID, server_url, said.append)
    postgresql.stop()
    writer.write(parsed(verdict(1)))
    postgresql.start()
    writer.write(parsed(verdict(2)))
    assert (writer.finish().stored, len(said)) == (True, 1)
    assert query("select count(*) from records") == [(2,)]


def wrong_password(postgresql, name, folder):
    return postgresql.url(name, "wrong"), 'password authentication failed for user "pfc"'


def no_such_database(postgresql, name, folder):
    return postgresql.url("nothing"), 'database "nothing" does not exist'


def full(postgresql, name, folder):
    open_store(postgresql.url(name))
    postgresql.ask("create function full_disk() returns trigger language plpgsql as $$ begin raise exception "
                   "'could not extend file: No space left on device' using errcode = 'disk_full'; end $$; "
                   "create trigger full_disk before insert on records execute function full_disk()", name)
    return postgresql.url(name), "cannot be written: could not extend file: No space left on device"


def slow(postgresql, name, folder):
    """Takes connections, and never answers."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / ".s.PGSQL.5432"))
    server.listen(5)
    slow.server = server
    return f"postgresql://pfc:secret@/x?host={folder}", "connection timeout expired"


@pytest.mark.parametrize("trouble", [wrong_password, no_such_database, full, slow])
def test_a_server_in_trouble_loses_nothing(postgresql, name, server_url, query, tmp_path, monkeypatch, capsys, trouble):
    monkeypatch.setattr(test_reporting.pfc.engine, "BUSY_SECONDS", 1)
    url, reason = trouble(postgresql, name, tmp_path)
    said = []
    writer = started(tmp_path / RUN_ID, url, said.append)
    for number in range(3):
        writer.write(parsed(verdict(number)))
    outcome = writer.finish()
    assert outcome == RunEnd(stored=False)
    assert len(said) == 2 and reason in said[0] and "the run goes on" in said[0]
    assert not any(secret in sentence for sentence in said for secret in ("wrong@", "secret", "p%40ss"))
    if trouble is full:
        postgresql.ask("drop function full_disk cascade", name)
    assert sync(server_url, capsys) == (0, f"3 records delivered to {shown(server_url)}\n", "")
    assert sync(server_url, capsys)[1].startswith("0 records delivered")
    assert [row[3:] for row in query()] == [(0, "PASS")]


def test_a_lock_is_not_waited_for_for_ever(postgresql, name, server_url, monkeypatch):
    monkeypatch.setattr(test_reporting.pfc.engine, "BUSY_SECONDS", 1)
    store = open_store(server_url)
    store.deliver(run_of(RUN), [])
    import psycopg
    with psycopg.connect(host=str(postgresql.folder), user="postgres", dbname=name) as other:
        other.execute("select * from runs for update")
        with pytest.raises(StoreError, match="cannot be written: canceling statement due to lock timeout"):
            store.deliver(run_of(RUN), records(verdict()))
    assert store.deliver(run_of(RUN), records(verdict())) == 1


@contextmanager
def frozen(postgresql, name):
    """The processes of the server that have a connection to a database stand still; their machine does not."""
    pids = [pid for pid, in postgresql.ask(f"select pid from pg_stat_activity where datname = '{name}'")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(test_reporting.pfc.engine, "ANSWER_SECONDS", 1)


def test_a_server_that_freezes_is_not_waited_for_for_ever(postgresql, name, server_url, query, impatient):
    open_store(server_url)
    database = Database(server_url.replace("postgresql:", "postgresql+psycopg:"))
    for begun, doing in ((database.writing, "written"), (database.reading, "read")):
        began = time.monotonic()
        with pytest.raises(StoreError, match=f"cannot be {doing}: the server did not answer for 1 s"):
            with begun() as connection, frozen(postgresql, name):
                connection.exec_driver_sql("select count(*) from runs")
        assert time.monotonic() - began < 10
        with begun() as connection:
            assert connection.exec_driver_sql("select 7").scalar() == 7, "another connection answers"


def test_a_server_that_froze_since_it_was_asked_is_asked_by_another_connection(
    postgresql, name, server_url, query, impatient
):
    store = open_store(server_url)
    store.deliver(run_of(RUN), [])
    with frozen(postgresql, name):
        assert store.deliver(run_of(RUN), records(verdict())) == 1
    assert query("select count(*) from records") == [(1,)]


def test_changes_of_tables_may_take_longer(server_url, impatient):
    database = Database(server_url.replace("postgresql:", "postgresql+psycopg:"))
    with database.changing() as connection:
        connection.exec_driver_sql("select pg_sleep(2)")
    with pytest.raises(StoreError, match="did not answer for 1 s"), database.reading() as connection:
        connection.exec_driver_sql("select pg_sleep(2)")


def test_a_forked_process_leaves_the_connection_alone(server_url, query, tmp_path, run_all):
    run_all(samples.deliver_in_a_forked_process, (str(tmp_path), server_url))
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["by the child"] == 1 and said["afterwards"] == 1
    before, after = said["connections"]
    assert before == after and len(before) == 1


def test_with_the_disk_of_the_files_full_the_server_has_it(server_url, query, tmp_path, run_all):
    run_all(samples.fill_the_disk, (str(tmp_path), server_url, 20_000, 40))
    said, stored = json.loads((tmp_path / "said.json").read_text())
    assert stored
    assert query("select status from runs") == [("PASS",)]
    assert len(said) == 1 and "records.jsonl cannot be written: File too large; records are kept in memory" in said[0]
    assert query("select count(*), count(distinct record_id) from records") == [(40, 40)]
    assert len(lines(tmp_path / RUN_ID / "records.jsonl")) == 40, "there was room again at the end"


def test_twenty_kills_during_writes_lose_and_double_nothing(server_url, query, tmp_path, processes, capsys):
    promised = samples.write_killed(processes, tmp_path, server_url)
    assert sync(server_url, capsys)[0] == 0
    stored = [int(row[0]) for row in query("select evidence::jsonb ->> 'number' from records")]
    assert len(stored) == len(set(stored)) and len(promised) >= 20 and promised <= set(stored)
    assert set(stored) == {line["evidence"]["number"] for line in lines(tmp_path / RUN_ID / "records.jsonl")}
    assert [row[3:] for row in query()] == [(None, "ERROR")], "a run that was killed is not PASS"


def test_an_older_database_is_brought_to_this_version(server_url, query):
    old_database.make(server_url.replace("postgresql:", "postgresql+psycopg:"))
    open_store(server_url)
    assert query("select kind, value, status, job_id, on_behalf_of, software_version, deviations, replaces "
                 "from records order by record_id") == [(*row[:6], [], row[7]) for row in CHANGES]
    assert query() == [("d", "p", "pfc.lossless", 1, "FAIL"), ("d", "p", "rate", 2.5, None)]
    assert query("select faults from runs union all select faults from records union all select faults from metrics"
                 ) == [([],)] * 5
    engine = create_engine(server_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
    engine.dispose()


def test_json_is_jsonb_and_the_view_needs_no_cast(server_url, query, tmp_path):
    writer = started(tmp_path / RUN_ID, server_url, run={**RUN, "faults": ["pause-ignored@Ethernet0"],
                                                         "info": {"diagnosis": "pauses stop nothing"}})
    writer.write(parsed(verdict(1, "FAIL", evidence={"large": 2**80, "exact": 0.1})))
    writer.finish()
    types = query("select distinct table_name, column_name, data_type from information_schema.columns where "
                  "column_name in ('evidence', 'labels', 'faults', 'info', 'expected', 'seen', 'deviations', 'extra') "
                  "order by 1, 2")
    assert {row[2] for row in types} == {"jsonb"} and len(types) == 15, types
    assert query("select device_id, port_id, metric_name, status, diagnosis, broken, faults ->> 0, started < now(), "
                 "labels ->> 'device.port.id', info ->> 'diagnosis' from verdicts where labels @> "
                 """'{"test.testbed": "vtb-t0"}'""") == [
        ("vtb-t0-01", "Ethernet0", "pfc.lossless", "FAIL", "pauses stop nothing", True, "pause-ignored@Ethernet0", True,
         "Ethernet0", "pauses stop nothing")]
    assert query("select evidence -> 'large' = '1208925819614629174706176', evidence -> 'exact' from records") == [
        (True, 0.1)]
    (index,), = query("select indexdef from pg_indexes where indexname = 'metrics_by_labels'")
    assert "USING gin (labels jsonb_path_ops)" in index


def test_numbers_that_json_has_not_are_mended_when_an_old_database_is_opened(server_url, query):
    old_database.make(server_url, evidence='{"rate": Infinity, "x": [NaN, 1]}')
    open_store(server_url)
    assert query("select evidence from records where record_id = 'id-1'") == [({"rate": "Infinity", "x": ["NaN", 1]},)]
