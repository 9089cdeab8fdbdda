"""Looks that the PortChannels of a pair are up: frames that are lost because one is not are no fault of PFC's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..lab.cli_text import interface_states
from ..lab.lab import Lab
from ..model.errors import QualificationError
from ..record.case import PlanCase
from ..record.verdict import Check, Status
from .port_channels import channel_of, single_member_channels


class PortChannelAuditor:
    """Refuses a case while a PortChannel of its pair is down, and doubts what failed where one was at the beginning or
    is afterwards: of each port that is measured, one or several at once."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._were_down: frozenset[str] = frozenset()

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins, on this port and perhaps on others of the switch.

        Raises:
            QualificationError: a PortChannel of the pair is down, or the switch cannot be read.
        """
        self._were_down = _down(lab)
        if own := _own(lab, self._were_down):
            raise QualificationError(f"{lab.subject.where()}: expected {own} up, got down")

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """No checks of its own."""
        return [[] for _ in labs]

    def reconsidered(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> list[Check]:
        """Checks that failed, as ERROR where a PortChannel was or has gone down."""
        has_failed = any(check.status is Status.FAIL for check in checks)
        if not has_failed or not (own := _own(lab, self._were_down | _down(lab))):
            return list(checks)
        return [
            replace(check, status=Status.ERROR, seen=f"{check.seen}, and {own} is down, or was")
            if check.status is Status.FAIL else check
            for check in checks
        ]

    def explain(self, lab: Lab) -> str:
        """Which PortChannel is down, where that may be why the preflight failed."""
        return f"{own} is down" if (own := _own(lab, _down(lab))) else ""


def _down(lab: Lab) -> frozenset[str]:
    """The PortChannels of the switch that ports may be measured in and that are down.

    Raises:
        QualificationError: the switch cannot be read.
    """
    names = single_member_channels(lab.config_db)
    if not names:
        return frozenset()
    states = interface_states(lab.dut.ask({"ports": "show interfaces status"})["ports"])
    return frozenset(name for name in names if name not in states or not states[name].oper_up)


def _own(lab: Lab, down: frozenset[str]) -> str:
    """Those of them that ports of the pair are in, `PortChannel101`; empty: none."""
    pair = lab.subject.pair
    names = (channel_of(lab.config_db, port.port) for port in (pair.rx, pair.tx))
    return ", ".join(name for name in names if name in down)
