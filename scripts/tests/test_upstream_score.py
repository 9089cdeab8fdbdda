"""sonic-mgmt's tests against faults: what is planned, what a matrix says, and that it goes on where it was ended."""
from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.campaign.catalogue import FAULTS
from scripts.campaign.entries import CampaignEntry
from scripts.parts.part import PartEnd
from scripts.suite import REFUSED
from scripts.testbeds import Refusal
from scripts.tests.test_upstream import fixture_checkout, python_that_says, typed  # noqa: F401  (a fixture)
from scripts.upstream import score
from scripts.upstream.matrix import (
    HEALTHY, MISSED, NOT_RECORDED, SEEN, STEM, UNKNOWN, Cell, FaultScore, Matrix, Origin, cells_of, function_of,
    specification, write,
)
from scripts.upstream.options import REPORT
from scripts.upstream.table import ERROR, FAILED, NOT_RUN, PASSED, SKIPPED, OutcomeRow
from virtual_testbed.faults import parse_fault

LOSSLESS = "snappi_tests/pfc/test_x.py::test_lossless[a|3]"
GLOBAL = "snappi_tests/pfc/test_y.py::test_global"
COMMIT = "b4ba9de3c9bb57c0628bc4cb98b3ecf3a3932a43 of 2026-08-22"
ORIGIN = Origin("upstream-score-1", "2026-12-01T02:10:46+00:00", COMMIT, "0123456789" * 4 + " of 2026-12-01", 407)


def results_of(cells: Mapping[str, Cell]) -> dict[str, str]:
    """Without seconds and origin."""
    return {test: cell.result for test, cell in cells.items()}


@pytest.fixture(name="planned")
def fixture_planned(tmp_path: Path, checkout: Path) -> tuple[score.ScorePlan, Path]:
    """A plan with three faults, one of which cannot be tried."""
    python = python_that_says(tmp_path, "3.12")
    options = score.parser().parse_args([str(checkout), "--tests", "test_y", "--python", str(python), "--faults",
                                         "pause-ignored, xoff-not-sent,xoff-elsewhere"])
    return score.new_plan(options), tmp_path


def ran(plan: score.ScorePlan, folder: Path, fault: str, *results: str) -> None:
    """Writes what a part of the plan would have."""
    own = score.part_of(plan, fault, folder).folder / "upstream-1"
    own.mkdir(parents=True)
    rows = [{"test": f"{name}{number}]", "result": result, "reason": "", "seconds": 1.0}
            for number, (name, result) in enumerate(zip(("a::test_y[", "a::test_z["), results, strict=True))]
    (own / REPORT).write_text(json.dumps({"tests": rows, "date": "2026-12-01T02:10:46+00:00", "commit": COMMIT,
                                          "project": "0fe1 of 2026-12-01", "seconds": 61}), encoding="utf-8")


def test_faults_are_on_every_port() -> None:
    by_name = {entry.name: specification(entry) for entry in FAULTS}
    assert by_name["pause-ignored"] == "pause-ignored@*"
    assert by_name["lossless-dropped"] == "lossless-dropped@*,one_in=4"
    without = [name for name, text in by_name.items() if not text]
    assert without == ["pause-acts-elsewhere", "pfc-counted-elsewhere", "xoff-elsewhere", "counters-of-another"]
    assert all(parse_fault(text).scope.port is None for text in by_name.values() if text)
    assert specification(CampaignEntry("a", "b", ("x@{rx}", "y@{rx}"), None)) == ""


@pytest.mark.parametrize("result, cell", [(PASSED, PASSED), (FAILED, FAILED), (ERROR, UNKNOWN), (SKIPPED, UNKNOWN),
                                          (NOT_RUN, UNKNOWN)])
def test_a_test_says_what_its_items_do(result: str, cell: str) -> None:
    rows = [OutcomeRow(LOSSLESS, PASSED), OutcomeRow(LOSSLESS, result), OutcomeRow(GLOBAL, PASSED)]
    assert results_of(cells_of(rows)) == {"test_lossless": cell, "test_global": PASSED}
    assert function_of(GLOBAL) == "test_global"


def test_what_fails_on_a_good_switch_judges_nothing() -> None:
    rows = [OutcomeRow(LOSSLESS, FAILED), OutcomeRow(GLOBAL, PASSED)]
    assert results_of(cells_of(rows, {"test_lossless": Cell(FAILED)})) == {
        "test_lossless": UNKNOWN, "test_global": UNKNOWN}
    assert results_of(cells_of(rows, {"test_lossless": Cell(PASSED), "test_global": Cell(PASSED)})) == {
        "test_lossless": FAILED, "test_global": PASSED}


def test_a_cell_has_the_seconds_of_its_items() -> None:
    rows = [OutcomeRow(LOSSLESS, PASSED, seconds=42.4), OutcomeRow(LOSSLESS, FAILED, seconds=34.9),
            OutcomeRow(GLOBAL, NOT_RUN)]
    assert cells_of(rows, None, ORIGIN) == {
        "test_lossless": Cell(FAILED, 77.3, ORIGIN), "test_global": Cell(UNKNOWN, None, ORIGIN)}


@pytest.mark.parametrize("cells, verdict", [
    ({}, UNKNOWN), ({"a": PASSED}, MISSED), ({"a": PASSED, "b": UNKNOWN}, UNKNOWN),
    ({"a": FAILED, "b": UNKNOWN}, SEEN)])
def test_missed_is_only_what_every_test_was_asked_for(cells: dict[str, str], verdict: str) -> None:
    assert FaultScore("f", "f@*", {test: Cell(result) for test, result in cells.items()}).verdict == verdict


def test_a_matrix_is_written_three_times(tmp_path: Path) -> None:
    rows = (FaultScore(HEALTHY, "", {"test_a": Cell(PASSED)}),
            FaultScore("f", "f@*", {"test_a": Cell(FAILED, 77.34, ORIGIN)}, ("PFC-1", "WD-1")),
            FaultScore("g", "g@*", {"test_a": Cell(PASSED)}, ("PFC-1",), "it <does> nothing"))
    matrix = Matrix(("test_a", "test_b"), rows, {"h": "no place", "i": "no place"})
    files = write(matrix, tmp_path / STEM)
    assert [file.name for file in files] == ["score.csv", "score.html", "score.md"]
    assert list(csv.reader(files[0].read_text(encoding="utf-8").splitlines())) == [
        ["fault", "a", "b", "any", "cases of this suite", "seconds", "a s", "b s", "date", "this project", "sonic-mgmt",
         "run"],
        ["no fault", PASSED, UNKNOWN, "", "", "", "", "", "", "", "", ""],
        ["f@*", FAILED, UNKNOWN, SEEN, "PFC-1 WD-1", "407", "77.3", "", ORIGIN.date, ORIGIN.project, COMMIT,
         ORIGIN.run],
        ["g@*", PASSED, UNKNOWN, MISSED, "it <does> nothing", "", "", "", "", "", "", ""]]
    page = files[1].read_text(encoding="utf-8")
    assert "1 of 2 faults are seen, 1 missed, 0 not measured" in page and "it &lt;does&gt; nothing" in page
    assert '>failed</span> <span class="quiet">77 s<' in page and ">407</td>" in page
    assert "2026-12-01<br>commit 01234567 of 2026-12-01<br>1</td>" in page and COMMIT in page
    table = files[2].read_text(encoding="utf-8")
    assert "| `f@*` | failed | not measured | seen | PFC-1 WD-1 | 407 | 2026-12-01 | 01234567 of 2026-12-01 |" in table
    assert "\nNot tried: h, i: no place.\n" in table


def test_a_matrix_says_where_it_is_from() -> None:
    unknown = Origin("a table", NOT_RECORDED, COMMIT, NOT_RECORDED, None)
    rows = (FaultScore(HEALTHY, "", {"test_a": Cell(PASSED, 1.0, ORIGIN)}),
            FaultScore("f", "f@*", {"test_a": Cell(PASSED, None, unknown)}))
    assert Matrix(("test_a",), rows, {}).about == (
        f"sonic-mgmt {COMMIT}, on virtual testbeds, 2026-12-01. Commit of this project: 01234567 of 2026-12-01; of 1"
        " switches it is not recorded. Wall time of 1 of 2 switches: 407 s added up; of the other 1 the time is not"
        " recorded.")
    assert "2026-12-01. Commit of this project: 01234567 of 2026-12-01. Wall time of 1 of 1 switches: 407 s added up." \
        in Matrix(("test_a",), rows[:1], {}).about
    assert Matrix((), (), {}).about == "Nothing is measured."


def test_a_matrix_has_what_its_parts_recorded(planned: tuple[score.ScorePlan, Path]) -> None:
    plan, folder = planned
    ran(plan, folder, HEALTHY, PASSED, PASSED)
    ran(plan, folder, "pause-ignored", FAILED, PASSED)
    rows = score.matrix_of(plan, folder).rows
    origin = Origin(plan.name, "2026-12-01T02:10:46+00:00", COMMIT, "0fe1 of 2026-12-01", 61)
    assert rows[1].cells == {"test_y": Cell(FAILED, 1.0, origin), "test_z": Cell(PASSED, 1.0, origin)}
    assert rows[0].origins == (origin,) and rows[2].origins == () and rows[2].verdict == UNKNOWN


def test_a_plan_has_the_good_switch_first(planned: tuple[score.ScorePlan, Path]) -> None:
    plan, folder = planned
    assert plan.faults == {HEALTHY: "", "pause-ignored": "pause-ignored@*", "xoff-not-sent": "xoff-not-sent@*"}
    assert list(plan.left_out) == ["xoff-elsewhere"]
    words = score.part_of(plan, "pause-ignored", folder).command
    assert words[-2:] == ("--fault", "pause-ignored@*")
    assert "--fault" not in score.part_of(plan, HEALTHY, folder).command
    own = [score.part_of(plan, fault, folder).environment for fault in plan.faults]
    assert len(set(own)) == 3, "testbeds of one name, at the same time, in folders of their own"


def test_it_goes_on_where_it_was_ended(planned: tuple[score.ScorePlan, Path], monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    plan, folder = planned
    ran(plan, folder, HEALTHY, PASSED, PASSED)
    ran(plan, folder, "pause-ignored", FAILED, PASSED)
    carried = []

    def run_them(executor: object, parts: list[score.JobPart], at_once: int, stop: object,
                 observer: score.ScoreSaid) -> None:
        for part in parts:
            carried.append(part.name)
            if len(carried) == 2:  # the second time it is not killed
                ran(plan, folder, part.name, PASSED, PASSED)
            observer.ended(part, PartEnd(0, 61.0, "here"))

    monkeypatch.setattr(score, "run_parts", run_them)
    monkeypatch.setattr(score, "environment_of_theirs", lambda python: python)
    stop = score.StopSignal()
    assert score.carry_out(plan, folder, 2, stop) == score.NOT_MEASURED
    said = capsys.readouterr().out
    assert "3 switches, 1 left" in said and f"what is left is with --resume {plan.name}" in said
    assert "1 of 2 faults are seen, 0 missed, 1 not measured" in said
    assert score.carry_out(plan, folder, 2, stop) == 0
    said = capsys.readouterr().out
    assert "xoff-not-sent (61 s): y passed, z passed" in said
    assert "1 of 2 faults are seen, 1 missed, 0 not measured" in said and carried == ["xoff-not-sent"] * 2
    assert score.carry_out(plan, folder, 2, stop) == 0 and "3 switches, 0 left" in capsys.readouterr().out


@pytest.mark.parametrize("results, ended", [
    (None, True), ((), True), ((PASSED, FAILED), False), ((PASSED, NOT_RUN), True), ((ERROR, SKIPPED), False)])
def test_what_was_ended_is_carried_out_again(results: tuple[str, ...] | None, ended: bool) -> None:
    report = None if results is None else {"tests": [{"test": GLOBAL, "result": result} for result in results]}
    assert score.is_unfinished(score.rows_of(report)) is ended


def test_what_cannot_be_planned_is_refused(checkout: Path, tmp_path: Path) -> None:
    for words, said in ((["--faults", "nix"], "--faults has nix: the campaign's catalogue has no such fault"),
                        (["--faults", "xoff-elsewhere"], "no fault is left: xoff-elsewhere: it needs a bystander"),
                        (["--tests", "nix"], "has 'nix' in its name")):
        with pytest.raises(Refusal, match=said):
            score.new_plan(score.parser().parse_args([str(checkout), "--tests", "test_y", *words]))
    ended = typed("scripts.upstream.score", "--resume", "nix", "--results", str(tmp_path))
    assert ended.returncode == REFUSED and "nix has no plan.json of an upstream-score" in ended.stderr
    ended = typed("scripts.upstream.score", str(checkout), "--at-once", "0")
    assert ended.returncode == REFUSED and ended.stderr == "error: --at-once is 0, it takes a number from 1 on\n"
    ended = typed("scripts.upstream.score", str(checkout), "--resume", "nix", "--results", str(tmp_path))
    assert ended.returncode == REFUSED
    assert ended.stderr == ("error: --resume goes on with what was begun, as it was: leave the checkout, --tests,"
                            " --faults and --python out\n")


def test_a_plan_is_read_as_it_was_written(planned: tuple[score.ScorePlan, Path]) -> None:
    plan, folder = planned
    (folder / score.PLAN).write_text(json.dumps(score.asdict(plan)), encoding="utf-8")
    assert score.load_plan(folder) == plan


def test_examples_are_understood() -> None:
    lines = [line for line in score.EXAMPLES.splitlines() if line.startswith("  python")]
    for line in lines:
        score.parser().parse_args(shlex.split(line.partition("   ")[0].split(maxsplit=3)[3]) if "   " in line
                                  else shlex.split(line)[3:])
    assert len(lines) == 4
