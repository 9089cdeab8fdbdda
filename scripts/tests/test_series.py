"""The series: each file that travels is in one change, each change builds on earlier ones alone and can be read."""
import ast
import dataclasses
import json
from pathlib import Path

import pytest

from scripts.closure import imported, lines_of
from scripts.series import evidence as kept
from scripts.series.changes import (
    MOST_LINES, ROOT, SeriesChange, SeriesError, find_change, find_changes, series, travelling,
)
from scripts.series.evidence import Evidence, EvidenceError, evidence_lines, evidence_of, read_evidence
from scripts.series.plan_document import CaseRow, cases_of, plan_document
from scripts.series.steps import STEPS, Step
from tests.common.pfc.cases.plan import port_cases, sweep_cases
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.records import Record, RunLabels, make_record
from tests.common.pfc.record.verdict import Check, PortVerdict, Status

HEADINGS = ["## Overview", "### Scope", "### Testbed", "## Setup configuration", "## Test cases", "### Unit tests",
            "## Evidence"]

MOST_BYTES = 500 * 1024
"""Of sonic-mgmt's `check-added-large-files`."""
FEW_LINES = 50
NOT_YET = {
    "core-6": "conftest.py extension.py steps.py",
    "switch-changes": "watchdog_deviations.py",
    "generators": "lone_starts.py sending.py",
    "addresses": "spectrum.py",
    "host-pauses": "option.py",
    "cases-2": "pause_counts.py",
    "watchdog": "actions.py parts.py",
    "cases-7": "slow_storm.py",
    "cases-8": "restarted.py",
    "sessions-1": "delivery.py not_spoken_for.py reasons.py summary.py",
    "sessions-2": "resume.py selection.py",
    "sweep-1": "at_once.py port_sweep.py",
    "sweep-2": "modes.py preflight_in_batches.py",
}
"""Change -> modules whose unit tests come later, with what else they need, or which those of other modules try."""
FIRST_TESTS = {
    "core-1": "unit_test_verdict.py",
    "core-2": "unit_test_qos.py",
    "core-3": "unit_test_dut.py",
    "core-4": "unit_test_planning.py",
    "core-5": "unit_test_run.py",
    "core-6": "unit_test_contract.py",
    "reservations": "unit_test_leased_rows.py",
    "addresses": "unit_test_addresses.py",
    "cases-2": "unit_test_timing.py",
    "evidence": "unit_test_timeline.py",
    "sweep-2": "unit_test_sweep.py",
}
"""Change -> a unit test that comes with it."""


@pytest.fixture(scope="module", name="changes")
def _changes() -> list[SeriesChange]:
    return series()


def test_each_file_that_travels_is_in_exactly_one_change(changes: list[SeriesChange]) -> None:
    files = [file for change in changes for file in change.all_files]
    assert len(files) == len(set(files)), "a file is in two changes"
    assert set(files) == set(travelling(ROOT)) and len(files) > 300, set(travelling(ROOT)) ^ set(files)
    assert not [file for file in files if file.is_relative_to("test_reporting")], "databases do not travel"
    large = [file for file in files if (ROOT / file).stat().st_size > MOST_BYTES]
    assert not large, f"sonic-mgmt takes no file of that size: {large}"


def test_a_change_imports_only_what_it_or_one_that_it_builds_on_has(changes: list[SeriesChange]) -> None:
    travels = set(travelling(ROOT))
    for change in changes:
        earlier = [one.step.name for one in changes[:changes.index(change)]]
        assert set(change.needs) <= set(earlier), f"{change.step.name} builds on a later change: {change.needs}"
        there = {file for name in (*change.needs, change.step.name) for file in find_change(changes, name).all_files}
        python = [file for file in change.all_files if file.suffix == ".py"]
        drawn_in = {(file, one) for file in python for one in imported(ROOT, file) if one in travels}
        missing = [f"{file} imports {one}" for file, one in drawn_in if one not in there]
        assert not missing, f"{change.step.name}: {missing}"


def test_what_comes_from_a_package_further_up_names_a_module_there(changes: list[SeriesChange]) -> None:
    """`from .. import name`: sonic-mgmt's dependency_check cannot read that."""
    python = [file for change in changes for file in change.all_files if file.suffix == ".py"]
    bare = [f"{file}:{node.lineno}" for file in python for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.level > 1 and node.module is None]
    assert not bare, bare


def test_each_change_can_be_read(changes: list[SeriesChange]) -> None:
    for change in changes:
        lines = sum(lines_of(ROOT / file) for file in change.files)
        whole = lines + plan_document(ROOT, change, read_evidence()).count("\n")
        assert lines == change.lines and 0 < whole <= MOST_LINES, f"{change.step.name} has {whole} lines"


def test_the_core_comes_first_and_alone_has_the_test_plan(changes: list[SeriesChange]) -> None:
    core = [change for change in changes if change.step.name.startswith("core-")]
    assert changes[:len(core)] == core, "the core does not come first"
    cases = [row.plan_id for change in core for row in cases_of(ROOT, change)]
    assert cases == ["PFC-1", "PFC-2", "PFC-3", "PFC-4"], cases
    assert find_change(changes, "switch-chain").needs == tuple(change.step.name for change in core)


def test_a_test_needs_the_conftest_beside_it(changes: list[SeriesChange]) -> None:
    """No import shows it: pytest reads that file."""
    tested = [change for change in changes if any(file.name.startswith("test_") for file in change.files)]
    assert len(tested) > 8, "too few were found to trust the search"
    assert not [change.step.name for change in tested if "core-6" not in (*change.needs, change.step.name)]


def test_unit_tests_come_with_what_they_test(changes: list[SeriesChange]) -> None:
    """In the first change in which all is there that they import."""
    for name, test in FIRST_TESTS.items():
        assert test in [file.name for file in find_change(changes, name).unit_tests], f"{test} is not in {name}"


def test_a_module_has_a_unit_test_in_its_own_change(changes: list[SeriesChange]) -> None:
    """One that imports it by name; modules of few lines are tried with those that use them."""
    found = {}
    for change in changes:
        tested = {module for file in change.unit_tests if file.suffix == ".py" for module in imported(ROOT, file)}
        lack = {file.name for file in change.files if lines_of(ROOT / file) > FEW_LINES and file not in tested
                and file.suffix == ".py" and not file.name.startswith("test_")}
        found |= {change.step.name: lack} if lack else {}
    assert found == {name: set(files.split()) for name, files in NOT_YET.items()}, "the list may only become shorter"


def test_every_case_of_the_plan_is_in_one_change(changes: list[SeriesChange]) -> None:
    found = sorted(row.plan_id for change in changes for row in cases_of(ROOT, change))
    assert found == sorted(case.plan_id for case in (*port_cases(), *sweep_cases()))


def test_the_test_of_a_case_comes_with_its_change(changes: list[SeriesChange]) -> None:
    for change in changes:
        tests = {file.name for file in change.files}
        lost = [row for row in cases_of(ROOT, change) if row.test.partition("::")[0] not in tests]
        assert not lost, f"{change.step.name}: {lost}"


def test_a_file_without_a_step_is_named() -> None:
    with pytest.raises(SeriesError, match="no step of the series holds .*tests/common/pfc/switch_chain/chain.py"):
        series(steps=[step for step in STEPS if step.name != "switch-chain"])


def test_a_step_about_nothing_and_a_name_without_a_step_are_refused(changes: list[SeriesChange]) -> None:
    lost = Step("lost", "Add nothing", "it is nothing", ("tests/common/pfc/none.py",))
    with pytest.raises(SeriesError, match="lost is about tests/common/pfc/none.py, which is not there"):
        series(steps=[*STEPS, lost])
    with pytest.raises(SeriesError, match="no step 'cor'; it has core-1, core-2"):
        find_changes(changes, "cor")
    with pytest.raises(SeriesError, match="no step 'switch'"):
        find_changes(changes, "switch")


@pytest.mark.parametrize(("name", "found"), [
    ("core-3", "core-3"), ("watchdog", "watchdog"), ("sweep", "sweep-1 sweep-2"), ("sessions", "sessions-1 sessions-2"),
    ("core", "core-1 core-2 core-3 core-4 core-5 core-6"),
    ("cases", "cases-1 cases-2 cases-3 cases-4 cases-5 cases-6 watchdog cases-7 cases-8 cases-9 cases-10")])
def test_a_name_without_its_number_means_all_of_that_name(changes: list[SeriesChange], name: str, found: str) -> None:
    """With what lies between: cases-7 needs the watchdog, which needs cases-1."""
    assert [change.step.name for change in find_changes(changes, name)] == found.split()


def test_a_plan_document_has_the_form_of_sonic_mgmts(changes: list[SeriesChange]) -> None:
    for change in changes:
        text = plan_document(ROOT, change, None)
        found = [line for line in text.splitlines() if line in HEADINGS]
        assert found == HEADINGS, f"{change.step.name}: {found}"
        assert "](" not in text, f"{change.step.name}: a link leads to a page that does not travel"
        assert not [line for line in text.splitlines() if line != line.rstrip()], change.step.name
    timing = plan_document(ROOT, find_change(changes, "cases-2"), None)
    assert "* TIME-2, `test_pause_timing.py::test_pause_timing`: Pauses of several lengths" in timing
    assert timing.count("#### Test objective") == timing.count("#### Pass/Fail Criteria") == 1, timing
    assert "| `stopped-in-time` |" in timing and "Why the numbers" not in timing


def test_the_upstream_page_has_every_step_and_what_it_builds_on(changes: list[SeriesChange]) -> None:
    page = (ROOT / "docs/upstream.md").read_text(encoding="utf-8")
    for change in changes:
        row = f"| `{change.step.name}` | {change.step.title} | {change.step.alone} | {builds_on(change)} |"
        assert row in page, f"docs/upstream.md has no row {row}"


def builds_on(change: SeriesChange) -> str:
    """The earlier steps; of the core, which builds on itself, the first and the last."""
    core = [name for name in change.needs if name.startswith("core-")]
    shown = [f"`{core[0]}` to `{core[-1]}`"] if len(core) > 1 else [f"`{name}`" for name in core]
    return ", ".join([*shown, *(f"`{name}`" for name in change.needs if name not in core)]) or "nothing"


def test_a_lab_can_have_reservations_and_host_pauses_first(changes: list[SeriesChange]) -> None:
    def more_than_the_core(name: str) -> list[str]:
        return [one for one in find_change(changes, name).needs if not one.startswith("core-")]

    assert more_than_the_core("reservations") == ["switch-changes"]
    assert more_than_the_core("host-pauses") == ["cases-1"]
    assert more_than_the_core("cases-2") == ["cases-1"], "not the addresses"
    assert more_than_the_core("sessions-1") == ["switch-changes"]


def records() -> list[Record]:
    """A PASS and a FAIL of two cases."""
    run = RunLabels("run-1", "vtb-t0", "os", "sku")

    def one(plan_id: str, status: Status) -> Record:
        check = Check("probe", "pfc.lossless", status, "7", 7, "dut-1 Ethernet0")
        verdict = PortVerdict("dut-1", "Ethernet0", 3, "pfc.lossless", [check])
        return make_record(run, PlanCase(plan_id.lower(), plan_id), verdict, {})

    return [one("PFC-1", Status.PASS), one("PFC-1", Status.PASS), one("TIME-2", Status.FAIL)]


def test_evidence_counts_the_verdicts_of_a_change_and_names_what_is_missing() -> None:
    found = evidence_of(records(), "abc")
    assert found.cases == {"PFC-1": {"PASS": 2}, "TIME-2": {"FAIL": 1}}
    said = evidence_lines(found, ["TIME-1", "TIME-2"])
    assert said[0].endswith("verdicts of its cases: 1 FAIL.") and said[1] == "Not carried out in it: TIME-1."


def test_a_run_of_broken_switches_is_no_evidence() -> None:
    broken = dataclasses.replace(records()[0], faults=("pause-ignored@Ethernet0",))
    with pytest.raises(EvidenceError, match="broken on purpose"):
        evidence_of([broken], "")
    with pytest.raises(EvidenceError, match="no verdict"):
        evidence_of([], "")


def test_evidence_is_written_from_the_records_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(one.document(), default=str) + "\n" for one in records()), encoding="utf-8")
    monkeypatch.setattr(kept, "FILE", tmp_path / "evidence.json")
    assert kept.main([str(file)]) == 0
    assert read_evidence(tmp_path / "evidence.json").cases["PFC-1"] == {"PASS": 2}
    assert kept.main([str(tmp_path / "none")]) == 2 and "none" in capsys.readouterr().err


def test_what_is_kept_is_of_a_healthy_virtual_testbed() -> None:
    found = read_evidence()
    assert found is None or isinstance(found, Evidence) and found.testbed == "vtb-t0"


def test_a_row_of_the_table_has_its_family() -> None:
    assert CaseRow("M2O-1", "m2o-many-to-one.md", "Two ports into one", "test_many_to_one.py::t").family == "M2O"
