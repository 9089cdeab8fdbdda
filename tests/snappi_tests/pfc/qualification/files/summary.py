"""The verdict table at the end of a session."""

from __future__ import annotations

from typing import Any

from tabulate import tabulate

from tests.common.pfc.record.verdict import MetricVerdict, Status
from tests.snappi_tests.pfc.qualification.files.session import Session

MARKUP = {Status.PASS: {"green": True}, Status.FAIL: {"red": True}, Status.ERROR: {"yellow": True}}


def write_summary(terminal: Any, session: Session) -> None:
    """Prints one row for each device, port and metric, every reason for not being PASS, and where the records are.

    Args:
        terminal: pytest's terminal reporter.
        session: its verdicts.
    """
    results = session.collector.metric_verdicts()
    terminal.section("PFC verdicts")
    rows = [[result.device, result.port, result.metric_name, result.status.value] for result in results]
    terminal.write_line(
        tabulate(rows, headers=["device", "port", "metric", "verdict"]) if rows else "nothing was measured"
    )
    for message, concerned in _by_message(results).items():
        metrics = ", ".join(result.metric_name for result in concerned)
        status = concerned[0].status
        terminal.write_line(f"{status.value} {metrics}: {message}", **MARKUP[status])
    for note in session.notes:
        terminal.write_line(f"note: {note}")
    terminal.write_line(f"records: {session.folder / 'records.jsonl'}")


def _by_message(results: list[MetricVerdict]) -> dict[str, list[MetricVerdict]]:
    """Each reason once, with the metrics that it concerns."""
    reasons: dict[str, list[MetricVerdict]] = {}
    for result in results:
        for message in result.messages:
            reasons.setdefault(message, []).append(result)
    return reasons
