"""Where the metrics of sonic-mgmt's telemetry interface go: the same files and the same database as the verdicts.

A metric with a `FINAL_STATUS` becomes a verdict record, any other value a number with its unit. The label
`test.job.id` names the run. A run that keeps its verdicts itself names itself by the label `test.run.id`: what it
reports is kept too, as final records, and decides nothing, so that no verdict counts twice.
"""
from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.common.pfc.record.errors import RecordError, RecordsUnwritable
from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.records import FINAL, PERIODIC, SCHEMA, encode_line, format_moment
from tests.common.pfc.record.run import RUN_FILE, TELEMETRY, Run, write_run
from tests.common.pfc.record.verdict import Status

from .database import Urls, results_folder
from .delivery import deliver_once, sync_command
from .errors import ReportingError
from .names import folder_name, short_id

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FOLDER = "telemetry"
RUN_ID = "test.run.id"
"""The label of what is reported of a run that keeps its verdicts itself, in records of its own."""
FAULTS = "test.faults"
"""The label of what was broken on purpose in the testbed; absent where nothing was."""
BETWEEN_FAULTS = "; "
UNKNOWN_DEVICE = "unknown"
STATUS_METRICS = frozenset({"pfc.lossless", "pfc.lossy"})
"""Metrics whose numbers are `FINAL_STATUS` values."""
STATUS_OF_NUMBER: Mapping[float | None, Status] = {status.number: status for status in Status}


def deliver(run_id: str, common_labels: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]],
            timestamp: int, periodic: bool) -> None:
    """Store metrics.

    Args:
        run_id: the run they belong to.
        common_labels: labels of all of them; a metric's own label wins.
        metrics: `record_id`, `name`, `value` (None: it could not be measured), `unit`, `labels`, `is_verdict` of each.
        timestamp: nanoseconds since 1970 UTC.
        periodic: they are samples, which get no row in the table `metrics`.

    Raises:
        ReportingError: neither a file nor the database took them.
    """
    kind = PERIODIC if periodic else FINAL
    run_id = short_id(_text(common_labels.get(RUN_ID, "")) or run_id)
    documents = [metric_document(run_id, {**common_labels, **metric["labels"]}, metric, timestamp, kind)
                 for metric in metrics]
    for problem in keep(run_id, common_labels, documents):
        logging.getLogger(__name__).warning(problem)


def store_reporter(reporter: Any, timestamp: int | None = None) -> None:
    """Store what a reporter of sonic-mgmt's own telemetry stub holds, and clear it: its `report()` stores nothing.

    Args:
        reporter: a `FinalMetricsReporter` or `PeriodicMetricsReporter` of the stub (`common_labels`, `metrics`).
        timestamp: nanoseconds since 1970 UTC; now by default.

    Raises:
        ReportingError: neither a file nor the database took them; the reporter keeps them.
    """
    common = reporter.common_labels
    run_id = _text(common.get("test.job.id", "")) or uuid4().hex
    metrics = [stub_metric(one["name"], one["value"], one["labels"], uuid4().hex) for one in reporter.metrics]
    if metrics:
        deliver(run_id, common, metrics, time.time_ns() if timestamp is None else timestamp,
                type(reporter).__name__.startswith("Periodic"))
    reporter.metrics = []


def stub_metric(name: str, value: Any, labels: Mapping[str, Any], record_id: str) -> dict[str, Any]:
    """A metric as `deliver` takes it; one with a `FINAL_STATUS` is a verdict."""
    return {"name": name, "value": value.value if isinstance(value, Enum) else value, "labels": labels, "unit": "",
            "record_id": record_id, "is_verdict": name in STATUS_METRICS or type(value).__name__ == "FINAL_STATUS"}


def keep(run_id: str, common_labels: Mapping[str, Any], documents: Sequence[Mapping[str, Any]],
         urls: Urls = None) -> list[str]:
    """Store records in the run's files and in the databases; returns what was in trouble, as sentences.

    Raises:
        RecordError: a document is no record; none of them was stored.
        ReportingError: neither the files nor all databases took them.
    """
    lines = [encode_line(one) for one in documents]
    records = [parse_line(line, f"metric '{one['metric_name']}'") for line, one in zip(lines, documents)]
    moments = [record.timestamp for record in records]
    run = Run(run_id, _text(common_labels.get("test.testbed", "")), min(moments), max(moments), TELEMETRY,
              job_id=_text(common_labels.get("test.job.id", "")))
    run = run.broken_by(fault for record in records for fault in record.faults)
    problems = _spool(results_folder(urls) / FOLDER / folder_name(run_id), run, lines)
    refused = deliver_once(run, records, urls)
    if problems and refused:
        raise ReportingError(f"{len(lines)} metrics were not stored: {problems[0]}; {refused[0]}") from refused[0]
    return problems + [f"{error}; the metrics are kept in files until: {sync_command()}" for error in refused]


def _spool(directory: Path, run: Run, lines: Sequence[bytes]) -> list[str]:
    """Write to the run's files; returns what went wrong."""
    try:
        if not (directory / RUN_FILE).exists():
            write_run(directory, run)
        RecordFile(directory).append(lines)
    except RecordsUnwritable as error:
        return [str(error)]
    return []


def metric_document(run_id: str, labels: Mapping[str, Any], metric: Mapping[str, Any], timestamp: int,
                    kind: str) -> dict[str, Any]:
    """One record of a metric, as a line of `records.jsonl` holds it; arguments as `deliver` has them."""
    texts = {_text(name): value if isinstance(value, (int, float, bool, type(None))) else _text(value)
             for name, value in labels.items()}
    document: dict[str, Any] = {
        "schema": SCHEMA, "record_id": metric["record_id"], "run_id": run_id,
        "timestamp": format_moment(_moment(timestamp)), "testbed": _text(labels.get("test.testbed", "")),
        "device_id": _text(labels.get("device.id", "")) or UNKNOWN_DEVICE,
        "port_id": _text(labels.get("device.port.id", "")), "metric_name": metric["name"],
        "scenario": _text(labels.get("test.testcase", "")), "os_version": _text(labels.get("test.os.version", "")),
        "job_id": _text(labels.get("test.job.id", "")), "unit": metric["unit"], "labels": texts,
        "faults": _faults(_text(labels.get(FAULTS, ""))),
        "evidence": metric.get("evidence", {}), "description": metric.get("description", "")}
    if metric["is_verdict"]:
        decided = _verdict(metric["name"], metric["value"])
        return document | (_ended_with(decided) if RUN_ID in labels else decided)
    return document | {"kind": kind, "value": metric["value"]}


def _verdict(name: str, value: float | None) -> dict[str, Any]:
    """Status and check of a metric that takes a FINAL_STATUS; no value means that it could not be measured."""
    if value not in STATUS_OF_NUMBER:
        raise RecordError(f"metric '{name}': {value!r} was recorded; it must be 0 (PASS), 1 (FAIL), or none when it "
                          "could not be measured")
    status = STATUS_OF_NUMBER[value]
    cause = {Status.PASS: None, Status.FAIL: "FAIL was reported", Status.ERROR: "no value was reported"}[status]
    check = {"name": "reported", "status": status, "expected": "PASS", "seen": status, "message": cause or ""}
    return {"status": status, "cause": cause, "checks": [check]}


def _ended_with(decided: Mapping[str, Any]) -> dict[str, Any]:
    """A status that a run ended with, which its verdict records decide."""
    return {"kind": FINAL, "status": decided["status"], "cause": decided["cause"]}


def joined_faults(faults: Sequence[str]) -> str:
    """Faults as the text of a label."""
    return BETWEEN_FAULTS.join(faults)


def _faults(label: str) -> list[str]:
    """The faults of a label's text."""
    return label.split(BETWEEN_FAULTS) if label else []


def _moment(timestamp: int) -> datetime:
    return EPOCH + timedelta(microseconds=timestamp // 1000)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
