"""Steps the traffic of some ports in tables, as far as that is possible."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from virtual_testbed.dataplane.compiled.stepping import step
from virtual_testbed.dataplane.compiled.tables import FURTHER, INSTANTS
from virtual_testbed.dataplane.compiled.transfer import NotCompiled, Transfer
from virtual_testbed.dataplane.events import EventLoop
from virtual_testbed.dataplane.generator import GeneratorSide
from virtual_testbed.dataplane.port import SwitchPort


class Stepper:
    """See the module.

    Args:
        count: told of each reason why nothing was stepped here.

    Attributes:
        instants: how many instants were stepped.
    """

    def __init__(self, loop: EventLoop, count: Callable[[str], None]) -> None:
        self._loop, self._count = loop, count
        self.instants = 0

    def step(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], last_ps: int, most: int) -> bool:
        """Step up to `last_ps`, at most so many instants; False: not at all. The loop's events have to be set anew."""
        try:
            transfer = Transfer(sides, ports, self._loop)
        except NotCompiled as reason:
            self._count(f"not stepped by compiled code: {reason}")
            return False
        step(transfer.tables, last_ps, most)
        transfer.back()
        registers = transfer.tables.registers
        self.instants += int(registers[INSTANTS])
        self._loop.instants += int(registers[INSTANTS])
        self._loop.further += int(registers[FURTHER])
        return True
