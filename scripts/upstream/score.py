"""Counts which broken switches sonic-mgmt's own PFC tests see: each fault of the campaign's catalogue that can be on
every port, and some of its tests on each; `make upstream-score`.

Writes a matrix (score.csv, score.html, score.md) that names, for each fault, the test cases of this suite that are
declared to see it, and how long it took. One that was ended goes on with --resume; --join makes one matrix of several.
Exit status: 0 all was measured, 2 something was not, 3 refused.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scripts.campaign.catalogue import FAULTS
from scripts.campaign.entries import CampaignEntry
from scripts.command import exit_status_of_parts
from scripts.output import put
from scripts.parts.executors import executor
from scripts.parts.part import PYTHON, JobPart, PartEnd
from scripts.parts.running import PartObserver, run_parts
from scripts.parts.stop import StopSignal
from scripts.testbeds import CommandParser, Refusal, environment, shown
from scripts.upstream.joining import contradictions, join, read_csv
from scripts.upstream.matrix import (
    CSV, FOLDER, HEALTHY, NO_PLACE, NOT_RECORDED, PAGE, STEM, TEST, FaultScore, Matrix, Origin, cells_of, specification,
    write,
)
from scripts.upstream.options import REPORT, add_places
from scripts.upstream.python_3_12 import environment_of_theirs, find_python
from scripts.upstream.table import NOT_RUN, OutcomeRow
from scripts.upstream.tree import check_names, find_tree
from tests.common.pfc.record.records import new_run_id
from virtual_testbed.supervision.state import STATE_VARIABLE

EXAMPLES = """
examples:
  python -m scripts.upstream.score ~/sonic-mgmt                                   all faults, the quick tests
  python -m scripts.upstream.score ~/sonic-mgmt --faults pause-ignored,xoff-not-sent --tests test_global_pause
  python -m scripts.upstream.score --resume upstream-score-20261125T033039Z-18032
  python -m scripts.upstream.score --join docs/upstream-score.csv results/upstream-score-20261125T033039Z-18032
"""
QUICK = ("test_pfc_pause_single_lossless_prio[vtb-t0-01|3", "test_pfc_pause_single_lossy_prio[vtb-t0-01|1",
         "test_global_pause", "test_tx_drop_counter", "test_pfcwd_basic_single_lossless_prio[multidut_port_info0")
"""One for each kind of judgement; tests of three ports, which take several times as long, are left out."""
PLAN = "plan.json"
PARTS = "parts"
NOT_MEASURED = 2


@dataclass(frozen=True)
class ScorePlan:
    """What is measured.

    Attributes:
        name: of its folder.
        checkout: of sonic-mgmt.
        commit: that is checked out there.
        tests: parts of tests' names.
        faults: name -> specification; `no fault` -> nothing.
        left_out: faults that are not tried, and why.
        python: Python 3.12, a program.
        began: date and time.
    """

    name: str
    checkout: str
    commit: str
    tests: tuple[str, ...]
    faults: Mapping[str, str]
    left_out: Mapping[str, str]
    python: str
    began: str


def parser() -> CommandParser:
    """The command line."""
    line = CommandParser(prog="python -m scripts.upstream.score", description=__doc__, epilog=EXAMPLES,
                         allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("checkout", nargs="?", default="", metavar="CHECKOUT", help="of sonic-mgmt")
    line.add_argument("--tests", default=",".join(QUICK), metavar="NAMES",
                      help="parts of tests' names (default: %(default)s)")
    line.add_argument("--faults", default="", metavar="NAMES",
                      help="of built-in faults, with commas between them (default: all that can be on every port)")
    line.add_argument("--resume", default="", metavar="NAME", help="go on with one that was ended")
    line.add_argument("--join", nargs="+", default=[], type=Path, metavar="PLACE",
                      help="measure nothing, but make one matrix of the folders of several runs, and of a matrix (CSV)"
                           " that was joined before")
    line.add_argument("--into", type=Path, metavar="STEM",
                      help="with --join: write STEM.csv and STEM.html, not files in a new folder of results")
    line.add_argument("--at-once", type=int, default=os.cpu_count() or 1, metavar="N",
                      help="switches at the same time, each in a testbed of its own (default: one a processor)")
    add_places(line)
    return line


def new_plan(options: argparse.Namespace) -> ScorePlan:
    """What the options ask for.

    Raises:
        Refusal: it cannot be carried out.
    """
    tree = find_tree(options.checkout)
    tests = tuple(filter(None, (text.strip() for text in options.tests.split(","))))
    check_names(tests, tree)
    wanted = [name for name in options.faults.replace(" ", "").split(",") if name]
    by_name = {entry.name: entry for entry in FAULTS}
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise Refusal(f"--faults has {', '.join(unknown)}: the campaign's catalogue has no such fault")
    entries = [by_name[name] for name in wanted or by_name]
    faults = {entry.name: specification(entry) for entry in entries}
    left_out = {name: NO_PLACE for name, text in faults.items() if not text}
    faults = {HEALTHY: "", **{name: text for name, text in faults.items() if text}}
    if len(faults) == 1:
        raise Refusal(f"no fault is left: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    return ScorePlan(f"{FOLDER}{new_run_id()}", str(tree.folder), tree.commit(), tests, faults, left_out,
                     str(find_python(options.python)), datetime.now(timezone.utc).isoformat(timespec="seconds"))


def load_plan(folder: Path) -> ScorePlan:
    """The plan of one that was begun.

    Raises:
        Refusal: there is none.
    """
    try:
        said = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        return ScorePlan(**{**said, "tests": tuple(said["tests"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Refusal(f"{folder} has no {PLAN} of an upstream-score: {error}") from error


def part_of(plan: ScorePlan, fault: str, folder: Path) -> JobPart:
    """What carries out the tests with a fault."""
    own = folder / PARTS / fault.replace(" ", "-")
    given = ("--fault", plan.faults[fault]) if plan.faults[fault] else ()
    return JobPart(fault, (PYTHON, "-m", "scripts.upstream", plan.checkout, "--tests", ",".join(plan.tests), "--python",
                           plan.python, "--results", str(own), *given), own,
                   environment=((STATE_VARIABLE, str(own / "state")),))


def report_of(part: JobPart) -> Mapping[str, Any] | None:
    """What a part left, the last time that it was carried out; None: it was not."""
    reports = sorted(part.folder.glob(f"*/{REPORT}"))
    return json.loads(reports[-1].read_text(encoding="utf-8")) if reports else None


def rows_of(report: Mapping[str, Any] | None) -> list[OutcomeRow]:
    """What became of the tests of a part, by what it left."""
    return [] if report is None else [OutcomeRow(**row) for row in report["tests"]]


def origin_of(plan: ScorePlan, report: Mapping[str, Any] | None) -> Origin | None:
    """Where the cells of a part are from. Runs before 2026-12-01 did not record the commit of this project."""
    if report is None:
        return None
    return Origin(plan.name, report["date"], report["commit"], report.get("project", NOT_RECORDED), report["seconds"])


def is_unfinished(rows: Sequence[OutcomeRow]) -> bool:
    """Whether a part was not carried out to its end, by its rows."""
    return not rows or any(row.result == NOT_RUN for row in rows)


class ScoreSaid(PartObserver):
    """Says what each part came to."""

    def ended(self, part: JobPart, end: PartEnd) -> None:
        """A line."""
        cells = cells_of(rows_of(report_of(part)))
        said = ", ".join(f"{test.removeprefix(TEST)} {cell.result}" for test, cell in cells.items()) or (
            f"nothing, {end.cause or f'it ended with status {end.status}'} ({shown(part.folder / part.log)})")
        put(f"{part.name} ({end.seconds:.0f} s): {said}\n", sys.stdout)


def matrix_of(plan: ScorePlan, folder: Path, entries: Iterable[CampaignEntry] = FAULTS) -> Matrix:
    """What is known by now."""
    by_name = {entry.name: entry for entry in entries}
    rows: list[FaultScore] = []
    for name, text in plan.faults.items():
        report = report_of(part_of(plan, name, folder))
        healthy = rows[0].cells if rows else None
        cells = cells_of(rows_of(report), healthy, origin_of(plan, report))
        entry = by_name.get(name)
        rows.append(FaultScore(name, text, cells, entry.cases if entry else (), entry.unseen if entry else ""))
    tests = dict.fromkeys(test for row in rows for test in row.cells)
    return Matrix(tuple(tests), tuple(rows), plan.left_out)


def carry_out(plan: ScorePlan, folder: Path, at_once: int, stop: StopSignal) -> int:
    """Measures what is left, `at_once` switches at the same time; returns the exit status.

    Raises:
        Refusal: the packages that sonic-mgmt needs cannot be installed.
    """
    parts = [part_of(plan, fault, folder) for fault in plan.faults]
    left = [part for part in parts if is_unfinished(rows_of(report_of(part)))]
    put(f"{plan.name}: {len(parts)} switches, {len(left)} left; sonic-mgmt {plan.commit}\n", sys.stdout)
    environment_of_theirs(Path(plan.python))
    with executor(None, folder, left) as carrying:
        run_parts(carrying, left, at_once, stop, ScoreSaid())
    matrix = matrix_of(plan, folder)
    put(f"{matrix.title}\n", sys.stdout)
    for file in write(matrix, folder / STEM):
        put(f"{shown(file)}\n", sys.stdout)
    is_whole = matrix.is_whole and all(rows_of(report_of(part)) for part in parts)
    if not is_whole:
        put(f"not all was measured; what is left is with --resume {plan.name}\n", sys.stdout)
    return 0 if is_whole else NOT_MEASURED


def matrix_in(place: Path) -> Matrix:
    """What a run measured, or a matrix that was joined before (its CSV, or the folder of it), says.

    Raises:
        Refusal: neither is there.
    """
    if place.is_file():
        return read_csv(place)
    joined = place / f"{STEM}{CSV}"
    if joined.is_file() and not (place / PLAN).exists():
        return read_csv(joined)
    plan = load_plan(place)
    try:
        return matrix_of(plan, place)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refusal(f"{place} cannot be joined: what a part of it left cannot be read: {error}") from error


def join_them(options: argparse.Namespace) -> int:
    """Joins what was measured; returns the exit status.

    Raises:
        Refusal: they do not belong together, or the matrix cannot be written.
    """
    if options.resume or _says_what_to_measure(options):
        raise Refusal("--join measures nothing: leave the checkout, --tests, --faults, --python and --resume out")
    if options.into and (options.into.is_dir() or options.into.suffix in (CSV, PAGE)):
        raise Refusal(f"--into {options.into}: name the files without their ending, for instance docs/upstream-score")
    named = [(str(place), matrix_in(place)) for place in options.join]
    joined = join(named, FAULTS)
    for sentence in contradictions(named, joined):
        put(f"{sentence}\n", sys.stdout)
    stem = options.into or options.results / f"{FOLDER}joined-{new_run_id()}" / STEM
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        files = write(joined, stem, (CSV, PAGE)) if options.into else write(joined, stem)
    except OSError as error:
        raise Refusal(f"{stem}{CSV} cannot be written: {error}") from error
    put(f"{joined.about}\n{joined.title}\n", sys.stdout)
    for file in files:
        put(f"{shown(file)}\n", sys.stdout)
    return 0 if joined.is_whole else NOT_MEASURED


def _says_what_to_measure(options: argparse.Namespace) -> bool:
    """Whether it says what to measure, of which --resume and --join take no notice."""
    is_default = options.tests == parser().get_default("tests")
    return bool(options.checkout or options.faults or options.python or not is_default)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of_parts("upstream-score", arguments, lambda stop: begin_or_resume(arguments, stop))


def begin_or_resume(arguments: Sequence[str] | None, stop: StopSignal) -> int:
    """The command.

    Raises:
        Refusal: it cannot be carried out.
    """
    options = parser().parse_args(arguments)
    if options.join:
        return join_them(options)
    if options.into:
        raise Refusal("--into says where --join writes: name what is joined")
    results = options.results.resolve()
    if options.at_once < 1:
        raise Refusal(f"--at-once is {options.at_once}, it takes a number from 1 on")
    if options.resume and _says_what_to_measure(options):
        raise Refusal("--resume goes on with what was begun, as it was: leave the checkout, --tests, --faults and"
                      " --python out")
    if options.resume:
        plan = load_plan(results / options.resume)
    else:
        plan = new_plan(options)
        (results / plan.name).mkdir(parents=True)
        (results / plan.name / PLAN).write_text(json.dumps(asdict(plan), indent=1) + "\n", encoding="utf-8")
    environment(results)
    return carry_out(plan, results / plan.name, options.at_once, stop)


if __name__ == "__main__":
    sys.exit(main())
