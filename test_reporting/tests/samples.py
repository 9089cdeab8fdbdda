"""Records and processes that the tests share."""
from __future__ import annotations

import gc
import json
import logging
import os
import resource
import signal
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.record_file import Say
from tests.common.pfc.record.records import Record, encode_line
from tests.common.pfc.record.run_reading import read_run, run_of
from tests.common.pfc.delivery.run_writer import RunWriter
from test_reporting.pfc.database import Urls, open_store
from test_reporting.pfc.delivery import RunDelivery
from test_reporting.pfc.sync import deliver_folder

RUN_ID = "20260131T130000Z-1"
RUN = {"run_id": RUN_ID, "testbed": "vtb-t0", "started": "2026-01-31T13:00:00.000000Z"}
COLUMNS = "select device_id, port_id, metric_name, value, status from metrics order by device_id, port_id, metric_name"


def verdict(number: int = 0, status: str = "PASS", **fields: Any) -> dict[str, Any]:
    """A verdict record with one check; `number` makes it different from others."""
    metric = fields.get("metric_name", "pfc.lossless")
    check = {"name": "blocked-while-paused", "metric_name": metric, "status": status, "expected": "0 frames",
             "seen": 12, "where": "vtb-t0-01 Ethernet0 priority 3", "message": f"expected 0 frames, got 12 ({status})"}
    record = {
        "schema": 2, "run_id": RUN_ID, "timestamp": f"2026-01-31T13:00:00.{number:06d}Z", "testbed": "vtb-t0",
        "device_id": "vtb-t0-01", "port_id": "Ethernet0", "priority": 3, "scenario": "pause-lossless-single",
        "plan_id": "PFC-1", "metric_name": metric, "status": status, "cause": None if status == "PASS" else "the cause",
        "os_version": "SONiC.20260101", "hwsku": "Arista-7060CX-32S-C32", "checks": [check],
        "evidence": {"frames": {"sent": 1000, "received": 12}}, "labels": {"tg.traffic_rate": "50"}}
    return {**record, **fields}


def parsed(*documents: Mapping[str, Any]) -> list[Record]:
    """Documents as the records that they are read as."""
    return [parse_line(encode_line(document)) for document in documents]


def started(folder: Path | str, urls: Urls = None, say: Say | None = None,
            run: Mapping[str, Any] = RUN) -> RunWriter:
    """A run that has begun, as a suite writes it.

    Args:
        folder: the run's.
        urls: of its databases.
        say: takes a sentence for the user.
        run: what `run.json` says.
    """
    told = say or logging.getLogger(__name__).warning
    earlier = read_run(Path(folder), [])
    writer = RunWriter(Path(folder), run_of(run), told, RunDelivery(Path(folder), told, urls), earlier)
    writer.start()
    return writer


def ask(database: Path, query: str = COLUMNS) -> list[tuple[Any, ...]]:
    """Query a database as any user may: with the sqlite3 module alone."""
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a file of records, those that were torn left out."""
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def write_for_ever(results: str, run_id: str, acknowledged: str, url: str) -> None:
    """Process: record as fast as possible, noting the number of each record only when `record` has returned."""
    writer = started(Path(results) / run_id, url, run={**RUN, "run_id": run_id})
    with open(acknowledged, "a", encoding="ascii") as file:
        first = time.time_ns()
        for number in range(100_000):
            writer.write(parsed(verdict(run_id=run_id, evidence={"number": first + number})))
            file.write(f"{first + number}\n")
            file.flush()


def write_killed(processes: Any, results: Path, url: str, kills: int = 20) -> set[int]:
    """Kill so many writers while they record; returns the numbers of the records that they were told are kept.

    Args:
        processes: the `multiprocessing` context that starts them.
        results: folder of results.
        url: of the database.
        kills: writers, one after another.
    """
    acknowledged = results / "acknowledged"
    acknowledged.touch()
    for kill in range(kills):
        before = acknowledged.stat().st_size
        process = processes.Process(target=write_for_ever, args=(str(results), RUN_ID, str(acknowledged), url))
        process.start()
        while acknowledged.stat().st_size == before and process.is_alive():
            process.join(0.003 * (kill % 5 + 1))
        assert process.is_alive()
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return {int(line) for line in acknowledged.read_text(encoding="ascii").splitlines()}


def write_some(folder: str, run_id: str, count: int, url: str) -> None:
    """Process: one whole run, or a part of one: `folder` makes the difference."""
    writer = started(folder, url, run={**RUN, "run_id": run_id})
    for number in range(count):
        writer.write(parsed(verdict(number, run_id=run_id, port_id=f"{Path(folder).name} {number % 4}")))
    assert writer.finish().stored


def deliver_in_a_forked_process(folder: str, url: str) -> None:
    """Process: deliver a record, one more in a forked process, and a third one. How many records each call of the last
    two stored goes into `said.json`, and which connections there were before and after.
    """
    store = open_store(url)
    store.deliver(run_of(RUN), _records(verdict(1)))
    before = _connections(url)
    child = os.fork()
    if not child:
        delivered = store.deliver(run_of(RUN), _records(verdict(2)))
        del store
        gc.collect()
        os._exit(delivered)
    by_the_child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    afterwards = store.deliver(run_of(RUN), _records(verdict(1), verdict(2), verdict(3)))
    said = {"by the child": by_the_child, "afterwards": afterwards, "connections": [before, _connections(url)]}
    Path(folder, "said.json").write_text(json.dumps(said), encoding="ascii")


def _records(*documents: dict[str, Any]) -> list[Record]:
    return [parse_line(encode_line(document)) for document in documents]


def _connections(url: str) -> list[int]:
    """The server's processes that serve `pfc-report` in this database."""
    import psycopg
    with psycopg.connect(url) as connection:
        found = connection.execute("select pid from pg_stat_activity where application_name = 'pfc-report' "
                                   "and datname = current_database()")
        return [int(row[0]) for row in found]


def open_all(urls: Sequence[str]) -> None:
    """Process: open databases that are not there yet."""
    for url in urls:
        open_store(url).deliver(run_of(RUN), [])


def deliver_some(folders: Sequence[str], url: str) -> None:
    """Process: deliver folders of runs."""
    store = open_store(url)
    for folder in folders:
        assert not deliver_folder(Path(folder), store).problems


def fill_the_disk(results: str, url: str, largest: int, count: int) -> None:
    """Process: no file may grow beyond `largest` bytes while `count` records are made. Then there is room again."""
    said: list[str] = []
    writer = started(Path(results) / RUN_ID, url, said.append)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    for number in range(count):
        writer.write(parsed(verdict(number)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    outcome = writer.finish()
    Path(results, "said.json").write_text(json.dumps([said, outcome.stored]), encoding="utf-8")
