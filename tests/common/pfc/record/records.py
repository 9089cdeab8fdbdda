"""Records: what one line of `records.jsonl` says. docs/reporting.md lists the fields.

A **verdict** record says PASS, FAIL or ERROR of one metric, as measured by one scenario on one port (and priority),
with its checks and its evidence. A **final** or **periodic** record, from sonic-mgmt's telemetry interface, holds a
number with its unit; or, a final one, the status that a run ended with, which its verdict records decide.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from .case import PlanCase
from .errors import RecordError
from .verdict import Check, PortVerdict, Status

SOFTWARE = "sonic-mgmt-pfc 0.1.0"
"""What records say measured them. It travels with this folder, also to where the package is not installed."""
SCHEMA = 2
VERDICT, FINAL, PERIODIC = KINDS = ("verdict", "final", "periodic")
ON_BEHALF_OF = "device.on_behalf_of"
"""The label that names the switch (a T1) in whose place the device was measured; schema 1 has it there alone."""
SeriesKey = tuple[str, str, str]  # device, port, metric: what a run has one verdict of


@dataclass(frozen=True)
class RunLabels:
    """What all records of one run on one switch have in common.

    Attributes:
        run_id, testbed, os_version, hwsku: as records have them.
        job_id: what the run belongs to; empty: nothing.
        on_behalf_of: the T1 that the switch stands for; empty: itself.
        deviations: differences of switch and testbed that are allowed for (`deviations.allowed_for`).
        faults: what is broken on purpose in the testbed, as it says it.
    """

    run_id: str
    testbed: str
    os_version: str
    hwsku: str
    job_id: str = ""
    on_behalf_of: str = ""
    deviations: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[str] = ()

    @property
    def labels(self) -> dict[str, str]:
        """sonic-mgmt's label keys, for whoever looks for the T1 there."""
        return {ON_BEHALF_OF: self.on_behalf_of} if self.on_behalf_of else {}


@dataclass(frozen=True)
class Record:
    """One line of `records.jsonl`; `extra` holds the fields that this version does not know.

    `replaces` is the id of a record of the same run, device, port and metric that could not be measured and was tried
    again: where that is an ERROR it no longer counts. A FAIL or PASS is never replaced.
    """

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
    job_id: str = ""
    on_behalf_of: str = ""
    software_version: str = ""
    replaces: str | None = None
    checks: tuple[Check, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    deviations: tuple[Any, ...] = ()
    faults: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def series(self) -> SeriesKey:
        """Device, port and metric: what a run has one verdict of."""
        return self.device_id, self.port_id, self.metric_name

    def check_run(self, run_id: str, where: str) -> None:
        """Refuses the record (RecordError) where it is of another run; the sentence begins with `where`."""
        if self.run_id != run_id:
            raise RecordError(f"{where}: field 'run_id' is '{self.run_id}'; it must be '{run_id}'")

    def document(self) -> dict[str, Any]:
        """The record as its line has it."""
        return {
            "schema": SCHEMA,
            "record_id": self.record_id,
            "replaces": self.replaces,
            "run_id": self.run_id,
            "job_id": self.job_id,
            "timestamp": format_moment(self.timestamp),
            "testbed": self.testbed,
            "device_id": self.device_id,
            "on_behalf_of": self.on_behalf_of,
            "port_id": self.port_id,
            "priority": self.priority,
            "scenario": self.scenario,
            "plan_id": self.plan_id,
            "metric_name": self.metric_name,
            **self._decided(),
            "os_version": self.os_version,
            "hwsku": self.hwsku,
            "software_version": self.software_version,
            "deviations": list(self.deviations),
            "faults": list(self.faults),
            **({"checks": [check.as_record() for check in self.checks]} if self.kind == VERDICT else {}),
            "evidence": dict(self.evidence),
            "labels": dict(self.labels),
            **self.extra,
        }

    def _decided(self) -> dict[str, Any]:
        """A verdict, the status that a run ended with, or a number."""
        if self.kind == VERDICT:
            return {"status": self.status, "cause": self.cause}
        if self.status is not None:
            return {"kind": self.kind, "status": self.status, "cause": self.cause}
        return {"kind": self.kind, "value": self.value, "unit": self.unit}


def make_record(run: RunLabels, case: PlanCase, verdict: PortVerdict, evidence: Mapping[str, Any]) -> Record:
    """Makes the record of a verdict, with the numbers behind it; raises RecordError where a check of the verdict is of
    another metric."""
    for check in verdict.checks:
        if check.metric_name != verdict.metric_name:
            raise RecordError(f"{check.where}: check '{check.name}' is of {check.metric_name}; in a verdict of "
                              f"{verdict.metric_name} it must be of that metric")
    return Record(
        record_id=uuid4().hex,
        run_id=run.run_id,
        timestamp=datetime.now(timezone.utc),
        testbed=run.testbed,
        device_id=verdict.device,
        port_id=verdict.port,
        metric_name=verdict.metric_name,
        status=verdict.status,
        priority=verdict.priority,
        scenario=case.name,
        plan_id=case.plan_id,
        cause=verdict.cause,
        os_version=run.os_version,
        hwsku=run.hwsku,
        job_id=run.job_id,
        on_behalf_of=run.on_behalf_of,
        software_version=SOFTWARE,
        checks=tuple(verdict.checks),
        evidence=dict(evidence),
        labels=run.labels,
        deviations=tuple(dict(one) for one in run.deviations),
        faults=tuple(run.faults),
    )


def new_run_id(now: datetime | None = None) -> str:
    """A run id that sorts by time: `20261120T130000Z-4711` (the number is this process's)."""
    return f"{now or datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"


def format_moment(moment: datetime) -> str:
    """Writes a time as all records do: UTC, microseconds, `Z`; texts of that form sort by time."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def encode_line(document: Mapping[str, Any], where: str = "record") -> bytes:
    """The document as one line of ASCII JSON, line end included; raises RecordError where it holds something that JSON
    cannot express (NaN and infinity included)."""
    try:
        return json.dumps(document, allow_nan=False).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{where}: it cannot be written as JSON: {error}") from error
