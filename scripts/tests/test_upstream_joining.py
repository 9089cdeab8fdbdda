"""One matrix of several runs against sonic-mgmt's tests: which cell counts, what is refused, and the one of docs/."""
from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from scripts.campaign.catalogue import FAULTS
from scripts.suite import REFUSED
from scripts.testbeds import Refusal
from scripts.tests.handlers import handlers_put_back
from scripts.tests.test_upstream import ROOT, typed
from scripts.upstream import score
from scripts.upstream.joining import contradictions, join, read_csv
from scripts.upstream.matrix import (
    CSV, HEALTHY, MISSED, NOTHING, NOT_RECORDED, PAGE, UNKNOWN, Cell, FaultScore, Matrix, Origin, specification, write,
    write_csv,
)
from scripts.upstream.options import REPORT
from scripts.upstream.table import ERROR, FAILED, PASSED

AUGUST = "b4ba9de3c9bb57c0628bc4cb98b3ecf3a3932a43 of 2026-08-22"
SEPTEMBER = "c4ba9de3c9bb57c0628bc4cb98b3ecf3a3932a43 of 2026-09-22"
FIRST = Origin("upstream-score-1", "2026-11-26 or 27", AUGUST, "1111 of 2026-11-26", 300)
SECOND = Origin("upstream-score-2", "2026-11-30T17:07:51+00:00", AUGUST, "2222 of 2026-11-30", 407)
UNDATED = Origin("a table", NOT_RECORDED, AUGUST, NOT_RECORDED, None)
TESTS = ("test_a", "test_b")
FAULT = "pause-ignored@*"
DOCS = ROOT / "docs"
STYLE = re.compile(r"<style>.*</style>", re.DOTALL)
LISTED = re.compile(r"^\| (`test_\w+`|none) \| (\d+) \| ((?:`[\w-]+` ?)+) \|$", re.MULTILINE)
"""A row of the document: who sees faults, how many, and their names."""
JOINED = "make upstream-score JOIN=docs/upstream-score.csv INTO=docs/upstream-score"


def matrix(origin: Origin, *results: str, fault: str = FAULT) -> Matrix:
    """Of one run, of a good switch and one with a fault. `results`: of the tests; one that is empty was not tried."""
    cells = {test: Cell(result, 50.0 if result != UNKNOWN else None, origin)
             for test, result in zip(TESTS, results, strict=False) if result}
    good = {test: Cell(PASSED, 40.0, origin) for test in cells}
    return Matrix(tuple(cells), (FaultScore(HEALTHY, "", good), FaultScore(fault.partition("@")[0], fault, cells)), {})


def joined_cells(*matrices: Matrix) -> dict[str, Cell]:
    """What is said of the fault."""
    return dict(join([("", one) for one in matrices], FAULTS).rows[1].cells)


def write_run(folder: Path, commit: str, *results: str) -> Path:
    """Writes what a run would have; returns its folder."""
    plan = score.ScorePlan(folder.name, "/nowhere", commit, ("test_a",), {HEALTHY: "", "pause-ignored": FAULT}, {}, "",
                           "2026-12-01T00:00:00+00:00")
    folder.mkdir()
    (folder / score.PLAN).write_text(json.dumps(asdict(plan)), encoding="utf-8")
    for fault, result in zip(plan.faults, results, strict=True):
        own = score.part_of(plan, fault, folder).folder / "upstream-1"
        own.mkdir(parents=True)
        tests = [{"test": f"x::{test}[1]", "result": result, "seconds": 12.3} for test in TESTS]
        (own / REPORT).write_text(json.dumps({"tests": tests, "date": "2026-12-01T01:00:00+00:00", "commit": commit,
                                              "project": "3333 of 2026-12-01", "seconds": 61}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in order", "the other way round"])
def test_a_later_cell_replaces_an_earlier_one(order: tuple[int, int]) -> None:
    runs = matrix(FIRST, PASSED, PASSED), matrix(SECOND, FAILED, PASSED)
    assert joined_cells(*(runs[place] for place in order)) == {
        "test_a": Cell(FAILED, 50.0, SECOND), "test_b": Cell(PASSED, 50.0, SECOND)}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in order", "the other way round"])
def test_what_was_not_measured_replaces_nothing_that_was(order: tuple[int, int]) -> None:
    runs = matrix(FIRST, PASSED, UNKNOWN), matrix(SECOND, UNKNOWN, UNKNOWN)
    assert joined_cells(*(runs[place] for place in order)) == {
        "test_a": Cell(PASSED, 50.0, FIRST), "test_b": Cell(UNKNOWN, None, SECOND)}
    assert joined_cells(matrix(FIRST, PASSED, PASSED), matrix(SECOND, "", FAILED)) == {
        "test_a": Cell(PASSED, 50.0, FIRST), "test_b": Cell(FAILED, 50.0, SECOND)}


def test_what_has_no_date_is_the_oldest_and_of_the_same_date_the_last_one_counts() -> None:
    assert joined_cells(matrix(SECOND, PASSED), matrix(UNDATED, FAILED))["test_a"].result == PASSED
    day = replace(SECOND, run="another", date="2026-11-30")
    assert joined_cells(matrix(SECOND, PASSED), matrix(day, FAILED))["test_a"].origin == SECOND
    again = replace(SECOND, run="again")
    assert joined_cells(matrix(SECOND, PASSED), matrix(again, FAILED))["test_a"].origin == again


def test_rows_are_in_the_order_of_the_catalogue_with_what_it_declares_now() -> None:
    last = FAULTS[-1]
    first = next(entry for entry in FAULTS if specification(entry))
    named = [("", matrix(FIRST, PASSED, fault="gone@*,by=2")), ("", matrix(FIRST, PASSED, fault=specification(last))),
             ("", matrix(FIRST, PASSED, fault=specification(first)))]
    made = join(named, FAULTS)
    assert [row.name for row in made.rows] == [HEALTHY, first.name, last.name, "gone"]
    assert made.rows[1].cases == first.cases and made.rows[3].cases == ()
    assert made.left_out["xoff-elsewhere"].startswith("it needs a bystander")
    assert made.left_out["slow-response"] == "in none of these runs" and last.name not in made.left_out
    assert len(made.left_out) == len(FAULTS) - 2


def test_what_runs_do_not_agree_on_is_said() -> None:
    named = [("", matrix(SECOND, FAILED, PASSED)), ("", matrix(FIRST, PASSED, PASSED)),
             ("", matrix(UNDATED, UNKNOWN, UNKNOWN))]
    assert list(contradictions(named, join(named, FAULTS))) == [
        "pause-ignored@*, test_a: passed (2026-11-26 or 27), failed (2026-11-30T17:07:51+00:00); the last one counts"]


def test_a_matrix_is_read_as_it_was_written(tmp_path: Path) -> None:
    named = [("", matrix(FIRST, PASSED, PASSED)), ("", matrix(SECOND, UNKNOWN, FAILED)),
             ("", matrix(UNDATED, PASSED, "", fault="gone@*"))]
    made = join(named, FAULTS)
    write_csv(made, tmp_path / "a.csv")
    read = read_csv(tmp_path / "a.csv")
    assert read.tests == made.tests
    assert read.rows[1].cells == made.rows[1].cells and read.rows[0].cells == made.rows[0].cells
    assert made.rows[2].cells["test_b"] == NOTHING and read.rows[2].verdict == made.rows[2].verdict == UNKNOWN
    assert read.rows[1].runs == "upstream-score-1: a; upstream-score-2: b"
    assert (read.rows[1].seconds_text, read.rows[2].seconds_text) == ("300; 407", NOT_RECORDED)
    write_csv(join([("", read)], FAULTS), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text(encoding="utf-8") == (tmp_path / "a.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("old, new, said", [
    ("sonic-mgmt,run", "sonic-mgmt,x", "it has no column run"),
    (",failed,", ",broken,", "the row of pause-ignored@* says 'broken' of a"),
    (",50.0,", ",soon,", "could not convert string to float: 'soon'"),
    (f",{SECOND.run}", "", "the row of no fault has not as many cells as there are columns"),
    (f",{SECOND.run}", ",", "the row of no fault does not say of what run a is"),
    (f",{SECOND.run}", ",a; b", "the row of no fault has 2 runs, but not as many dates")])
def test_a_file_that_is_no_matrix_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "a.csv"
    write_csv(matrix(SECOND, FAILED), file)
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(Refusal, match=f"a.csv is no matrix of an upstream-score: {re.escape(said)}"):
        read_csv(file)


def test_runs_of_several_commits_of_sonic_mgmt_are_refused_by_name(tmp_path: Path) -> None:
    runs = write_run(tmp_path / "one", AUGUST, PASSED, FAILED), write_run(tmp_path / "two", SEPTEMBER, PASSED, PASSED)
    ended = typed("scripts.upstream.score", "--join", *map(str, runs), "--into", str(tmp_path / "three"))
    assert ended.returncode == REFUSED and not list(tmp_path.glob("three*"))
    assert ended.stderr == (
        "error: --join takes runs of one commit of sonic-mgmt, whose tests may judge otherwise at another:"
        f" {runs[0]} is of {AUGUST}, {runs[1]} is of {SEPTEMBER}\n")


def test_it_joins_folders_and_what_was_joined_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tmp_path / "before.csv"
    write_csv(matrix(FIRST, PASSED, PASSED, fault="xoff-not-sent@*"), before)
    run = write_run(tmp_path / "upstream-score-3", AUGUST, PASSED, FAILED)
    into = tmp_path / "docs/upstream-score"
    assert score.main(["--join", str(before), str(run), "--into", str(into)]) == 0
    said = capsys.readouterr().out
    assert "1 of 2 faults are seen, 1 missed, 0 not measured\n" in said and "This" not in said
    assert sorted(file.name for file in into.parent.iterdir()) == ["upstream-score.csv", "upstream-score.html"]
    lines = into.with_suffix(CSV).read_text(encoding="utf-8").splitlines()
    rows = {row["fault"]: row for row in csv.DictReader(lines)}
    expected = {"a": FAILED, "a s": "12.3", "seconds": "61", "date": "2026-12-01T01:00:00+00:00",
                "this project": "3333 of 2026-12-01", "sonic-mgmt": AUGUST, "run": "upstream-score-3"}
    assert rows[FAULT].items() >= expected.items()
    assert rows["xoff-not-sent@*"]["run"] == FIRST.run and rows[HEALTHY]["run"] == "upstream-score-3"
    assert score.main(["--join", str(run), "--results", str(tmp_path / "results")]) == 0
    [folder] = (tmp_path / "results").iterdir()
    assert folder.name.startswith("upstream-score-joined-") and len(list(folder.glob("score.*"))) == 3
    assert score.main(["--join", str(folder), str(run), "--into", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again.csv").read_text() == (folder / "score.csv").read_text(), "what was joined can be joined"
    assert "&#34;" not in (tmp_path / "again.html").read_text(), "a style sheet has no entities"


def test_a_report_that_was_cut_off_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "upstream-score-3", AUGUST, PASSED, FAILED)
    report = next(run.glob("parts/*/*/upstream.json"))
    report.write_text(report.read_text()[:20])
    assert score.main(["--join", str(run), "--into", str(tmp_path / "x")]) != 0
    assert f"{run} cannot be joined: what a part of it left cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("commit", ["no git", f"{AUGUST}, changed since"])
def test_files_that_nobody_knows_are_not_joined(tmp_path: Path, commit: str,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(write_run(tmp_path / f"upstream-score-{number}", commit, PASSED, FAILED)) for number in (3, 4)]
    assert score.main(["--join", *runs, "--into", str(tmp_path / "x")]) != 0
    assert f"is of a checkout of which it says '{commit}'" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def fixture_handlers() -> Iterator[None]:
    """The command catches signals for the rest of its process."""
    with handlers_put_back():
        yield


def test_a_matrix_with_holes_is_no_success(tmp_path: Path) -> None:
    run = write_run(tmp_path / "upstream-score-3", AUGUST, PASSED, ERROR)
    assert score.main(["--join", str(run), "--into", str(tmp_path / "x")]) == score.NOT_MEASURED


@pytest.mark.parametrize("words, said", [
    (["somewhere", "--join", "x"], "--join measures nothing: leave the checkout, --tests, --faults, --python and"),
    (["--join", "x", "--into", "x.csv"], "--into x.csv: name the files without their ending"),
    (["--join", "x", "--into", "."], "--into .: name the files without their ending"),
    (["--tests", "a", "--join", "x"], "--join measures nothing"),
    (["--faults", "a", "--join", "x"], "--join measures nothing"),
    (["--resume", "a", "--join", "x"], "--join measures nothing"),
    (["--into", "x"], "--into says where --join writes: name what is joined"),
    (["--join", "nowhere"], "nowhere has no plan.json of an upstream-score")])
def test_what_cannot_be_joined_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert score.main(words) == REFUSED
    assert said in capsys.readouterr().err


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "upstream-score-3", AUGUST, PASSED, FAILED)
    (tmp_path / "file").touch()
    assert score.main(["--join", str(run), "--into", str(tmp_path / "file/x")]) == REFUSED
    assert "file/x.csv cannot be written" in capsys.readouterr().err


def test_the_matrix_of_docs_is_what_the_command_makes(tmp_path: Path) -> None:
    kept = DOCS / f"upstream-score{CSV}"
    for file in write(join([(str(kept), read_csv(kept))], FAULTS), tmp_path / kept.stem, (CSV, PAGE)):
        made, there = (STYLE.sub("", path.read_text(encoding="utf-8")) for path in (file, DOCS / file.name))
        assert made == there, f"docs/{file.name} was changed by hand, or the catalogue since: `{JOINED}`"


def test_the_document_says_what_the_matrix_does() -> None:
    kept = read_csv(DOCS / f"upstream-score{CSV}")
    page = (DOCS / "other-suites.md").read_text(encoding="utf-8")
    assert f"**{kept.title}**" in " ".join(page.split())
    listed = {who: (int(count), names.split()) for who, count, names in LISTED.findall(page)}
    faults = [row for row in kept.rows if row.specification]
    expected = {f"`{test}`": [f"`{row.name}`" for row in faults if row.cells[test].result == FAILED]
                for test in kept.tests}
    expected["none"] = [f"`{row.name}`" for row in faults if row.verdict == MISSED]
    assert listed == {who: (len(names), names) for who, names in expected.items()}
