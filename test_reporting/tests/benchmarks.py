"""What storing and asking costs, at several sizes of the database: the figures `reporting.*` of `make bench`.

    python -m test_reporting.tests.benchmarks --records 1000000

Times are CPU seconds, those of the server included, so that other work on the machine disturbs them little; but
`record_s`, which waits for the disk again and again, is what a clock on the wall shows.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.records import encode_line
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc import history, queries
from test_reporting.pfc.database import open_store
from test_reporting.pfc.html_report import write_report
from test_reporting.pfc.store import Store
from test_reporting.pfc.sync import BATCH
from test_reporting.tests.postgresql import PostgreSQL, Unavailable
from test_reporting.tests.samples import parsed, started

Figure = tuple[str, float, str]
Cpu = Callable[[], float]
"""CPU seconds spent so far."""
DEVICES, PORTS, PRIORITIES, SCENARIOS = 4, 32, 8, 10
RUN_RECORDS = DEVICES * PORTS * PRIORITIES * SCENARIOS
FAILING = 97
"""Every 97th record is a FAIL, another one in each run."""
ONE_BY_ONE = 200
SIZES = (100_000,)
ASKED = 3
Shape = tuple[int, int, int]
"""Devices, ports of each, scenarios of a run."""
LARGE: Shape = (10, 64, 50)
"""The run whose HTML report is measured: with 8 priorities 256,000 records."""


def run_id(number: int) -> str:
    """The name of a run."""
    return f"run-{number:04}"


def documents(number: int, shape: Shape | None = None) -> Iterator[dict[str, object]]:
    """The records of a run, unless said otherwise: four switches with 32 ports, 8 priorities, 10 scenarios."""
    devices, ports, scenarios = shape or (DEVICES, PORTS, SCENARIOS)
    for place in range(devices * ports * PRIORITIES * scenarios):
        rest, scenario = divmod(place, scenarios)
        rest, priority = divmod(rest, PRIORITIES)
        device, port = divmod(rest, ports)
        yield document(number, place, (f"switch-{device}", f"Ethernet{port * 4}", priority, scenario))


def document(number: int, place: int, where: tuple[str, str, int, int]) -> dict[str, object]:
    """One record with two checks."""
    device, port, priority, scenario = where
    metric = "pfc.lossless" if priority in (3, 4) else "pfc.lossy"
    status = "FAIL" if (place + number) % FAILING == 0 else "PASS"
    check = {"status": status, "expected": "0 frames", "seen": place, "where": f"{device} {port} priority {priority}",
             "message": f"{device} {port} priority {priority}: expected 0 frames received while paused, got {place}"}
    return {"schema": 2, "run_id": run_id(number), "timestamp": f"2026-01-31T13:{place // 60 % 60:02}:{place % 60:02}Z",
            "testbed": "vtb-t0", "device_id": device, "port_id": port, "priority": priority, "metric_name": metric,
            "scenario": f"scenario-{scenario}", "plan_id": f"PFC-{scenario}", "status": status, "os_version": "202505",
            "hwsku": "Arista-7060CX-32S-C32", "evidence": {"frames": {"sent": 1000, "received": place}},
            "checks": [{**check, "name": name} for name in ("blocked-while-paused", "received-after-pause")]}


def ingest(store: Store, number: int, cpu: Cpu, shape: Shape | None = None) -> float:
    """Deliver one run from its lines, as `sync` does; returns the CPU seconds that it took."""
    lines = [encode_line(one) for one in documents(number, shape)]
    info = {"run_id": run_id(number), "testbed": "vtb-t0", "started": f"2026-01-{number // 24 % 28 + 1:02}T"
            f"{number % 24:02}:00:00Z"}
    before = cpu()
    for start in range(0, len(lines), BATCH):
        store.deliver(run_of(info), [parse_line(line) for line in lines[start:start + BATCH]])
    store.deliver(run_of({**info, "finished": "2026-02-01T00:00:00Z"}), [])
    return cpu() - before


def seconds(ask: Callable[[], object], cpu: Cpu) -> float:
    """The fewest CPU seconds that a question takes of several times."""
    found = []
    for _ in range(ASKED):
        before = cpu()
        ask()
        found.append(cpu() - before)
    return min(found)


def questions(store: Store, runs: int, cpu: Cpu) -> Iterator[tuple[str, float]]:
    """How long each question takes: the matrix of a run, two runs compared, the trend of 20 runs."""
    with store.reading() as connection:
        yield "matrix", seconds(lambda: queries.matrix(connection, run_id(runs - 1)), cpu)
        yield "compare", seconds(lambda: history.differences(connection, run_id(runs - 2), run_id(runs - 1)), cpu)
        yield "trend", seconds(lambda: history.trend(connection, history.Selection(), 20), cpu)


def one_by_one(url: str, folder: Path) -> float:
    """Seconds for a record that is written: on the disk, and in the database. `folder` names the run."""
    writer = started(folder, url, run={"run_id": folder.name, "testbed": "vtb-t0"})
    before = time.perf_counter()
    for place in range(ONE_BY_ONE):
        where = ("switch-0", f"Ethernet{place % PORTS * 4}", place % PRIORITIES, place // PRIORITIES)
        writer.write(parsed({**document(0, place + 1, where), "run_id": folder.name}))
    return (time.perf_counter() - before) / ONE_BY_ONE


def figures_of(url: str, sizes: Sequence[int], folder: Path, cpu: Cpu = time.process_time) -> Iterator[Figure]:
    """The figures of one database, which grows from size to size."""
    name = url.partition(":")[0]
    store, spent = open_store(url), list[float]()
    for size in sorted(sizes):
        runs = max(2, round(size / RUN_RECORDS))
        while len(spent) < runs:
            spent.append(ingest(store, len(spent), cpu))
        label = f"reporting.{name}.{size // 1000}k"
        recent = spent[-max(1, runs // 10):]
        yield f"{label}.ingest_per_s", RUN_RECORDS * len(recent) / sum(recent), "1/s"
        for question, took in questions(store, runs, cpu):
            yield f"{label}.{question}_s", took, "s"
        yield f"{label}.record_s", one_by_one(url, folder / f"one-by-one-{size}"), "s"
    tenth = max(1, len(spent) // 10)
    first, last = sum(spent[:tenth]), sum(spent[-tenth:])
    yield f"reporting.{name}.last_over_first", last / first, "ratio"


def figures_of_html(folder: Path, shape: Shape = LARGE) -> Iterator[Figure]:
    """What the HTML report of one large run costs, and how large it is."""
    store = open_store(f"sqlite:///{folder / 'html.db'}")
    ingest(store, 0, time.process_time, shape)
    before = time.process_time()
    with store.reading() as connection:
        written = write_report(connection, [run_id(0)], None, folder / "report.html", folder)
    devices, ports, scenarios = shape
    label = f"reporting.html.{devices * ports * PRIORITIES * scenarios // 1000}k"
    yield f"{label}.write_s", time.process_time() - before, "s"
    yield f"{label}.size_mb", written.size / 1e6, "MB"


def figures(sizes: Sequence[int] = SIZES) -> Iterator[Figure]:
    """All figures (name, value, unit): of the HTML report, of SQLite, and of a PostgreSQL server, which is started and
    removed again.

    Args:
        sizes: records in the database when it is asked.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from figures_of_html(folder)
        yield from figures_of(f"sqlite:///{folder / 'pfc.db'}", sizes, folder / "sqlite")
        try:
            server = PostgreSQL(Path(tempfile.gettempdir()), waits_for_disk=True)
        except Unavailable as error:
            print(f"no figures of PostgreSQL: {error}", file=sys.stderr)
            return
        try:
            yield from figures_of(server.url(server.new_database()), sizes, folder / "postgresql",
                                  lambda: time.process_time() + server.cpu_seconds())
        finally:
            server.remove()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=figures.__doc__)
    parser.add_argument("--records", type=int, action="append", help=f"a size of the database (default: {SIZES})")
    for name, value, unit in figures(parser.parse_args(arguments).records or SIZES):
        print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
