"""What faults do to a queue now and then while it is shut: they let a frame out, or discard what it holds."""
from __future__ import annotations

from collections.abc import Callable

from virtual_testbed.dataplane.model.events import LEAK, EventLoop


class WhileShut:
    """One thing that is done to the queues of one port."""

    def __init__(self, period_ps: Callable[[int], int], act: Callable[[int, int], None], loop: EventLoop) -> None:
        """`period_ps`: how often it is done to a queue while it is shut (0: never); `act`: does it, to a queue at an
        instant."""
        self._period_ps = period_ps
        self._act = act
        self._loop = loop
        self._running: dict[int, Callable[[int], None]] = {}

    def update(self, gate: int, now_ps: int) -> int:
        """It begins and ends with the pause of a queue, or with the fault: the queues that it is done to, as a mask."""
        for queue in range(8):
            period_ps = self._period_ps(queue) if gate >> queue & 1 else 0
            if not period_ps and queue in self._running:
                self._loop.cancel(self._running.pop(queue))
            elif period_ps and queue not in self._running:
                self._running[queue] = self._repeated(queue, period_ps)
                self._loop.at(now_ps + period_ps, self._running[queue], LEAK)
        return sum(1 << queue for queue in self._running)

    def _repeated(self, queue: int, period_ps: int) -> Callable[[int], None]:
        def act(now_ps: int) -> None:
            self._act(queue, now_ps)
            if queue in self._running:  # what was done may have opened it
                self._loop.at(now_ps + period_ps, act, LEAK)
        return act
