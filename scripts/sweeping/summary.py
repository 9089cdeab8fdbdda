"""What a sweep says at its end: a table, every port that is not PASS, the exit status."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from scripts.suite import EXIT_STATUS, REFUSED
from scripts.sweeping.watch import TestbedRun
from scripts.testbeds import shown
from tests.common.pfc.record.verdict import Status, combine

HEADERS = ["testbed", "ports", "PASS", "FAIL", "ERROR", "before", "seconds", "verdict"]


def exit_status(runs: Sequence[TestbedRun]) -> int:
    """0: every port of all testbeds is PASS; 1: some are FAIL; 2: none is FAIL, but some are ERROR, or have no verdict;
    3: what was asked for was refused on all testbeds, nothing was measured."""
    if runs and all(run.ended is not None and run.ended.refused and not run.tally.done for run in runs):
        return REFUSED
    return EXIT_STATUS[combine(run.status for run in runs)]


def summary(runs: Sequence[TestbedRun]) -> str:
    """What was broken on purpose, the table, then a line for each port that is not PASS and each testbed that was not
    swept to its end."""
    broken = [f"deliberately broken: {', '.join(run.tally.faults)} ({run.testbed})" for run in runs if run.tally.faults]
    return "\n".join([*broken, tabulate([_row(run) for run in runs], headers=HEADERS), *_reasons(runs)])


def _row(run: TestbedRun) -> list[object]:
    places = run.tally.places
    verdicts = [run.tally.verdict(place) for place in places]
    counts = [verdicts.count(status) for status in Status]
    return [run.testbed, len(places), *counts, len(run.before), round(run.seconds), run.status.value]


def _reasons(runs: Sequence[TestbedRun]) -> Iterator[str]:
    """Each reason once, with the ports that it concerns."""
    for run in runs:
        reasons: dict[tuple[Status, str, str], list[str]] = {}
        for place in run.tally.places:
            verdict = run.tally.verdict(place)
            if verdict is not Status.PASS:
                reasons.setdefault((verdict, place[0], run.tally.cause(place)), []).append(place[1])
        for (verdict, device, cause), ports in reasons.items():
            yield f"{verdict.value} {device} {', '.join(ports)}: {cause}"
        if run.cause:
            yield f"ERROR {run.testbed}: {run.cause} ({shown(run.folder)})"
