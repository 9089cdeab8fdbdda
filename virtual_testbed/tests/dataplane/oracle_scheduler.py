"""The oracle's scheduler: strict queues first, then deficit round robin."""
from __future__ import annotations

from collections.abc import Mapping

from virtual_testbed.dataplane.model.configuration import SchedulerConfig


Served = list[tuple[bool, int]]
"""By queue whether it goes before all others, and its weight."""


class Round:
    """The round of a port: whose turn it is, and the bytes each queue may still send (none before the first round)."""

    def __init__(self) -> None:
        self.turn = 0
        self.deficits: list[int] = []

    def choose(self, heads: Mapping[int, int], ways: Served) -> int | None:
        """The queue to send from; `heads` are the bytes of the first frame of each queue that may send."""
        strict = [n for n in heads if ways[n][0]]
        if strict:
            return max(strict)
        if len(heads) < 2:
            only = next(iter(heads), None)
            self.begin(only or 0, ways)
            return only
        if not self.deficits:
            self.begin(0, ways)
        while self.deficits[self.turn] < heads.get(self.turn, 1 << 62):
            if self.turn not in heads:
                self.deficits[self.turn] = 0
            self.turn = (self.turn + 1) % 8
            self.deficits[self.turn] += 128 * ways[self.turn][1]
        self.deficits[self.turn] -= heads[self.turn]
        return self.turn

    def begin(self, turn: int, ways: Served) -> None:
        """A queue has its whole turn, as the first of a round."""
        self.turn = turn
        self.deficits = [128 * weight if queue == turn else 0 for queue, (_, weight) in enumerate(ways)]


def is_strict(queue: int, schedulers: Mapping[int, SchedulerConfig]) -> bool:
    """Whether a queue goes before all others; queue 7 does when nothing is configured."""
    return schedulers[queue].type.upper() == "STRICT" if queue in schedulers else queue == 7


def served(schedulers: Mapping[int, SchedulerConfig]) -> Served:
    """How the queues of a healthy port are served."""
    return [(is_strict(queue, schedulers), max(1, schedulers[queue].weight) if queue in schedulers else 1)
            for queue in range(8)]
