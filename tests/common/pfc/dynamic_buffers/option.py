"""What dynamic buffers add to the core."""

from __future__ import annotations

from ..lab.dut import Dut, SwitchState
from ..lab.option import Option
from .pools import with_pools_in_effect


class DynamicBuffersOption(Option):
    """Pools without a size in CONFIG_DB have the one that the switch gives them."""

    def in_effect(self, dut: Dut, state: SwitchState) -> SwitchState:
        """The switch with the sizes of its pools."""
        return with_pools_in_effect(dut, state)


OPTION = DynamicBuffersOption()
