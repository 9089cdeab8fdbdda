"""Delivering what lies in folders of runs to a database, exactly once, however often it is tried."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import RecordError, ReportingError, SpoolError
from .record import Record, parse_lines
from .run import RUN_FILE, check_run, read_run
from .spool import RECORDS_FILE
from .store import Store


@dataclass(frozen=True)
class Delivery:
    """What became of one folder: how many records were new to the database, and what could not be delivered."""

    run_id: str
    delivered: int
    problems: tuple[ReportingError, ...] = ()


def run_folders(results: Path) -> Iterator[Path]:
    """All folders of runs below `results`, in the order of their names."""
    found = {path.parent for pattern in (RECORDS_FILE, RUN_FILE) for depth in ("*", "*/*")
             for path in results.glob(f"{depth}/{pattern}")}
    yield from sorted(found)


def deliver_folder(directory: Path, store: Store) -> Delivery:
    """Deliver one run. Bad lines are reported and do not keep the good ones back.

    Raises:
        StoreError: the database took nothing of this run.
        SpoolError: the folder's files cannot be read.
        RecordError: `run.json` is not what it should be.
    """
    records: list[Record] = []
    problems: list[ReportingError] = []
    for found in _lines(directory):
        if isinstance(found, RecordError):
            problems.append(found)
        else:
            records.append(found)
    run = read_run(directory, records)
    if run is None:
        return Delivery(directory.name, 0, tuple(problems))
    own: list[Record] = []
    for record in records:
        try:
            check_run(record, run, str(directory / RECORDS_FILE))
            own.append(record)
        except RecordError as error:
            problems.append(error)
    return Delivery(run.run_id, store.deliver(run, own), tuple(problems))


def _lines(directory: Path) -> Iterator[Record | RecordError]:
    path = directory / RECORDS_FILE
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
    yield from parse_lines(text, str(path))
