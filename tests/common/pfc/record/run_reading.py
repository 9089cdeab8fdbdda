"""Reads what `run.json` says of a run, strictly: a refusal names file and field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import RecordError
from .parsing import LONGEST_RUN_ID, RecordsUnreadable, parse_moment
from .records import Record, SeriesKey
from .run import ORIGINS, QUALIFICATION, RUN_FILE, Run


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
