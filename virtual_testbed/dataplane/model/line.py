"""A line: one direction of a cable, the control frames that come due and wait for it, and the frames that are on it."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.model.events import CONTROL_DUE, NEVER, EventLoop
from virtual_testbed.dataplane.model.units import WIRE_OVERHEAD_BYTES, Schedule, ps_per_byte


class Arriving(Protocol):
    """A frame on its way."""

    def arrive(self, now_ps: int) -> None:
        """Its last bit has come."""

    def lose(self) -> None:
        """It was on a cable that is cut."""


class ControlItem:
    """One kind of control frame of one line, with its counts.

    Attributes:
        frame: what is sent; `tx_time_ps` its time on the line.
        launched: frames put on the line (the last may still be on it); `arrived` those that have reached the other end.
    """

    __slots__ = ("frame", "line", "tx_time_ps", "launched", "arrived")

    def __init__(self, frame: MacControlFrame, line: Line) -> None:
        self.frame, self.line = frame, line
        self.tx_time_ps = (frame.frame_bytes + WIRE_OVERHEAD_BYTES) * line.ps_per_byte
        self.launched = self.arrived = 0
        line.items.append(self)

    def arrive(self, now_ps: int) -> None:
        """Hand it to the receiver at the other end."""
        self.arrived += 1
        self.line.deliver(self, now_ps)

    def lose(self) -> None:
        """Nothing remembers it."""


class Line:
    """See the module.

    Args:
        poke: called with now when a control frame begins to wait.

    Attributes:
        is_up: what is put on it arrives; else it is lost.
        kind, index: of the events of frames that reach the other end.
        controls: control frames waiting, oldest first; `on_line` the one on the line, if it is one; `items`
            all kinds of them.
        busy_until_ps: when the line is free again.
        flight: frames whose arrival is an event, as (instant, frame), in order; the one on the line is among them.
        data_ps, moved_ps: when a data frame was last put on it, and when its sender last decided on XOFF or XON.
        deliver: what the other end does with a control frame.
    """

    __slots__ = ("speed_mbps", "propagation_ps", "loop", "poke", "ps_per_byte", "is_up", "kind", "index", "controls",
                 "on_line", "items", "busy_until_ps", "flight", "data_ps", "moved_ps", "deliver", "land")

    def __init__(self, speed_mbps: int, propagation_ps: int, loop: EventLoop, poke: Callable[[int], None]) -> None:
        self.speed_mbps, self.propagation_ps, self.loop, self.poke = speed_mbps, propagation_ps, loop, poke
        self.ps_per_byte = ps_per_byte(speed_mbps)
        self.is_up = False
        self.kind = self.index = 0
        self.controls: deque[ControlItem] = deque()
        self.on_line: ControlItem | None = None
        self.items: list[ControlItem] = []
        self.busy_until_ps = 0
        self.flight: deque[tuple[int, Arriving]] = deque()
        self.data_ps = self.moved_ps = -NEVER
        self.deliver: Callable[[ControlItem, int], None] = lambda item, now_ps: None
        self.land = self._land

    def queue(self, item: ControlItem, now_ps: int) -> None:
        """A control frame begins to wait."""
        self.controls.append(item)
        self.poke(now_ps)

    def launch_control(self, now_ps: int) -> int:
        """Put the oldest waiting control frame on the line.

        Returns:
            When its last bit will have left.
        """
        item = self.on_line = self.controls.popleft()
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

    def schedule(self) -> None:
        """Set the event of the next arrival anew."""
        if self.flight:
            self.loop.push_traffic((self.flight[0][0], self.kind, self.index, self.land))


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
        self.item, self.schedule, self.order, self.loop = item, schedule, order, loop
        self.number = self.limit = 0
        self.due = self._due

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

    def start(self, base_ps: int, number: int, limit: int) -> None:
        """Run from frame `number` of a schedule that begins at `base_ps` up to `limit` frames in all."""
        self.schedule.base_ps, self.number, self.limit = base_ps, number, limit
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
