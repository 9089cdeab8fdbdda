"""What faults do to a queue now and then while it is shut: they let a frame out, or discard what it holds."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from virtual_testbed.dataplane.model.events import LEAK, EventLoop


class Repetition(NamedTuple):
    """How often something is done to a queue, and when next."""

    period_ps: int
    due_ps: int


class WhileShut:
    """One thing that is done to the queues of one port.

    Args:
        period_ps: how often it is done to a queue while it is shut (0: never).
        act: does it, to a queue at an instant.
        first: the place of queue 0 among all that is done to queues at one instant; the other seven follow.

    Attributes:
        running: by queue.
    """

    def __init__(self, period_ps: Callable[[int], int], act: Callable[[int, int], None], loop: EventLoop,
                 first: int) -> None:
        self.period_ps = period_ps
        self.first = first
        self.running: dict[int, Repetition] = {}
        self._act = act
        self._loop = loop
        self._actions = [partial(self._repeat, queue) for queue in range(8)]

    def update(self, gate: int, now_ps: int) -> int:
        """It begins and ends with the pause of a queue, or with the fault: the queues that it is done to, as a mask."""
        for queue in range(8):
            period_ps = self.period_ps(queue) if gate >> queue & 1 else 0
            if not period_ps:
                self._stop(queue)
            elif queue not in self.running:
                self._expect(queue, Repetition(period_ps, now_ps + period_ps))
        return sum(1 << queue for queue in self.running)

    def restore(self, running: Mapping[int, Repetition]) -> None:
        """Take a state."""
        for queue in range(8):
            found = running.get(queue)
            if found != self.running.get(queue):
                self._stop(queue)
                if found is not None:
                    self._expect(queue, found)

    def _expect(self, queue: int, repetition: Repetition) -> None:
        self.running[queue] = repetition
        self._loop.at(repetition.due_ps, self._actions[queue], LEAK, self.first + queue)

    def _stop(self, queue: int) -> None:
        if self.running.pop(queue, None) is not None:
            self._loop.cancel(self._actions[queue])

    def _repeat(self, queue: int, now_ps: int) -> None:
        self._act(queue, now_ps)
        found = self.running.get(queue)  # what was done may have opened it
        if found is not None:
            self._expect(queue, Repetition(found.period_ps, now_ps + found.period_ps))
