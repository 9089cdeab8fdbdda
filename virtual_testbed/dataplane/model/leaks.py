"""Faults that let a frame out of a queue now and then while it is shut."""
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from virtual_testbed.dataplane.model.events import LEAK, EventLoop


class LeakingPort(Protocol):
    """The port whose queues leak."""

    def leak_period_ps(self, queue: int) -> int:
        """How often a queue leaks while it is shut (0: never)."""

    def let_out(self, queue: int, now_ps: int) -> None:
        """Let one frame out of a queue."""


class Leaks:
    """The leaks of one port."""

    def __init__(self, port: LeakingPort, loop: EventLoop) -> None:
        self._port = port
        self._loop = loop
        self._running: dict[int, Callable[[int], None]] = {}

    def update(self, gate: int, now_ps: int) -> int:
        """Leaks begin and end with the pause of their queue, or with the fault: the queues that leak, as a mask."""
        for queue in range(8):
            period_ps = self._port.leak_period_ps(queue) if gate >> queue & 1 else 0
            if not period_ps and queue in self._running:
                self._loop.cancel(self._running.pop(queue))
            elif period_ps and queue not in self._running:
                self._running[queue] = self._leak_of(queue, period_ps)
                self._loop.at(now_ps + period_ps, self._running[queue], LEAK)
        return sum(1 << queue for queue in self._running)

    def _leak_of(self, queue: int, period_ps: int) -> Callable[[int], None]:
        def leak(now_ps: int) -> None:
            self._port.let_out(queue, now_ps)
            self._loop.at(now_ps + period_ps, leak, LEAK)
        return leak
