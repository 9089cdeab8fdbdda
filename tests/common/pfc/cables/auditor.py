"""Looks that the cables are sound while a case runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..lab.lab import Lab
from ..model.checking import Place, error_unless
from ..model.errors import NoMeasurement
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, Check
from .soundness import Soundness, look, unsound


OF_MALFORMED_FRAMES = ("FRAME", "PAIRS")
"""Families that send control frames which are not as the standard has them: a switch may count these as errors."""


class CableAuditor:
    """Compares what the ends of the cables have counted before a case and after it."""

    def __init__(self) -> None:
        """Nothing is known of any cable."""
        self._before: dict[str, Soundness] = {}

    def begin(self, lab: Lab, others: Sequence[Lab] = ()) -> None:
        """A case begins. `others`: of the ports that are measured at the same time.

        Raises:
            QualificationError: the switch cannot be read.
        """
        self._before = look([lab, *others])

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """No checks beside a case's own.

        Raises:
            NoMeasurement: a cable spoiled frames, or its link went down, while the case ran.
        """
        now = look(labs)
        malformed = case.plan_id.startswith(OF_MALFORMED_FRAMES)
        for lab in labs:
            cables = {port: now[port].since(self._before.get(port, now[port])) for port in lab.subject.ports}
            found = [sentence for port, cable in cables.items() for sentence in unsound(port, cable, malformed)]
            check = error_unless(
                "cables-sound", Place(lab.subject.where(), LOSSLESS), not found,
                "no frame spoiled on a cable, and no link down", "; ".join(found) or "that",
            )
            if found:
                raise NoMeasurement(check)
        return [[] for _ in labs]

    def doubt(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> Sequence[Check]:
        """A case's own checks, as they are."""
        return checks

    def explain(self, lab: Lab) -> str:
        """Nothing."""
        return ""
