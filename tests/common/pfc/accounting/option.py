"""What accounting adds to the core."""

from __future__ import annotations

from collections.abc import Sequence

from ..lab.option import Option
from ..lab.port_plan import LabFacts, PortPlan
from ..model.measurement import PortUnderTest
from ..model.traffic import FlowPlan
from .auditor import BookAuditor
from .bystanders import bystander_flows, flows_beside, with_bystanders


class AccountingOption(Option):
    """Every counter of the switch is explained by what was sent, and light traffic of other ports is left alone."""

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """The plan with the ports of that traffic."""
        return with_bystanders(plan, facts.ports)

    def flows_beside(self, subject: PortUnderTest, flows: Sequence[FlowPlan] | None = None) -> Sequence[FlowPlan]:
        """Light traffic of all priorities between these ports."""
        return bystander_flows(subject) if flows is None else flows_beside(subject, flows)

    def auditor(self) -> BookAuditor:
        """Audits the cases of a port."""
        return BookAuditor()


OPTION = AccountingOption()
