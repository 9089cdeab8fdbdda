"""Why test cases are not PASS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..record.case import PlannedItem
from ..record.collector import VerdictCollector
from ..record.verdict import PortVerdict, Status


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


def reasons(collector: VerdictCollector) -> list[Reason]:
    """Why the test cases of a session are not PASS: those that FAIL first, else in the plan's order."""
    found: dict[tuple[str, str, str], Reason] = {}
    for item, verdict in _not_pass(collector):
        key = item.case.plan_id, verdict.device, verdict.port
        reason = found.setdefault(key, Reason(item.case.plan_id, verdict.status))
        if verdict.status is Status.FAIL and reason.status is Status.ERROR:
            reason = found[key] = Reason(item.case.plan_id, Status.FAIL)
        if verdict.status is reason.status:
            for message in verdict.messages:
                reason.messages.setdefault(message, {})[verdict.metric_name] = None
    return sorted(found.values(), key=lambda reason: reason.status is not Status.FAIL)


def _not_pass(collector: VerdictCollector) -> Iterator[tuple[PlannedItem, PortVerdict]]:
    """Every verdict that is not PASS, with its item."""
    for item in collector.planned:
        for verdict in collector.verdicts_of(item):
            if verdict.status is not Status.PASS:
                yield item, verdict
