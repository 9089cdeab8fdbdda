"""One run: who measured what, when, and what it set out to measure. Kept as `run.json` beside the run's records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import RecordError, RecordsUnreadable, RecordsUnwritable
from .records import LONGEST_RUN_ID, SCHEMA, Record, SeriesKey, format_moment, parse_moment

RUN_FILE = "run.json"
OPTIONS_FILE = "options.json"
QUALIFICATION, TELEMETRY = ORIGINS = ("qualification", "telemetry")


@dataclass(frozen=True)
class Run:
    """One run. `expected` lists (device, port, metric): each gets a row, an ERROR when nothing was measured of it.
    `faults` lists what was broken on purpose in the testbed, as it says it."""

    run_id: str
    testbed: str = ""
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    finished: datetime | None = None
    origin: str = QUALIFICATION
    job_id: str = ""
    software_version: str = ""
    expected: tuple[SeriesKey, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The run as it is written to `run.json`."""
        return {"schema": SCHEMA, "run_id": self.run_id, "testbed": self.testbed, "origin": self.origin,
                "started": format_moment(self.started), "finished": self.finished and format_moment(self.finished),
                "job_id": self.job_id, "software_version": self.software_version,
                "expected": [list(key) for key in self.expected], "faults": list(self.faults), "info": dict(self.info)}

    def expecting(self, keys: Iterable[SeriesKey]) -> Run:
        """The same run, expecting these too."""
        return replace(self, expected=tuple(dict.fromkeys([*self.expected, *keys])))

    def broken_by(self, faults: Iterable[str]) -> Run:
        """The same run, with these faults too."""
        return replace(self, faults=tuple(dict.fromkeys([*self.faults, *faults])))


def run_of(document: Mapping[str, Any], where: str = "run", no_start: datetime | None = None) -> Run:
    """Makes a run of what is said about it; keys that are not fields of a run go to `info`.

    Args:
        document: what is said.
        where: what a refusal begins with.
        no_start: the start of a run that says none; None: now.

    Raises:
        RecordError: one sentence that names `where` and the field.
    """
    if not isinstance(document, Mapping):
        raise RecordError(f"{where}: expected a JSON object")
    rest = {name: value for name, value in document.items() if name != "schema"}
    texts = {name: rest.pop(name, None) or default for name, default in
             (("run_id", ""), ("testbed", ""), ("job_id", ""), ("software_version", ""), ("origin", QUALIFICATION))}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise RecordError(f"{where}: field '{name}' is {text!r}; it must be a text")
    if not texts["run_id"]:
        raise RecordError(f"{where}: field 'run_id' is missing or empty")
    if len(texts["run_id"]) > LONGEST_RUN_ID:
        raise RecordError(f"{where}: field 'run_id' has {len(texts['run_id'])} characters; it must have at most "
                          f"{LONGEST_RUN_ID}")
    if texts["origin"] not in ORIGINS:
        raise RecordError(f"{where}: field 'origin' is {texts['origin']!r}; it must be one of {', '.join(ORIGINS)}")
    times = {name: _moment(rest.pop(name, None), where, name) for name in ("started", "finished")}
    expected = tuple(_key(entry, where) for entry in rest.pop("expected", None) or ())
    faults = rest.pop("faults", None) or []
    if not (isinstance(faults, list) and all(isinstance(fault, str) for fault in faults)):
        raise RecordError(f"{where}: field 'faults' is {faults!r}; it must be a list of texts")
    info = {**(rest.pop("info", None) or {}), **rest}
    return Run(texts["run_id"], texts["testbed"], times["started"] or no_start or datetime.now(timezone.utc),
               times["finished"], texts["origin"], texts["job_id"], texts["software_version"], expected, info,
               tuple(faults))


def read_run(directory: Path, records: Iterable[Record], no_start: datetime | None = None) -> Run | None:
    """Reads the run of a folder; without `run.json` it is what the first record says; None if there is none either.

    `run.json` is read before the first record is asked for. `no_start` is the start of a run that says none; None: now.

    Raises:
        RecordError: the file is not what it should be.
        RecordsUnreadable: the file cannot be read.
    """
    path = directory / RUN_FILE
    try:
        return run_of(json.loads(path.read_text(encoding="utf-8")), str(path), no_start)
    except FileNotFoundError:
        first = next(iter(records), None)
        return Run(first.run_id, first.testbed, started=first.timestamp, faults=first.faults) if first else None
    except OSError as error:
        raise RecordsUnreadable(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{path}: it is not JSON: {error}") from error


def write_run(directory: Path, run: Run) -> None:
    """Writes `run.json` so that a kill leaves the old one or the new one, whole.

    Raises:
        RecordError: `info` holds something that JSON cannot express.
        RecordsUnwritable: the file cannot be written.
    """
    path = directory / RUN_FILE
    new = directory / f".{RUN_FILE}.{os.getpid()}"
    try:
        text = json.dumps(run.document(), indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RecordError(f"{path}: the run cannot be written as JSON: {error}") from error
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with new.open("w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise RecordsUnwritable(f"{path} cannot be written: {error.strerror}") from error


def keep_options(folder: Path, options: Mapping[str, str], goes_on: bool) -> None:
    """Keeps what the verdicts of a run are about, once.

    Args:
        folder: of the run.
        options: name -> value.
        goes_on: whether an earlier part of the run may have kept them.

    Raises:
        RecordsUnwritable: it cannot be kept.
    """
    path = folder / OPTIONS_FILE
    if goes_on and path.exists():
        return
    new = folder / f".{OPTIONS_FILE}"
    try:
        new.write_text(json.dumps(dict(options), indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise RecordsUnwritable(f"{path} cannot be written: {error.strerror}") from error


def new_run_id(now: datetime | None = None) -> str:
    """A run id that sorts by time: `20261120T130000Z-4711` (the number is this process's)."""
    return f"{now or datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"


def _moment(value: Any, where: str, name: str) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    try:
        return parse_moment(value)
    except (TypeError, ValueError) as error:
        raise RecordError(f"{where}: field '{name}' is {value!r}; it must be a UTC time such as "
                          "2026-01-31T13:00:00.000000Z, or null") from error


def _key(entry: Any, where: str) -> SeriesKey:
    if not (isinstance(entry, (list, tuple)) and len(entry) == 3 and all(isinstance(part, str) for part in entry)):
        raise RecordError(f"{where}: field 'expected' holds {entry!r}; each entry must be [device, port, metric]")
    return entry[0], entry[1], entry[2]
