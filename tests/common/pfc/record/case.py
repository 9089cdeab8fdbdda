"""Test cases of the plan, what they are about, and what carrying one out came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .verdict import LOSSLESS, LOSSY, PortVerdict

Target = tuple[int, ...]  # priorities that a test case is carried out for, ascending; none: for the whole port


@dataclass(frozen=True)
class PlanCase:
    """A test case of the plan.

    Attributes:
        name: its name in records, e.g. `pause-lossless-single`.
        plan_id: its section, e.g. `PFC-1`; what stands before the dash is its family.
        metrics: those that it owes a verdict for.
    """

    name: str
    plan_id: str
    metrics: tuple[str, ...] = (LOSSLESS, LOSSY)

    @property
    def family(self) -> str:
        """`PFC` of `PFC-1`."""
        return self.plan_id.split("-")[0]


def priorities_text(priorities: Sequence[int]) -> str:
    """`priority 3`, or `priorities 3, 4`."""
    return f"{'priority' if len(priorities) == 1 else 'priorities'} {', '.join(map(str, priorities))}"


@dataclass(frozen=True)
class PlannedItem:
    """One item that the session means to run: it must end in a verdict for each metric and each priority of its target
    (none: of the whole port)."""

    device: str
    port: str
    target: Target
    case: PlanCase

    def unmeasured(self, cause: str) -> list[PortVerdict]:
        """Its verdicts where it could not be measured: each is ERROR with this cause."""
        return [PortVerdict(self.device, self.port, priority, metric, [], cause)
                for priority in self.target or (None,) for metric in self.case.metrics]

    @property
    def where(self) -> str:
        """`vtb-t0-01 Ethernet8 priority 3`, for messages."""
        return f"{self.device} {self.port}" + (f" {priorities_text(self.target)}" if self.target else "")


@dataclass(frozen=True)
class Outcome:
    """What one scenario found on one port: a verdict for each metric and priority, and the numbers behind them."""

    case: PlanCase
    verdicts: Sequence[PortVerdict]
    evidence: Mapping[str, Any]

    def with_evidence(self, further: Mapping[str, Any]) -> Outcome:
        """The same with further evidence."""
        return replace(self, evidence={**self.evidence, **further})
