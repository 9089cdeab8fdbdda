"""The verdicts of a test in sonic-mgmt's own telemetry: a reporter and a gauge with the signatures of the contract."""

import inspect
import json
from pathlib import Path

import pytest

from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from tests.snappi_tests.pfc.qualification.files.telemetry import record_verdicts

CONTRACT = json.loads((Path(__file__).parent / "upstream_contract.json").read_text(encoding="utf-8"))["telemetry"]


class Reporter:
    """sonic-mgmt's reporter: what its metrics have is reported together, and cleared."""

    def __init__(self):
        self.metrics, self.reports = [], []

    def register_metric(self, metric):
        """A metric says that it is there."""
        self.metrics.append(metric)

    def report(self, timestamp=None):
        """Everything that was recorded."""
        self.reports.append([(one.name, labels["device.port.id"], value)
                             for one in self.metrics for value, labels in one.values.values()])
        for one in self.metrics:
            one.values.clear()


class GaugeMetric:
    """sonic-mgmt's gauge: a second value with the same labels takes the place of the first."""

    def __init__(self, name, description, unit, reporter, value_convertor=None, common_labels=None):
        self.name, self.values = name, {}
        assert description and unit, "a metric says what it is"
        reporter.register_metric(self)

    def record(self, value, additional_labels=None):
        """One value."""
        self.values[str(sorted(additional_labels.items()))] = value, additional_labels


class GaugeMetricThatKeeps(GaugeMetric):
    """A gauge that remembers its labels after the report."""

    def record(self, value, additional_labels=None):
        """One value."""
        self.labels = additional_labels
        super().record(value, additional_labels)


def verdict(port, priority, metric, status):
    """A verdict."""
    where = f"dut-1 {port} priority {priority}"
    checks = [] if status is Status.ERROR else [Check("resumed", metric, status, "all frames", 7, where, priority)]
    return PortVerdict("dut-1", port, priority, metric, checks, "it broke" if status is Status.ERROR else None)


def test_the_stand_ins_have_the_signatures_of_the_contract():
    """Else what follows would show nothing."""
    for method, expected in CONTRACT.items():
        class_name, name = method.split(".")
        found = getattr({"GaugeMetric": GaugeMetric, "Reporter": Reporter}[class_name], name)
        arguments = list(inspect.signature(found).parameters)[1:]
        assert arguments == expected, f"{method} takes {arguments}"


@pytest.mark.parametrize(("statuses", "value"), [
    ("PASS PASS", 0), ("PASS FAIL", 1), ("FAIL PASS", 1), ("PASS ERROR", None), ("ERROR FAIL", 1)])
def test_each_metric_has_one_value(statuses, value):
    """That of all its priorities: a later PASS does not take the place of a FAIL."""
    reporter = Reporter()
    verdicts = [verdict("Ethernet0", 3 + place, LOSSLESS, Status(text)) for place, text in enumerate(statuses.split())]
    record_verdicts([*verdicts, verdict("Ethernet0", 3, LOSSY, Status.PASS)], reporter, GaugeMetric)
    expected = [(LOSSLESS, "Ethernet0", value), (LOSSY, "Ethernet0", 0)]
    assert reporter.reports == [expected], reporter.reports


def test_several_ports_do_not_take_each_others_places():
    """Each has its labels."""
    reporter = Reporter()
    verdicts = [verdict(port, 3, LOSSLESS, Status.PASS) for port in ("Ethernet0", "Ethernet4")]
    record_verdicts(verdicts, reporter, GaugeMetric)
    assert reporter.reports == [[(LOSSLESS, "Ethernet0", 0), (LOSSLESS, "Ethernet4", 0)]], reporter.reports


@pytest.mark.parametrize(("faults", "expected"), [
    ((), None), (("slow-response", "lossy-dropped@Ethernet0"), "slow-response; lossy-dropped@Ethernet0")])
def test_what_was_broken_on_purpose_is_a_label(faults, expected):
    """So that nobody's trend has such a run."""
    reporter = Reporter()
    verdicts = [verdict("Ethernet0", 3, LOSSLESS, Status.PASS)]
    record_verdicts(verdicts, reporter, GaugeMetricThatKeeps, faults)
    assert reporter.metrics[0].labels.get("test.faults") == expected, reporter.metrics[0].labels


def test_a_test_without_verdicts_reports_nothing():
    """It was about nothing on the port."""
    reporter = Reporter()
    record_verdicts([], reporter, GaugeMetric)
    assert not reporter.reports and not reporter.metrics, reporter.reports
