"""Reports the verdicts of a run through SONiC's final metrics reporter: one value of each device, port and metric."""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.common.pfc.record.run import Run
from tests.common.pfc.record.verdict import DESCRIPTIONS, MetricVerdict, Status

from .telemetry_sink import FAULTS, RUN_ID, joined_faults

PACKAGE = "test_reporting.telemetry"
FOLDER = Path(__file__).resolve().parents[1] / "telemetry"
MODULES = ("metric_definitions", "metrics", "reporter_factory")
TEST_CASE = "pfc-qualification"
TEST_FILE = "tests/snappi_tests/pfc/qualification"
NO_UNIT = "N/A"


@dataclass(frozen=True)
class _Telemetry:
    """SONiC's telemetry interface, as its three modules."""

    definitions: Any
    metrics: Any
    factory: Any


def report_final_metrics(run: Run, verdicts: Sequence[MetricVerdict], builds: Mapping[str, str]) -> None:
    """Report the verdicts that a run ended with. One that could not be measured has no value.

    Args:
        run: the run.
        verdicts: of each device, port and metric.
        builds: device -> the build that was tested.

    Raises:
        ReportingError: neither a file nor every database took them.
        ModuleNotFoundError: SONiC's interface is not here.
    """
    telemetry = _telemetry()
    names = telemetry.definitions
    reporter = telemetry.factory.TelemetryReporterFactory.create_final_metrics_reporter({
        names.METRIC_LABEL_TEST_CASE: TEST_CASE,
        names.METRIC_LABEL_TEST_FILE: TEST_FILE,
        names.METRIC_LABEL_TESTBED: run.testbed,
        names.METRIC_LABEL_TEST_JOBID: run.job_id or run.run_id,
        RUN_ID: run.run_id,
        **({FAULTS: joined_faults(run.faults)} if run.faults else {}),
    })
    gauges = {name: telemetry.metrics.GaugeMetric(name, DESCRIPTIONS.get(name, ""), NO_UNIT, reporter)
              for name in dict.fromkeys(verdict.metric_name for verdict in verdicts)}
    for verdict in verdicts:
        labels = {
            names.METRIC_LABEL_DEVICE_ID: verdict.device,
            names.METRIC_LABEL_DEVICE_PORT_ID: verdict.port,
            names.METRIC_LABEL_TEST_BUILD: builds.get(verdict.device, ""),
        }
        gauges[verdict.metric_name].record(labels, _value(names, verdict.status))
    reporter.report()


def _value(names: Any, status: Status) -> Any:
    """SONiC's `FINAL_STATUS`; it has none for what could not be measured."""
    return None if status is Status.ERROR else names.FINAL_STATUS[status.value]


def _telemetry() -> _Telemetry:
    """This project's modules, or sonic-mgmt's own in its tree: those import each other by their bare names, so that
    whoever uses them has their folder on `sys.path`."""
    try:
        return _Telemetry(*(import_module(f"{PACKAGE}.{name}") for name in MODULES))
    except ModuleNotFoundError as error:
        if error.name not in MODULES:
            raise
    sys.path.append(str(FOLDER))
    return _Telemetry(*map(import_module, MODULES))
