"""What the replacement of a T1 adds to the core."""

from __future__ import annotations

from dataclasses import replace

from ..lab.dut import SwitchState
from ..lab.option import Option
from ..lab.port_plan import LabFacts, PortPlan
from .choose import choose_device


class ReplacementOption(Option):
    """A testbed's entry may name the switches that replace a T1."""

    def measured(self, facts: LabFacts, device: str) -> SwitchState:
        """A T1's replacement, any other device itself."""
        return choose_device(facts.testbed, device, facts.state_of, facts.ports, facts.links)

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """The plan, with a remark where the switch stands for another one."""
        if plan.on_behalf_of is None:
            return plan
        measured = f"{plan.state.device} is measured on its behalf, a T0 of its model and build"
        return replace(plan, remarks=(f"{plan.on_behalf_of} is a T1: {measured}", *plan.remarks))


OPTION = ReplacementOption()
