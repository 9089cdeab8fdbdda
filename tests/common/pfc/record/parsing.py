"""Reads the lines of `records.jsonl`, strictly: a refusal names file, line and field."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NoReturn

from .errors import RecordError
from .records import FINAL, KINDS, ON_BEHALF_OF, SCHEMA, VERDICT, Record
from .effective_records import NO_CAUSE
from .verdict import Check, Status

READABLE = (1, SCHEMA)
"""Versions of records that are read; what came with 2 is empty in one of 1."""
LONGEST_RUN_ID = 200
LONGEST_RECORD_ID = 64
"""Characters. Ids are keys in the databases, where PostgreSQL takes 2700 bytes at the most."""
STATUSES = tuple(status.value for status in Status)
HIGHEST_PRIORITY = 7
LARGEST_NUMBER = sys.float_info.max
"""Databases keep values as doubles."""


class RecordsUnreadable(RecordError):
    """A file of a run cannot be read."""


class _Fields:
    """A JSON object that is taken apart field by field; every refusal names where it stands and the field."""

    def __init__(self, document: Any, where: str) -> None:
        if not isinstance(document, dict):
            raise RecordError(f"{where}: found {_shown(document)}, expected a JSON object")
        self.rest: dict[str, Any] = dict(document)
        self.where = where

    def refuse(self, name: str, found: Any, right: str) -> NoReturn:
        raise RecordError(f"{self.where}: field '{name}' is {_shown(found)}; it must be {right}")

    def take(self, name: str) -> Any:
        if name not in self.rest:
            raise RecordError(f"{self.where}: field '{name}' is missing")
        return self.rest.pop(name)

    def text(self, name: str, default: str | None = None, may_be_empty: bool = True) -> str:
        value = self.take(name) if default is None else self.rest.pop(name, default)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not (value or may_be_empty):
            self.refuse(name, value, "a text" if may_be_empty else "a text that is not empty")
        return value

    def optional_text(self, name: str) -> str | None:
        return self.text(name, default="") or None

    def choice(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in choices:
            self.refuse(name, value, f"one of {', '.join(choices)}")
        return value

    def status(self) -> Status:
        return Status(self.choice("status", STATUSES))

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.rest.pop(name, None) or {}
        if not isinstance(value, dict):
            self.refuse(name, value, "a JSON object")
        return value

    def identity(self, name: str, longest: int, default: str | None = None) -> str:
        value = self.text(name, default, may_be_empty=False)
        if len(value) > longest:
            self.refuse(name, value, f"a text of at most {longest} characters")
        return value

    def optional_identity(self, name: str, longest: int) -> str | None:
        return self.identity(name, longest) if self.rest.get(name) is not None else self.rest.pop(name, None)

    def items(self, name: str) -> tuple[Any, ...]:
        value = self.rest.pop(name, None)
        if value is not None and not isinstance(value, list):
            self.refuse(name, value, "a list")
        return tuple(value or ())

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.items(name)
        if not all(isinstance(value, str) for value in values):
            self.refuse(name, list(values), "a list of texts")
        return values

    def moment(self, name: str) -> datetime:
        text = self.text(name)
        try:
            return parse_moment(text)
        except ValueError:
            self.refuse(name, text, "a UTC time such as 2026-01-31T13:00:00.000000Z")

    def priority(self) -> int | None:
        value = self.rest.pop("priority", None)
        if value is not None and (type(value) is not int or not 0 <= value <= HIGHEST_PRIORITY):
            self.refuse("priority", value, f"a whole number from 0 to {HIGHEST_PRIORITY}, or null")
        return value

    def number(self, name: str) -> float:
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST_NUMBER:
            self.refuse(name, value, "a finite number")
        return value


def read_lines(path: Path) -> Iterator[bytes]:
    """Yields the lines of a file of records, with their line ends; a last one without is one that its writer was killed
    in.

    Raises:
        FileNotFoundError: there is no such file.
        RecordsUnreadable: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RecordsUnreadable(f"{path} cannot be read: {error.strerror}") from error


def parse_line(line: bytes, where: str = "record") -> Record:
    """Reads and checks one line.

    Args:
        line: the JSON text.
        where: what a refusal begins with, for instance `results/x/records.jsonl line 3`.

    Raises:
        RecordError: one sentence that names `where` and the field.
    """
    try:
        document = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{where}: it is not JSON: {error}") from error
    fields = _Fields(document, where)
    schema = fields.take("schema")
    if type(schema) is not int or schema not in READABLE:
        fields.refuse("schema", schema, f"one of {', '.join(map(str, READABLE))}, the versions that this software "
                                        "knows")
    return _record(fields, _identity(document))


def parse_lines(lines: Iterable[bytes], name: str) -> Iterator[Record | RecordError]:
    """Reads all complete lines (with their line ends); a bad one is yielded as its error, so that it hides no other.

    A last line without line end is one that its writer was killed in, or is still writing: it is not a record.
    """
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n") or not line.strip():
            continue
        try:
            yield parse_line(line, f"{name} line {number}")
        except RecordError as error:
            yield error


def parse_moment(text: str) -> datetime:
    """Reads an ISO 8601 time that says that it is UTC.

    Raises:
        ValueError: it is no such time.
    """
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta(0):
        raise ValueError(f"{text} is not in UTC")
    return moment.astimezone(timezone.utc)


def _record(fields: _Fields, identity: str) -> Record:
    kind = fields.choice("kind", KINDS, default=VERDICT)
    metric_name = fields.text("metric_name", may_be_empty=False)
    labels = fields.mapping("labels")
    common: dict[str, Any] = {
        "record_id": fields.identity("record_id", LONGEST_RECORD_ID, identity), "kind": kind,
        "run_id": fields.identity("run_id", LONGEST_RUN_ID), "timestamp": fields.moment("timestamp"),
        "testbed": fields.text("testbed"), "device_id": fields.text("device_id", may_be_empty=False),
        "port_id": fields.text("port_id"), "metric_name": metric_name, "priority": fields.priority(),
        **{name: fields.text(name, "") for name in
           ("scenario", "plan_id", "os_version", "hwsku", "unit", "job_id", "software_version")},
        "on_behalf_of": fields.text("on_behalf_of", "") or _text_of(labels.get(ON_BEHALF_OF)),
        "replaces": fields.optional_identity("replaces", LONGEST_RECORD_ID),
        "evidence": fields.mapping("evidence"), "labels": labels, "deviations": fields.items("deviations"),
        "faults": fields.texts("faults")}
    return Record(**common, **_decided(fields, kind, metric_name), extra=fields.rest)


def _decided(fields: _Fields, kind: str, metric_name: str) -> dict[str, Any]:
    """What a record says: a verdict with its checks, the status that a run ended with, or a number."""
    if kind == VERDICT:
        return _judged(fields, metric_name)
    if kind == FINAL and "status" in fields.rest:
        return _cause_of(fields, fields.status(), "")
    return {"value": fields.number("value")}


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _judged(fields: _Fields, metric_name: str) -> dict[str, Any]:
    """Status, cause and checks of a verdict record, which must agree with each other.

    ERROR needs no agreement: of a run that was no measurement, what the checks say means nothing.
    """
    status = fields.status()
    checks = _checks(fields, metric_name)
    deciding = [check for check in checks if check.required]
    if status is Status.PASS:
        if not deciding:
            fields.refuse("checks", [], "a list with at least one required check: nothing measured is never PASS")
        for check in deciding:
            if check.status is not Status.PASS:
                fields.refuse("status", status, f"{check.status}, as check '{check.name}' is")
    from_checks = next((check.message for check in deciding if check.status is status), "")
    return _cause_of(fields, status, from_checks) | {"checks": checks}


def _cause_of(fields: _Fields, status: Status, otherwise: str) -> dict[str, Any]:
    """A status with its cause: the field's, else `otherwise`; PASS has none."""
    cause = fields.optional_text("cause") or otherwise or NO_CAUSE
    return {"status": status, "cause": None if status is Status.PASS else cause}


def _checks(fields: _Fields, metric_name: str) -> tuple[Check, ...]:
    entries = fields.take("checks")
    if not isinstance(entries, list):
        fields.refuse("checks", entries, "a list of checks")
    return tuple(_check(_Fields(entry, f"{fields.where} check {number}"), metric_name)
                 for number, entry in enumerate(entries, start=1))


def _check(fields: _Fields, metric_name: str) -> Check:
    required = fields.rest.pop("required", True)
    if not isinstance(required, bool):
        fields.refuse("required", required, "true or false")
    check = Check(
        name=fields.text("name", may_be_empty=False),
        metric_name=fields.text("metric_name", default=metric_name),
        status=fields.status(),
        expected=fields.rest.pop("expected", None),
        seen=fields.rest.pop("seen", None),
        where=fields.text("where", ""),
        required=required,
        text=fields.text("message", ""),
    )
    if check.metric_name != metric_name:
        fields.refuse("metric_name", check.metric_name, f"'{metric_name}', the metric of its record")
    return check


def _identity(document: Mapping[str, Any]) -> str:
    """An id made of everything a record says: the same line is the same record, however often it is delivered."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode("ascii")).hexdigest()[:32]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _shown(value: Any) -> str:
    text = repr(str(value) if isinstance(value, Status) else value)
    return text if len(text) <= 80 else text[:77] + "..."
