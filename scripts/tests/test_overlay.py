"""The overlay: what travels arrives, nothing else changes, and the suite collects beside others with their fixtures."""
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.overlay import LANDMARKS, REFUSED, OverlayError, main, overlay, overlay_changes
from scripts.series.changes import ROOT, TRAVELS, SeriesError, series, travelling
from scripts.series.plan_document import FOLDER

CONFTEST = '''
import pytest


def pytest_addoption(parser):
    parser.addoption("--testbed")
    parser.addoption("--testbed_file")


def generate_priority_lists(request, prio_scope, with_completeness_level=False, one_dut_only=False):
    assert request.config.getoption("--testbed") in (None, "lab") and prio_scope == "lossless" and one_dut_only, "asked"
    return ["dut-1|3", "dut-1|4"]


@pytest.fixture(scope="session")
def duthosts():
    return []


@pytest.fixture(scope="session")
def tbinfo():
    return {}


@pytest.fixture(scope="module")
def conn_graph_facts():
    return {}
'''
FIXTURE = '''
@pytest.fixture(scope="module")
def {name}():
    return {{}}
'''
FILES = {
    "ansible/README.md": "",
    "tests/__init__.py": "",
    "tests/pytest.ini": "[pytest]\npython_files = test_*.py unit_test_*.py\nlog_format = %(funcNamewithModule)s\n"
                        "markers:\n    disable_loganalyzer: no log analyzer\n    topology: which topologies\n",
    "tests/conftest.py": CONFTEST,
    "tests/common/__init__.py": "",
    "tests/common/testbed.py": "",
    "tests/common/fixtures/__init__.py": "",
    "tests/common/fixtures/conn_graph_facts.py": "import pytest\n" + "".join(
        FIXTURE.format(name=name) for name in ("fanout_graph_facts", "fanout_graph_facts_multidut")),
    "tests/common/snappi_tests/__init__.py": "",
    "tests/common/snappi_tests/snappi_fixtures.py": "import pytest\n" + "".join(
        FIXTURE.format(name=name) for name in (
            "get_snappi_ports", "get_snappi_ports_multi_dut", "get_snappi_ports_single_dut", "snappi_api",
            "snappi_api_serv_ip", "snappi_api_serv_port")),
    "tests/snappi_tests/__init__.py": "",
    "tests/snappi_tests/pfc/__init__.py": "",
    "tests/snappi_tests/pfc/test_theirs.py": "def test_theirs(tbinfo):\n    assert tbinfo == {}, 'theirs'\n",
}
"""A sonic-mgmt checkout as far as the suite meets it."""

TELEMETRY = {
    "tests/common/telemetry/__init__.py": "",
    "tests/common/telemetry/metrics.py": """
class GaugeMetric:
    def __init__(self, name, description, unit, reporter, value_convertor=None, common_labels=None):
        self.name, self.values = name, {}
        reporter.metrics.append(self)

    def record(self, value, additional_labels=None):
        self.values[additional_labels["device.port.id"]] = value
""",
    "tests/common/telemetry/fixtures.py": """
import pytest


class Reporter:
    def __init__(self, test):
        self.test, self.metrics = test, []

    def report(self, timestamp=None):
        with open("reported", "a", encoding="utf-8") as file:
            for metric in self.metrics:
                for port, value in metric.values.items():
                    file.write(f"{self.test} {metric.name} {port} {value}\\n")
                metric.values.clear()


@pytest.fixture
def db_reporter(request, tbinfo):
    reporter = Reporter(request.node.callspec.params["pfc_target"])
    yield reporter
    reporter.report()
""",
}
"""sonic-mgmt's telemetry as far as the suite meets it: reporter and gauge have the signatures of its own."""
PROBE = """
import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Check, PortVerdict, Status
from tests.snappi_tests.pfc.qualification.conftest import SESSION_KEY

pytestmark = [pytest.mark.topology("tgen"), pytest.mark.pfc_cases(SINGLE_LOSSLESS)]


def verdict(metric, status):
    check = Check("probe", metric, status, "all frames", 7, "dut-1 Ethernet0")
    return PortVerdict("dut-1", "Ethernet0", 3, metric, [check])


def test_probe(request, pfc_telemetry, plan_case, pfc_target):
    if pfc_target.endswith("4"):
        raise ValueError("it broke")
    for status in Status.FAIL, Status.PASS:  # of two priorities
        verdicts = [verdict("pfc.lossless", status), verdict("pfc.lossy", Status.PASS)]
        request.config.stash[SESSION_KEY].keep(request.node.nodeid, Outcome(SINGLE_LOSSLESS, verdicts, {}))
"""
"""A test that has verdicts of its own making, and one that breaks."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    """Every file's digest."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def break_after(files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes so many files more."""
    left = [None] * files
    written = Path.write_bytes

    def full(self: Path, text: bytes) -> int:
        if not left:
            raise OSError("No space left on device")
        left.pop()
        return written(self, text)

    monkeypatch.setattr(Path, "write_bytes", full)


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest started in a folder of the checkout, with its own options alone."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--assert", "plain", "-p", "no:cacheprovider",
               "-p", "no:virtual_testbed.pytest_plugin"]
    return subprocess.run([*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                          check=False)


def test_what_travels_arrives_and_nothing_else_changes(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(checkout)
    assert main([str(checkout)]) == 0
    after = contents(checkout)
    assert before.items() <= after.items()
    arrived = set(after) - set(before)
    assert arrived == {str(path) for path in travelling(ROOT)} and len(arrived) > 40
    assert all((checkout / name).read_bytes() == (ROOT / name).read_bytes() for name in arrived)
    assert not [name for name in arrived if "__pycache__" in name or not name.startswith(TRAVELS)]
    assert f"{len(arrived)} files copied to {checkout}" in capsys.readouterr().out


@pytest.mark.parametrize("folder", TRAVELS)
def test_nothing_is_copied_where_something_is(checkout: Path, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / folder).parent.mkdir(parents=True, exist_ok=True)
    (checkout / folder).symlink_to(checkout / "nowhere")  # a broken link is something, too
    before = contents(checkout)
    assert main([str(checkout)]) == REFUSED
    assert contents(checkout) == before
    said = capsys.readouterr().err
    assert said.startswith(f"error: {checkout / folder} exists already") and said.count("\n") == 1


@pytest.mark.parametrize("missing", LANDMARKS)
def test_what_is_no_checkout_is_refused(checkout: Path, missing: str) -> None:
    (checkout / missing).rename(checkout / "elsewhere")
    with pytest.raises(OverlayError, match=f"is no sonic-mgmt checkout: it has no {missing}"):
        overlay(checkout)


def test_a_folder_that_is_none_and_the_project_itself_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OverlayError, match="is no folder"):
        overlay(tmp_path / "none")
    with pytest.raises(OverlayError, match="is this project itself"):
        overlay(ROOT)


def test_nothing_leaves_the_checkout_through_a_link(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (checkout / "tests/common/unit_tests").symlink_to(outside)
    with pytest.raises(OverlayError, match="is outside the checkout"):
        overlay(checkout)
    assert not list(outside.iterdir())


def test_what_cannot_be_copied_whole_is_not_copied(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(checkout)
    folders = {path for path in checkout.rglob("*") if path.is_dir()}
    break_after(30, monkeypatch)
    with pytest.raises(OverlayError, match="is as it was: No space left on device"):
        overlay(checkout)
    assert contents(checkout) == before and {path for path in checkout.rglob("*") if path.is_dir()} == folders


def test_the_suite_finds_the_fixtures_around_it(checkout: Path) -> None:
    overlay(checkout)
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "--setup-plan", "snappi_tests/pfc/qualification")
    assert "test_pfc_plan[PFC-1-dut-1|4] (fixtures used: " in ended.stdout, ended.stdout + ended.stderr
    assert "not found" not in ended.stdout, ended.stdout


def test_pfc_1_is_planned_when_it_runs_where_no_priority_file_is(checkout: Path) -> None:
    """sonic-mgmt's test_pretest.py writes that file; a tree in which it has not run has an item all the same."""
    (checkout / "tests/conftest.py").write_text(CONFTEST.replace('["dut-1|3", "dut-1|4"]', "[]"), encoding="utf-8")
    overlay(checkout)
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "--setup-plan", "snappi_tests/pfc/qualification")
    assert "test_pfc_plan[PFC-1-] (fixtures used: " in ended.stdout, ended.stdout + ended.stderr
    assert "skipped" not in ended.stdout, ended.stdout


def test_verdicts_go_through_the_telemetry_of_the_tree(checkout: Path) -> None:
    """Each test's own, also of one that failed without a verdict; one value of each metric."""
    overlay(checkout)
    for name, text in TELEMETRY.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text, encoding="utf-8")
    (checkout / "tests/conftest.py").write_text(
        CONFTEST + "\nfrom tests.common.telemetry.fixtures import db_reporter  # noqa: F401, E402\n", encoding="utf-8")
    (checkout / "tests/snappi_tests/pfc/qualification/test_probe.py").write_text(PROBE, encoding="utf-8")
    run_pytest(checkout / "tests", "-c", "pytest.ini", "snappi_tests/pfc/qualification/test_probe.py",
               "--testbed", "lab")
    found = sorted((checkout / "tests/reported").read_text(encoding="utf-8").splitlines())
    assert found == ["dut-1|3 pfc.lossless Ethernet0 1", "dut-1|3 pfc.lossy Ethernet0 0",
                     "dut-1|4 pfc.lossless unknown None", "dut-1|4 pfc.lossy unknown None"], found


def test_a_tree_without_telemetry_does_without(checkout: Path) -> None:
    overlay(checkout)
    (checkout / "tests/snappi_tests/pfc/qualification/test_probe.py").write_text(PROBE, encoding="utf-8")
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "snappi_tests/pfc/qualification/test_probe.py",
                       "--testbed", "lab")
    assert "1 failed, 1 passed" in ended.stdout and "fixture" not in ended.stdout, ended.stdout + ended.stderr


def test_records_are_where_sonic_mgmt_has_its_logs(checkout: Path) -> None:
    """Git ignores that folder there."""
    overlay(checkout)
    (checkout / "tests/snappi_tests/pfc/qualification/test_probe.py").write_text(PROBE, encoding="utf-8")
    run_pytest(checkout / "tests", "-c", "pytest.ini", "snappi_tests/pfc/qualification/test_probe.py",
               "--testbed", "lab")
    found = [str(file.parent.parent.relative_to(checkout)) for file in checkout.rglob("records.jsonl")]
    assert found == ["tests/logs/pfc_qualification"]


def test_other_suites_run_beside_it_as_without_it(checkout: Path) -> None:
    overlay(checkout)
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "snappi_tests/pfc", "-k", "theirs")
    assert ended.returncode == 0 and re.search(r"1 passed, \d+ deselected", ended.stdout), ended.stdout + ended.stderr
    assert not (checkout / "tests/logs").exists()


def test_one_process_at_a_time_is_an_error_of_this_suite_alone(checkout: Path) -> None:
    overlay(checkout)
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "snappi_tests/pfc", "--collect-only", "--dist", "load")
    assert "start pytest without -n" in ended.stdout and "1 test collected, 1 error" in ended.stdout, ended.stdout
    assert "INTERNALERROR" not in ended.stdout + ended.stderr


def test_the_unit_tests_run_there_without_conftest(checkout: Path) -> None:
    """One of them writes into the log, in a format that only sonic-mgmt's conftest would make possible."""
    overlay(checkout)
    chosen = ("unit_test_clock.py", "unit_test_run.py")
    ended = run_pytest(checkout, "--noconftest", *(f"tests/common/unit_tests/pfc/{name}" for name in chosen), "-k",
                       "unit_test_clock or drained")
    assert ended.returncode == 0 and " passed" in ended.stdout, ended.stdout + ended.stderr


def test_change_after_change_brings_all_that_travels(checkout: Path) -> None:
    """In the series' order, each with its plan document and nothing over what is there."""
    before = contents(checkout)
    changes = series()
    names = [change.step.name for change in changes]
    for name in names:
        overlay_changes(checkout, name, changes)
    after = contents(checkout)
    assert before.items() <= after.items()
    documents = {f"{FOLDER}/{name}.md" for name in names}
    assert set(after) - set(before) == {str(path) for path in travelling(ROOT)} | documents


def test_a_change_waits_for_what_it_builds_on(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(checkout)
    assert main([str(checkout), "--series", "core-3"]) == REFUSED
    said = capsys.readouterr().err
    assert said.startswith("error: core-3 builds on core-1, core-2, which ") and said.count("\n") == 1, said
    assert "copy SERIES=core-1 first" in said and contents(checkout) == before
    changes = series()
    overlay_changes(checkout, "core-1", changes)
    with pytest.raises(OverlayError, match="core-3 builds on core-2, which"):
        overlay_changes(checkout, "core-3", changes)
    with pytest.raises(OverlayError, match="exists already"):
        overlay_changes(checkout, "core-1", changes)
    with pytest.raises(SeriesError, match="no step 'cor'"):
        overlay_changes(checkout, "cor", changes)


def test_a_name_without_its_number_brings_all_of_that_name(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = series()
    before = contents(checkout)
    assert main([str(checkout), "--series", "sessions"]) == REFUSED
    said = capsys.readouterr().err
    assert said.startswith("error: sessions-1, sessions-2 build on core-1, core-2, "), said
    assert contents(checkout) == before
    assert main([str(checkout), "--series", "core"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if "copied to" in line] == [f"core-{n}" for n in range(1, 7)]
    assert sum(line.startswith("[pfc] ") for line in lines) == 6, "each is a commit of its own"
    core = [change for change in changes if change.step.name.startswith("core-")]
    files = {str(file) for change in core for file in change.all_files}
    assert set(contents(checkout)) - set(before) == files | {f"{FOLDER}/{change.step.name}.md" for change in core}
    with pytest.raises(OverlayError, match="exists already"):
        overlay_changes(checkout, "core", changes)
    overlay_changes(checkout, "switch-changes", changes)
    copied = overlay_changes(checkout, "sessions", changes)
    assert [change.step.name for change in copied] == ["sessions-1", "sessions-2"]


def test_a_change_that_cannot_be_copied_whole_is_not_copied(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = series()
    overlay_changes(checkout, "core-1", changes)
    before = contents(checkout)
    folders = {path for path in checkout.rglob("*") if path.is_dir()}
    break_after(5, monkeypatch)
    with pytest.raises(OverlayError, match="is as it was: No space left on device"):
        overlay_changes(checkout, "core-2", changes)
    assert contents(checkout) == before and {path for path in checkout.rglob("*") if path.is_dir()} == folders


def test_the_message_of_a_change_is_signed_off(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    for key, text in {"name": "A. Author", "email": "author@example.com"}.items():
        subprocess.run(["git", "-C", str(checkout), "config", f"user.{key}", text], check=True)
    assert main([str(checkout), "--series", "core-1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "[pfc] Add verdicts of PFC, and the JSON lines that keep them", lines
    assert lines[-1] == "Signed-off-by: A. Author <author@example.com>", lines


def test_the_core_collects_without_the_other_changes(checkout: Path) -> None:
    """PFC-1 to PFC-4, with the fixtures of the tree, and no other case."""
    changes = series()
    for change in changes[:6]:
        overlay_changes(checkout, change.step.name, changes)
    ended = run_pytest(checkout / "tests", "-c", "pytest.ini", "--setup-plan", "snappi_tests/pfc/qualification")
    assert "test_pfc_plan[PFC-1-dut-1|4] (fixtures used: " in ended.stdout, ended.stdout + ended.stderr
    assert "not found" not in ended.stdout and "test_pfc_plan[PFC-4-" in ended.stdout, ended.stdout
    assert not list((checkout / "tests/common/pfc").glob("sweep")), "the sweep is in the core"


def test_a_reader_that_has_read_enough_spoils_nothing(checkout):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes) as gone:
        ended = subprocess.run([sys.executable, "-m", "scripts.overlay", str(checkout)], cwd=ROOT, stdout=gone,
                               stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
