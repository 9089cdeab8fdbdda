"""What a session says at its end: the verdict table, why test cases are not PASS, where everything is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tabulate import tabulate

from tests.common.pfc.record.case import PlannedItem
from tests.common.pfc.record.record_file import RECORDS_FILE
from tests.common.pfc.record.verdict import PortVerdict, Status, combine
from tests.snappi_tests.pfc.qualification.files.session import Session

MARKUP = {Status.PASS: {"green": True}, Status.FAIL: {"red": True}, Status.ERROR: {"yellow": True}}
DOCUMENTS = {"records": RECORDS_FILE, "page": "report.html"}
MOST_REASONS = 20
"""Test cases whose reason is printed, so that the table is not buried; the page of the run has every one."""


@dataclass
class Reason:
    """Why a test case is not PASS on a port.

    Attributes:
        plan_id: the test case.
        status: FAIL or ERROR.
        messages: each message once, with the metrics that it concerns.
    """

    plan_id: str
    status: Status
    messages: dict[str, dict[str, None]] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """`FAIL PFC-1 pfc.lossless: vtb-t0-01 Ethernet0 priority 3: expected ... (and 5 more)`."""
        message, metrics = next(iter(self.messages.items()))
        more = f" (and {len(self.messages) - 1} more)" if len(self.messages) > 1 else ""
        return f"{self.status.value} {self.plan_id} {', '.join(metrics)}: {message}{more}"


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
    found = reasons(session)
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


def reasons(session: Session) -> list[Reason]:
    """Why the test cases of a session are not PASS: those that FAIL first, else in the plan's order."""
    found: dict[tuple[str, str, str], Reason] = {}
    for item, verdict in _not_pass(session):
        key = item.case.plan_id, verdict.device, verdict.port
        reason = found.setdefault(key, Reason(item.case.plan_id, verdict.status))
        if verdict.status is Status.FAIL and reason.status is Status.ERROR:
            reason = found[key] = Reason(item.case.plan_id, Status.FAIL)
        if verdict.status is reason.status:
            for message in verdict.messages:
                reason.messages.setdefault(message, {})[verdict.metric_name] = None
    return sorted(found.values(), key=lambda reason: reason.status is not Status.FAIL)


def _not_pass(session: Session) -> Iterator[tuple[PlannedItem, PortVerdict]]:
    """Every verdict that is not PASS, with its item."""
    for item in session.collector.planned:
        for verdict in session.collector.verdicts_of(item):
            if verdict.status is not Status.PASS:
                yield item, verdict
