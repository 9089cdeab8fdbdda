"""What the replacement of a T1 adds to the core."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..lab.dut import SwitchState
from ..lab.option import Option
from ..lab.port_plan import LabFacts, PortPlan
from .choose import KEY, choose_device


class ReplacementOption(Option):
    """A testbed's entry may name the switches that replace a T1."""

    def measured(self, facts: LabFacts, device: str) -> SwitchState:
        """A T1's replacement, any other device itself."""
        return choose_device(facts.testbed, device, facts.state_of, facts.ports, facts.links)

    def replaced(self, testbed: Mapping[str, Any]) -> Collection[str]:
        """Those that the entry names a replacement of; one that is wrong is refused when it is used."""
        named = testbed.get(KEY)
        return named if isinstance(named, Mapping) else ()

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """The plan, with a remark where the switch stands for another one."""
        if plan.on_behalf_of is None:
            return plan
        measured = f"{plan.state.device} is measured on its behalf, a T0 of its model and build"
        return replace(plan, remarks=(f"{plan.on_behalf_of} is a T1: {measured}", *plan.remarks))


OPTION = ReplacementOption()
