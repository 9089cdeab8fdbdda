"""Looks that the PortChannels of a pair are up: frames that are lost because one is not are no fault of PFC's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..lab.lab import Lab
from ..model.errors import QualificationError
from ..record.case import PlanCase
from ..record.verdict import Check, Status
from .port_channels import SubjectInPortChannels


class PortChannelAuditor:
    """Refuses a case while a PortChannel is down, and doubts what failed where one is afterwards."""

    def begin(self, lab: Lab, others: Sequence[Lab] = ()) -> None:
        """A case begins.

        Raises:
            QualificationError: a PortChannel is down, or the switch cannot be read.
        """
        if down := _down(lab):
            raise QualificationError(f"{lab.subject.where()}: expected {down} up, got down")

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """No checks of its own."""
        return [[] for _ in labs]

    def doubt(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> list[Check]:
        """Checks that failed, as ERROR where a PortChannel has gone down."""
        has_failed = any(check.status is Status.FAIL for check in checks)
        if not has_failed or not (down := _down(lab)):
            return list(checks)
        return [
            replace(check, status=Status.ERROR, seen=f"{check.seen}, and {down} is down")
            if check.status is Status.FAIL else check
            for check in checks
        ]

    def explain(self, lab: Lab) -> str:
        """Which PortChannel is down, where that may be why the preflight failed."""
        return f"{down} is down" if (down := _down(lab)) else ""


def _down(lab: Lab) -> str:
    """The PortChannels of the pair that are down, `PortChannel101`; empty: none.

    Raises:
        QualificationError: the switch cannot be read.
    """
    if not isinstance(lab.subject, SubjectInPortChannels):
        return ""
    names = lab.subject.port_channels
    said = lab.dut.ask({name: f"sonic-db-cli APPL_DB HGET LAG_TABLE:{name} oper_status" for name in names})
    return ", ".join(name for name in names if said[name].strip() != "up")
