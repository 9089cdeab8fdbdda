"""Where the metrics of sonic-mgmt's telemetry interface go: the same files and the same database as the verdicts.

A metric with a `FINAL_STATUS` becomes a verdict record, any other value a number with its unit. The label
`test.job.id` names the run.
"""
from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .database import database_url, open_store, results_folder
from .errors import ReportingError, SpoolError, StoreError
from .record import FINAL, PERIODIC, SCHEMA, encode_line, format_moment, parse_line
from .run import RUN_FILE, TELEMETRY, Run, folder_name, write_run
from .spool import Spool
from .verdict import Status

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FOLDER = "telemetry"
UNKNOWN_DEVICE = "unknown"
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
    pairs = []
    for metric in metrics:
        line = encode_line(_document(run_id, {**common_labels, **metric["labels"]}, metric, timestamp, kind))
        pairs.append((line, parse_line(line, f"metric '{metric['name']}'")))
    moment = _moment(timestamp)
    run = Run(run_id, _text(common_labels.get("test.testbed", "")), moment, moment, TELEMETRY,
              job_id=_text(common_labels.get("test.job.id", "")))
    url = database_url()
    problems = _spool(results_folder(url) / FOLDER / folder_name(run_id), run, [line for line, _ in pairs])
    try:
        open_store(url).deliver(run, [record for _, record in pairs])
    except StoreError as error:
        if problems:
            raise ReportingError(f"{len(pairs)} metrics were not stored: {problems[0]}; {error}") from error
        problems.append(f"{error}; the metrics are kept in files until: python -m test_reporting.pfc sync")
    for problem in problems:
        logging.getLogger(__name__).warning(problem)


def _spool(directory: Path, run: Run, lines: Sequence[bytes]) -> list[str]:
    """Write to the run's files; returns what went wrong."""
    try:
        if not (directory / RUN_FILE).exists():
            write_run(directory, run)
        Spool(directory).append(lines)
    except SpoolError as error:
        return [str(error)]
    return []


def _document(run_id: str, labels: Mapping[str, Any], metric: Mapping[str, Any], timestamp: int,
              kind: str) -> dict[str, Any]:
    """One record, as a line of `records.jsonl` holds it."""
    texts = {_text(name): value if isinstance(value, (int, float, bool, type(None))) else _text(value)
             for name, value in labels.items()}
    document: dict[str, Any] = {
        "schema": SCHEMA, "record_id": metric["record_id"], "run_id": run_id,
        "timestamp": format_moment(_moment(timestamp)), "testbed": _text(labels.get("test.testbed", "")),
        "device_id": _text(labels.get("device.id", "")) or UNKNOWN_DEVICE,
        "port_id": _text(labels.get("device.port.id", "")), "metric_name": metric["name"],
        "scenario": _text(labels.get("test.testcase", "")), "os_version": _text(labels.get("test.os.version", "")),
        "unit": metric["unit"], "labels": texts}
    if metric["is_verdict"]:
        return document | _verdict(metric["value"])
    return document | {"kind": kind, "value": metric["value"]}


def _verdict(value: float | None) -> dict[str, Any]:
    """Status and check of a metric that takes a FINAL_STATUS; no value means that it could not be measured."""
    status = STATUS_OF_NUMBER[value]
    cause = {Status.PASS: None, Status.FAIL: "FAIL was reported", Status.ERROR: "no value was reported"}[status]
    check = {"name": "reported", "status": status, "expected": "PASS", "seen": status, "message": cause or ""}
    return {"status": status, "cause": cause, "checks": [check]}


def _moment(timestamp: int) -> datetime:
    return EPOCH + timedelta(microseconds=timestamp // 1000)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
