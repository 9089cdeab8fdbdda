"""Test cases of the plan, and what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .verdict import LOSSLESS, LOSSY

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


def named(priorities: Sequence[int]) -> str:
    """`priority 3`, or `priorities 3, 4`."""
    return f"{'priority' if len(priorities) == 1 else 'priorities'} {', '.join(map(str, priorities))}"
