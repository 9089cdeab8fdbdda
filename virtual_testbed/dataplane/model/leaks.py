"""Faults that let a frame out of a queue now and then while it is shut."""
from __future__ import annotations

from collections.abc import Callable

from virtual_testbed.dataplane.model.events import LEAK, EventLoop


class Leaks:
    """The leaks of one port.

    Args:
        period_ps: how often a queue leaks, 0: never.
        let_out: lets a frame out of a queue, now.
    """

    def __init__(self, period_ps: Callable[[int], int], let_out: Callable[[int, int], None], loop: EventLoop) -> None:
        self.period_ps, self._let_out, self._loop = period_ps, let_out, loop
        self._running: dict[int, Callable[[int], None]] = {}

    def update(self, gate: int, now_ps: int) -> int:
        """Leaks begin and end with the pause of their queue, or with the fault: the queues that leak, as a mask."""
        for queue in range(8):
            period_ps = self.period_ps(queue) if gate >> queue & 1 else 0
            if not period_ps and queue in self._running:
                self._loop.cancel(self._running.pop(queue))
            elif period_ps and queue not in self._running:
                self._running[queue] = self._leak_of(queue, period_ps)
                self._loop.at(now_ps + period_ps, self._running[queue], LEAK)
        return sum(1 << queue for queue in self._running)

    def _leak_of(self, queue: int, period_ps: int) -> Callable[[int], None]:
        def leak(now_ps: int) -> None:
            self._let_out(queue, now_ps)
            self._loop.at(now_ps + period_ps, leak, LEAK)
        return leak
