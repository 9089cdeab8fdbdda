"""A run as OpenTelemetry metrics and a trace, sent to a collector by OTLP over HTTP.

`pfc.lossless` and `pfc.lossy` are gauges of each device and port, 0 for PASS and 1 for FAIL. ERROR has no value there,
as in sonic-mgmt's reports; `pfc.verdicts` counts the verdicts of each status. The trace has a span for the run and one
for each verdict record; what failed are events of it. Ids are digests of the run's, so sending a run twice gives the
same trace.
"""
from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (Gauge, Metric, MetricExportResult, MetricsData, NumberDataPoint,
                                              ResourceMetrics, ScopeMetrics)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status as SpanStatus, StatusCode, TraceFlags

from tests.common.pfc.record.parsing import parse_moment
from tests.common.pfc.record.verdict import DESCRIPTIONS, Status

from .errors import ReportingError
from .queries import Rows

SERVICE = "pfc-qualification"
SCOPE = InstrumentationScope("sonic-mgmt-pfc")
VERDICTS = "pfc.verdicts"
SECONDS = 10
"""How long a collector that does not answer is waited for."""
BATCH = 500
"""Spans of one request."""


def send(endpoint: str, run: Mapping[str, Any], metrics: Rows, records: Rows) -> int:
    """Send a run; returns how many spans its trace has.

    Args:
        endpoint: of the collector, `http://127.0.0.1:4318`; `/v1/metrics` and `/v1/traces` are below it.
        run: its row of `runs`.
        metrics: its rows of `metrics`.
        records: its records with their checks, as `queries.record_rows` has them.

    Raises:
        ReportingError: the collector did not take it.
    """
    base = endpoint.rstrip("/")
    resource = Resource(_resource(run))
    scope = [ScopeMetrics(SCOPE, list(_metrics(run, metrics, records)), "")]
    spans = list(_spans(run, [record for record in records if record["counts"]], resource))
    with _quiet():
        taken = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=SECONDS).export(
            MetricsData([ResourceMetrics(resource, scope, "")]))
        if taken is not MetricExportResult.SUCCESS:
            raise ReportingError(f"the collector {base} did not take the metrics of run '{run['run_id']}'")
        exporter = OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=SECONDS)
        for start in range(0, len(spans), BATCH):
            if exporter.export(spans[start:start + BATCH]) is not SpanExportResult.SUCCESS:
                raise ReportingError(f"the collector {base} did not take the trace of run '{run['run_id']}'")
    return len(spans)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporters' own logging is not heard: what they say is said in one sentence here."""
    logger = logging.getLogger("opentelemetry")
    before = logger.disabled, logger.propagate, logger.level
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.disabled, logger.propagate, logger.level = before


def _resource(run: Mapping[str, Any]) -> dict[str, Any]:
    said = {"service.name": SERVICE, "service.version": run["software_version"], "test.run.id": run["run_id"],
            "test.testbed": run["testbed"], "test.job.id": run["job_id"], "test.faults": "; ".join(run["faults"])}
    return {name: value for name, value in said.items() if value}


def _metrics(run: Mapping[str, Any], metrics: Rows, records: Rows) -> Iterator[Metric]:
    begin = _ns(run["started"])
    names = sorted({row["metric_name"] for row in metrics})
    for name in names:
        points = [_point(row, begin, row["value"]) for row in metrics
                  if row["metric_name"] == name and row["value"] is not None]
        if points:
            unit = next((row["unit"] for row in metrics if row["metric_name"] == name), "")
            yield Metric(name, DESCRIPTIONS.get(name, ""), unit, Gauge(points))
    counts = Counter((row["device_id"], row["port_id"], row["metric_name"], row["status"])
                     for row in records if row["counts"])
    end = _ns(run["finished"] or run["started"])
    yield Metric(VERDICTS, "Verdicts by status", "{verdict}", Gauge([
        NumberDataPoint({"device.id": device, "device.port.id": port, "metric": name, "status": status}, begin, end,
                        number)
        for (device, port, name, status), number in sorted(counts.items())]))


def _point(row: Mapping[str, Any], begin: int, value: float) -> NumberDataPoint:
    labels = {name: value if isinstance(value, (str, bool, int, float)) else str(value)
              for name, value in row["labels"].items()}
    return NumberDataPoint({**labels, "device.hwsku": row["hwsku"]}, begin, _ns(row["timestamp"]), value)


def _spans(run: Mapping[str, Any], records: Sequence[Mapping[str, Any]], resource: Resource) -> Iterator[ReadableSpan]:
    """The run's span, then one of each record; it lasts from the end of the one before to its own."""
    trace = int.from_bytes(sha256(run["run_id"].encode()).digest()[:16]) or 1
    root = _context(trace, run["run_id"])
    begin = _ns(run["started"])
    last = max([begin, *(_ns(record["timestamp"]) for record in records)])
    yield _span(f"qualification of {run['testbed']}", root, None, resource, _resource(run), run["status"],
                run["cause"], begin, max(last, _ns(run["finished"])) if run["finished"] else last, ())
    for record in sorted(records, key=lambda one: (one["timestamp"], one["record_id"])):
        end = _ns(record["timestamp"])
        name = " ".join(filter(None, (record["plan_id"], record["scenario"]))) or record["metric_name"]
        yield _span(name, _context(trace, record["record_id"]), root, resource, _attributes(record), record["status"],
                    record["cause"], min(begin, end), end, _events(record, end))
        begin = end


def _span(name: str, context: SpanContext, parent: SpanContext | None, resource: Resource,
          attributes: Mapping[str, Any], status: str | None, cause: str | None, begin: int, end: int,
          events: Iterable[Event]) -> ReadableSpan:
    code = StatusCode.OK if status == Status.PASS else StatusCode.ERROR if status else StatusCode.UNSET
    said = SpanStatus(code, cause if code is StatusCode.ERROR else None)
    return ReadableSpan(name=name, context=context, parent=parent, resource=resource, attributes=dict(attributes),
                        events=list(events), status=said, start_time=begin, end_time=end, instrumentation_scope=SCOPE)


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    said = {"device.id": record["device_id"], "device.port.id": record["port_id"], "pfc.priority": record["priority"],
            "pfc.metric": record["metric_name"], "pfc.status": record["status"], "test.plan.id": record["plan_id"],
            "test.testcase": record["scenario"], "test.os.version": record["os_version"],
            "device.hwsku": record["hwsku"], "pfc.record.id": record["record_id"]}
    return {name: value for name, value in said.items() if value not in (None, "")}


def _events(record: Mapping[str, Any], at: int) -> Iterator[Event]:
    for check in record["checks"]:
        if check["status"] != Status.PASS and check["required"]:
            yield Event(check["name"], {"status": check["status"], "message": check["message"],
                                        "where": check["place"]}, at)


def _context(trace: int, name: str) -> SpanContext:
    return SpanContext(trace, int.from_bytes(sha256(name.encode()).digest()[:8]) or 1, is_remote=False,
                       trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _ns(moment: str | datetime) -> int:
    at = parse_moment(moment) if isinstance(moment, str) else moment
    return round(at.timestamp() * 1_000_000) * 1000
