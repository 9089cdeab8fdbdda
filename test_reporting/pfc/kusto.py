"""Files that Azure Data Explorer (Kusto) ingests into the table `TestMetrics`, which `kql/setup.kql` creates.

A file for each run, one JSON object a line (format `multijson`, mapping `TestMetricsMappingV1`). Names are those of
sonic-mgmt's tables: `ReportId` is the run, `TrackingId` the job.
"""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.common.pfc.record.record_file import append_durably, cut_torn_line, locked, sync_folder
from tests.common.pfc.record.records import Record, format_moment
from tests.common.pfc.record.run import Run

from .errors import StoreError
from .names import folder_name
from .sql_rows import check_rows, record_row

SUFFIX = ".TestMetrics.json"
COLUMNS = {
    "ReportId": ("string", "id"), "TrackingId": ("string", "tracking_id"), "RecordId": ("string", "record_id"),
    "Timestamp": ("datetime", "timestamp"), "TestbedName": ("string", "testbed"), "OSVersion": ("string", "os_version"),
    "HardwareSku": ("string", "hwsku"), "DeviceId": ("string", "device_id"),
    "OnBehalfOf": ("string", "on_behalf_of"), "PortId": ("string", "port_id"), "Priority": ("int", "priority"),
    "TestCase": ("string", "scenario"), "PlanId": ("string", "plan_id"), "MetricName": ("string", "metric_name"),
    "MetricType": ("string", "metric_type"), "Unit": ("string", "unit"), "Value": ("real", "value"),
    "Result": ("string", "result"), "Summary": ("string", "summary"), "Replaces": ("string", "replaces"),
    "SoftwareVersion": ("string", "software_version"), "Labels": ("dynamic", "labels"),
    "Checks": ("dynamic", "checks"), "Evidence": ("dynamic", "evidence"), "Deviations": ("dynamic", "deviations"),
    "Extra": ("dynamic", "extra"), "Faults": ("dynamic", "faults"),
}
"""Column of the table -> its type, and the key of the JSON object that it is filled from."""
CHECK = ("name", "required", "status", "expected", "seen", "place", "message")
"""What the column `Checks` says of each check."""


class KustoFiles:
    """A folder of files to ingest. A record is in its run's file once, however often it is delivered."""

    def __init__(self, folder: Path) -> None:
        """Nothing is written yet."""
        self.folder = folder.absolute()
        self.url = f"kusto:///{folder}"
        self._files: dict[str, _RunFile] = {}

    def deliver(self, run: Run, records: Sequence[Record]) -> int:
        """Append the records that are not in the run's file yet; returns how many those were.

        Raises:
            StoreError: nothing of this was stored.
        """
        path = self.folder / (folder_name(run.run_id) + SUFFIX)
        file = self._files.setdefault(run.run_id, _RunFile(path))
        try:
            return file.append({record.record_id: line(run, record) for record in records}) if records else 0
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error


class _RunFile:
    """One file, and the ids of the records that were found in it so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: set[str] = set()
        self._read_to = 0

    def append(self, lines: dict[str, bytes]) -> int:
        with locked(self._path) as file:
            is_new = not os.fstat(file).st_size
            self._catch_up(file)
            missing = {record_id: line for record_id, line in lines.items() if record_id not in self._ids}
            append_durably(file, b"".join(missing.values()))
            if is_new:
                sync_folder(self._path.parent)
            self._catch_up(file)
        return len(missing)

    def _catch_up(self, file: int) -> None:
        """Read what was appended since the last look; cut off a line whose writer was killed: it comes again."""
        size = cut_torn_line(file)
        if size < self._read_to:
            self._ids = set()
            self._read_to = 0  # somebody put another file in its place
        text = os.pread(file, size - self._read_to, self._read_to)
        self._ids.update(json.loads(line)["record_id"] for line in text.splitlines())
        self._read_to = size


def row(run: Run, record: Record) -> dict[str, Any]:
    """A record as the JSON object that is ingested."""
    stored = record_row(run, record)
    checks = [{name: json.loads(check[name]) if name in ("expected", "seen") else check[name] for name in CHECK}
              for check in check_rows(record)]
    documents = {name: json.loads(stored[name]) for name in ("labels", "evidence", "deviations", "extra", "faults")}
    values = {**stored, **documents, "id": stored["run_id"], "tracking_id": stored["job_id"],
              "timestamp": format_moment(record.timestamp), "metric_type": record.kind, "result": stored["status"],
              "summary": stored["cause"], "checks": checks}
    return {key: values[key] for _, key in COLUMNS.values()}


def line(run: Run, record: Record) -> bytes:
    """That object as a line of ASCII."""
    return json.dumps(row(run, record)).encode("ascii") + b"\n"
