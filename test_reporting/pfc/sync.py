"""Delivering what lies in folders of runs, exactly once, however often it is tried."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_lines, read_lines
from tests.common.pfc.record.record_file import RECORDS_FILE, RecordFile
from tests.common.pfc.record.records import Record
from tests.common.pfc.record.run import RUN_FILE, Run
from tests.common.pfc.record.run_reading import read_run

from .database import Sink

BATCH = 1000
"""Records that are delivered together; a run of a week does not fit into memory."""


@dataclass(frozen=True)
class FolderDelivery:
    """What became of one folder: how many records were new to the database, and what could not be delivered."""

    run_id: str
    delivered: int
    problems: tuple[RecordError, ...] = ()


def run_folders(results: Path) -> Iterator[Path]:
    """All folders of runs below `results`, in the order of their names."""
    found = {path.parent for pattern in (RECORDS_FILE, RUN_FILE) for depth in ("*", "*/*")
             for path in results.glob(f"{depth}/{pattern}")}
    yield from sorted(found)


def deliver_folder(directory: Path, sink: Sink) -> FolderDelivery:
    """Deliver one run. Bad lines are reported and do not keep the good ones back.

    Raises:
        StoreError: the database took not all of this run.
        RecordsUnreadable: the folder's files cannot be read.
        RecordError: `run.json` is not what it should be.
    """
    problems: list[RecordError] = []
    records = _good(_lines(directory), problems)
    first = list(islice(records, 1))
    run = read_run(directory, first)
    if run is None:
        return FolderDelivery(directory.name, 0, tuple(problems))
    own = _own(chain(first, records), run, directory, problems)
    return FolderDelivery(run.run_id, _deliver(sink, run, own), tuple(problems))


def _deliver(sink: Sink, run: Run, records: Iterator[Record]) -> int:
    """In batches; the end of the run comes with the last one, so that half a delivery is no finished run."""
    delivered = 0
    batch = list(islice(records, BATCH))
    while following := list(islice(records, BATCH)):
        delivered += sink.deliver(replace(run, finished=None), batch)
        batch = following
    return delivered + sink.deliver(run, batch)


def _good(found: Iterator[Record | RecordError], problems: list[RecordError]) -> Iterator[Record]:
    for one in found:
        if isinstance(one, RecordError):
            problems.append(one)
        else:
            yield one


def _own(records: Iterator[Record], run: Run, directory: Path, problems: list[RecordError]) -> Iterator[Record]:
    for record in records:
        try:
            record.check_run(run.run_id, str(directory / RECORDS_FILE))
        except RecordError as error:
            problems.append(error)
        else:
            yield record


def _lines(directory: Path) -> Iterator[Record | RecordError]:
    file = RecordFile(directory)
    try:
        yield from parse_lines(read_lines(file.path), str(file.path))
    except FileNotFoundError:
        return
