"""A line: one direction of a cable, the control frames that come due and wait for it, and the frames that are on it."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.model.events import CONTROL_DUE, NEVER, EventLoop
from virtual_testbed.dataplane.model.units import WIRE_OVERHEAD_BYTES, Schedule, ps_per_byte


class LineSender(Protocol):
    """What sends on a line."""

    def line_wanted(self, now_ps: int) -> None:
        """A frame has begun to wait: choose as soon as the line is free."""


class ControlReceiver(Protocol):
    """What is at the other end of a line."""

    def receive_control(self, frame: MacControlFrame, now_ps: int) -> None:
        """A control frame's last bit has come."""


class Arriving(Protocol):
    """A frame on its way."""

    def arrive(self, now_ps: int) -> None:
        """Its last bit has come."""

    def lose(self) -> None:
        """It was on a cable that is cut."""


class ItemSnapshot(NamedTuple):
    """Counts of one kind of control frame."""

    launched: int
    arrived: int


class ControlItem:
    """One kind of control frame of one line, with its counts.

    Attributes:
        frame: what is sent; `tx_time_ps` its time on the line.
        launched: frames put on the line (the last may still be on it); `arrived` those that have reached the other end.
    """

    __slots__ = ("frame", "line", "tx_time_ps", "launched", "arrived")

    def __init__(self, frame: MacControlFrame, line: Line) -> None:
        self.frame = frame
        self.line = line
        self.tx_time_ps = (frame.frame_bytes + WIRE_OVERHEAD_BYTES) * line.ps_per_byte
        self.launched = 0
        self.arrived = 0
        line.items.append(self)

    def snapshot(self) -> ItemSnapshot:
        """Its counts now."""
        return ItemSnapshot(self.launched, self.arrived)

    def restore(self, snapshot: ItemSnapshot) -> None:
        """Take counts."""
        self.launched, self.arrived = snapshot

    def count(self, launched: int, arrived: int) -> None:
        """Count so many more."""
        self.launched += launched
        self.arrived += arrived

    def repeat(self, since: ItemSnapshot, times: int) -> None:
        """Count what was counted since then so many times more."""
        self.launched += times * (self.launched - since.launched)
        self.arrived += times * (self.arrived - since.arrived)

    def arrive(self, now_ps: int) -> None:
        """Hand it to the receiver at the other end."""
        self.arrived += 1
        assert self.line.end is not None, "a line that is up has a receiver at its end"
        self.line.end.receive_control(self.frame, now_ps)

    def lose(self) -> None:
        """Nothing remembers it."""


class LineSnapshot(NamedTuple):
    """What is on a line and waits for it. See `Line`."""

    busy_until_ps: int
    on_line: ControlItem | None
    controls: tuple[ControlItem, ...]
    flight: tuple[tuple[int, Arriving], ...]
    data_ps: int


class Line:
    """See the module.

    Args:
        sender: what chooses the frames that go on it.

    Attributes:
        is_up: what is put on it arrives; else it is lost.
        kind, index: of the events of frames that reach the other end.
        controls: control frames waiting, oldest first; `on_line` the one on the line, if it is one; `items`
            all kinds of them.
        busy_until_ps: when the line is free again.
        flight: frames whose arrival is an event, as (instant, frame), in order; the one on the line is among them.
        data_ps: when a data frame was last put on it; `-NEVER`: none was.
        end: what receives control frames at the other end (None: nothing is plugged in).
    """

    __slots__ = ("sender", "speed_mbps", "propagation_ps", "loop", "ps_per_byte", "is_up", "kind", "index", "controls",
                 "on_line", "items", "busy_until_ps", "flight", "data_ps", "end", "land")

    def __init__(self, sender: LineSender, speed_mbps: int, propagation_ps: int, loop: EventLoop) -> None:
        self.sender = sender
        self.speed_mbps = speed_mbps
        self.propagation_ps = propagation_ps
        self.loop = loop
        self.ps_per_byte = ps_per_byte(speed_mbps)
        self.is_up = False
        self.kind = 0
        self.index = 0
        self.controls: deque[ControlItem] = deque()
        self.on_line: ControlItem | None = None
        self.items: list[ControlItem] = []
        self.busy_until_ps = 0
        self.flight: deque[tuple[int, Arriving]] = deque()
        self.data_ps = -NEVER
        self.end: ControlReceiver | None = None
        self.land = self._land

    def lead_to(self, end: ControlReceiver, kind: int, index: int) -> None:
        """Plug in what is at the other end; arrivals there are events of that kind and index."""
        self.end = end
        self.kind = kind
        self.index = index

    def queue(self, item: ControlItem, now_ps: int) -> None:
        """A control frame begins to wait."""
        self.controls.append(item)
        self.sender.line_wanted(now_ps)

    def launch_control(self, now_ps: int) -> int:
        """Put the oldest waiting control frame on the line.

        Returns:
            When its last bit will have left.
        """
        item = self.controls.popleft()
        self.on_line = item
        item.launched += 1
        end_ps = now_ps + item.tx_time_ps
        self.launch(item, end_ps)
        return end_ps

    def launch(self, frame: Arriving, end_ps: int) -> None:
        """A frame goes on the line and has left at `end_ps`; its arrival is an event."""
        self.busy_until_ps = end_ps
        if not self.is_up:
            frame.lose()
            return
        arrival_ps = end_ps + self.propagation_ps
        self.flight.append((arrival_ps, frame))
        if len(self.flight) == 1:
            self.loop.push_traffic((arrival_ps, self.kind, self.index, self.land))

    def sent(self, item: ControlItem, now_ps: int) -> int:
        """Frames of a kind whose last bit has left by `now_ps`."""
        return item.launched - (1 if self.on_line is item and self.busy_until_ps > now_ps else 0)

    def _land(self, now_ps: int) -> None:
        flight = self.flight
        if not flight or flight[0][0] != now_ps:
            return  # forgotten meanwhile
        _, frame = flight.popleft()
        if flight:
            self.loop.push_traffic((flight[0][0], self.kind, self.index, self.land))
        frame.arrive(now_ps)

    def cut(self) -> None:
        """What is on the cable is lost."""
        for _, frame in self.flight:
            frame.lose()
        self.flight.clear()

    def snapshot(self) -> LineSnapshot:
        """Its state now."""
        return LineSnapshot(self.busy_until_ps, self.on_line, tuple(self.controls), tuple(self.flight), self.data_ps)

    def restore(self, snapshot: LineSnapshot) -> None:
        """Take a state; events are set by `schedule`."""
        self.busy_until_ps, self.on_line, controls, flight, self.data_ps = snapshot
        self.controls = deque(controls)
        self.flight = deque(flight)

    def empty(self) -> None:
        """Nothing is on it or waits for it any more, nor is counted as lost."""
        self.controls.clear()
        self.flight.clear()
        self.on_line = None
        self.busy_until_ps = 0

    def shift(self, shift_ps: int) -> None:
        """Let what is on it be so much later."""
        self.busy_until_ps += shift_ps
        self.flight = deque((time_ps + shift_ps, frame) for time_ps, frame in self.flight)
        if self.data_ps > -NEVER:
            self.data_ps += shift_ps

    def replace_frames(self, frames: Iterable[Arriving]) -> None:
        """Take other frames for those on the cable, which arrive when those would."""
        self.flight = deque((time_ps, frame) for (time_ps, _), frame in zip(self.flight, frames, strict=True))

    def schedule(self) -> None:
        """Set the event of the next arrival anew."""
        if self.flight:
            self.loop.push_traffic((self.flight[0][0], self.kind, self.index, self.land))


class TrainSnapshot(NamedTuple):
    """How far a train has come: when its schedule began, number of its next frame, and of how many."""

    base_ps: int
    number: int
    limit: int


class Train:
    """MAC control frames of one kind that come due regularly and wait for their line.

    Args:
        order: orders trains whose frames come due at one instant.

    Attributes:
        number: the next frame's; `limit` how many frames there are in all (`NEVER`: no end). They are equal when the
            train does not run.
    """

    __slots__ = ("item", "schedule", "order", "loop", "number", "limit", "due")

    def __init__(self, item: ControlItem, schedule: Schedule, order: int, loop: EventLoop) -> None:
        self.item = item
        self.schedule = schedule
        self.order = order
        self.loop = loop
        self.number = 0
        self.limit = 0
        self.due = self._due

    def carry(self, item: ControlItem) -> None:
        """Take another kind of frame, from the next one on."""
        self.item = item

    @property
    def is_running(self) -> bool:
        """True while frames are still to come due."""
        return self.number < self.limit

    @property
    def due_ps(self) -> int:
        """When the next frame comes due."""
        return self.schedule.instant_ps(self.number) if self.number < self.limit else NEVER

    @property
    def residue(self) -> int:
        """What the next due instant lacks of its exact value, in fractions of a picosecond."""
        schedule = self.schedule
        number = self.number % schedule.burst if schedule.burst else self.number
        return number * (schedule.step * schedule.parts + schedule.rest) % schedule.parts

    def snapshot(self) -> TrainSnapshot:
        """Its state now."""
        return TrainSnapshot(self.schedule.base_ps, self.number, self.limit)

    def restore(self, snapshot: TrainSnapshot) -> None:
        """Take a state; its event is set by `expect`."""
        self.schedule.base_ps, self.number, self.limit = snapshot

    def repeat(self, since: TrainSnapshot, times: int) -> None:
        """Go on as since then so many times more: one that began anew begins that much later, any other is further."""
        base_ps = self.schedule.base_ps
        if base_ps != since.base_ps:
            self.schedule.base_ps += times * (base_ps - since.base_ps)
        else:
            self.number += times * (self.number - since.number)

    def start(self, base_ps: int, number: int, limit: int) -> None:
        """Run from frame `number` of a schedule that begins at `base_ps` up to `limit` frames in all."""
        self.schedule.base_ps = base_ps
        self.number = number
        self.limit = limit
        self.expect()

    def stop(self) -> None:
        """No further frame comes due."""
        self.limit = self.number

    def expect(self) -> None:
        """Set the event of the next frame."""
        if self.number < self.limit:
            self.loop.push_traffic((self.schedule.instant_ps(self.number), CONTROL_DUE, self.order, self.due))

    def _due(self, now_ps: int) -> None:
        if self.due_ps != now_ps:
            return  # stopped meanwhile
        self.number += 1
        self.expect()
        self.item.line.queue(self.item, now_ps)
