"""The interface of sonic-mgmt's telemetry stub: the same names, the same values, and it stores."""
from __future__ import annotations

import inspect
import json
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path

import pytest

from test_reporting.pfc.cli import main
from test_reporting.pfc.errors import ReportingError
from test_reporting.pfc.sql_rows import sql_text
from test_reporting.telemetry import metric_definitions as definitions
from test_reporting.telemetry.metric_definitions import (FINAL_STATUS, METRIC_LABEL_DEVICE_ID,
                                                         METRIC_LABEL_DEVICE_PORT_ID, METRIC_LABEL_TEST_BUILD,
                                                         METRIC_LABEL_TEST_CASE, METRIC_LABEL_TEST_JOBID,
                                                         METRIC_LABEL_TESTBED, METRIC_NAME_PFC_LOSSLESS,
                                                         METRIC_NAME_PFC_LOSSY)
from test_reporting.telemetry.metrics import FinalMetricsReporter, GaugeMetric, Metric, PeriodicMetricsReporter
from test_reporting.telemetry.reporter_factory import TelemetryReporterFactory
from test_reporting.tests.samples import ask, lines

TELEMETRY = Path(definitions.__file__).parent
COMMON = {METRIC_LABEL_TESTBED: "TB-XYZ", METRIC_LABEL_TEST_BUILD: "2024.1103", METRIC_LABEL_TEST_CASE: "mock-case",
          METRIC_LABEL_TEST_JOBID: "mock-case_20260131_13:00:00"}
ETHERNET8 = {METRIC_LABEL_DEVICE_ID: "switch-A", METRIC_LABEL_DEVICE_PORT_ID: "Ethernet8"}

NAMES = {
    "METRIC_LABEL_TESTBED": "test.testbed", "METRIC_LABEL_TEST_BUILD": "test.os.version",
    "METRIC_LABEL_TEST_CASE": "test.testcase", "METRIC_LABEL_TEST_FILE": "test.file",
    "METRIC_LABEL_TEST_JOBID": "test.job.id",
    "METRIC_LABEL_TEST_PARAMS_EVENT_TYPE": "test.params.event_type",
    "METRIC_LABEL_TEST_PARAMS_ROUTE_SCALE": "test.params.route_scale",
    "METRIC_LABEL_TEST_PARAMS_PREFIX_LENGTH": "test.params.prefix_length",
    "METRIC_LABEL_TG_TRAFFIC_RATE": "tg.traffic_rate", "METRIC_LABEL_TG_FRAME_SIZE": "tg.frame_size",
    "METRIC_LABEL_TG_IP_VERSION": "tg.ip_version",
    "METRIC_LABEL_DEVICE_ID": "device.id", "METRIC_LABEL_DEVICE_PORT_ID": "device.port.id",
    "METRIC_LABEL_DEVICE_PSU_ID": "device.psu.id", "METRIC_LABEL_DEVICE_PSU_MODEL": "device.psu.model",
    "METRIC_LABEL_DEVICE_PSU_SERIAL": "device.psu.serial", "METRIC_LABEL_DEVICE_PSU_HW_REV": "device.psu.hw_rev",
    "METRIC_LABEL_DEVICE_QUEUE_ID": "device.queue.id", "METRIC_LABEL_DEVICE_QUEUE_CAST": "device.queue.cast",
    "METRIC_LABEL_DEVICE_SENSOR_ID": "device.sensor.id", "METRIC_LABEL_DEVICE_PG_ID": "device.pg.id",
    "METRIC_LABEL_DEVICE_BUFFER_POOL_ID": "device.buffer_pool.id",
    "METRIC_LABEL_DEVICE_INGRESS_PORT_ID": "device.ingress_port.id",
    "METRIC_LABEL_DEVICE_EGRESS_PORT_ID": "device.egress_port.id",
    "METRIC_LABEL_DEVICE_TG_TRAFFIC_RATE": "tg.traffic_rate", "METRIC_LABEL_DEVICE_TG_FRAME_BYTES": "tg.frame_bytes",
    "METRIC_LABEL_DEVICE_TG_RFC2889_ENABLED": "tg.rfc2889.enabled",
    "METRIC_NAME_PORT_STATE": "port.state", "METRIC_NAME_PORT_RX_BPS": "port.rx.bps",
    "METRIC_NAME_PORT_RX_UTIL_PCT": "port.rx.util.pct", "METRIC_NAME_PORT_RX_PACKETS_OK": "port.rx.packets.ok",
    "METRIC_NAME_PORT_RX_PACKETS_ERR": "port.rx.packets.err",
    "METRIC_NAME_PORT_RX_PACKETS_DROP": "port.rx.packets.drop",
    "METRIC_NAME_PORT_RX_PACKETS_OVERRUN": "port.rx.packets.overrun", "METRIC_NAME_PORT_TX_BPS": "port.tx.bps",
    "METRIC_NAME_PORT_TX_UTIL_PCT": "port.tx.util.pct", "METRIC_NAME_PORT_TX_PACKETS_OK": "port.tx.packets.ok",
    "METRIC_NAME_PORT_TX_PACKETS_ERR": "port.tx.packets.err",
    "METRIC_NAME_PORT_TX_PACKETS_DROP": "port.tx.packets.drop",
    "METRIC_NAME_PORT_TX_PACKETS_OVERRUN": "port.tx.packets.overrun",
    "METRIC_NAME_QUEUE_WATERMARK_BYTES": "queue.watermark.bytes",
    "METRIC_NAME_PSU_VOLTAGE": "psu.voltage", "METRIC_NAME_PSU_CURRENT": "psu.current",
    "METRIC_NAME_PSU_POWER": "psu.power", "METRIC_NAME_PSU_STATUS": "psu.status", "METRIC_NAME_PSU_LED": "psu.led",
    "METRIC_NAME_TEMPERATURE_READING": "temperature.reading", "METRIC_NAME_TEMPERATURE_HIGH_TH": "temperature.high_th",
    "METRIC_NAME_TEMPERATURE_LOW_TH": "temperature.low_th",
    "METRIC_NAME_TEMPERATURE_CRIT_HIGH_TH": "temperature.crit_high_th",
    "METRIC_NAME_TEMPERATURE_CRIT_LOW_TH": "temperature.crit_low_th",
    "METRIC_NAME_TEMPERATURE_WARNING": "temperature.warning",
    "METRIC_NAME_LATENCY_L3_MIN_NS": "latency.l3.min.ns", "METRIC_NAME_LATENCY_L3_MAX_NS": "latency.l3.max.ns",
    "METRIC_NAME_LATENCY_L3_AVG_NS": "latency.l3.avg.ns", "METRIC_NAME_NO_LOSS_MAX_RATE": "no_loss_max_rate",
    "METRIC_NAME_BGP_CONVERGENCE_TIME_PORT_RESTART": "bgp.convergence_time.port_restart",
    "METRIC_NAME_BGP_CONVERGENCE_TIME_CONTAINER_RESTART": "bgp.convergence_time.container_restart",
    "METRIC_NAME_BGP_CONVERGENCE_TIME_NEXTHOP_CHANGE": "bgp.convergence_time.nexthop_change",
    "METRIC_NAME_BGP_CONVERGENCE_ROUTE_TIME_MS": "bgp.convergence.route.time.ms",
    "METRIC_NAME_BGP_CONVERGENCE_DATAPLANE_TIME_MS": "bgp.convergence.dataplane.time.ms",
    "METRIC_NAME_ROUTE_RECOVERY_PORT_RESTART": "route.recovery.port_restart",
    "METRIC_NAME_ROUTE_RECOVERY_CONTAINER_RESTART": "route.recovery.container_restart",
    "METRIC_NAME_ROUTE_RECOVERY_NEXTHOP_CHANGE": "route.recovery.nexthop_change",
    "METRIC_NAME_ECN_EGRESS_MARKING": "ecn.egress_marking", "METRIC_NAME_ECN_ACCURACY_MARKING": "ecn.accuracy_marking",
    "METRIC_NAME_FAILURE_TEST_SINGLE_LINK_DOWN": "failure_test.single_link_down",
    "METRIC_NAME_FAILURE_TEST_ALL_LINKS_DOWN": "failure_test.all_links_down",
    "METRIC_NAME_FAILURE_TEST_CONTAINER_CRIPPLE": "failure_test.container_cripple",
    "METRIC_NAME_FAILURE_TEST_DUT_REBOOT": "failure_test.DUT_reboot",
    "METRIC_NAME_FAILURE_TEST_NEIGHBOR_REBOOT": "failure_test.neighbor_reboot",
    "METRIC_NAME_FAILURE_TEST_ROUTE_WITHDRAWAL": "failure_test.route_withdrawal",
    "METRIC_NAME_FEC_SANITY": "fec.sanity", "METRIC_NAME_PFC_LOSSLESS": "pfc.lossless",
    "METRIC_NAME_PFC_LOSSY": "pfc.lossy", "METRIC_NAME_QOS_DWRR": "qos.dwrr",
}
GROUPS = ("PORT", "PSU", "QUEUE", "TEMPERATURE", "LATENCY", "NO_LOSS_MAX_RATE", "BGP", "ROUTE", "FINAL_STATUS")
ENUMS = {
    "ADMIN_STATUS": {"DOWN": 0, "UP": 1}, "OPER_STATUS": {"DOWN": 0, "UP": 1}, "FLAG": {"ON": 0, "OFF": 1},
    "WARNING_STATUS": {"FALSE": 0, "TRUE": 1}, "FINAL_STATUS": {"PASS": 0, "FAIL": 1},
    "PSU_STATUS": {"OK": 0, "NOT_OK": 1, "FAILED": 2, "NOT_PRESENT": 3, "OFF_PSU": 4, "UNPOWERED": 5, "UNKNOWN": 6},
    "LED_STATE": {"GREEN": 1, "YELLOW": 2, "RED": 3}, "QUEUE_TYPE": {"UNICAST": 1, "MULTICAST": 2},
    "METRIC_GROUP": {f"{group}_METRICS": f"{group}_METRICS" for group in GROUPS},
}
EXAMPLE = """
import sys
sys.path.insert(0, {telemetry!r})
from reporter_factory import TelemetryReporterFactory
from metrics import GaugeMetric
from metric_definitions import *
common_labels = {{METRIC_LABEL_TEST_CASE: "mock-case", METRIC_LABEL_TESTBED: "TB"}}
reporter = TelemetryReporterFactory.create_final_metrics_reporter(common_labels)
pfc_lossy = GaugeMetric(name=METRIC_NAME_PFC_LOSSY, description="lossy traffic", unit="N/A", reporter=reporter)
metric_labels = {{METRIC_LABEL_DEVICE_ID: "switch-A"}}
metric_labels[METRIC_LABEL_DEVICE_PORT_ID] = "Ethernet8"
pfc_lossy.record(metric_labels, FINAL_STATUS.PASS{value})
reporter.report()
"""


@pytest.fixture
def reporter(database):
    return TelemetryReporterFactory.create_final_metrics_reporter(COMMON)


def gauge(reporter, name=METRIC_NAME_PFC_LOSSY, unit="N/A"):
    return GaugeMetric(name=name, description="a description", unit=unit, reporter=reporter)


def test_all_names_have_the_values_of_sonic_mgmt():
    found = {name: value for name, value in vars(definitions).items() if name.startswith("METRIC_") and name.isupper()}
    assert {name: value for name, value in found.items() if isinstance(value, str)} == NAMES


def test_all_constants_have_the_values_of_sonic_mgmt():
    found = {name: {member.name: member.value for member in value} for name, value in vars(definitions).items()
             if inspect.isclass(value) and issubclass(value, Enum) and value is not Enum}
    assert found == ENUMS


@pytest.mark.parametrize("function, names", [
    (PeriodicMetricsReporter, ["common_labels"]), (FinalMetricsReporter, ["common_labels"]),
    (FinalMetricsReporter.stash_record, ["self", "new_metric", "labels", "name", "value"]),
    (FinalMetricsReporter.report, ["self", "timestamp"]), (PeriodicMetricsReporter.report, ["self", "timestamp"]),
    (Metric, ["name", "description", "unit", "reporter"]), (GaugeMetric, ["name", "description", "unit", "reporter"]),
    (GaugeMetric.record, ["self", "metric_labels", "value"]), (TelemetryReporterFactory, []),
    (TelemetryReporterFactory.create_final_metrics_reporter, ["common_labels"]),
    (TelemetryReporterFactory.create_periodic_metrics_reporter, ["common_labels"])])
def test_everything_is_called_as_in_sonic_mgmt(function, names):
    assert list(inspect.signature(function).parameters) == names


@pytest.mark.parametrize("value", ["", ".value"])
def test_the_example_of_the_stub_ends_as_a_row(database, tmp_path, value):
    code = EXAMPLE.format(telemetry=str(TELEMETRY), value=value)
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path)
    assert ask(database) == [("switch-A", "Ethernet8", "pfc.lossy", 0, "PASS")]
    assert ask(database, "select testbed, unit, cause from metrics") == [("TB", "", None)]


def test_without_any_setting_the_database_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("PFC_REPORT_DB", raising=False)
    code = EXAMPLE.format(telemetry=str(TELEMETRY), value="")
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path)
    assert ask(tmp_path / "results" / "pfc.db") == [("switch-A", "Ethernet8", "pfc.lossy", 0, "PASS")]


def test_verdicts_and_numbers(reporter, database):
    gauge(reporter).record(ETHERNET8, FINAL_STATUS.FAIL)
    gauge(reporter, METRIC_NAME_PFC_LOSSLESS).record(ETHERNET8, None)
    gauge(reporter, definitions.METRIC_NAME_QOS_DWRR).record(ETHERNET8, FINAL_STATUS.PASS)
    convergence = gauge(reporter, definitions.METRIC_NAME_BGP_CONVERGENCE_TIME_PORT_RESTART, "s")
    convergence.record({METRIC_LABEL_DEVICE_ID: "switch-A"}, 15)
    convergence.record({METRIC_LABEL_DEVICE_ID: "switch-A"}, 72.5)
    reporter.report()
    query = "select port_id, metric_name, value, unit, status from metrics order by metric_name, value"
    assert ask(database, query) == [
        ("", "bgp.convergence_time.port_restart", 15, "s", None),
        ("", "bgp.convergence_time.port_restart", 72.5, "s", None),
        ("Ethernet8", "pfc.lossless", None, "", "ERROR"), ("Ethernet8", "pfc.lossy", 1, "", "FAIL"),
        ("Ethernet8", "qos.dwrr", 0, "", "PASS")]
    assert ask(database, "select run_id, testbed, job_id, status from runs") == [
        (COMMON[METRIC_LABEL_TEST_JOBID], "TB-XYZ", COMMON[METRIC_LABEL_TEST_JOBID], "FAIL")]
    assert ask(database, "select distinct os_version, scenario, job_id, json_extract(extra, '$.description') "
                         "from records") == [
        ("2024.1103", "mock-case", COMMON[METRIC_LABEL_TEST_JOBID], "a description")]


def test_one_fail_among_the_verdicts_of_a_port_is_fail(reporter, database):
    for value in (FINAL_STATUS.PASS, FINAL_STATUS.FAIL.value, FINAL_STATUS.PASS.value):
        gauge(reporter).record(ETHERNET8, value)
        reporter.report()
    assert ask(database) == [("switch-A", "Ethernet8", "pfc.lossy", 1, "FAIL")]


def test_unknown_labels_are_kept_and_own_labels_win(reporter, database):
    gauge(reporter).record({**ETHERNET8, "no.such.label": "x", METRIC_LABEL_TESTBED: "own", "device.queue.id": 3}, 0)
    reporter.report()
    assert json.loads(ask(database, "select labels from metrics")[0][0]) == {
        **COMMON, **ETHERNET8, "no.such.label": "x", METRIC_LABEL_TESTBED: "own", "device.queue.id": 3}


def test_samples_are_stored_but_are_no_results(database):
    reporter = TelemetryReporterFactory.create_periodic_metrics_reporter(COMMON)
    gauge(reporter, definitions.METRIC_NAME_PSU_VOLTAGE, "V").record({METRIC_LABEL_DEVICE_ID: "switch-A"}, 12.09)
    gauge(reporter, definitions.METRIC_NAME_PSU_LED).record({"device.psu.id": "PSU 1"}, definitions.LED_STATE.GREEN)
    reporter.report()
    assert ask(database) == []
    assert ask(database, "select device_id, metric_name, value, unit, kind from records order by value") == [
        ("unknown", "psu.led", 1, "N/A", "periodic"), ("switch-A", "psu.voltage", 12.09, "V", "periodic")]
    assert ask(database, "select status from runs") == [(None,)]


def test_records_are_cleared_when_they_are_stored(reporter, database):
    gauge(reporter).record(ETHERNET8, FINAL_STATUS.PASS)
    assert [(record["name"], record["value"], record["labels"]) for record in reporter.metrics] == [
        ("pfc.lossy", 0, ETHERNET8)]
    reporter.report()
    assert reporter.metrics == []
    reporter.report()
    assert ask(database, "select count(*) from records") == [(1,)]


def test_labels_are_copied(database):
    common, own = dict(COMMON), dict(ETHERNET8)
    reporter = TelemetryReporterFactory.create_final_metrics_reporter(common)
    gauge(reporter).record(own, FINAL_STATUS.PASS)
    common[METRIC_LABEL_TESTBED] = own[METRIC_LABEL_DEVICE_PORT_ID] = "changed"
    reporter.report()
    assert ask(database, "select testbed, port_id from metrics") == [("TB-XYZ", "Ethernet8")]


def test_the_time_is_that_of_the_call_unless_one_is_given(reporter, database, monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_769_864_400_123_456_789)
    gauge(reporter).record(ETHERNET8, FINAL_STATUS.PASS)
    reporter.report()
    gauge(reporter, METRIC_NAME_PFC_LOSSLESS).record(ETHERNET8, FINAL_STATUS.PASS)
    reporter.report(timestamp=0)
    assert ask(database, "select metric_name, timestamp from metrics order by timestamp") == [
        ("pfc.lossless", "1970-01-01T00:00:00.000000Z"), ("pfc.lossy", "2026-01-31T13:00:00.123456Z")]


@pytest.mark.parametrize("name, value, sentence", [
    ("pfc.lossy", 2, "metric 'pfc.lossy': 2 was recorded; it must be FINAL_STATUS.PASS, FINAL_STATUS.FAIL, or None "
                     "when it could not be measured"),
    ("pfc.lossy", "PASS", "metric 'pfc.lossy': 'PASS' was recorded; it must be FINAL_STATUS.PASS, FINAL_STATUS.FAIL, "
                          "or None when it could not be measured"),
    ("no_loss_max_rate", float("nan"), "metric 'no_loss_max_rate': nan was recorded; it must be a finite number"),
    ("no_loss_max_rate", None, "metric 'no_loss_max_rate': None was recorded; it must be a finite number")])
def test_a_value_that_is_none_is_refused_where_it_is_recorded(reporter, name, value, sentence):
    with pytest.raises(ValueError) as refused:
        gauge(reporter, name).record(ETHERNET8, value)
    assert str(refused.value) == sentence
    assert reporter.metrics == []


@pytest.mark.parametrize("text", ["'); drop table metrics; --", "\"", "a\0b", "x" * 10_240, "\u202e\u05d0\u05d1",
                                  "\ud800", "../../../etc/passwd"])
def test_hostile_labels_are_stored(database, text):
    reporter = TelemetryReporterFactory.create_final_metrics_reporter({**COMMON, METRIC_LABEL_TEST_JOBID: text})
    gauge(reporter).record({METRIC_LABEL_DEVICE_ID: text, METRIC_LABEL_DEVICE_PORT_ID: text, text: text},
                           FINAL_STATUS.PASS)
    reporter.report()
    assert ask(database) == [(sql_text(text), sql_text(text), "pfc.lossy", 0, "PASS")]
    files = list(database.parent.glob("telemetry/*/records.jsonl"))
    assert [line["device_id"] for line in lines(files[0])] == [text]


def test_with_the_database_away_the_file_has_it(reporter, database, caplog):
    database.mkdir(parents=True)
    gauge(reporter).record(ETHERNET8, FINAL_STATUS.PASS)
    reporter.report()
    assert reporter.metrics == []
    assert len(caplog.messages) == 1 and "the metrics are kept in files until" in caplog.messages[0]
    database.rmdir()
    assert main(["sync"]) == 0
    assert ask(database) == [("switch-A", "Ethernet8", "pfc.lossy", 0, "PASS")]


def test_with_everything_away_the_records_are_kept(reporter, database):
    database.parent.write_text("a file where the folder should be")
    gauge(reporter).record(ETHERNET8, FINAL_STATUS.PASS)
    with pytest.raises(ReportingError, match="^1 metrics were not stored: "):
        reporter.report()
    assert len(reporter.metrics) == 1
    database.parent.unlink()
    reporter.report()
    assert ask(database) == [("switch-A", "Ethernet8", "pfc.lossy", 0, "PASS")]
