"""What dynamic buffers add to the core."""

from __future__ import annotations

from collections.abc import Callable

from ..lab.dut import Dut, SwitchState
from ..lab.option import Option
from .pools import with_pools_in_effect


class DynamicBuffersOption(Option):
    """Pools without a size in CONFIG_DB have the one that the switch gives them."""

    def state(self, dut: Dut, read: Callable[[], SwitchState]) -> SwitchState:
        """With the sizes of its pools."""
        return with_pools_in_effect(dut, read())


OPTION = DynamicBuffersOption()
