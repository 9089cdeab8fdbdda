"""What became of each test, and the table of it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tabulate import tabulate

PASSED = "passed"
FAILED = "failed"
ERROR = "error"
SKIPPED = "skipped"
NOT_RUN = "not run"
RESULTS = (PASSED, FAILED, ERROR, SKIPPED, NOT_RUN)
SUITE_FOLDER = "snappi_tests/"
WIDTH = 70


@dataclass(frozen=True)
class OutcomeRow:
    """What became of a test.

    Attributes:
        test: its path and name, below `tests/`.
        result: one of `RESULTS`.
        reason: why it did not pass; may have several lines.
        seconds: that it took, with its fixtures.
    """

    test: str
    result: str
    reason: str = ""
    seconds: float = 0.0


@dataclass
class UpstreamSession:
    """What pytest's session wrote (`virtual_testbed.sonic_mgmt.outcomes`).

    Attributes:
        planned: the tests that were to run.
        left_out: tests that were not asked for because they restart the switch or its services.
        rows: of those that have ended.
        ended: pytest's exit status; None: it did not come to its end.
    """

    planned: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    rows: dict[str, OutcomeRow] = field(default_factory=dict)
    ended: int | None = None

    def take(self, event: Mapping[str, Any]) -> OutcomeRow | None:
        """Takes a line; returns the row where a test has ended."""
        if "planned" in event:
            self.planned = list(event["planned"])
            self.left_out = list(event["left_out"])
        elif "ended" in event:
            self.ended = int(event["ended"])
        else:
            row = OutcomeRow(event["test"], event["result"], event["reason"], event["seconds"])
            self.rows[row.test] = row
            return row
        return None

    def all_rows(self) -> list[OutcomeRow]:
        """A row for each test that was to run; one that has not ended was not run."""
        return [self.rows.get(test, OutcomeRow(test, NOT_RUN, "the session ended before it")) for test in self.planned]


def short(test: str) -> str:
    """A test's name for the table: without the folder of all of them, and the file's ending."""
    return test.removeprefix(SUITE_FOLDER).replace(".py::", "::")


def one_line(reason: str, width: int = 0) -> str:
    """A reason in one line. `width`: of the longest; 0: as long as it is."""
    words = " ".join(reason.split())
    return words if not width or len(words) <= width else f"{words[:width - 3]}..."


def table(rows: Iterable[OutcomeRow]) -> str:
    """For the terminal: the reason of one that did not pass stands below its name."""
    cells = [[short(row.test), row.result, f"{row.seconds:.0f}", one_line(row.reason, 3 * WIDTH)] for row in rows]
    return tabulate(cells, ["test", "result", "s", "reason"], maxcolwidths=[WIDTH, None, None, WIDTH],
                    colalign=("left", "left", "right", "left"))


def counts(rows: Sequence[OutcomeRow]) -> str:
    """`3 passed, 1 failed of 4`."""
    found = Counter(row.result for row in rows)
    each = ", ".join(f"{found[result]} {result}" for result in RESULTS if found[result])
    return f"{each or 'nothing'} of {len(rows)}"
