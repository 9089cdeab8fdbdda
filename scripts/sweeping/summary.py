"""What a sweep says at its end: a table, every port that is not PASS, the exit status."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from scripts.sweeping.watch import Part
from scripts.testbeds import shown
from tests.common.pfc.record.verdict import Status

PASS, FAIL, ERROR, REFUSED = 0, 1, 2, 3
HEADERS = ["testbed", "ports", "PASS", "FAIL", "ERROR", "before", "seconds", "verdict"]


def exit_status(parts: Sequence[Part]) -> int:
    """0: every port of all testbeds is PASS; 1: some are FAIL; 2: none is FAIL, but some are ERROR, or have no verdict;
    3: what was asked for was refused on all testbeds, nothing was measured."""
    if parts and all(part.ended is not None and part.ended.refused and not part.tally.done for part in parts):
        return REFUSED
    statuses = {part.status for part in parts}
    if Status.FAIL in statuses:
        return FAIL
    return PASS if statuses == {Status.PASS} else ERROR


def summary(parts: Sequence[Part]) -> str:
    """The table, then a line for each port that is not PASS and each testbed that was not swept to its end."""
    return "\n".join([tabulate([_row(part) for part in parts], headers=HEADERS), *_reasons(parts)])


def _row(part: Part) -> list[object]:
    places = part.tally.places
    verdicts = [part.tally.verdict(place) for place in places]
    counts = [verdicts.count(status) for status in Status]
    return [part.testbed, len(places), *counts, len(part.before), round(part.seconds), part.status.value]


def _reasons(parts: Sequence[Part]) -> Iterator[str]:
    """Each reason once, with the ports that it concerns."""
    for part in parts:
        reasons: dict[tuple[Status, str, str], list[str]] = {}
        for place in part.tally.places:
            verdict = part.tally.verdict(place)
            if verdict is not Status.PASS:
                reasons.setdefault((verdict, place[0], part.tally.cause(place)), []).append(place[1])
        for (verdict, device, cause), ports in reasons.items():
            yield f"{verdict.value} {device} {', '.join(ports)}: {cause}"
        if part.cause:
            yield f"ERROR {part.testbed}: {part.cause} ({shown(part.folder)})"
