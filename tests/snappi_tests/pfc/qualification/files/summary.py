"""What a session says at its end: the verdict table, why test cases are not PASS, where everything is.

This is a pytest plugin, which `conftest.py` registers where the option `summary` is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tabulate import tabulate

from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.record.record_file import RECORDS_FILE
from tests.common.pfc.record.verdict import Status, combine
from tests.common.pfc.summary.not_carried_out import impossible
from tests.common.pfc.summary.not_spoken_for import not_spoken_for
from tests.common.pfc.summary.reasons import reasons
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.session import Session
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY

MARKUP = {Status.PASS: {"green": True}, Status.FAIL: {"red": True}, Status.ERROR: {"yellow": True}}
DOCUMENTS = {"records": RECORDS_FILE, "page": "report.html"}
MOST_REASONS = 20
"""Test cases whose reason is printed, so that the table is not buried; the page of the run has every one."""


class Summing(Extension):
    """Tells what the verdicts of the session speak for."""

    def not_spoken_for(self) -> Mapping[str, str]:
        """What was not selected is noted for the user, too."""
        session = self._session
        said = not_spoken_for(session.collector.planned, session.cases, session.plan)
        session.notes += said.notes
        return said.info


def extend(config: Any) -> Summing:
    """The session's."""
    return Summing(config.stash[SESSION_KEY], config.getoption)


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """The verdict table. Where nothing is measured: which test cases have no item, and why."""
    ours = config.stash[SESSION_KEY]
    if ours.began:
        write_summary(terminalreporter, ours)
    elif ours.plan:
        for note in impossible([case for case in ours.cases if case in port_cases()], ours.plan.subject):
            terminalreporter.write_line(f"note: {note}")


def write_summary(terminal: Any, session: Session) -> None:
    """Prints the summary, and where everything is.

    Args:
        terminal: pytest's terminal reporter.
        session: its verdicts.
    """
    terminal.section("PFC verdicts")
    for line, status in summary_lines(session):
        terminal.write_line(line, **(MARKUP[status] if status else {}))
    for what, name in DOCUMENTS.items():
        if (session.folder / name).is_file():
            terminal.write_line(f"{what}: {session.folder / name}")


def summary_lines(session: Session) -> Iterator[tuple[str, Status | None]]:
    """What was broken on purpose, one row for each device, port and metric, the first reason of each test case that is
    not PASS, notes, what the failed checks come to: each line, with the verdict that it is about."""
    yield from ((line, None) for line in fault_lines(session))
    results = session.collector.metric_verdicts()
    rows = [[result.device, result.port, result.metric_name, result.status.value] for result in results]
    table = tabulate(rows, headers=["device", "port", "metric", "verdict"]) if rows else "nothing was measured"
    yield from ((line, None) for line in table.splitlines())
    found = reasons(session.collector)
    yield from ((reason.line, reason.status) for reason in found[:MOST_REASONS])
    if len(found) > MOST_REASONS:
        more = found[MOST_REASONS:]
        yield f"... and {len(more)} test cases more that are not PASS", combine(reason.status for reason in more)
    for note in session.notes:
        yield f"note: {note}", None
    for sentence in session.conclusions:
        yield f"diagnosis: {sentence}", Status.FAIL


def fault_lines(session: Session) -> list[str]:
    """`deliberately broken: pause-ignored@Ethernet0`, so that nobody takes the verdicts for a switch's own; none where
    nothing was broken on purpose."""
    return [f"deliberately broken: {', '.join(session.faults)}"] if session.faults else []
