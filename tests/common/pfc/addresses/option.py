"""What given addresses add to the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..lab.clock import Clock
from ..lab.dut import Dut, SwitchState
from ..lab.option import Option
from ..lab.port_plan import LabFacts, PortPlan, PortRequest
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, PortPair
from ..record.case import PlanCase
from .auditor import PortChannelAuditor
from .giving import give, with_addresses
from .port_channels import in_port_channels, lacking


class AddressesOption(Option):
    """A port without an address gets one, where the switch's configuration may be changed; the only member of a
    PortChannel is measured by the addresses of that one."""

    def prepared(
        self, state: SwitchState, pair: PortPair, ports: Sequence[ConnectedPort], asked: PortRequest
    ) -> SwitchState:
        """The switch with the addresses that its ports are going to have."""
        return with_addresses(state, pair, ports, asked)

    def auditor(self) -> PortChannelAuditor:
        """Looks that PortChannels are up."""
        return PortChannelAuditor()

    def lacking(self, case: PlanCase, subject: PortUnderTest) -> str:
        """What a port in a PortChannel lacks for a case."""
        return lacking(case, subject)

    def extend(self, plan: PortPlan, facts: LabFacts) -> PortPlan:
        """The plan of a port that may be in a PortChannel."""
        return replace(plan, subject=in_port_channels(plan.subject, plan.state.config_db))

    def prepare(self, plans: Sequence[PortPlan], dut: Dut, clock: Clock) -> None:
        """Gives those to the ports that are planned with."""
        give(plans, dut, clock)


OPTION = AddressesOption()
