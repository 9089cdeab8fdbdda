"""What a chain of switches adds to the core."""

from __future__ import annotations

from dataclasses import replace

from ..lab.option import Option
from ..lab.port_plan import LabFacts, PortPlan
from ..model.errors import QualificationError
from .chain import find_hops, plan_chain


class SwitchChainOption(Option):
    """The switches behind the one under test are planned, and measured by HOP-1."""

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """The plan with the chain that begins at the port under test, where one does; a chain that cannot be measured
        is remarked."""
        duts = {str(dut) for dut in facts.testbed.get("duts", ())}
        links = {device: ports for device, ports in facts.links.items() if device in duts}
        hops = find_hops(plan.state.device, plan.subject.pair.rx.port, links)
        if len(hops) == 1:
            return plan
        try:
            states = {hop.device: facts.state_of(hop.device) for hop in hops[1:]}
            chain = plan_chain(plan.subject, {plan.state.device: plan.state, **states}, hops, facts.ports)
        except QualificationError as error:
            return replace(plan, remarks=(*plan.remarks, str(error)))
        others = tuple(hop.device for hop in hops[1:])
        return replace(plan, others=others, subject=replace(plan.subject, chain=chain))


OPTION = SwitchChainOption()
