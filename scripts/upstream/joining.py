"""Joins what several runs of `make upstream-score` measured into one matrix, and reads a matrix that was joined before.

A later cell counts before an earlier one, by the dates in their records, and one that was measured before one that was
not. A day without a time is older than any time of that day. In which order the runs are named does not matter, but for
cells of the same date: there the last one counts.
"""
from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.against_sonic.checkout import CHANGED, NO_GIT
from scripts.campaign.entries import CampaignEntry
from scripts.testbeds import Refusal
from scripts.upstream.matrix import (
    BETWEEN, CASES_COLUMN, DATE_COLUMN, FAULT_COLUMN, HEALTHY, NOTHING, NO_PLACE, NOT_RECORDED, OF_A_TEST,
    PROJECT_COLUMN, RUN_COLUMN, SECONDS_COLUMN, TEST, TESTS_OF, UNKNOWN, UPSTREAM_COLUMN, Cell, FaultScore,
    Matrix, Origin, specification,
)
from scripts.upstream.table import FAILED, PASSED

NEEDED = (FAULT_COLUMN, CASES_COLUMN, SECONDS_COLUMN, DATE_COLUMN, PROJECT_COLUMN, UPSTREAM_COLUMN, RUN_COLUMN)
IN_NONE = "in none of these runs"


def read_csv(file: Path) -> Matrix:
    """A matrix that was written before.

    Args:
        file: the CSV.

    Raises:
        Refusal: it is none of these, which one sentence says.
    """
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened)
            columns = list(reader.fieldnames or ())
            missing = [name for name in NEEDED if name not in columns]
            if missing:
                raise ValueError(f"it has no column {', '.join(missing)}")
            tests = tuple(TEST + name for name in columns if name + OF_A_TEST in columns)
            return Matrix(tests, tuple(_row(cells, tests) for cells in reader), {})
    except (OSError, ValueError, csv.Error) as error:
        raise Refusal(f"{file} is no matrix of an upstream-score: {error}") from error


def _row(texts: Mapping[str, str], tests: Sequence[str]) -> FaultScore:
    """A row of the CSV. Raises ValueError."""
    fault = texts[FAULT_COLUMN]
    if None in texts.values() or None in texts:
        raise ValueError(f"the row of {fault} has not as many cells as there are columns")
    origins = _origins(texts, tests)
    cells = {}
    for test in tests:
        name = test.removeprefix(TEST)
        result = texts[name]
        if result not in (PASSED, FAILED, UNKNOWN):
            raise ValueError(f"the row of {fault} says {result!r} of {name}")
        seconds = texts[name + OF_A_TEST]
        cells[test] = Cell(result, float(seconds) if seconds else None, origins.get(test))
        if cells[test].is_measured and test not in origins:
            raise ValueError(f"the row of {fault} does not say of what run {name} is")
    is_good = fault == HEALTHY
    return FaultScore(fault.partition("@")[0], "" if is_good else fault, cells, tuple(texts[CASES_COLUMN].split()))


def _origins(texts: Mapping[str, str], tests: Sequence[str]) -> dict[str, Origin]:
    """The run that each test of a row is of. Raises ValueError."""
    if not texts[RUN_COLUMN]:
        return {}
    runs = texts[RUN_COLUMN].split(BETWEEN)
    others = [texts[name].split(BETWEEN) for name in (DATE_COLUMN, UPSTREAM_COLUMN, PROJECT_COLUMN, SECONDS_COLUMN)]
    if any(len(other) != len(runs) for other in others):
        raise ValueError(f"the row of {texts[FAULT_COLUMN]} has {len(runs)} runs, but not as many dates, commits and"
                         " times")
    found = {}
    for run, date, upstream, project, seconds in zip(runs, *others, strict=True):
        name, _, own = run.partition(TESTS_OF)
        origin = Origin(name, date, upstream, project, None if seconds == NOT_RECORDED else float(seconds))
        found.update(dict.fromkeys([TEST + test for test in own.split()] or tests, origin))
    return found


def check_one_commit(named: Sequence[tuple[str, Matrix]]) -> None:
    """Refuses runs of several commits of sonic-mgmt.

    Args:
        named: where each one is, and what it says.

    Raises:
        Refusal: their tests may judge otherwise, so that they are no one matrix.
    """
    runs = {origin.run for _, matrix in named for origin in matrix.origins}
    by_commit: dict[str, str] = {}
    for name, matrix in named:
        for origin in matrix.origins:
            by_commit.setdefault(origin.upstream, name)
    unsure = [commit for commit in by_commit if commit == NO_GIT or commit.endswith(CHANGED)]
    if unsure and len(runs) > 1:
        raise Refusal(f"--join takes runs of one commit of sonic-mgmt: {by_commit[unsure[0]]} is of a checkout of which"
                      f" it says '{unsure[0]}', so nobody knows whether its files are those of the others")
    if len(by_commit) > 1:
        each = ", ".join(f"{name} is of {commit}" for commit, name in by_commit.items())
        raise Refusal(f"--join takes runs of one commit of sonic-mgmt, whose tests may judge otherwise at another:"
                      f" {each}")


def join(named: Sequence[tuple[str, Matrix]], entries: Sequence[CampaignEntry]) -> Matrix:
    """One matrix of all.

    Args:
        named: where each one is, and what it says.
        entries: the campaign's catalogue: faults are listed in its order, with the cases of this suite that it
            declares for them now.

    Raises:
        Refusal: they are of several commits of sonic-mgmt.
    """
    check_one_commit(named)
    matrices = [matrix for _, matrix in named]
    tests = tuple(dict.fromkeys(test for matrix in matrices for test in matrix.tests))
    known = {row.specification: row for matrix in matrices for row in matrix.rows}
    entry_of = {text: entry for entry in entries if (text := specification(entry))}
    # The good switch, which has no fault, is the first one.
    order = dict.fromkeys(["", *entry_of, *known])
    rows = [_joined(known[fault], entry_of.get(fault), matrices, tests) for fault in order if fault in known]
    left_out = {entry.name: IN_NONE if specification(entry) else NO_PLACE for entry in entries
                if specification(entry) not in known or not specification(entry)}
    return Matrix(tests, tuple(rows), left_out)


def _joined(row: FaultScore, entry: CampaignEntry | None, matrices: Sequence[Matrix],
            tests: Sequence[str]) -> FaultScore:
    """The row of a fault. `row`: one of those that are joined; `entry`: of the catalogue, if the fault is there."""
    cells = {test: [NOTHING, *_found(matrices, row.specification, test)][-1] for test in tests}
    if entry is None:
        return replace(row, cells=cells)
    return FaultScore(entry.name, row.specification, cells, entry.cases, entry.unseen)


def _found(matrices: Sequence[Matrix], fault: str, test: str) -> list[Cell]:
    """What the runs say of a fault by a test: what counts stands last."""
    cells = [row.cells[test] for matrix in matrices for row in matrix.rows
             if row.specification == fault and test in row.cells]
    return sorted(cells, key=lambda cell: (cell.is_measured, cell.origin.order if cell.origin else ""))


def contradictions(named: Sequence[tuple[str, Matrix]], joined: Matrix) -> Iterator[str]:
    """A sentence for each fault and test of which the runs do not say the same.

    Args:
        named: what is joined.
        joined: what came of it.
    """
    for row in joined.rows:
        for test in row.cells:
            found = _found([matrix for _, matrix in named], row.specification, test)
            measured = [cell for cell in found if cell.is_measured]
            if len({cell.result for cell in measured}) > 1:
                each = ", ".join(f"{cell.result} ({cell.origin.date if cell.origin else NOT_RECORDED})"
                                 for cell in measured)
                yield f"{row.shown}, {test}: {each}; the last one counts"
