"""One record: a JSON object on a line of `records.jsonl`. Reading, checking and writing it.

A **verdict** record says PASS, FAIL or ERROR of one metric, as measured by one scenario on one port (and priority),
with its checks and its evidence. A **final** or **periodic** record, from sonic-mgmt's telemetry interface, holds a
number with its unit instead.
`docs/reporting.md` lists the fields.
"""
from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn

from .errors import RecordError
from .verdict import NO_CAUSE, Status, Verdict

SCHEMA = 1
VERDICT, FINAL, PERIODIC = KINDS = ("verdict", "final", "periodic")
HIGHEST_PRIORITY = 7


@dataclass(frozen=True)
class Check:
    """One comparison: what was expected, what was seen, and where. Only a required one decides the verdict."""

    name: str
    metric_name: str
    status: Status
    expected: Any
    seen: Any
    where: str
    message: str
    required: bool = True


@dataclass(frozen=True)
class Record:
    """One line of `records.jsonl`; `extra` holds the fields that this version does not know."""

    record_id: str
    run_id: str
    timestamp: datetime
    testbed: str
    device_id: str
    port_id: str
    metric_name: str
    kind: str = VERDICT
    status: Status | None = None
    value: float | None = None
    unit: str = ""
    priority: int | None = None
    scenario: str = ""
    plan_id: str = ""
    cause: str | None = None
    os_version: str = ""
    hwsku: str = ""
    checks: tuple[Check, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Device, port and metric: what a run has one verdict of."""
        return self.device_id, self.port_id, self.metric_name

    @property
    def verdict(self) -> Verdict:
        """The verdict of a verdict record.

        Raises:
            ValueError: the record holds a number, not a verdict.
        """
        if self.status is None:
            raise ValueError(f"record {self.record_id} holds a number, not a verdict")
        return Verdict(self.status, self.cause)


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
        return Status(self.choice("status", tuple(Status)))

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.rest.pop(name, None) or {}
        if not isinstance(value, dict):
            self.refuse(name, value, "a JSON object")
        return value

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
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            self.refuse(name, value, "a finite number")
        return value


def parse_moment(text: str) -> datetime:
    """Read an ISO 8601 time that says that it is UTC.

    Raises:
        ValueError: it is no such time.
    """
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta(0):
        raise ValueError(f"{text} is not in UTC")
    return moment.astimezone(timezone.utc)


def format_moment(moment: datetime) -> str:
    """Write a time as all records do: UTC, microseconds, `Z`; texts of that form sort by time."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def encode_line(document: Mapping[str, Any], where: str = "record") -> bytes:
    """Return the document as one line of ASCII JSON, line end included.

    Raises:
        RecordError: it holds something that JSON cannot express (NaN and infinity included).
    """
    try:
        return json.dumps(document, allow_nan=False).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{where}: it cannot be written as JSON: {error}") from error


def parse_line(line: bytes, where: str = "record") -> Record:
    """Read and check one line.

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
    if type(schema) is not int or schema != SCHEMA:
        fields.refuse("schema", schema, f"{SCHEMA}, the version that this software knows")
    return _record(fields, _identity(document))


def parse_lines(text: bytes, name: str) -> Iterator[Record | RecordError]:
    """Read all complete lines; a bad one is yielded as its error, so that it does not hide the others.

    A last line without line end is one that its writer was killed in, or is still writing: it is not a record.
    """
    for number, line in enumerate(text.split(b"\n")[:-1], start=1):
        if not line.strip():
            continue
        try:
            yield parse_line(line, f"{name} line {number}")
        except RecordError as error:
            yield error


def _record(fields: _Fields, identity: str) -> Record:
    kind = fields.choice("kind", KINDS, default=VERDICT)
    record_id = fields.text("record_id", default=identity, may_be_empty=False)
    common: dict[str, Any] = {
        "record_id": record_id, "kind": kind,
        "run_id": fields.text("run_id", may_be_empty=False), "timestamp": fields.moment("timestamp"),
        "testbed": fields.text("testbed"), "device_id": fields.text("device_id", may_be_empty=False),
        "port_id": fields.text("port_id"), "metric_name": fields.text("metric_name", may_be_empty=False),
        "priority": fields.priority(), "scenario": fields.text("scenario", ""), "plan_id": fields.text("plan_id", ""),
        "os_version": fields.text("os_version", ""), "hwsku": fields.text("hwsku", ""),
        "unit": fields.text("unit", ""), "evidence": fields.mapping("evidence"), "labels": fields.mapping("labels"),
    }
    decided = _judged(fields, common["metric_name"]) if kind == VERDICT else {"value": fields.number("value")}
    return Record(**common, **decided, extra=fields.rest)


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
    cause = fields.optional_text("cause")
    if status is not Status.PASS:
        cause = cause or next((check.message for check in deciding if check.status is status), "") or NO_CAUSE
    return {"status": status, "cause": None if status is Status.PASS else cause, "checks": checks}


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
        name=fields.text("name", may_be_empty=False), metric_name=fields.text("metric_name", default=metric_name),
        status=fields.status(), expected=fields.rest.pop("expected", None), seen=fields.rest.pop("seen", None),
        where=fields.text("where", ""), message=fields.text("message", ""), required=required)
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
