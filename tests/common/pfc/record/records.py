"""Verdict records: one JSON object a line, durable as soon as it is written. Their schema is described in
docs/reporting.md."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

from .. import SOFTWARE
from ..model.errors import QualificationError
from .case import PlanCase
from .verdict import PortVerdict

SCHEMA = 2
READABLE = (1, SCHEMA)
"""Versions of records that a run can go on with; what came with 2 is missing in one of 1."""


class RecordsUnwritable(QualificationError):
    """The file of the records cannot be written."""


@dataclass(frozen=True)
class RunLabels:
    """What all records of one run on one switch have in common.

    Attributes:
        run_id, testbed, os_version, hwsku: as records have them.
        job_id: what the run belongs to; empty: nothing.
        on_behalf_of: the T1 that the switch stands for; empty: itself.
        deviations: differences of switch and testbed that are allowed for (`deviations.allowed_for`).
    """

    run_id: str
    testbed: str
    os_version: str
    hwsku: str
    job_id: str = ""
    on_behalf_of: str = ""
    deviations: Sequence[Mapping[str, Any]] = ()

    @property
    def labels(self) -> dict[str, str]:
        """sonic-mgmt's label keys, for whoever looks for the T1 there."""
        return {"device.on_behalf_of": self.on_behalf_of} if self.on_behalf_of else {}


def new_run_id(now: datetime | None = None) -> str:
    """A run id that sorts by time: `20261120T130000Z-4711` (the number is this process's)."""
    return f"{now or datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"


def make_record(
    run: RunLabels, case: PlanCase, verdict: PortVerdict, evidence: Mapping[str, Any], replaces: str | None = None
) -> dict[str, Any]:
    """A verdict as one record.

    Args:
        run: the run.
        case: the test case of the plan.
        verdict: of one metric of one port and priority.
        evidence: the numbers behind it.
        replaces: the record of an earlier try that was ERROR.
    """
    return {
        "schema": SCHEMA,
        "record_id": uuid4().hex,
        "replaces": replaces,
        "run_id": run.run_id,
        "job_id": run.job_id,
        "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "testbed": run.testbed,
        "device_id": verdict.device,
        "on_behalf_of": run.on_behalf_of,
        "port_id": verdict.port,
        "priority": verdict.priority,
        "scenario": case.name,
        "plan_id": case.plan_id,
        "metric_name": verdict.metric_name,
        "status": verdict.status.value,
        "cause": verdict.cause,
        "os_version": run.os_version,
        "hwsku": run.hwsku,
        "software_version": SOFTWARE,
        "deviations": [dict(one) for one in run.deviations],
        "checks": [check.as_record() for check in verdict.checks],
        "evidence": dict(evidence),
        "labels": run.labels,
    }


class RecordWriter:
    """Appends records to `records.jsonl`; each is on the disk when `write` returns."""

    def __init__(self, folder: Path) -> None:
        """Creates `folder` when needed.

        Raises:
            RecordsUnwritable: the file cannot be written.
        """
        self.path = folder / "records.jsonl"
        self._torn_at: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8"):
                pass
        except OSError as error:
            raise RecordsUnwritable(f"the records {self.path} cannot be written: {error.strerror}") from error

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Appends a line for each, all of them in one write.

        What a write leaves that fails in the middle (a full disk) is cut off again, at once or before the next one: a
        line in two pieces would make all the others unreadable.

        Raises:
            RecordsUnwritable: they are not on the disk.
        """
        lines = "".join(json.dumps(record, sort_keys=False) + "\n" for record in records)
        try:
            self._mend()
            self._torn_at = self.path.stat().st_size
            with self.path.open("a", encoding="utf-8") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            self._torn_at = None
        except OSError as error:
            with contextlib.suppress(OSError):
                self._mend()
            raise RecordsUnwritable(f"the records {self.path} cannot be written: {error.strerror}") from error

    def _mend(self) -> None:
        if self._torn_at is not None:
            os.truncate(self.path, self._torn_at)
            self._torn_at = None
