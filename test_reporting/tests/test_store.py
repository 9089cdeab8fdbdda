from __future__ import annotations

import json
import sqlite3

import pytest

from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.records import encode_line
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc.database import open_store
from test_reporting.pfc.errors import StoreError
from test_reporting.pfc.sql_rows import sql_json, sql_text

from test_reporting.tests.samples import RUN, RUN_ID, ask, verdict

FINISHED = {**RUN, "finished": "2026-01-31T13:05:00.000000Z"}
RIGHT_TO_LEFT = "\u202e\u05d0\u05d1\u05d2"


def records(*documents):
    return [parse_line(encode_line(document)) for document in documents]


@pytest.fixture
def store(url):
    return open_store(url)


def test_one_row_of_each_metric_per_device_and_port(store, database):
    delivered = store.deliver(run_of(FINISHED), records(
        verdict(1), verdict(2, priority=4), verdict(3, metric_name="pfc.lossy"),
        verdict(4, "FAIL", port_id="Ethernet4"), verdict(5, "ERROR", port_id="Ethernet4"),
        verdict(6, "ERROR", metric_name="pfc.lossy", port_id="Ethernet4"), verdict(7, device_id="vtb-t0-02")))
    assert delivered == 7
    assert ask(database) == [
        ("vtb-t0-01", "Ethernet0", "pfc.lossless", 0, "PASS"), ("vtb-t0-01", "Ethernet0", "pfc.lossy", 0, "PASS"),
        ("vtb-t0-01", "Ethernet4", "pfc.lossless", 1, "FAIL"), ("vtb-t0-01", "Ethernet4", "pfc.lossy", None, "ERROR"),
        ("vtb-t0-02", "Ethernet0", "pfc.lossless", 0, "PASS")]
    assert ask(database, "select status, cause from runs") == [("FAIL", "the cause")]


def test_a_row_says_where_it_comes_from(store, database):
    store.deliver(run_of({**FINISHED, "job_id": "job-7"}), records(verdict(1), verdict(2)))
    assert ask(database, "select run_id, testbed, timestamp, os_version, hwsku, cause, labels from metrics") == [
        (RUN_ID, "vtb-t0", "2026-01-31T13:00:00.000002Z", "SONiC.20260101", "Arista-7060CX-32S-C32", None,
         '{"device.id": "vtb-t0-01", "device.port.id": "Ethernet0", "test.job.id": "job-7", '
         '"test.os.version": "SONiC.20260101", "test.run.id": "20260131T130000Z-1", "test.testbed": "vtb-t0", '
         '"tg.traffic_rate": "50"}')]


def test_what_was_broken_on_purpose_is_in_each_table(store, database):
    faults = ["pause-ignored@Ethernet0,priority=3", "lossy-dropped"]
    running = {**RUN, "expected": [["vtb-t0-01", "Ethernet0", "pfc.lossless"]]}
    store.deliver(run_of(running), [])
    assert ask(database, "select r.faults, m.faults from runs r join metrics m using (run_id)") == [("[]", "[]")]
    store.deliver(run_of({**FINISHED, **running, "finished": FINISHED["finished"], "faults": faults}),
                  records(verdict(1, faults=faults)))
    for table in ("runs", "records", "metrics"):
        assert [json.loads(row[0]) for row in ask(database, f"select faults from {table}")] == [faults], table


def test_checks_and_evidence_are_kept(store, database):
    store.deliver(run_of(FINISHED), records(verdict(status="FAIL")))
    assert ask(database, "select r.priority, r.scenario, r.plan_id, r.evidence, c.name, c.status, c.expected, c.seen, "
                         "c.place from records r join checks c using (record_id)") == [
        (3, "pause-lossless-single", "PFC-1", '{"frames": {"received": 12, "sent": 1000}}', "blocked-while-paused",
         "FAIL", '"0 frames"', "12", "vtb-t0-01 Ethernet0 priority 3")]


def test_delivering_again_changes_nothing(store, database):
    documents = [verdict(1), verdict(2), verdict(3, "FAIL")]
    assert store.deliver(run_of(FINISHED), records(*documents)) == 3
    everything = [ask(database, f"select * from {table}") for table in ("runs", "records", "checks", "metrics")]
    assert store.deliver(run_of(FINISHED), records(*documents, *documents)) == 0
    assert everything == [ask(database, f"select * from {table}") for table in ("runs", "records", "checks", "metrics")]


def test_a_late_record_is_judged_too(store, database):
    store.deliver(run_of(FINISHED), records(verdict(1)))
    assert ask(database)[0][4] == "PASS"
    store.deliver(run_of(FINISHED), records(verdict(2, "ERROR")))
    assert ask(database)[0][4] == "ERROR"
    store.deliver(run_of(FINISHED), records(verdict(3, "FAIL")))
    assert ask(database)[0][4] == "FAIL"
    assert ask(database, "select status from runs") == [("FAIL",)]


def test_until_the_run_has_finished_nothing_is_pass(store, database):
    store.deliver(run_of(RUN), records(verdict(1), verdict(2, "FAIL", port_id="Ethernet4")))
    assert [row[3:] for row in ask(database)] == [(None, "ERROR"), (1, "FAIL")]
    assert ask(database, "select status, finished from runs") == [(None, None)]
    store.deliver(run_of(FINISHED), [])
    assert [row[3:] for row in ask(database)] == [(0, "PASS"), (1, "FAIL")]
    store.deliver(run_of(RUN), [])  # what is delivered late, by a copy made before the end, does not undo it
    assert [row[3:] for row in ask(database)] == [(0, "PASS"), (1, "FAIL")]
    assert ask(database, "select status, finished from runs") == [("FAIL", "2026-01-31T13:05:00.000000Z")]


def test_what_was_expected_and_not_measured_is_error(store, database):
    expected = {"expected": [["vtb-t0-01", "Ethernet0", "pfc.lossless"], ["vtb-t0-01", "Ethernet8", "pfc.lossy"]]}
    store.deliver(run_of({**FINISHED, **expected}), records(verdict(1)))
    assert ask(database)[1] == ("vtb-t0-01", "Ethernet8", "pfc.lossy", None, "ERROR")
    assert ask(database, "select status, cause from runs") == [("ERROR", "nothing was measured")]


def test_a_run_without_any_record_is_error(store, database):
    store.deliver(run_of(FINISHED), [])
    assert ask(database, "select status, cause from runs") == [("ERROR", "nothing was measured")]


@pytest.mark.parametrize("table", ["metrics", "records"])
@pytest.mark.parametrize("status, value, cause, is_valid", [
    ("PASS", 0, None, True), ("FAIL", 1, "c", True), ("ERROR", None, "c", True), (None, 15.5, None, True),
    ("PASS", None, None, False), ("PASS", 1, None, False), ("PASS", 0, "c", False), ("PASS", "x", None, False),
    ("FAIL", 0, "c", False), ("FAIL", None, "c", False), ("FAIL", 1, None, False),
    ("ERROR", 0, "c", False), ("ERROR", 1, "c", False), ("ERROR", None, None, False),
    (None, None, None, False), ("pass", 0, None, False), ("", 0, None, False)])
def test_the_schema_itself_keeps_status_and_value_in_agreement(store, database, table, status, value, cause, is_valid):
    store.deliver(run_of(FINISHED), records(verdict()))
    connection = sqlite3.connect(database)
    try:
        statement = f"update {table} set status = ?, value = ?, cause = ?"
        if is_valid:
            connection.execute(statement, (status, value, cause))
        else:
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(statement, (status, value, cause))
    finally:
        connection.close()


def test_the_schema_itself_has_one_verdict_of_a_metric_and_no_unfinished_pass(store, database):
    store.deliver(run_of(FINISHED), records(verdict()))
    connection = sqlite3.connect(database)
    try:
        columns = ", ".join(row[1] for row in connection.execute("pragma table_info(metrics)"))
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(f"insert into metrics select 'other', {columns.partition(', ')[2]} from metrics")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("update runs set finished = null")
    finally:
        connection.close()


@pytest.mark.parametrize("text", [
    "'); drop table metrics; --", '"', "\0", "a\0b", "x" * 10_240, RIGHT_TO_LEFT, "<script>alert(1)</script>", "\ud800",
    "\x1b[2J", "%s {} \\u0000", "\U0001f600", "a\nb", ""])
def test_hostile_texts_are_stored_as_they_are(store, database, text):
    documents = [verdict(labels={"x": text, f"key {text}": 1}, evidence={"deep": [{"x": text}]}, scenario=text),
                 verdict(1, port_id=text, device_id=f"d{text}", metric_name=f"m{text}")]
    assert store.deliver(run_of({**FINISHED, "info": {"x": text}}), records(*documents)) == 2
    assert store.deliver(run_of(FINISHED), records(*documents)) == 0
    assert len(ask(database)) == 2
    shown = sql_text(text)
    assert ask(database, "select port_id from metrics where port_id <> 'Ethernet0'") == [(shown,)]
    query = "select labels, evidence, scenario from records where port_id = 'Ethernet0'"
    assert ask(database, query) == [
        (sql_json({"x": text, f"key {text}": 1}), sql_json({"deep": [{"x": text}]}), shown)]
    assert ask(database, "select json_extract(labels, '$.x') from records where port_id = 'Ethernet0'") == [(shown,)]


def test_only_what_no_database_takes_is_escaped():
    assert sql_text("a\0b\ud800") == "a\\u0000b\\ud800"
    assert sql_text(RIGHT_TO_LEFT) == RIGHT_TO_LEFT


FORMS = ("it must be a file, sqlite:///PATH, for instance sqlite:///results/pfc.db, a server, "
         "postgresql://USER@HOST/DATABASE, a folder of files for Kusto, kusto:///PATH, or a Kusto cluster, "
         "kusto+https://CLUSTER/DATABASE")


@pytest.mark.parametrize("url, sentence", [
    ("oracle://user:secret@host/db", f"database scheme 'oracle' is not supported; {FORMS}"),
    ("results/pfc.db", f"database scheme 'results/pfc.db' is not supported; {FORMS}"),
    ("postgresql://user:secret@host:port/db", f"the URL of a postgresql database cannot be read; {FORMS}"),
    ("sqlite://", "database 'sqlite://' names no file; it must be sqlite:///PATH, for instance "
                  "sqlite:///results/pfc.db"),
    ("sqlite:///:memory:", "database 'sqlite:///:memory:' names no file; it must be sqlite:///PATH, for instance "
                           "sqlite:///results/pfc.db"),
    ("kusto:///results/kusto", "Kusto, or files for it, cannot be queried here; PFC_REPORT_DB or --db must name "
     + FORMS.removeprefix("it must be "))])
def test_a_wrong_url_is_refused(url, sentence):
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert str(refused.value) == sentence


def test_a_file_that_is_no_database_is_refused(database, url):
    database.parent.mkdir()
    database.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert str(refused.value) == f"database {url} cannot be opened: file is not a database"


def test_a_database_of_another_version_is_refused(store, database, url):
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("update alembic_version set version_num = '0099'")
    connection.close()
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert str(refused.value) == f"database {url} has schema version 0099; this software knows 0004 and older ones"


def test_a_database_that_has_to_exist_is_not_created(database, url):
    with pytest.raises(StoreError, match="there is no database .* yet"):
        open_store(url, must_exist=True)
    assert not database.parent.exists()


def test_half_a_delivery_is_none(store, database):
    good, bad = verdict(1), verdict(2, record_id="x")
    store.deliver(run_of(FINISHED), records(good))
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("create trigger refuse before insert on records when new.record_id = 'x' "
                           "begin select raise(abort, 'the disk is on fire'); end")
    connection.close()
    with pytest.raises(StoreError, match="cannot be written: the disk is on fire"):
        store.deliver(run_of({**FINISHED, "testbed": "other"}), records(verdict(3), bad))
    assert len(ask(database, "select * from records")) == 1
    assert ask(database, "select testbed from runs") == [("vtb-t0",)]
