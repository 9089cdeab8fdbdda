"""Looks that the cables are sound while a case runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..lab.generator import Generator
from ..lab.lab import Lab
from ..lab.observer import RunObserver
from ..model.checking import Place, error_unless
from ..model.traffic import FlowPlan
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, LOSSY, Check, Status
from .soundness import Soundness, look, unsound

OF_MALFORMED_FRAMES = ("FRAME", "PAIRS")
"""Families that send control frames which are not as the standard has them: a switch may count these as errors."""
OF_LINKS_DOWN = ("FLAP", "TAG-2")
"""Cases that take links of their own ports down: of the bystanders none may go down with them."""


class TakenPorts(RunObserver):
    """Tells when the traffic generators take other ports than before: a chassis may program these anew, and a link go
    down and up meanwhile."""

    def __init__(self, generator: Generator, taking: Callable[[], None], taken: Callable[[], None]) -> None:
        """`taking`, `taken`: are told when it begins, and when it is over."""
        self.generator = generator
        self._taking = taking
        self._taken = taken
        self._ports: set[str] = set()
        self._is_new = False

    def traffic_pushed(self, flows: Iterable[FlowPlan], config: Any, now_s: float) -> None:
        """Other ports, or the same ones."""
        ports = {port.name for port in config.ports}
        differ = ports != self._ports
        if differ and not self._is_new:
            self._taking()
        self._is_new |= differ
        self._ports = ports

    def flows_started(self, flows: Sequence[FlowPlan], now_s: float) -> None:
        """By now they have them."""
        self.settle()

    def settle(self) -> None:
        """They have them, be it that nothing was started."""
        if self._is_new:
            self._taken()
        self._is_new = False


class CableAuditor:
    """Compares what the ends of the cables have counted before a case and after it. What was measured over one that
    spoiled frames, or whose link went down, is no verdict."""

    def __init__(self) -> None:
        """Nothing is known of any cable."""
        self._before: dict[str, Soundness] = {}
        self._seen: dict[str, Soundness] = {}  # in the case, before it was looked away
        self._labs: list[Lab] = []
        self._taking: TakenPorts | None = None
        self._reasons: dict[str, str] = {}  # port under test -> what was wrong with its cables in the case

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins, on this port and perhaps on others of the switch.

        Raises:
            QualificationError: the switch cannot be read.
        """
        self._reasons = {}
        self._labs = [lab, *beside]
        if not lab.clock.exact and (self._taking is None or self._taking.generator is not lab.generator):
            self._taking = TakenPorts(lab.generator, self._look_away, self._look_again)
            lab.generator.observed_by(self._taking)
        self._before = look(self._labs)

    def _look_away(self) -> None:
        """What comes until `_look_again` is not looked at."""
        now = look(self._labs)
        self._seen = {port: now[port].since(before) for port, before in self._before.items()}

    def _look_again(self) -> None:
        """From now on; what was seen before stays seen."""
        now = look(self._labs)
        self._before = {port: now[port].since(seen) for port, seen in self._seen.items()}

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """For each port that was measured over a bad cable a check of each metric, which is ERROR."""
        if self._taking is not None:
            self._taking.settle()
        now = look(labs)
        malformed = case.plan_id.startswith(OF_MALFORMED_FRAMES)
        is_flap = case.plan_id.startswith(OF_LINKS_DOWN)
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
