"""Runs that are sent to an OpenTelemetry collector: what arrives at one that the tests play."""
from __future__ import annotations

import gzip
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import test_reporting.pfc
from test_reporting.pfc.cli import main
from test_reporting.tests.samples import RUN_ID, verdict

pytest.importorskip("opentelemetry.sdk", reason="the extra otlp is not installed")
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest  # noqa: E402
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402

KINDS = {"/v1/metrics": ExportMetricsServiceRequest, "/v1/traces": ExportTraceServiceRequest}


class Collector:
    """A collector on a free port of loopback: it keeps what arrives, or refuses it."""

    def __init__(self):
        self.metrics = []
        self.traces = []
        self.status = 200
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                found = KINDS[self.path].FromString(body)
                (collector.metrics if self.path.endswith("metrics") else collector.traces).append(found)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                """Nothing is printed."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def points(self):
        """Metric -> its points: device, port, value."""
        return {metric.name: [(attributes(point).get("device.id"), attributes(point).get("device.port.id"),
                               point.as_double if point.HasField("as_double") else point.as_int)
                              for point in metric.gauge.data_points]
                for request in self.metrics for resource in request.resource_metrics
                for scope in resource.scope_metrics for metric in scope.metrics}

    def spans(self):
        return [span for request in self.traces for resource in request.resource_spans
                for scope in resource.scope_spans for span in scope.spans]


def attributes(thing):
    """Attributes as a mapping."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in thing.attributes}


@pytest.fixture
def collector():
    found = Collector()
    yield found
    found.close()


def test_metrics_and_a_trace_of_a_run_arrive(run, collector, capsys):
    run(verdict(1), verdict(2, "FAIL", port_id="Ethernet8"), verdict(3, "ERROR", port_id="Ethernet16", checks=[]),
        faults=["pause-ignored@Ethernet8"], job_id="job-1", software_version="sonic-mgmt-pfc 9")
    assert main(["otlp", "--endpoint", collector.url]) == 0
    assert capsys.readouterr().out.startswith(f"{RUN_ID}: 4 spans and the metrics")
    points = collector.points()
    assert points["pfc.lossless"] == [("vtb-t0-01", "Ethernet0", 0), ("vtb-t0-01", "Ethernet8", 1)], "no ERROR"
    assert sorted(points["pfc.verdicts"]) == [("vtb-t0-01", f"Ethernet{port}", 1) for port in (0, 16, 8)]
    resource = attributes(collector.metrics[0].resource_metrics[0].resource)
    assert resource == {
        "service.name": "pfc-qualification", "service.version": "sonic-mgmt-pfc 9", "test.run.id": RUN_ID,
        "test.testbed": "vtb-t0", "test.job.id": "job-1", "test.faults": "pause-ignored@Ethernet8"}
    root, passed, failed, error = collector.spans()
    assert [one.parent_span_id for one in (passed, failed, error)] == [root.span_id] * 3 and not root.parent_span_id
    assert len({one.trace_id for one in collector.spans()}) == 1
    assert len({one.span_id for one in collector.spans()}) == 4
    assert [one.status.code for one in (root, passed, failed, error)] == [2, 1, 2, 2]
    assert failed.status.message == "the cause" and failed.name == "PFC-1 pause-lossless-single"
    event, = failed.events
    assert (event.name, attributes(event)["message"]) == ("blocked-while-paused", "expected 0 frames, got 12 (FAIL)")
    assert attributes(passed)["pfc.priority"] == 3 and attributes(passed)["test.os.version"] == "SONiC.20260101"
    assert passed.end_time_unix_nano - root.start_time_unix_nano == 1000, "the records' own times, in nanoseconds"


def test_sending_a_run_again_gives_the_same_trace(run, collector):
    run(verdict(1))
    assert [main(["otlp", RUN_ID, "--endpoint", f"{collector.url}/"]) for _ in range(2)] == [0, 0]
    ids = [(one.trace_id, one.span_id) for one in collector.spans()]
    assert len(ids) == 4 and ids[:2] == ids[2:]


def test_a_collector_that_refuses_is_one_sentence(run, collector, capsys):
    run(verdict(1))
    collector.status = 400
    assert main(["otlp", "--endpoint", collector.url]) == 3
    assert capsys.readouterr().err == (
        f"error: the collector {collector.url} did not take the metrics of run '{RUN_ID}'\n")


@pytest.mark.parametrize("arguments, says", [
    (["--endpoint", "127.0.0.1:4318"], "it must be an address such as http://127.0.0.1:4318"),
    (["nothing"], "the database has no run 'nothing'")])
def test_what_cannot_be_sent_is_refused(run, capsys, arguments, says):
    run(verdict(1))
    assert main(["otlp", *arguments]) == 3 and says in capsys.readouterr().err


def test_without_the_extra_it_says_so(run, monkeypatch, capsys):
    run(verdict(1))
    monkeypatch.delitem(sys.modules, "test_reporting.pfc.otlp", raising=False)
    monkeypatch.delattr(test_reporting.pfc, "otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert main(["otlp"]) == 3 and "a package of the extra otlp is not installed" in capsys.readouterr().err
