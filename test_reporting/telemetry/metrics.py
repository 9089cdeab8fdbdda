"""Reporters and metrics: a metric is recorded with its labels into a reporter, which stores them all on `report()`."""
from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any, Union
from uuid import uuid4

if __package__:
    from .metric_definitions import (FINAL_STATUS, METRIC_LABEL_TEST_JOBID, METRIC_NAME_PFC_LOSSLESS,
                                     METRIC_NAME_PFC_LOSSY)
else:  # this folder itself is on sys.path, as callers in sonic-mgmt have it
    from metric_definitions import (  # type: ignore[import-not-found,no-redef]
        FINAL_STATUS, METRIC_LABEL_TEST_JOBID, METRIC_NAME_PFC_LOSSLESS, METRIC_NAME_PFC_LOSSY)

Value = Union[int, float, Enum, None]
STATUS_METRICS = frozenset({METRIC_NAME_PFC_LOSSLESS, METRIC_NAME_PFC_LOSSY})


class _MetricsReporter:
    """Keeps records until they are reported."""

    periodic: bool

    def __init__(self, common_labels: dict[str, str]) -> None:
        self.common_labels = deepcopy(common_labels)
        self.metrics: list[dict[str, Any]] = []
        # without a job id the records of one reporter are a run of their own
        self._run_id = str(common_labels.get(METRIC_LABEL_TEST_JOBID, "")) or _new_run_id()

    def stash_record(self, new_metric: Metric, labels: dict[str, str], name: str, value: Value) -> None:
        """Keep one value of a metric until `report()`.

        Args:
            new_metric: the metric, for its unit.
            labels: where it was measured; copied, so the caller may change its own afterwards.
            name: the metric's name.
            value: a number; a `FINAL_STATUS` or its value for a verdict; None for one that could not be measured.

        Raises:
            ValueError: the value cannot be stored; the sentence names metric and value.
        """
        is_verdict = not self.periodic and (name in STATUS_METRICS or type(value).__name__ == FINAL_STATUS.__name__)
        self.metrics.append({"labels": deepcopy(labels), "name": name, "value": _number(name, value, is_verdict),
                             "unit": new_metric.unit, "description": new_metric.description, "is_verdict": is_verdict,
                             "record_id": uuid4().hex})

    def report(self, timestamp: int | None = None) -> None:
        """Store all that was recorded since the last call. Records that could not be stored anywhere are kept.

        Args:
            timestamp: nanoseconds since 1970 UTC; the time of this call by default.

        Raises:
            Exception: nothing took the records (`test_reporting.pfc.ReportingError`).
        """
        if self.metrics:
            _sink()(self._run_id, self.common_labels, self.metrics,
                    time.time_ns() if timestamp is None else timestamp, self.periodic)
        self.metrics = []


class PeriodicMetricsReporter(_MetricsReporter):
    """Reports samples taken during a test: rates, temperatures, watermarks."""

    periodic = True


class FinalMetricsReporter(_MetricsReporter):
    """Reports results of a test: measured numbers, and verdicts."""

    periodic = False


class Metric:
    """What is measured: name, description, unit, and the reporter that takes the values."""

    def __init__(self, name: str, description: str, unit: str,
                 reporter: PeriodicMetricsReporter | FinalMetricsReporter) -> None:
        self.name = name
        self.description = description
        self.unit = unit
        self.reporter = reporter

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(name={self.name!r}, description={self.description!r}, unit={self.unit!r}, "
                f"reporter={self.reporter})")


class GaugeMetric(Metric):
    """A metric with one value at a time."""

    def record(self, metric_labels: dict[str, str], value: Value) -> None:
        """Keep a value, with the labels that say where it was measured, until the reporter reports.

        Raises:
            ValueError: the value cannot be stored; the sentence names metric and value.
        """
        self.reporter.stash_record(self, metric_labels, self.name, value)


def _number(name: str, value: Value, is_verdict: bool) -> int | float | None:
    number = value.value if isinstance(value, Enum) else value
    if is_verdict:
        if number is not None and number not in (FINAL_STATUS.PASS.value, FINAL_STATUS.FAIL.value):
            raise ValueError(f"metric '{name}': {value!r} was recorded; it must be FINAL_STATUS.PASS, "
                             "FINAL_STATUS.FAIL, or None when it could not be measured")
        return None if number is None else int(number)
    if not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"metric '{name}': {value!r} was recorded; it must be a finite number")
    return number


def _new_run_id() -> str:
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%fZ}-{os.getpid()}"


def _sink() -> Callable[..., None]:
    """The function that stores; it is imported late, so that recording needs nothing but the standard library."""
    try:
        from test_reporting.pfc.telemetry_sink import deliver
    except ModuleNotFoundError as error:
        if error.name not in ("test_reporting", "test_reporting.pfc"):
            raise
        with _checkout_first():
            from test_reporting.pfc.telemetry_sink import deliver
    return deliver


@contextmanager
def _checkout_first() -> Iterator[None]:
    """Finds this project's packages where only this folder is on `sys.path`: before whatever else is called `tests`
    while they are imported, after it then."""
    checkout = str(Path(__file__).resolve().parents[2])
    sys.path.insert(0, checkout)
    try:
        yield
    finally:
        sys.path.remove(checkout)
        sys.path.append(checkout)
