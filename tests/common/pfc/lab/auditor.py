"""What an option looks on the cases of ports with, from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..record.case import PlanCase
from ..record.verdict import Check
from .lab import Lab


class Auditor(Protocol):
    """Looks on cases, one after the other."""

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins, on other ports of the switch (`beside`) at once.

        Raises:
            QualificationError: the switch cannot be read.
        """

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> Sequence[list[Check]]:
        """A measurement has ended: further checks of each port that it measured, ERROR for what cannot be looked at.
        Raises NoMeasurement where it turns out to be none."""

    def doubt(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> Sequence[Check]:
        """Checks of a port: ERROR instead of FAIL where that is not known to be the switch's fault."""

    def explain(self, lab: Lab) -> str:
        """What the preflight of the port failed for, if more can be said of it than it says; else nothing."""
