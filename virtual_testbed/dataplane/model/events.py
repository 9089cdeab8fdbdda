"""The event loop: what happens next, in an order that is the same in every run.

Events of one instant are taken by kind, then by index; idle lines choose last, so that everything that happens
at an instant is visible to the choice made at it. Two heaps: `heap` holds the traffic, every event of which follows
from the state of the part that it belongs to, so that a skip can forget and rebuild it; `timers` holds everything with
a date of its own (flow starts and ends, watchdog polls), which bounds a skip.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Protocol

Action = Callable[[int], None]
Event = tuple[int, int, int, Action]

(ONSET, CONTROL_AT_GENERATOR, FRAME_SENT, FRAME_RECEIVED, PAUSE_ACTS, PAUSE_ENDS, TIMER, CONTROL_DUE, FRAME_DUE, LEAK,
 POLL) = range(11)
"""Kinds, in the order in which the events of one instant are processed."""
NEVER = 1 << 200
COMPILED_EVENTS_PER_EVENT = 64
"""Events that compiled code steps in the time in which this loop steps one."""


class Exhausted(Exception):
    """A watcher ends a run between two instants: what was allowed for it has been stepped."""


class Chooser(Protocol):
    """A line's sender, which picks its next frame when woken."""

    awake: bool

    def pick(self, now_ps: int) -> None:
        """Start the next frame if there is one and the line is free."""


class Watcher:
    """Observes the loop and the traffic, and may do faster what the loop is about to do; this one does nothing."""

    def flows_changed(self) -> None:
        """A flow began or ended."""

    def holds_changed(self) -> None:
        """PFC holds other flows than before."""

    def pause_decided(self, line: object, now_ps: int) -> None:
        """The sender of a line has decided on XOFF or XON."""

    def at_sample(self, now_ps: int, last_ps: int) -> None:
        """The sampled flow put a frame on its line at this instant, which is over; the span ends at `last_ps`."""

    def before_span(self, last_ps: int) -> None:
        """A span in which no timer fires is about to be stepped."""

    def at_check(self, last_ps: int) -> None:
        """`check_in` more instants were stepped; the span ends at `last_ps`."""

    def before_timers(self) -> None:
        """Timers are about to fire, not all of them watchdog polls."""

    def before_change(self) -> None:
        """A poll is about to change something."""


@dataclass
class Strand:
    """Traffic that can be advanced on its own: its events, how far it has got, and who watches it."""

    watcher: Watcher
    now_ps: int = 0
    check_in: int = 0
    sampled: object = None
    heap: list[Event] = field(default_factory=list)
    awake: list[Chooser] = field(default_factory=list)

    def begin(self, now_ps: int, check_in: int) -> None:
        """Go on from an instant; the watcher is asked to check after so many."""
        self.now_ps = now_ps
        self.check_in = check_in


class EventLoop:
    """Time and what is to come.

    Attributes:
        now_ps: all events at or before this instant are processed (while an event runs: its instant).
        watcher: who is told of what comes; `check_in` instants until it is asked to check.
        sampled: the flow of whose frames the watcher is told; `has_sample`: it sent one at this instant.
        instants: how many instants were stepped, `further` traffic events beside the first of each; `compiled_events`
            those of both that compiled code has stepped.
    """

    def __init__(self) -> None:
        self.now_ps = 0
        self.heap: list[Event] = []
        self.timers: list[Event] = []
        self.awake: list[Chooser] = []
        self.sampled: object = None
        self.has_sample = False
        self.watcher = Watcher()
        self.check_in = 0
        self.instants = 0
        self.further = 0
        self.compiled_events = 0
        self._last_ps = 0
        self._proven = 0
        self._sequence = 0

    def push_traffic(self, event: Event) -> None:
        """Add a traffic event: (instant, kind, index unique among its kind, action)."""
        heappush(self.heap, event)

    def at(self, time_ps: int, action: Action, kind: int = TIMER, index: int | None = None) -> None:
        """Run `action` at `time_ps`, a date of its own: no skip moves or crosses it. Of one kind by index, unique among
        it, or first set first."""
        self._sequence += 1
        heappush(self.timers, (time_ps, kind, self._sequence if index is None else index, action))
        if time_ps <= self._last_ps:
            self._last_ps = time_ps - 1

    def cancel(self, action: Action) -> None:
        """Forget every timer that would run `action`."""
        kept = [event for event in self.timers if event[3] != action]
        if len(kept) != len(self.timers):
            self.timers[:] = kept
            heapify(self.timers)

    def wake(self, chooser: Chooser) -> None:
        """Let an idle line choose at the end of this instant."""
        if not chooser.awake:
            chooser.awake = True
            self.awake.append(chooser)

    def attach(self, watcher: Watcher) -> None:
        """Have the loop watched from now on."""
        self.watcher = watcher

    def check_after(self, instants: int) -> None:
        """Ask the watcher to check when so many more instants were stepped."""
        self.check_in = instants

    def sample(self, flow: object) -> None:
        """Tell the watcher from now on when this flow puts a frame on its line (None: of no flow)."""
        self.sampled = flow

    def forget_traffic(self) -> None:
        """Forget every traffic event; those that follow from the state of the parts are set anew afterwards."""
        self.heap.clear()
        for chooser in self.awake:
            chooser.awake = False
        self.awake.clear()

    def move_to(self, now_ps: int) -> None:
        """Stand at another instant: the state of all parts has been brought there."""
        self.now_ps = now_ps

    @property
    def events(self) -> int:
        """How many events of traffic were stepped."""
        return self.instants + self.further

    def count_compiled(self, instants: int, further: int) -> None:
        """Count what compiled code has stepped in place of the loop."""
        self.instants += instants
        self.further += further
        self.compiled_events += instants + further

    @property
    def work(self) -> int:
        """What stepping has cost so far, in events that this loop has stepped itself."""
        return self.events - self.compiled_events + self.compiled_events // COMPILED_EVENTS_PER_EVENT

    @property
    def cost(self) -> int:
        """As `work`, with what it has cost to look for steady states."""
        return self.work + self._proven

    def count_proof(self, events: int) -> None:
        """Count that a steady state was looked for, in events that could have been stepped meanwhile."""
        self._proven += events

    @property
    def next_timer_ps(self) -> int:
        """The next date that a skip may not cross."""
        return self.timers[0][0] if self.timers else NEVER

    @property
    def next_change_ps(self) -> int:
        """The next date at which something changes for certain; polls tell before they change anything."""
        return min((event[0] for event in self.timers if event[1] != POLL), default=NEVER)

    def run(self, until_ps: int) -> None:
        """Process everything at or before `until_ps`."""
        while self.heap and self.heap[0][0] <= self.now_ps:  # what a command has made due at this very instant
            heappop(self.heap)[3](self.now_ps)
        self._choose(self.now_ps)
        while True:
            timer_ps = self.next_timer_ps
            self._last_ps = min(until_ps, timer_ps - 1)
            self.watcher.before_span(self._last_ps)
            self._run_traffic()
            if self.next_timer_ps <= min(until_ps, self._last_ps + 1):  # one that ended the span may be gone
                self._run_instant(self.next_timer_ps)
            elif self._last_ps >= until_ps:
                break
        self.now_ps = until_ps

    def rerun(self, until_ps: int, whole: bool) -> None:
        """Step traffic up to `until_ps`, unwatched; not `whole`: as far as a poll at that instant sees it."""
        last_ps = self._last_ps
        check_in = self.check_in
        self._last_ps = until_ps if whole else until_ps - 1
        self.check_in = NEVER
        self._run_traffic()
        while not whole and self.heap and self.heap[0][0] == until_ps:
            heappop(self.heap)[3](until_ps)
        self.now_ps = until_ps
        self.check_in = check_in
        self.has_sample = False
        self._last_ps = min(last_ps, self.next_timer_ps - 1)

    @contextmanager
    def apart(self, strand: Strand) -> Iterator[None]:
        """Work on the traffic of a strand for a while, and on nothing else."""
        mine = Strand(self.watcher, self.now_ps, self.check_in, self.sampled, self.heap, self.awake)
        last_ps = self._last_ps
        has_sample = self.has_sample
        self._take(strand)
        try:
            yield
        finally:
            strand.begin(self.now_ps, self.check_in)
            strand.sampled = self.sampled
            self._take(mine)
            self._last_ps = min(last_ps, self.next_timer_ps - 1)
            self.has_sample = has_sample

    def run_apart(self, strand: Strand, until_ps: int) -> None:
        """Process the traffic of a strand up to `until_ps`, before which no timer may fire or be set."""
        with self.apart(strand):
            self._last_ps = until_ps
            self.watcher.before_span(until_ps)
            self._run_traffic()
            self.now_ps = until_ps

    def _take(self, strand: Strand) -> None:
        self.watcher = strand.watcher
        self.now_ps = strand.now_ps
        self.check_in = strand.check_in
        self.sampled = strand.sampled
        self.heap = strand.heap
        self.awake = strand.awake

    def _run_traffic(self) -> None:
        """The hot loop: traffic up to `_last_ps`, which an event that sets a timer may bring forward."""
        heap = self.heap
        awake = self.awake
        pop = heappop
        while heap:
            now_ps = heap[0][0]
            if now_ps > self._last_ps:
                return
            self.now_ps = now_ps
            self.instants += 1
            pop(heap)[3](now_ps)
            while heap and heap[0][0] == now_ps:
                self.further += 1
                pop(heap)[3](now_ps)
            if awake:
                for chooser in awake:
                    chooser.awake = False
                    chooser.pick(now_ps)
                awake.clear()
            self.check_in -= 1
            if self.has_sample:
                self.has_sample = False
                self.watcher.at_sample(now_ps, self._last_ps)
            if self.check_in < 0:
                self.watcher.at_check(self._last_ps)

    def _run_instant(self, now_ps: int) -> None:
        """One instant with timers: both heaps, in the common order."""
        if any(time_ps == now_ps and kind != POLL for time_ps, kind, _, _ in self.timers):
            self.watcher.before_timers()
        self.now_ps = now_ps
        self.instants += 1
        heap = self.heap
        timers = self.timers
        while True:
            due = [queue for queue in (heap, timers) if queue and queue[0][0] == now_ps]
            if not due:
                break
            heappop(min(due, key=lambda queue: queue[0][:3]))[3](now_ps)
        self._choose(now_ps)
        self.has_sample = False

    def _choose(self, now_ps: int) -> None:
        for chooser in self.awake:
            chooser.awake = False
            chooser.pick(now_ps)
        self.awake.clear()
