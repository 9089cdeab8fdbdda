"""Records as every database takes them: texts without what some refuse, JSON, digests, rows of the tables."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from tests.common.pfc.record.records import Record, SeriesKey
from tests.common.pfc.record.run import Run
from tests.common.pfc.record.verdict import Check


DIGEST_LENGTH = 32
ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def sql_text(value: str) -> str:
    """A text as every database takes it: NUL and lone surrogates, which some refuse, are written as `\\u0000`."""
    if value.isascii() and "\0" not in value:
        return value
    return value.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode("utf-8")


def sql_json(value: Any) -> str:
    """A value as JSON text, its texts as `sql_text` leaves them."""
    text = ENCODER.encode(value)
    return text if text.isascii() and "\\u0000" not in text else ENCODER.encode(_sql_tree(value))


def sql_key(key: SeriesKey) -> SeriesKey:
    """Device, port and metric as they are stored."""
    return sql_text(key[0]), sql_text(key[1]), sql_text(key[2])


def series_id(device_id: str, port_id: str, metric_name: str) -> str:
    """The digest of a device, port and metric: short, so that it fits an index, whatever the texts are."""
    return digest([device_id, port_id, metric_name])


def metric_id(run_id: str, key: SeriesKey) -> str:
    """The key of the one row that a run has of a device, port and metric."""
    return digest([run_id, *key])


def run_row(run: Run) -> dict[str, Any]:
    """A run as a row of `runs`."""
    return _row(run_id=run.run_id, testbed=run.testbed, started=run.started, finished=run.finished, origin=run.origin,
                job_id=run.job_id, software_version=run.software_version,
                expected=sql_json([list(key) for key in run.expected]), info=sql_json(run.info),
                faults=sql_json(run.faults))


def record_row(run: Run, record: Record) -> dict[str, Any]:
    """A record as a row of `records`; what it does not say of itself is what the run says."""
    key = sql_key(record.series)
    return _row(
        run_id=record.run_id, record_id=record.record_id, series_id=series_id(*key), kind=record.kind,
        timestamp=record.timestamp, job_id=record.job_id or run.job_id, testbed=record.testbed, device_id=key[0],
        on_behalf_of=record.on_behalf_of, port_id=key[1], priority=record.priority, scenario=record.scenario,
        plan_id=record.plan_id, metric_name=key[2], unit=record.unit,
        value=record.status.number if record.status else record.value,
        status=record.status and record.status.value, cause=record.cause, replaces=record.replaces,
        os_version=record.os_version, hwsku=record.hwsku,
        software_version=record.software_version or run.software_version, evidence=sql_json(record.evidence),
        deviations=sql_json(record.deviations), labels=sql_json(record.labels),
        extra=sql_json(record.extra), faults=sql_json(record.faults))


def check_rows(record: Record) -> Iterator[dict[str, Any]]:
    """The checks of a record as rows of `checks`."""
    for position, check in enumerate(record.checks):
        yield _check_row(record, position, check)


def _check_row(record: Record, position: int, check: Check) -> dict[str, Any]:
    return _row(run_id=record.run_id, record_id=record.record_id, position=position, name=check.name,
                metric_name=check.metric_name, required=int(check.required), status=check.status.value,
                expected=sql_json(check.expected), seen=sql_json(check.seen), place=check.where,
                message=check.message)


def _row(**columns: Any) -> dict[str, Any]:
    return {name: sql_text(value) if isinstance(value, str) else value for name, value in columns.items()}


def _sql_tree(value: Any) -> Any:
    if isinstance(value, str):
        return sql_text(value)
    if isinstance(value, Mapping):
        return {sql_text(str(name)): _sql_tree(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sql_tree(item) for item in value]
    return value


def digest(parts: list[str]) -> str:
    """A short key for several texts."""
    return sha256(json.dumps(parts).encode("ascii")).hexdigest()[:DIGEST_LENGTH]
