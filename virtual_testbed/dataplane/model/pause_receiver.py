"""What a received pause frame does: the timers of a port."""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from virtual_testbed.dataplane.model.control_frames import (DISCARD, ERROR, GLOBAL_PAUSE, LOST, PFC, Control,
                                                            MacControlFrame, understand)
from virtual_testbed.dataplane.model.events import NEVER, PAUSE_ACTS, PAUSE_ENDS, EventLoop
from virtual_testbed.dataplane.model.hooks import IGNORED, RESTARTS
from virtual_testbed.dataplane.model.units import pause_time_ps

DATA_FRAMES, DATA_BYTES, DROPPED, SMALLEST = "data frames", "data bytes", "dropped", "of 64 bytes"
"""Of `PauseReceiver.kinds`: control frames that are counted as data too, their bytes, those counted as drops, and those
of `SMALLEST_BYTES`."""
SMALLEST_BYTES = 64


class PausedPort(Protocol):
    """The port whose queues received pauses shut.

    Attributes:
        station_mac: its own address, which pause frames may have beside the group address; empty: they may not.
    """

    @property
    def station_mac(self) -> str: ...

    def parse(self, frame: MacControlFrame, reading: Control) -> Control:
        """What faults of the port make of a healthy reading of a frame."""

    def set_gate(self, gate: int, now_ps: int) -> None:
        """Shut the queues of this mask, and open all others."""

    def forwards_by(self) -> Sequence[str]:
        """Names of the ports by which control frames that come now leave again; healthy: none."""


class ControlObserver(Protocol):
    """Observes what a port receives."""

    def control_arrived(self, frame: MacControlFrame, now_ps: int) -> None:
        """A control frame's last bit has come."""


class ClassHabits(NamedTuple):
    """What a port makes of the pauses of one class.

    Attributes:
        shuts: mask of its queues that they shut; `elsewhere`: they shut queues of other ports too.
        counted: the classes under which a frame is counted; `counted_elsewhere` what of `PauseReceiver.kinds` counts it
            for other ports.
        further: what a pause does while one lasts (`hooks.RESTARTS`, ...).
    """

    shuts: int
    counted: tuple[int, ...]
    elsewhere: bool = False
    counted_elsewhere: tuple[str, ...] = ()
    further: str = RESTARTS

    @property
    def is_honoured(self) -> bool:
        """Whether they do anything."""
        return self.shuts > 0 or self.elsewhere


class ReceiverSnapshot(NamedTuple):
    """Pauses of a port, frames about to act, and counts. See `PauseReceiver`."""

    since_ps: tuple[int | None, ...]
    until_ps: tuple[int, ...]
    responding: tuple[tuple[int, Control], ...]
    counts: tuple[int, ...]
    on2off: tuple[int, ...]
    paused_ps: tuple[int, ...]
    kinds: Mapping[str, int]


class PauseReceiver:
    """The receiving side of one port: timers and counts of eight classes.

    Args:
        port: the port that it belongs to; told of the queues that are shut whenever they may have changed.
        index: orders the events of ports at one instant.

    Attributes:
        speed_mbps: speed of the port, which a quantum depends on; `response_ps` from a frame's last bit to its effect.
        habits: what it makes of the pauses of each class; `shuts` queue mask that one shuts now, `honoured`: whether it
            does anything.
        since_ps, until_ps: begin of each class's pause (None: not paused), and its end.
        counts: PFC frames counted by class; `kinds` control frames by kind, and those forwarded (`forwarded`) by port.
        on2off, paused_ps: ends of pauses, and time paused up to the last end.
        observer: told of each frame that comes, if there is one.
    """

    def __init__(self, port: PausedPort, index: int, loop: EventLoop) -> None:
        self.port = port
        self.index = index
        self.loop = loop
        self.observer: ControlObserver | None = None
        self._readings: dict[MacControlFrame, Control] = {}
        self.speed_mbps = 0
        self.response_ps = 0
        self.habits = [ClassHabits(0, (priority,)) for priority in range(8)]
        self.shuts = [0] * 8
        self.honoured = [False] * 8
        self.since_ps: list[int | None] = [None] * 8
        self.until_ps = [0] * 8
        self.counts = [0] * 8
        self.on2off = [0] * 8
        self.paused_ps = [0] * 8
        self.counts_as_data = False
        self.counts_as_drop = False
        self.kinds = {GLOBAL_PAUSE: 0, ERROR: 0, DISCARD: 0, PFC: 0, LOST: 0, DATA_FRAMES: 0, DATA_BYTES: 0, DROPPED: 0,
                      SMALLEST: 0}
        self.responding: deque[tuple[int, Control]] = deque()
        self.alarm_ps = NEVER
        self.act = self._act
        self.expire = self._expire

    @property
    def is_busy(self) -> bool:
        """True while a class is paused, or a frame is about to act."""
        return bool(self.responding) or any(since_ps is not None for since_ps in self.since_ps)

    def gate(self) -> int:
        """Mask of the queues shut now."""
        mask = 0
        for shut, since in zip(self.shuts, self.since_ps):
            if since is not None:
                mask |= shut
        return mask

    def set_timing(self, speed_mbps: int, response_ps: int) -> None:
        """Take what a quantum depends on, and the time from a pause's last bit to its effect."""
        self.speed_mbps = speed_mbps
        self.response_ps = response_ps

    def configure(
        self, habits: list[ClassHabits], now_ps: int, counts_as_data: bool = False, counts_as_drop: bool = False,
    ) -> None:
        """Take what is made of each class's pauses, and whether they count as data or drops too; a class no longer
        honoured resumes.
        """
        self._readings.clear()
        self.counts_as_data = counts_as_data
        self.counts_as_drop = counts_as_drop
        self.habits = habits
        self.shuts = [habit.shuts for habit in habits]
        self.honoured = [habit.is_honoured for habit in habits]
        for kind in (kind for habit in habits for kind in habit.counted_elsewhere):
            self.kinds.setdefault(kind, 0)
        for priority in range(8):
            if not self.honoured[priority]:
                self._end(priority, now_ps)
        self.port.set_gate(self.gate(), now_ps)

    def reading(self, frame: MacControlFrame) -> Control:
        """What the port makes of a frame."""
        if frame not in self._readings:
            self._readings[frame] = self.port.parse(frame, understand(frame, self.port.station_mac))
        return self._readings[frame]

    def observe(self, observer: ControlObserver | None) -> None:
        """Have the frames that come observed from now on (None: no longer)."""
        self.observer = observer

    def receive_control(self, frame: MacControlFrame, now_ps: int) -> None:
        """A control frame's last bit has come: it is counted, and acts after the response time."""
        if self.observer is not None:
            self.observer.control_arrived(frame, now_ps)
        control = self.reading(frame)
        self.count(frame, 1)
        if control.kind != PFC:
            return
        if not self.response_ps:
            self._act_at_once(control, now_ps)
            return
        acts_ps = now_ps + self.response_ps
        self.responding.append((acts_ps, control))
        if len(self.responding) > 1 and self.responding[-2][0] > acts_ps:  # the response time has become shorter
            self.responding = deque(sorted(self.responding, key=lambda waiting: waiting[0]))
        if self.responding[0][0] == acts_ps:
            self.loop.push_traffic((acts_ps, PAUSE_ACTS, self.index, self.act))

    def hear(self, frame: MacControlFrame, frames: int, span_ps: int, now_ps: int) -> None:
        """Equal frames from outside the model, of which the first acts now and the last after `span_ps`: count all of
        them, and pause for as long as they do together.
        """
        control = self.reading(frame)
        self.count(frame, frames)
        if control.kind != PFC:
            return
        self._act_at_once(control, now_ps)
        for priority, quanta in control.timers:
            if quanta and self.honoured[priority]:
                self.until_ps[priority] += span_ps

    def count(self, frame: MacControlFrame, frames: int) -> None:
        """Count received control frames."""
        control = self.reading(frame)
        self.kinds[control.kind] += frames
        if control.kind == LOST:
            return
        if frame.frame_bytes == SMALLEST_BYTES:
            self.kinds[SMALLEST] += frames
        for name in self.port.forwards_by():
            counts = (frames, frames * frame.frame_bytes, frames)
            for kind, counted in zip((*forwarded(name), forwarded_of(frame.flow, name)), counts):
                self.kinds[kind] = self.kinds.get(kind, 0) + counted
        if control.kind == DISCARD or (control.kind == PFC and self.counts_as_data):
            self.kinds[DATA_FRAMES] += frames
            self.kinds[DATA_BYTES] += frames * frame.frame_bytes
        if control.kind == DISCARD or (control.kind == PFC and self.counts_as_drop):
            self.kinds[DROPPED] += frames
        if control.kind == PFC:
            for priority, _ in control.pauses:
                for counted in self.habits[priority].counted:
                    self.counts[counted] += frames
                for kind in self.habits[priority].counted_elsewhere:
                    self.kinds[kind] += frames

    def _act_at_once(self, control: Control, now_ps: int) -> None:
        """A frame acts before those whose response time is not over yet."""
        self.responding.appendleft((now_ps, control))
        self._act(now_ps)

    def _act(self, now_ps: int) -> None:
        """The frame whose response time is over sets the timers of the classes that it pauses, and shuts their queues.
        """
        if not self.responding or self.responding[0][0] != now_ps:
            return  # forgotten meanwhile
        _, control = self.responding.popleft()
        if self.responding:
            self.loop.push_traffic((self.responding[0][0], PAUSE_ACTS, self.index, self.act))
        for priority, quanta in control.timers:
            if not self.honoured[priority]:
                continue
            if not quanta:
                self._end(priority, now_ps)
                continue
            self._hold(priority, now_ps, now_ps + pause_time_ps(quanta, self.speed_mbps))
            if self.until_ps[priority] < self.alarm_ps:
                self._set_alarm(self.until_ps[priority])
        self.port.set_gate(self.gate(), now_ps)

    def _hold(self, priority: int, now_ps: int, until_ps: int) -> None:
        """Pause a class. A pause that no timer ends makes way for any other."""
        further = self.habits[priority].further
        if self.since_ps[priority] is None:
            self.since_ps[priority] = now_ps
        elif further != RESTARTS and self.until_ps[priority] < NEVER:
            until_ps = self.until_ps[priority] if further == IGNORED else max(until_ps, self.until_ps[priority])
        self.until_ps[priority] = until_ps

    def _end(self, priority: int, now_ps: int) -> None:
        since_ps = self.since_ps[priority]
        if since_ps is not None:
            self.on2off[priority] += 1
            self.paused_ps[priority] += now_ps - since_ps
            self.since_ps[priority] = None

    def link_went_down(self, now_ps: int, kept: frozenset[int] = frozenset()) -> None:
        """Forget every pause; those of the classes `kept` stay until another frame changes them."""
        self.responding.clear()
        for priority in range(8):
            if priority not in kept:
                self._end(priority, now_ps)
            elif self.since_ps[priority] is not None:
                self.until_ps[priority] = NEVER
        self.port.set_gate(self.gate(), now_ps)

    def duration_ps(self, priority: int, now_ps: int) -> int:
        """How long the class has been paused up to `now_ps`."""
        since_ps = self.since_ps[priority]
        return self.paused_ps[priority] + (now_ps - since_ps if since_ps is not None else 0)

    def is_paused(self, priority: int) -> bool:
        """True while the class is paused."""
        return self.since_ps[priority] is not None

    def snapshot(self) -> ReceiverSnapshot:
        """Its state now."""
        return ReceiverSnapshot(tuple(self.since_ps), tuple(self.until_ps), tuple(self.responding), tuple(self.counts),
                                tuple(self.on2off), tuple(self.paused_ps), dict(self.kinds))

    def restore(self, snapshot: ReceiverSnapshot) -> None:
        """Take a state, with the same classes paused; events are set by `schedule`."""
        self.since_ps[:] = snapshot.since_ps
        self.until_ps[:] = snapshot.until_ps
        self.responding = deque(snapshot.responding)
        self.counts[:] = snapshot.counts
        self.on2off[:] = snapshot.on2off
        self.paused_ps[:] = snapshot.paused_ps
        self.kinds = {**dict.fromkeys(self.kinds, 0), **snapshot.kinds}

    def shift(self, shift_ps: int) -> None:
        """Let what is to act and to end be so much later."""
        self.responding = deque((time_ps + shift_ps, control) for time_ps, control in self.responding)
        self.until_ps = [time_ps + shift_ps for time_ps in self.until_ps]

    def repeat(self, since: ReceiverSnapshot, times: int) -> None:
        """Count what was counted since then so many times more; a pause that began since then begins that much later
        each time.
        """
        self.counts = _repeated(self.counts, since.counts, times)
        self.on2off = _repeated(self.on2off, since.on2off, times)
        self.paused_ps = _repeated(self.paused_ps, since.paused_ps, times)
        self.kinds = {kind: count + times * (count - since.kinds.get(kind, 0)) for kind, count in self.kinds.items()}
        self.since_ps = [new_ps if new_ps is None or old_ps is None else new_ps + times * (new_ps - old_ps)
                         for new_ps, old_ps in zip(self.since_ps, since.since_ps)]

    def schedule(self) -> None:
        """Set the events of what is to act and to end anew."""
        self.alarm_ps = NEVER
        if self.responding:
            self.loop.push_traffic((self.responding[0][0], PAUSE_ACTS, self.index, self.act))
        self._watch()

    def _watch(self) -> None:
        ends = [until for since, until in zip(self.since_ps, self.until_ps) if since is not None]
        if ends and min(ends) < NEVER:
            self._set_alarm(min(ends))

    def _set_alarm(self, time_ps: int) -> None:
        self.alarm_ps = time_ps
        self.loop.push_traffic((time_ps, PAUSE_ENDS, self.index, self.expire))

    def _expire(self, now_ps: int) -> None:
        if now_ps != self.alarm_ps:
            return  # another alarm was set meanwhile
        self.alarm_ps = NEVER
        for priority in range(8):
            if self.since_ps[priority] is not None and self.until_ps[priority] <= now_ps:
                self._end(priority, now_ps)
        self._watch()
        self.port.set_gate(self.gate(), now_ps)


def forwarded(port: str) -> tuple[str, str]:
    """Of `PauseReceiver.kinds`: control frames that left again by a port, and their bytes."""
    return f"frames forwarded by {port}", f"bytes forwarded by {port}"


def forwarded_of(flow: int, port: str) -> str:
    """Of `PauseReceiver.kinds`: frames of a pause flow that left again by a port."""
    return f"frames of flow {flow} forwarded by {port}"


def _repeated(now: Sequence[int], since: Sequence[int], times: int) -> list[int]:
    return [new + times * (new - old) for new, old in zip(now, since)]
