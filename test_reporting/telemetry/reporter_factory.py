"""Where a test gets its reporter from."""
from __future__ import annotations

if __package__:
    from .metrics import FinalMetricsReporter, PeriodicMetricsReporter
else:  # this folder itself is on sys.path, as callers in sonic-mgmt have it
    from metrics import FinalMetricsReporter, PeriodicMetricsReporter  # type: ignore[import-not-found,no-redef]


class TelemetryReporterFactory:
    """Makes reporters."""

    @staticmethod
    def create_periodic_metrics_reporter(common_labels: dict[str, str]) -> PeriodicMetricsReporter:
        """Make a reporter of samples; `common_labels` apply to all of them."""
        return PeriodicMetricsReporter(common_labels)

    @staticmethod
    def create_final_metrics_reporter(common_labels: dict[str, str]) -> FinalMetricsReporter:
        """Make a reporter of final results; `common_labels` apply to all of them."""
        return FinalMetricsReporter(common_labels)
