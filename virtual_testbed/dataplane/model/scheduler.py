"""Which queue sends next: strict queues first, highest number first; the others by deficit weighted round robin.

The round is forgotten (turn and deficits) when the port has fewer than two eligible DWRR queues to choose from: what
happened before an idle instant then no longer matters. It begins anew with the whole turn of the queue that is alone
(of queue 0, where there is none): one that empties within its turn does not keep the other from having its own. A queue
whose turn comes while it is empty or paused loses its deficit.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from virtual_testbed.dataplane.model.buffer import EgressQueue, Kind
from virtual_testbed.dataplane.model.configuration import SchedulerConfig

BYTES_PER_WEIGHT = 128
"""Bytes a queue may send in a round for each unit of its weight (an assumption: SONiC states ratios only)."""
CONTROL_QUEUE = 7
"""Strict when it has no scheduler of its own, as SONiC leaves it."""


def scheduler_of(schedulers: Mapping[int, SchedulerConfig], queue: int) -> SchedulerConfig:
    """The scheduler of a queue; one without is DWRR of weight 1, queue 7 strict."""
    return schedulers.get(queue, SchedulerConfig("STRICT" if queue == CONTROL_QUEUE else "DWRR"))


class SchedulerSnapshot(NamedTuple):
    """The round of a port. See `EgressScheduler`."""

    turn: int
    deficits: tuple[int, ...]
    fresh: bool


class EgressScheduler:
    """The round of one port.

    Attributes:
        strict: bit mask of strict queues.
        turn: the DWRR queue whose turn it is; `deficits` bytes each queue may still send in its turn.
    """

    __slots__ = ("strict", "turn", "deficits", "quanta", "fresh")

    def __init__(self) -> None:
        self.turn = 0
        self.deficits = [0] * 8
        self.quanta = [BYTES_PER_WEIGHT] * 8
        self.strict = 1 << CONTROL_QUEUE
        self.fresh = False
        self.forget(0)

    def configure(self, schedulers: Mapping[int, SchedulerConfig]) -> None:
        """Take types and weights.

        A change starts the round anew.
        """
        chosen = [scheduler_of(schedulers, queue) for queue in range(8)]
        strict = sum(1 << queue for queue, config in enumerate(chosen) if config.type.upper() == "STRICT")
        quanta = [max(1, config.weight) * BYTES_PER_WEIGHT for config in chosen]
        if (strict, quanta) != (self.strict, self.quanta):
            self.strict = strict
            self.quanta = quanta
            self.fresh = False
            self.forget(0)

    def snapshot(self) -> SchedulerSnapshot:
        """Its state now."""
        return SchedulerSnapshot(self.turn, tuple(self.deficits), self.fresh)

    def restore(self, snapshot: SchedulerSnapshot) -> None:
        """Take a state."""
        self.turn, deficits, self.fresh = snapshot
        self.deficits = list(deficits)

    def forget(self, turn: int) -> None:
        """Start a round anew: queue `turn` has its turn."""
        if not self.fresh or self.turn != turn:
            self.turn = turn
            self.deficits = [0] * 8
            self.deficits[turn] = self.quanta[turn]
            self.fresh = True

    def choose(self, eligible: int, queues: Sequence[EgressQueue[Kind]]) -> int:
        """The queue to send from, of the non-empty mask `eligible`."""
        strict = eligible & self.strict
        if strict:
            return strict.bit_length() - 1
        if not eligible & (eligible - 1):
            queue = eligible.bit_length() - 1
            self.forget(queue)
            return queue
        queue = self.turn
        deficits = self.deficits
        self.fresh = False
        while True:
            if eligible >> queue & 1:
                size = queues[queue].head().frame_bytes
                if deficits[queue] >= size:
                    deficits[queue] -= size
                    self.turn = queue
                    return queue
            else:
                deficits[queue] = 0
            queue = queue + 1 & 7
            deficits[queue] += self.quanta[queue]
