"""Time, cables and line ends of the oracle: every event has an instant and a place in the order of that instant.

The order of events at one instant is that of docs/data-plane.md; timers follow its list from left to right.
"""
from __future__ import annotations

import bisect
import heapq
from collections.abc import Collection, Callable, Mapping
from dataclasses import dataclass
from typing import Any

AT_GENERATOR, SENT, AT_SWITCH, TIMER, DUE, POLL = range(1, 7)
EFFECT, EXPIRY, FLOW_END, FLOW_START, CONTROL_DUE, FAULT = range(6)
"""Order of the timers of one instant."""
GENERATOR_INDEX = 1 << 20
"""Places of generator ports come after those of all switch ports."""
OVERHEAD_BYTES, FCS_BYTES = 20, 4
Event = tuple[int, int, int, int, Callable[[], None]]


class Clock:
    """The present instant and what is still to happen.

    Attributes:
        now: picoseconds.
        steps: events done so far.
    """

    def __init__(self) -> None:
        self.now = self.steps = 0
        self._events: list[Event] = []
        self._wanting: dict[LineEnd, None] = {}
        self._planned = 0

    def at(self, time: int, stage: int, index: int, what: Callable[[], None]) -> None:
        """Plan an event; those of one instant come by stage, then index, then in the order of planning."""
        self._planned += 1
        heapq.heappush(self._events, (time, stage, index, self._planned, what))

    def want(self, line: LineEnd) -> None:
        """Let an idle line choose at the end of this instant."""
        self._wanting[line] = None

    def run(self, until: int) -> None:
        """Do everything at or before `until`."""
        events = self._events
        while True:
            if self._wanting and not (events and events[0][0] <= self.now):
                self._let_choose()
            elif events and events[0][0] <= until:
                self.now, _, _, _, what = heapq.heappop(events)
                self.steps += 1
                what()
            else:
                break
        self.now = until

    def _let_choose(self) -> None:
        lines, self._wanting = list(self._wanting), {}
        for line in lines:
            line.choose()


@dataclass(eq=False)
class Cable:
    """A cable between two line ends; `epoch` counts how often it went down (what was on it then never arrives)."""

    speed_mbps: int
    length_m: int
    up: bool = False
    epoch: int = 0

    @property
    def byte(self) -> int:
        """Picoseconds of one byte."""
        return 8_000_000 // self.speed_mbps

    @property
    def delay(self) -> int:
        """Picoseconds from one end to the other."""
        return self.length_m * 5000

    def time(self, size: int) -> int:
        """Picoseconds that a frame is on it."""
        return (size + OVERHEAD_BYTES) * self.byte


@dataclass(eq=False)
class ControlItem:
    """A MAC control frame waiting for its line: bytes before the FCS, what its last bit means to its sender, its place
    among those that join at the same instant, and the flow it is of.
    """

    data: bytes
    fcs_error: bool
    sent: Callable[[], None]
    place: int = 0
    run: Any = None
    joined: int = 0


class LineEnd:
    """What sends into one direction of a cable and receives from the other.

    Attributes:
        peer: the other end (None: no cable).
        waiting_control: control frames in the order in which they joined.
        on_line: token of the frame being sent.
    """

    stage = AT_SWITCH

    def __init__(self, clock: Clock, cable: Cable, index: int) -> None:
        self.clock, self.cable, self.index = clock, cable, index
        self.peer: LineEnd | None = None
        self.waiting_control: list[ControlItem] = []
        self.on_line: object | None = None

    def speed_agrees(self) -> bool:
        """Whether this end would let the cable be up."""
        raise NotImplementedError

    def receive_control(self, item: ControlItem) -> None:
        """A control frame's last bit has come."""
        raise NotImplementedError

    def choose_data(self) -> None:
        """Put a data frame on the idle line, if there is one that may go."""
        raise NotImplementedError

    def went_down(self) -> None:
        """The cable has gone down."""
        raise NotImplementedError

    def came_up(self) -> None:
        """The cable has come up."""

    def send_control(self, item: ControlItem) -> None:
        """Let a control frame wait for the line."""
        item.joined = self.clock.now
        bisect.insort(self.waiting_control, item, key=lambda other: (other.joined, other.place))
        self.clock.want(self)

    def choose(self) -> None:
        """The idle line takes a control frame, else a data frame."""
        if self.on_line is not None:
            return
        if not self.waiting_control:
            self.choose_data()
            return
        item, peer = self.waiting_control.pop(0), self.peer
        assert peer is not None
        self.put(len(item.data) + FCS_BYTES, item.sent, lambda: peer.receive_control(item))

    def put(self, size: int, sent: Callable[[], None], arrived: Callable[[], None]) -> None:
        """Send `size` bytes; `sent` at their last bit, `arrived` when that is at the other end of the cable."""
        clock, cable, token, epoch = self.clock, self.cable, object(), self.cable.epoch
        self.on_line = token

        def last_bit() -> None:
            if self.on_line is token:
                self.on_line = None
                clock.want(self)
                sent()

        def at_peer() -> None:
            if cable.epoch == epoch:
                arrived()
        done = clock.now + (size + OVERHEAD_BYTES) * cable.byte
        clock.at(done, SENT, self.index, last_bit)
        if cable.up and self.peer is not None:
            clock.at(done + cable.delay, self.peer.stage, self.peer.index, at_peer)


class PauseTimers:
    """Received pauses of one line end, by class.

    Attributes:
        since: instant at which a class's pause began, None when it is not paused.
        total, on2off: time paused and number of pauses, up to the last end.
    """

    def __init__(self, clock: Clock, cable: Cable, changed: Callable[[], None]) -> None:
        self.clock, self.cable, self.changed = clock, cable, changed
        self.since: list[int | None] = [None] * 8
        self.until, self.total, self.on2off = [0] * 8, [0] * 8, [0] * 8
        self._pending = 0

    def later(self, response: int, pauses: Mapping[int, int], honoured: Callable[[int], bool]) -> None:
        """Let the quanta of a frame act `response` picoseconds from now."""
        pending = self._pending

        def act() -> None:
            if pending == self._pending:
                self._act(pauses, honoured)
        if response:
            self.clock.at(self.clock.now + response, TIMER, EFFECT, act)
        else:
            act()

    def duration(self, priority: int) -> int:
        """Picoseconds paused so far."""
        since = self.since[priority]
        return self.total[priority] + (self.clock.now - since if since is not None else 0)

    def end(self, priority: int) -> None:
        """End a pause, if there is one."""
        if self.since[priority] is not None:
            self.total[priority] = self.duration(priority)
            self.on2off[priority] += 1
            self.since[priority] = None

    def forget(self, kept: Collection[int] = ()) -> None:
        """End all pauses, and those that have not acted yet never will; those of `kept` no timer ends any more."""
        self._pending += 1
        for priority in range(8):
            if priority in kept:
                self.until[priority] = -1
            else:
                self.end(priority)
        self.changed()

    def _act(self, pauses: Mapping[int, int], honoured: Callable[[int], bool]) -> None:
        for priority, quanta in pauses.items():
            if honoured(priority):
                if quanta:
                    self._hold(priority, self.clock.now + quanta * 64 * self.cable.byte)
                else:
                    self.end(priority)
        self.changed()

    def _hold(self, priority: int, until: int) -> None:
        if self.since[priority] is None:
            self.since[priority] = self.clock.now
        self.until[priority] = until

        def expire() -> None:
            if self.since[priority] is not None and self.until[priority] == until:
                self.end(priority)
                self.changed()
        self.clock.at(until, TIMER, EXPIRY, expire)
