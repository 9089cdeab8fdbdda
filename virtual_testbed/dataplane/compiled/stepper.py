"""Steps the traffic of some ports in tables, as far as that is possible, and leaps over cycles."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from virtual_testbed.dataplane.compiled.cycle import cycles_before, leap, sums_of_instants
from virtual_testbed.dataplane.compiled.stepping import step
from virtual_testbed.dataplane.compiled.tables import (BEGAN, INSTANTS, IS_FULL, NONE, NOW, SAMPLES, SLOWEST_FLOW,
                                                       SLOWEST_TRAIN, Tables)
from virtual_testbed.dataplane.compiled.transfer import NotCompiled, Transfer
from virtual_testbed.dataplane.model.events import EventLoop
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.port import SwitchPort

FIRST_SAMPLES = 64
"""States are compared with one that is renewed after so many samples, then after twice as many, and so on."""
NODES_PER_SAMPLE = 64
"""To renew it costs time: after one sample more for so many runs of frames that queues have room for in the tables."""
LONGEST_SAMPLE = 1 << 15
"""Where no sample comes in so many instants, the next flow or train makes them."""


class Stepper:
    """See the module.

    Args:
        count: told of each reason why nothing was stepped here.

    Attributes:
        leaps, cycles, skipped_ps: how often, over how many cycles and over how much time it has leapt.
    """

    def __init__(self, loop: EventLoop, count: Callable[[str], None]) -> None:
        self._loop = loop
        self._count = count
        self.leaps = 0
        self.cycles = 0
        self.skipped_ps = 0

    def step(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], last_ps: int, most: int) -> bool:
        """Step up to `last_ps`, at most so many instants; False: not at all. The loop's events have to be set anew."""
        begin = self._loop.instants
        while self._loop.now_ps < last_ps and self._loop.instants - begin < most:
            try:
                transfer = Transfer(sides, ports, self._loop)
            except NotCompiled as reason:
                self._count(f"not stepped by compiled code: {reason}")
                return self._loop.instants > begin
            self._search(transfer, last_ps, most - (self._loop.instants - begin))
            transfer.back()
        return True

    def _search(self, transfer: Transfer, last_ps: int, most: int) -> None:
        """Step until a table is full, or a cycle was leapt over."""
        found = transfer.tables
        registers = found.registers
        sources = transfer.slowest_first()
        registers[SLOWEST_FLOW], registers[SLOWEST_TRAIN] = sources.pop(0) if sources else (NONE, NONE)
        before = _copy(found)
        samples = FIRST_SAMPLES + found.nodes.size // NODES_PER_SAMPLE
        left = samples
        while registers[NOW] < _last_ps(registers, last_ps) and registers[INSTANTS] < most and not registers[IS_FULL]:
            passed = registers[SAMPLES]
            if step(found, before, _last_ps(registers, last_ps), min(most - registers[INSTANTS], LONGEST_SAMPLE), left):
                cycles = cycles_before(found, before, last_ps)
                if cycles > 0:
                    self.leaps += 1
                    self.cycles += cycles
                    self.skipped_ps += cycles * int(registers[NOW] - before.registers[NOW])
                    transfer.take_sums(*sums_of_instants(found, before, cycles))
                    leap(found, before, cycles)
                return
            passed = registers[SAMPLES] - passed
            left -= passed
            if not passed and sources:
                registers[SLOWEST_FLOW], registers[SLOWEST_TRAIN] = sources.pop(0)
                left = 0
            if not left:
                before = _copy(found)
                samples *= 2
                left = samples


def _last_ps(registers: NDArray[np.int64], last_ps: int) -> int:
    """Up to when may be stepped: a sum of instants, to which each instant adds one at most, stays below 2^62."""
    return min(last_ps, int(registers[BEGAN]) + (1 << 62) // (int(registers[INSTANTS]) + LONGEST_SAMPLE))


def _copy(found: Tables) -> Tables:
    return Tables(*(table.copy() for table in found))
