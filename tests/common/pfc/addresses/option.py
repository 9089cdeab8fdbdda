"""What given addresses add to the core."""

from __future__ import annotations

from collections.abc import Sequence

from ..lab.clock import Clock
from ..lab.dut import Dut, SwitchState
from ..lab.option import Option
from ..lab.port_plan import PortPlan, PortRequest
from ..model.ports import ConnectedPort, PortPair
from .giving import give, with_addresses


class AddressesOption(Option):
    """A port without an address gets one, where the switch's configuration may be changed."""

    def prepared(
        self, state: SwitchState, pair: PortPair, ports: Sequence[ConnectedPort], asked: PortRequest
    ) -> SwitchState:
        """The switch with the addresses that its ports are going to have."""
        return with_addresses(state, pair, ports, asked)

    def prepare(self, plans: Sequence[PortPlan], dut: Dut, clock: Clock) -> None:
        """Gives those to the ports that are planned with."""
        give(plans, dut, clock)


OPTION = AddressesOption()
