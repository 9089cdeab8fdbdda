"""The event loop: what happens next, in an order that is the same in every run.

Events of one instant are taken by kind, then by index; idle serializers choose last, so that everything that happens
at an instant is visible to the choice made at it. Two heaps: `heap` holds the recurring traffic, which a cycle skip
shifts as a whole; `timers` holds everything with a date of its own (flow starts and ends, pause frames, pause expiry,
watchdog polls), which bounds a skip.
"""
from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Protocol

Action = Callable[[int], None]
Event = tuple[int, int, int, Action]

CONTROL_AT_GENERATOR, FRAME_SENT, FRAME_RECEIVED, TIMER, FRAME_DUE, POLL = range(6)
"""Kinds, in the order in which the events of one instant are processed."""
NEVER = 1 << 200


class Chooser(Protocol):
    """A serializer that picks its next frame when woken."""

    awake: bool

    def pick(self, now_ps: int) -> None:
        """Start the next frame if there is one and the line is free."""


class EventLoop:
    """Time and what is to come.

    Attributes:
        now_ps: all events at or before this instant are processed (while an event runs: its instant).
        at_section: called with (now, last instant of the span) when `section` was set during an instant.
        after_timer: called after each instant at which a timer fired.
        instants: how many instants were stepped.
    """

    def __init__(self) -> None:
        self.now_ps = 0
        self.heap: list[Event] = []
        self.timers: list[Event] = []
        self.awake: list[Chooser] = []
        self.section = False
        self.at_section: Callable[[int, int], None] = lambda now_ps, last_ps: None
        self.after_timer: Callable[[], None] = lambda: None
        self.instants = 0
        self._last_ps = 0
        self._sequence = 0

    def next_number(self) -> int:
        """A number that orders events of one instant and kind by their creation."""
        self._sequence += 1
        return self._sequence

    def push_traffic(self, event: Event) -> None:
        """Add a recurring event: (instant, kind, index unique among its kind, action)."""
        heappush(self.heap, event)

    def at(self, time_ps: int, action: Action, kind: int = TIMER, index: int = -1) -> None:
        """Run `action` at `time_ps`, a date of its own: no cycle skip moves or crosses it.

        Without an `index` (unique among its kind) it comes after those that have one, in the order of creation.
        """
        heappush(self.timers, (time_ps, kind, index if index >= 0 else (1 << 20) + self.next_number(), action))
        if time_ps <= self._last_ps:
            self._last_ps = time_ps - 1

    def cancel(self, action: Action) -> None:
        """Forget every event that would run `action`."""
        for heap in (self.heap, self.timers):
            kept = [event for event in heap if event[3] != action]
            if len(kept) != len(heap):
                heap[:] = kept
                heapify(heap)

    def wake(self, chooser: Chooser) -> None:
        """Let an idle serializer choose at the end of this instant."""
        if not chooser.awake:
            chooser.awake = True
            self.awake.append(chooser)

    def run(self, until_ps: int) -> None:
        """Process everything at or before `until_ps`."""
        self._choose(self.now_ps)
        timers = self.timers
        while True:
            timer_ps = timers[0][0] if timers else NEVER
            self._last_ps = min(until_ps, timer_ps - 1)
            self._run_traffic()
            if timers and timers[0][0] <= until_ps:
                self._run_instant(timers[0][0])
            elif self._last_ps >= until_ps:
                break
        self.now_ps = until_ps

    def _run_traffic(self) -> None:
        """The hot loop: recurring events up to `_last_ps`, which an event that sets a timer may bring forward."""
        heap, awake, pop = self.heap, self.awake, heappop
        while heap:
            now_ps = heap[0][0]
            if now_ps > self._last_ps:
                return
            self.now_ps = now_ps
            self.instants += 1
            pop(heap)[3](now_ps)
            while heap and heap[0][0] == now_ps:
                pop(heap)[3](now_ps)
            if awake:
                for chooser in awake:
                    chooser.awake = False
                    chooser.pick(now_ps)
                awake.clear()
            if self.section:
                self.section = False
                self.at_section(now_ps, self._last_ps)

    def _run_instant(self, now_ps: int) -> None:
        """One instant with timers: both heaps, in the common order."""
        self.now_ps = now_ps
        self.instants += 1
        heap, timers = self.heap, self.timers
        while True:
            due = [queue for queue in (heap, timers) if queue and queue[0][0] == now_ps]
            if not due:
                break
            heappop(min(due, key=lambda queue: queue[0][:3]))[3](now_ps)
        self._choose(now_ps)
        self.section = False
        self.after_timer()

    def _choose(self, now_ps: int) -> None:
        for chooser in self.awake:
            chooser.awake = False
            chooser.pick(now_ps)
        self.awake.clear()
