"""Looks that the cables are sound while a case runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..lab.lab import Lab
from ..model.checking import Place, error_unless
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, LOSSY, Check, Status
from .soundness import Soundness, look, unsound

OF_MALFORMED_FRAMES = ("FRAME", "PAIRS")
"""Families that send control frames which are not as the standard has them: a switch may count these as errors."""
LINKS_DOWN = ("FLAP", "TAG-2")
"""Cases that take links of their own ports down: of the bystanders none may go down with them."""


class CableAuditor:
    """Compares what the ends of the cables have counted before a case and after it. What was measured over one that
    spoiled frames, or whose link went down, is no verdict."""

    def __init__(self) -> None:
        """Nothing is known of any cable."""
        self._before: dict[str, Soundness] = {}
        self._reasons: dict[str, str] = {}  # port under test -> what was wrong with its cables in the case

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins, on this port and perhaps on others of the switch.

        Raises:
            QualificationError: the switch cannot be read.
        """
        self._reasons = {}
        self._before = look([lab, *beside])

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """For each port that was measured over a bad cable a check of each metric, which is ERROR."""
        now = look(labs)
        malformed = case.plan_id.startswith(OF_MALFORMED_FRAMES)
        is_flap = case.plan_id.startswith(LINKS_DOWN)
        for lab in labs:
            ports = [port.port for port in lab.subject.bystanders] if is_flap else lab.subject.ports
            cables = {port: now[port].since(self._before.get(port, now[port])) for port in ports}
            found = [sentence for port, cable in cables.items() for sentence in unsound(port, cable, malformed)]
            self._reasons[lab.port] = "; ".join(found)
        return [_checks(lab, self._reasons[lab.port]) for lab in labs]

    def reconsidered(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> list[Check]:
        """Checks that failed, as ERROR where a cable was bad."""
        reason = self._reasons.get(lab.port, "")
        return [
            replace(check, status=Status.ERROR, seen=f"{check.seen}, and {reason}")
            if reason and check.status is Status.FAIL else check
            for check in checks
        ]

    def explain(self, lab: Lab) -> str:
        """Nothing."""
        return ""


def _checks(lab: Lab, reason: str) -> list[Check]:
    expected = "no frame spoiled on a cable, and no link down"
    places = [Place(lab.subject.where(), metric) for metric in (LOSSLESS, LOSSY)] if reason else []
    return [error_unless("cables-sound", place, False, expected, reason) for place in places]
