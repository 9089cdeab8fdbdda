"""The verdicts of a run go through SONiC's final metrics reporter, and count once."""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common.pfc.record.run import Run
from tests.common.pfc.record.run_reading import run_of
from tests.common.pfc.record.verdict import MetricVerdict, Status
from test_reporting.pfc.cli import main
from test_reporting.pfc.database import open_store
from test_reporting.pfc.errors import ReportingError
from test_reporting.pfc.final_metrics import report_final_metrics
from test_reporting.pfc.sync import deliver_folder
from test_reporting.telemetry.reporter_factory import TelemetryReporterFactory
from test_reporting.tests.samples import RUN, RUN_ID, ask, lines, parsed, started, verdict

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = [MetricVerdict("vtb-t0-01", "Ethernet0", "pfc.lossless", Status.FAIL, ["12 frames leaked"]),
            MetricVerdict("vtb-t0-01", "Ethernet0", "pfc.lossy", Status.PASS),
            MetricVerdict("vtb-t0-01", "Ethernet8", "pfc.lossless", Status.ERROR, ["the link is down"])]
BUILDS = {"vtb-t0-01": "SONiC.20260101"}
FINAL = "select port_id, metric_name, status, value from records where kind = 'final' order by port_id, metric_name"


def qualified(folder, url, say=None):
    """A run that ended with `VERDICTS`: a FAIL that a PASS came after, and what could not be measured."""
    writer = started(folder, url, say)
    writer.write(parsed(
        verdict(1, "FAIL"), verdict(2, priority=4), verdict(3, metric_name="pfc.lossy"),
        verdict(4, "ERROR", port_id="Ethernet8", checks=[], cause="the link is down")))
    assert writer.finish().stored
    return writer.run


def shown(database, capsys):
    """All that the commands say of the run, the list of its records left out."""
    capsys.readouterr()
    found = []
    for command in (["show", RUN_ID], ["export", "--format", "junit"], ["export", "--format", "csv"], ["list"]):
        found += [main(command), capsys.readouterr().out]
    return found


def test_each_verdict_is_recorded_with_its_labels(database, monkeypatch):
    reporters = []
    create = TelemetryReporterFactory.create_final_metrics_reporter

    def remembered(common_labels):
        reporter = create(common_labels)
        report = reporter.report
        monkeypatch.setattr(reporter, "report", lambda: (reporters.append((reporter.common_labels, reporter.metrics)),
                                                         report()))
        return reporter

    monkeypatch.setattr(TelemetryReporterFactory, "create_final_metrics_reporter", staticmethod(remembered))
    report_final_metrics(Run(RUN_ID, "vtb-t0", job_id="night"), VERDICTS, BUILDS)
    (common, metrics), = reporters
    assert common == {"test.testcase": "pfc-qualification", "test.file": "tests/snappi_tests/pfc/qualification",
                      "test.testbed": "vtb-t0", "test.job.id": "night", "test.run.id": RUN_ID}
    assert [(one["name"], one["labels"]["device.port.id"], one["value"]) for one in metrics] == [
        ("pfc.lossless", "Ethernet0", 1), ("pfc.lossy", "Ethernet0", 0), ("pfc.lossless", "Ethernet8", None)]
    assert all(one["labels"]["device.id"] == "vtb-t0-01" and one["labels"]["test.os.version"] == "SONiC.20260101"
               for one in metrics)


def test_what_was_broken_on_purpose_is_said_of_them(database, url, capsys):
    faults = ("pause-ignored@Ethernet0,priority=3", "lossy-dropped")
    report_final_metrics(Run(RUN_ID, "vtb-t0", faults=faults), VERDICTS, BUILDS)
    found = lines(database.parent / "telemetry" / RUN_ID / "records.jsonl")
    assert {tuple(one["faults"]) for one in found} == {faults}
    assert {one["labels"]["test.faults"] for one in found} == {"pause-ignored@Ethernet0,priority=3; lossy-dropped"}
    assert main(["list"]) == 0 and "lossy-dropped" in capsys.readouterr().out, "the run says it too"


def test_they_are_stored_and_no_verdict_counts_twice(database, url, capsys):
    run = qualified(database.parent / RUN_ID, url)
    before = shown(database, capsys)
    report_final_metrics(run, VERDICTS, BUILDS)
    assert shown(database, capsys) == before
    assert ask(database, FINAL) == [("Ethernet0", "pfc.lossless", "FAIL", 1), ("Ethernet0", "pfc.lossy", "PASS", 0),
                                    ("Ethernet8", "pfc.lossless", "ERROR", None)]
    assert ask(database, "select count(*), count(distinct series_id) from metrics") == [(3, 3)]
    assert ask(database, "select origin, testbed, finished is not null from runs") == [("qualification", "vtb-t0", 1)]


@pytest.mark.parametrize("reported_first", [True, False])
def test_the_order_in_which_they_are_delivered_makes_no_difference(database, url, tmp_path, capsys, reported_first):
    run = qualified(database.parent / RUN_ID, url)
    before = shown(database, capsys)
    report_final_metrics(run, VERDICTS, BUILDS)
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    folders = [database.parent / RUN_ID, database.parent / "telemetry" / RUN_ID]
    for folder in folders[::-1] if reported_first else folders:
        assert not deliver_folder(folder, other).problems
    database.unlink()
    shutil.copy(tmp_path / "other.db", database)
    assert shown(database, capsys) == before


def test_a_bundle_is_of_the_runs_own_folder(database, url, tmp_path, capsys):
    """Also where that comes after the folder of what was reported."""
    run = qualified(database.parent / "zzz", url)
    report_final_metrics(run, VERDICTS, BUILDS)
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "out.zip"), "--results", str(database.parent)]) == 0
    shutil.rmtree(database.parent / "telemetry")
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "own.zip"), "--results", str(database.parent)]) == 0
    assert (tmp_path / "out.zip").read_bytes() == (tmp_path / "own.zip").read_bytes()


def test_with_the_database_away_the_file_has_them(database, url, caplog):
    database.mkdir(parents=True)
    report_final_metrics(run_of(RUN), VERDICTS, BUILDS)
    assert "the metrics are kept in files until" in caplog.text
    found = lines(database.parent / "telemetry" / RUN_ID / "records.jsonl")
    assert [(one["kind"], one["status"], one["cause"]) for one in found] == [
        ("final", "FAIL", "FAIL was reported"), ("final", "PASS", None), ("final", "ERROR", "no value was reported")]


def test_when_nothing_takes_them_that_is_said(database):
    database.parent.write_text("a file where the folder should be")
    with pytest.raises(ReportingError, match="^3 metrics were not stored: "):
        report_final_metrics(run_of(RUN), VERDICTS, BUILDS)


def a_tree(folder, telemetry):
    """A tree with the reporting package, the record library, and these files in `test_reporting/telemetry`."""
    for package in ("tests/common/pfc/record", "test_reporting/pfc"):
        shutil.copytree(ROOT / package, folder / package)
    for name in ("tests", "tests/common", "tests/common/pfc"):
        (folder / name / "__init__.py").write_text("")
    for name, text in telemetry.items():
        (folder / "test_reporting/telemetry").mkdir(exist_ok=True)
        (folder / "test_reporting/telemetry" / name).write_text(text)
    (folder / "report.py").write_text("""
from test_reporting.pfc import report_final_metrics
from tests.common.pfc.record.run import Run
from tests.common.pfc.record.verdict import MetricVerdict, Status
report_final_metrics(Run("run-1", "lab"), [MetricVerdict("dut-1", "Ethernet0", "pfc.lossy", status)
                                           for status in Status], {"dut-1": "build"})
""")
    return subprocess.run([sys.executable, "report.py"], cwd=folder, capture_output=True, text=True)


def test_sonic_mgmts_own_interface_is_used_in_its_tree(tmp_path):
    """Its modules import each other by their bare names."""
    labels = ("TEST_CASE", "TEST_FILE", "TESTBED", "TEST_BUILD", "TEST_JOBID", "DEVICE_ID", "DEVICE_PORT_ID")
    ended = a_tree(tmp_path, {
        "metric_definitions.py": "import enum\n"
        + "".join(f"METRIC_LABEL_{name} = 'label {name}'\n" for name in labels)
        + "FINAL_STATUS = enum.Enum('FINAL_STATUS', {'PASS': 0, 'FAIL': 1})\n",
        "metrics.py": """
from metric_definitions import METRIC_LABEL_DEVICE_PORT_ID as PORT
class FinalMetricsReporter:
    def __init__(self, common_labels):
        self.common_labels, self.found = common_labels, []
    def report(self, timestamp=0):
        print(self.common_labels['label TESTBED'], self.found)
class GaugeMetric:
    def __init__(self, name, description, unit, reporter):
        self.name, self.reporter = name, reporter
    def record(self, metric_labels, value):
        self.reporter.found.append((metric_labels[PORT], self.name, getattr(value, 'name', value)))
""",
        "reporter_factory.py": """
from metrics import FinalMetricsReporter
class TelemetryReporterFactory:
    @staticmethod
    def create_final_metrics_reporter(common_labels):
        return FinalMetricsReporter(common_labels)
"""})
    assert ended.stdout.strip() == ("lab [('Ethernet0', 'pfc.lossy', 'PASS'), ('Ethernet0', 'pfc.lossy', 'FAIL'), "
                                    "('Ethernet0', 'pfc.lossy', None)]"), ended.stderr


def test_without_the_interface_the_missing_module_is_named(tmp_path):
    ended = a_tree(tmp_path, {})
    assert "ModuleNotFoundError: No module named 'test_reporting.telemetry'" in ended.stderr, ended.stderr


@pytest.mark.parametrize("command", [["-m", "test_reporting.telemetry.examples"],
                                     [str(ROOT / "test_reporting/telemetry/examples.py")]])
def test_the_examples_end_as_rows(database, tmp_path, command):
    environment = {"PFC_REPORT_DB": f"sqlite:///{database}", "PATH": ""}
    folder = ROOT if command[0] == "-m" else tmp_path
    ended = subprocess.run([sys.executable, "-W", "error", *command], cwd=folder, env=environment, text=True,
                           capture_output=True)
    assert ended.returncode == 0, ended.stderr
    job = ended.stdout.split()[-1]
    assert ask(database, "select run_id, job_id, status from runs") == [(job, job, "FAIL")]
    query = "select port_id, metric_name, value, status from metrics order by metric_name, port_id"
    assert ask(database, query) == [
        ("", "bgp.convergence_time.port_restart", 15, None),
        ("Ethernet0", "pfc.lossless", 0, "PASS"), ("Ethernet16", "pfc.lossless", None, "ERROR"),
        ("Ethernet8", "pfc.lossless", 1, "FAIL"), ("Ethernet0", "pfc.lossy", 0, "PASS"),
        ("Ethernet16", "pfc.lossy", 0, "PASS"), ("Ethernet8", "pfc.lossy", 0, "PASS")]
    assert ask(database, "select count(*) from records where kind = 'periodic'") == [(4,)]


def test_another_package_called_tests_does_not_get_in_the_way(database, tmp_path):
    """A caller that has this folder on `sys.path`, in a project with tests of its own."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("")
    code = (f"import sys; sys.path.insert(1, {str(ROOT / 'test_reporting/telemetry')!r})\n"
            "import examples; examples.main(); print(sys.path[0] == str())")
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                           env={"PFC_REPORT_DB": f"sqlite:///{database}", "PATH": ""})
    assert ended.returncode == 0 and ended.stdout.endswith("True\n"), ended.stderr
    assert len(ask(database)) == 7
