"""Reading the `*.metrics.json` files that sonic-mgmt's `tests/common/telemetry` writes.

A file holds what one test reported: `metadata.test_context` (labels of all), and `records`, each with name, type, unit,
labels, data and time. A gauge's data is its value. Of a histogram the value is how many observations it has; buckets,
sum, smallest and largest are its evidence.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.records import FINAL, encode_line

from .database import Urls
from .errors import FileError
from .names import short_id
from .sql_rows import digest
from .telemetry_sink import keep, metric_document, stub_metric

SUFFIX = ".metrics.json"
NO_JOB = ("", "unknown")
"""What sonic-mgmt writes where it knows no job id."""


def metrics_files(path: Path) -> list[Path]:
    """The files to read: the one named, or all those of a folder and the folders in it.

    Raises:
        FileError: there is none.
    """
    found = [path] if path.is_file() else sorted(path.rglob(f"*{SUFFIX}"))
    if not found:
        raise FileError(f"{path} is neither a file nor a folder with *{SUFFIX} files")
    return found


def ingest(path: Path, urls: Urls = None) -> tuple[int, list[str]]:
    """Store the records of one file; once, however often it is ingested.

    Args:
        path: the file.
        urls: databases, as `database_urls` takes them.

    Returns:
        How many records it has, and what was in trouble: records that are none, databases that took nothing.

    Raises:
        ReportingError: the file cannot be read, is no such file, or its records were stored nowhere.
    """
    context, records = _read(path)
    job_id = context.get("test.job.id", "")
    run_id = short_id(job_id) if job_id not in NO_JOB else f"metrics-{digest([json.dumps([context, records])])}"
    documents = []
    problems = []
    for number, record in enumerate(records, start=1):
        try:
            documents.append(_document(run_id, context, record, f"{path} record {number}"))
        except RecordError as error:
            problems.append(str(error))
    return len(documents), problems + (keep(run_id, context, documents, urls) if documents else [])


def _read(path: Path) -> tuple[dict[str, Any], list[Any]]:
    try:
        document = json.loads(path.read_bytes())
        context = document["metadata"]["test_context"] or {}
        records = document["records"]
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: it is no file of metrics ({type(error).__name__}: {error}); it must be a JSON "
                          "object with metadata.test_context and records") from error
    if not isinstance(context, dict) or not isinstance(records, list):
        raise RecordError(f"{path}: metadata.test_context must be a JSON object, and records a list")
    return context, records


def _document(run_id: str, context: Mapping[str, Any], record: Any, where: str) -> dict[str, Any]:
    """A record of the file as one of ours, checked."""
    try:
        labels = {**context, **record["labels"]}
        timestamp = int(record["timestamp"])
        metric = {**_metric(record, digest([run_id, json.dumps([context, record], sort_keys=True)])),
                  "unit": str(record.get("unit", "")), "description": str(record.get("description", ""))}
        document = metric_document(run_id, labels, metric, timestamp, FINAL)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise RecordError(f"{where}: it is no record of a metric ({type(error).__name__}: {error}); it must have "
                          "metric_name, metric_type, labels, data and timestamp") from error
    parse_line(encode_line(document, where), where)
    return document


def _metric(record: Mapping[str, Any], record_id: str) -> dict[str, Any]:
    name = record["metric_name"]
    data = record["data"]
    if record["metric_type"] != "histogram":
        return stub_metric(name, data, {}, record_id)
    return {**stub_metric(name, data["total_count"], {}, record_id), "is_verdict": False,
            "evidence": {"histogram": data}}
