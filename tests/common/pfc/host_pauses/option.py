"""What pauses from a host add to the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..lab.option import Option
from ..lab.port_plan import LabFacts, PortPlan
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase
from .applicability import lacking
from .entry import KEY, pause_entry_of
from .pauses import HostInterface


class HostPausesOption(Option):
    """A testbed's entry may name a host that pauses come from."""

    testbed_keys = (KEY,)

    def first_port(self, testbed: Mapping[str, Any]) -> str | None:
        """The first port that the entry has an interface for."""
        entry = pause_entry_of(testbed)
        return None if entry is None else next(iter(entry.ports))

    def pauses_named(self, testbed: Mapping[str, Any]) -> str:
        """The entry's host."""
        entry = pause_entry_of(testbed)
        return "" if entry is None else f"{KEY} names {entry.host}"

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """The plan with the interface for the port under test, and what the verdicts do not say then."""
        entry = pause_entry_of(facts.testbed)
        if entry is None:
            return plan
        pair = plan.subject.pair
        interface = HostInterface(entry.of(pair.rx.port), pair.speed_mbps)
        remark = (
            f"{plan.subject.where()}: pauses come from {interface.where}: how many there were is not compared, only"
            " bounded, and whether the switch forwards them is not looked at"
        )
        subject = replace(plan.subject, pauses_from=interface.where)
        return replace(plan, subject=subject, pauses=interface.open, remarks=(*plan.remarks, remark))

    def lacking(self, case: PlanCase, subject: PortUnderTest) -> str:
        """What a host lacks for a case."""
        return lacking(case, subject)


OPTION = HostPausesOption()
