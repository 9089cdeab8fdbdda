"""How a test reports through this interface: samples while it runs, results at its end, verdicts.

    python3 test_reporting/telemetry/examples.py

The numbers are made up. They are stored as `docs/reporting.md` says, in results/pfc.db unless $PFC_REPORT_DB names
another database, where `pfc-report` shows them.
"""
from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

if __package__:
    from . import metric_definitions as names
    from .metrics import FinalMetricsReporter, GaugeMetric, PeriodicMetricsReporter
    from .reporter_factory import TelemetryReporterFactory
else:  # this folder itself is on sys.path, as callers in sonic-mgmt have it
    import metric_definitions as names  # type: ignore[import-not-found,no-redef]
    from metrics import (  # type: ignore[import-not-found,no-redef]
        FinalMetricsReporter, GaugeMetric, PeriodicMetricsReporter)
    from reporter_factory import TelemetryReporterFactory  # type: ignore[import-not-found,no-redef]

TEST_CASE = "example"
POWER_SUPPLIES = {"PSU 1": (12.09, 18.38), "PSU 2": (12.01, 17.72)}
"""Name -> volts and amperes."""


def common_labels() -> dict[str, str]:
    """The labels of everything that a test reports: what was tested, where, and as part of which job."""
    return {
        names.METRIC_LABEL_TEST_CASE: TEST_CASE,
        names.METRIC_LABEL_TEST_FILE: Path(__file__).name,
        names.METRIC_LABEL_TESTBED: "vtb-t0",
        names.METRIC_LABEL_TEST_BUILD: "SONiC.20260101",
        names.METRIC_LABEL_TEST_JOBID: f"{TEST_CASE}_{datetime.now(timezone.utc):%Y%m%d_%H%M%S}",
    }


def report_samples(reporter: PeriodicMetricsReporter) -> None:
    """Report what was read once of a device's power supplies; a test does that again and again."""
    voltage = GaugeMetric(names.METRIC_NAME_PSU_VOLTAGE, "Voltage of a power supply", "V", reporter)
    current = GaugeMetric(names.METRIC_NAME_PSU_CURRENT, "Current of a power supply", "A", reporter)
    for supply, (volts, amperes) in POWER_SUPPLIES.items():
        labels = {names.METRIC_LABEL_DEVICE_ID: "switch-A", names.METRIC_LABEL_DEVICE_PSU_ID: supply}
        voltage.record(labels, volts)
        current.record(labels, amperes)
    reporter.report()


def report_number(reporter: FinalMetricsReporter) -> None:
    """Report a number that a test measured."""
    convergence = GaugeMetric(names.METRIC_NAME_BGP_CONVERGENCE_TIME_PORT_RESTART,
                              "Time until traffic flows again after a port was shut down and started", "s", reporter)
    convergence.record({names.METRIC_LABEL_DEVICE_ID: "switch-A"}, 15)
    reporter.report()


def report_verdicts(reporter: FinalMetricsReporter) -> None:
    """Report the verdicts of a PFC qualification: PASS, FAIL, and None for what could not be measured."""
    lossless = GaugeMetric(names.METRIC_NAME_PFC_LOSSLESS, "Paused traffic waits, none is lost", "N/A", reporter)
    lossy = GaugeMetric(names.METRIC_NAME_PFC_LOSSY, "Traffic of lossy priorities is not paused", "N/A", reporter)
    for port, kept in (("Ethernet0", names.FINAL_STATUS.PASS), ("Ethernet8", names.FINAL_STATUS.FAIL),
                       ("Ethernet16", None)):
        labels = {names.METRIC_LABEL_DEVICE_ID: "switch-A", names.METRIC_LABEL_DEVICE_PORT_ID: port}
        lossless.record(labels, kept)
        lossy.record(labels, names.FINAL_STATUS.PASS)
    reporter.report()


def main() -> None:
    """Report an example of each kind, as one job."""
    labels = common_labels()
    report_samples(TelemetryReporterFactory.create_periodic_metrics_reporter(labels))
    final = TelemetryReporterFactory.create_final_metrics_reporter(labels)
    report_number(final)
    report_verdicts(final)
    print(f"reported as {labels[names.METRIC_LABEL_TEST_JOBID]}")


if __name__ == "__main__":
    main()
