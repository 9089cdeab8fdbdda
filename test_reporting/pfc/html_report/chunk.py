"""The details of a port: what the page shows when a cell is opened, packed until then.

A page of 256,000 verdicts would be hundreds of megabytes of HTML. Each port's records are JSON instead, compressed and
written in base64, which the page unpacks when a cell of that port is opened.
"""
from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from sqlalchemy import Connection, Row, Select, case, select, true

from tests.common.pfc.record.records import VERDICT
from tests.common.pfc.record.verdict import Status

from .. import schema
from ..queries import counting
from . import timeline
from .page_budget import PageBudget
from .ports import NO_PRIORITY, Numbered, PageNumbering, PortResults

CHECK_FIELDS = ("name", "required", "status", "expected", "seen", "where", "message")
"""What a check in a chunk holds, in this order. `message` is empty where it says no more than the others do."""
RECORD_FIELDS = ("record_id", "priority", "case", "metric", "status", "counts", "at_ms", "cause", "replaces", "build",
                 "labels", "checks", "deviations", "extra", "evidence", "plots", "victims")
"""What a record in a chunk holds, in this order; `at_ms` counts from the start of the run, `build`, `labels` and
`checks` are numbers in the lists of the chunk; `record_id` is empty, `checks` and `evidence` null where left out;
`victims` are the priorities that it stands at where they are not its own."""
BUILD_FIELDS = ("os_version", "hwsku", "software_version", "on_behalf_of")
LEVEL = 6
NOTHING, EMPTY = "null", '""'
EXACT = 2**53
"""Scripts hold numbers as doubles: beyond it a whole number is another one there."""
BEYOND = re.compile(r"(?<![\d.])\d{16}|Infinity|NaN")
"""What in a JSON text may be a number that scripts have not, or no JSON: rare, and looked at closely then."""
DRAWN = f'"{timeline.TIMELINE}"'


@dataclass
class _Contents:
    """What the records of one chunk have in common, each stored once."""

    checks: Numbered[str] = field(default_factory=Numbered)
    labels: Numbered[str] = field(default_factory=Numbered)
    builds: Numbered[tuple[str, ...]] = field(default_factory=Numbered)


def packed(text: str) -> str:
    """A text compressed (zlib) and in base64, which no HTML parser can misread."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"), LEVEL)).decode("ascii")


def chunk(connection: Connection, port: PortResults, started: datetime, budget: PageBudget,
          numbering: PageNumbering) -> str:
    """The JSON text of a port: `metrics` (name, status, cause), `builds`, `labels`, `checks`, `records`.

    Args:
        connection: to the database.
        port: whose records.
        started: the start of its run.
        budget: what is to be in the page.
        numbering: of test cases and metrics.
    """
    contents = _Contents()
    checks = _checks(connection, port, budget, contents)
    records = [_record(row, checks, (budget, numbering, contents), started, port.victims.get(row.record_id, ()))
               for row in connection.execute(_records(port, budget)).all()]
    metrics = [[row["metric_name"], row["status"], row["cause"]] for row in port.metrics]
    lists = {"metrics": [json.dumps(metric) for metric in metrics],
             "builds": [json.dumps(build) for build in contents.builds.all()], "labels": contents.labels.all(),
             "checks": contents.checks.all(), "records": records}
    return "{" + ",".join(f'"{name}":[{",".join(items)}]' for name, items in lists.items()) + "}"


def _records(port: PortResults, budget: PageBudget) -> Select[Any]:
    table = schema.records.c
    wanted = true() if budget.pass_evidence else table.status != Status.PASS.value
    evidence = case((wanted, table.evidence), else_=None).label("evidence")
    return (select(table.record_id, table.priority, table.plan_id, table.scenario, table.metric_name, table.status,
                   table.timestamp, table.cause, table.replaces, *(table[name] for name in BUILD_FIELDS), table.labels,
                   table.deviations, table.extra, evidence, counting().label("counts"))
            .where(table.run_id == port.run_id, table.series_id.in_(port.series), table.kind == VERDICT)
            .order_by(table.timestamp, table.record_id))


def _record(row: Row[Any], checks: dict[str, list[int]], parts: tuple[PageBudget, PageNumbering, _Contents],
            started: datetime, victims: Sequence[int]) -> str:
    """A record as JSON text; what the database keeps as JSON is taken as it is."""
    budget, numbering, contents = parts
    is_pass = row.status == Status.PASS
    evidence = NOTHING if row.evidence is None or not budget.takes(row.evidence) else row.evidence
    deviations, extra, kept = (for_script(text) for text in (row.deviations, row.extra, evidence))
    drawn = json.dumps(timeline.plots(json.loads(evidence))) if DRAWN in evidence else "[]"
    fields = (
        '""' if is_pass else quoted(row.record_id), str(NO_PRIORITY if row.priority is None else row.priority),
        str(numbering.cases.number((row.plan_id, row.scenario))), str(numbering.metrics.number(row.metric_name)),
        quoted(row.status), str(int(row.counts)), str(round((row.timestamp - started).total_seconds() * 1000)),
        *(NOTHING if text is None else quoted(text) for text in (row.cause, row.replaces)),
        str(contents.builds.number((row.os_version, row.hwsku, row.software_version, row.on_behalf_of))),
        str(contents.labels.number(for_script(row.labels))),
        f"[{','.join(map(str, checks.get(row.record_id, ())))}]" if budget.pass_checks or not is_pass else NOTHING,
        deviations, extra, kept, drawn, json.dumps(list(victims)))
    return "[" + ",".join(fields) + "]"


def _checks(connection: Connection, port: PortResults, budget: PageBudget, contents: _Contents) -> dict[str, list[int]]:
    """The numbers of the checks of each record."""
    record = schema.records.c
    table = schema.checks.c
    of_pass = true() if budget.pass_checks else record.status != Status.PASS.value
    wanted = select(record.record_id).where(record.run_id == port.run_id, record.series_id.in_(port.series), of_pass)
    query = (select(table.record_id, table.name, table.required, table.status, table.expected, table.seen, table.place,
                    table.message)
             .where(table.run_id == port.run_id, table.record_id.in_(wanted))  # SQLite would go through all for a join
             .order_by(table.record_id, table.position))
    found: dict[str, list[int]] = {}
    numbers: dict[Sequence[Any], int] = {}
    for row in connection.execute(query).all():
        key = row[1:]
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = contents.checks.number(_check(key))
        found.setdefault(row.record_id, []).append(number)
    return found


def _check(columns: Sequence[Any]) -> str:
    """A check as JSON text; `expected` and `seen` are JSON already."""
    name, required, status, expected, seen, place, message = columns
    said = message == f"{place}: expected {_plain(expected)}, got {_plain(seen)}"
    return (f"[{quoted(name)},{required},{quoted(status)},{for_script(expected)},{for_script(seen)},{quoted(place)},"
            f"{EMPTY if said else quoted(message)}]")


def for_script(text: str) -> str:
    """A JSON text as a script reads it without changing a number: whole numbers beyond 2**53 are texts, and what is
    no JSON (`Infinity`) too."""
    if BEYOND.search(text) is None:
        return text
    return json.dumps(json.loads(text, parse_int=_exact, parse_constant=str))


def _exact(digits: str) -> int | str:
    number = int(digits)
    return number if abs(number) <= EXACT else digits


def _plain(text: str) -> str:
    """A value that is JSON as a message has it: a text as it is."""
    if text[:1] != '"':
        return text
    return str(json.loads(text)) if "\\" in text else text[1:-1]
