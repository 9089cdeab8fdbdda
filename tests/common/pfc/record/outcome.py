"""What carrying out a test case came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .case import PlanCase
from .verdict import PortVerdict


@dataclass(frozen=True)
class Outcome:
    """What one scenario found on one port: a verdict for each metric and priority, and the numbers behind them."""

    case: PlanCase
    verdicts: Sequence[PortVerdict]
    evidence: Mapping[str, Any]

    def with_evidence(self, further: Mapping[str, Any]) -> Outcome:
        """The same with further evidence."""
        return replace(self, evidence={**self.evidence, **further})
