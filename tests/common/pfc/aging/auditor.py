"""Looks that nothing but the switch's own fault drops the frames that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..lab.dut import Dut
from ..lab.lab import Lab
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, Check, Status
from .switching import AgingSwitch

OF_HELD_FRAMES = {
    "held-frames-drained": "",
    "held-within-buffer": "",
    "no-port-drops": "",
    "no-queue-drops": "",
    "nothing-lost": "HEAD",
    "headroom-full": "",
    "xoff-threshold": "",
    "group-drops-counted": "",
}
"""Checks of lossless priorities that fail where held frames are dropped: with what leaves the buffer more comes in, and
a queue that is emptied does not fill. Each with the family in which it is about held frames; empty: in all."""


class AgingAuditor:
    """Switches off what drops held frames, before each case: a part of the switch that has started anew meanwhile has
    it on again. Where it cannot, a check of held frames that fails says nothing."""

    def __init__(self) -> None:
        """Nothing is known of any switch."""
        self._switches: dict[str, AgingSwitch] = {}
        self._reasons: dict[str, str] = {}

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins: no switch that it goes through drops held frames, so far as it can be told.

        Raises:
            QualificationError: a switch cannot be read, or is not this run's any more.
        """
        for dut in (lab.dut, *lab.others.values()):
            self._reasons[dut.name] = self._switch(dut).switch_off(dut)

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """No checks of its own."""
        return [[] for _ in labs]

    def reconsidered(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> list[Check]:
        """Checks of held frames that failed, as ERROR where they may have been dropped by what could not be switched
        off."""
        names = (lab.dut.name, *(dut.name for dut in lab.others.values()))
        reasons = [f"{name}: {self._reasons[name]}" for name in names if self._reasons.get(name)]
        if not reasons:
            return list(checks)
        return [_doubted(check, reasons[0]) if _is_of_held_frames(check, case) else check for check in checks]

    def explain(self, lab: Lab) -> str:
        """Nothing: no frame is held in a preflight."""
        return ""

    def _switch(self, dut: Dut) -> AgingSwitch:
        if dut.name not in self._switches:
            self._switches[dut.name] = AgingSwitch(dut)
        return self._switches[dut.name]


def _is_of_held_frames(check: Check, case: PlanCase) -> bool:
    family = OF_HELD_FRAMES.get(check.name)
    return family is not None and check.metric_name == LOSSLESS and case.plan_id.startswith(family)


def _doubted(check: Check, reason: str) -> Check:
    """A check that failed, as one that could not be made."""
    if check.status is not Status.FAIL:
        return check
    return replace(check, status=Status.ERROR, seen=f"{check.seen}, where held frames may be dropped: {reason}")
