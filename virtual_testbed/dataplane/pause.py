"""Pause frames: what a received one does, the timers of a port, and the XOFF and XON that a port sends."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction

from virtual_testbed.dataplane.control import DISCARD, ERROR, GLOBAL_PAUSE, PFC, Control, ControlFrame
from virtual_testbed.dataplane.events import NEVER, PAUSE_ACTS, PAUSE_ENDS, EventLoop
from virtual_testbed.dataplane.line import ControlItem, Line
from virtual_testbed.dataplane.train import Train
from virtual_testbed.dataplane.units import PS_PER_SECOND, Schedule, pause_time_ps, refresh_period_ps

DATA_FRAMES, DATA_BYTES, DROPPED = "data frames", "data bytes", "dropped"
"""Of `PauseReceiver.kinds`: control frames that are counted as data too, their bytes, and those counted as drops."""


class PauseReceiver:
    """The receiving side of one port: timers and counts of eight classes.

    Args:
        index: orders the events of ports at one instant.
        read: what the port makes of a frame.
        set_gate: called with the mask of the queues shut, and now, whenever it may have changed.

    Attributes:
        speed_mbps: speed of the port, which a quantum depends on; `response_ps` from a frame's last bit to its effect.
        shuts: queue mask that a pause of each class shuts now (0: the class is not honoured).
        counted: the classes under which a frame of each class is counted.
        since_ps, until_ps: begin of each class's pause (None: not paused), and its end.
        counts: PFC frames counted by class; `kinds` control frames by kind.
        on2off, paused_ps: ends of pauses, and time paused up to the last end.
    """

    def __init__(self, index: int, read: Callable[[ControlFrame], Control], set_gate: Callable[[int, int], None],
                 loop: EventLoop) -> None:
        self.index, self.loop = index, loop
        self._read, self._set_gate = read, set_gate
        self._readings: dict[ControlFrame, Control] = {}
        self.speed_mbps = self.response_ps = 0
        self.shuts = [0] * 8
        self.counted: list[tuple[int, ...]] = [(priority,) for priority in range(8)]
        self.since_ps: list[int | None] = [None] * 8
        self.until_ps = [0] * 8
        self.counts, self.on2off, self.paused_ps = [0] * 8, [0] * 8, [0] * 8
        self.counts_as_data = self.counts_as_drop = False
        self.kinds = {GLOBAL_PAUSE: 0, ERROR: 0, DISCARD: 0, PFC: 0, DATA_FRAMES: 0, DATA_BYTES: 0, DROPPED: 0}
        self.responding: deque[tuple[int, Control]] = deque()
        self.alarm_ps = NEVER
        self.act, self.expire = self._act_due, self._expire

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

    def configure(self, shuts: list[int], counted: list[tuple[int, ...]], now_ps: int) -> None:
        """Take what each class shuts and how it is counted; a class no longer honoured resumes."""
        self._readings.clear()
        self.shuts, self.counted = shuts, counted
        for priority in range(8):
            if not shuts[priority]:
                self._end(priority, now_ps)
        self._set_gate(self.gate(), now_ps)

    def reading(self, frame: ControlFrame) -> Control:
        """What the port makes of a frame."""
        if frame not in self._readings:
            self._readings[frame] = self._read(frame)
        return self._readings[frame]

    def receive(self, item: ControlItem, now_ps: int) -> None:
        """A control frame's last bit has come."""
        control = self.reading(item.frame)
        self.count(item.frame, 1)
        if control.kind != PFC:
            return
        if not self.response_ps:
            self._act(control, now_ps)
            return
        acts_ps = now_ps + self.response_ps
        self.responding.append((acts_ps, control))
        if len(self.responding) > 1 and self.responding[-2][0] > acts_ps:  # the response time has become shorter
            self.responding = deque(sorted(self.responding, key=lambda waiting: waiting[0]))
        if self.responding[0][0] == acts_ps:
            self.loop.push_traffic((acts_ps, PAUSE_ACTS, self.index, self.act))

    def hear(self, frame: ControlFrame, frames: int, span_ps: int, now_ps: int) -> None:
        """Equal frames from outside the model, of which the first acts now and the last after `span_ps`: count all of
        them, and pause for as long as they do together.
        """
        control = self.reading(frame)
        self.count(frame, frames)
        if control.kind != PFC:
            return
        self._act(control, now_ps)
        for priority, quanta in control.pauses:
            if quanta and self.shuts[priority]:
                self.until_ps[priority] += span_ps

    def count(self, frame: ControlFrame, frames: int) -> None:
        """Count received control frames."""
        control = self.reading(frame)
        self.kinds[control.kind] += frames
        if control.kind == DISCARD or (control.kind == PFC and self.counts_as_data):
            self.kinds[DATA_FRAMES] += frames
            self.kinds[DATA_BYTES] += frames * frame.frame_bytes
        if control.kind == DISCARD or (control.kind == PFC and self.counts_as_drop):
            self.kinds[DROPPED] += frames
        if control.kind == PFC:
            for priority, _ in control.pauses:
                for counted in self.counted[priority]:
                    self.counts[counted] += frames

    def _act_due(self, now_ps: int) -> None:
        if not self.responding or self.responding[0][0] != now_ps:
            return  # forgotten meanwhile
        _, control = self.responding.popleft()
        if self.responding:
            self.loop.push_traffic((self.responding[0][0], PAUSE_ACTS, self.index, self.act))
        self._act(control, now_ps)

    def _act(self, control: Control, now_ps: int) -> None:
        for priority, quanta in control.pauses:
            if not self.shuts[priority]:
                continue
            if not quanta:
                self._end(priority, now_ps)
                continue
            if self.since_ps[priority] is None:
                self.since_ps[priority] = now_ps
            self.until_ps[priority] = now_ps + pause_time_ps(quanta, self.speed_mbps)
            if self.until_ps[priority] < self.alarm_ps:
                self._set_alarm(self.until_ps[priority])
        self._set_gate(self.gate(), now_ps)

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
        self._set_gate(self.gate(), now_ps)

    def duration_ps(self, priority: int, now_ps: int) -> int:
        """How long the class has been paused up to `now_ps`."""
        since_ps = self.since_ps[priority]
        return self.paused_ps[priority] + (now_ps - since_ps if since_ps is not None else 0)

    def is_paused(self, priority: int) -> bool:
        """True while the class is paused."""
        return self.since_ps[priority] is not None

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
        self._set_gate(self.gate(), now_ps)


class PauseSender:
    """The sending side of one switch port: per class XOFF, repeated at half the pause time, until XON (quanta 0).

    Args:
        line: where the frames go.
        index: orders the refreshes of ports at one instant.

    Attributes:
        sending: mask of the classes that are paused.
        xoff_items, xon_items: the frames by class.
        tells_xon, repeats: masks of the classes that a healthy port ends with XON, and repeats.
        unasked: XOFF frames by class that a fault sends without congestion, at the multiples of a period.
    """

    def __init__(self, line: Line, index: int, loop: EventLoop) -> None:
        self.line, self.loop = line, loop
        self.sending = 0
        self.tells_xon = self.repeats = 0xFF
        idle = ControlItem(ControlFrame(b""), line)
        self.xoff_items, self.xon_items = [idle] * 8, [idle] * 8
        self.retired: list[tuple[int, ControlItem]] = []
        rate = Fraction(PS_PER_SECOND, refresh_period_ps(line.speed_mbps))
        self.trains = [Train(idle, Schedule(0, rate), (1 << 30) + 8 * index + priority, loop) for priority in range(8)]
        self.unasked = [Train(idle, Schedule(0, rate), (1 << 31) + 8 * index + priority, loop) for priority in range(8)]
        self._unasked_ps = [0] * 8

    def set_frames(self, xoff: list[ControlFrame], xon: list[ControlFrame]) -> None:
        """Take the frames to send by class."""
        for items, frames in ((self.xoff_items, xoff), (self.xon_items, xon)):
            for priority, frame in enumerate(frames):
                if items[priority].frame != frame:
                    self.retired.append((priority, items[priority]))
                    items[priority] = ControlItem(frame, self.line)
        for priority in range(8):
            self.trains[priority].item = self.unasked[priority].item = self.xoff_items[priority]

    def set_habits(self, tells_xon: int, repeats: int, now_ps: int) -> None:
        """Take the classes that a healthy port ends with XON, and repeats, as masks."""
        self.tells_xon, self.repeats = tells_xon, repeats
        for priority, train in enumerate(self.trains):
            if not repeats >> priority & 1:
                train.stop()
            elif self.sending >> priority & 1 and not train.is_running:
                train.start(train.schedule.base_ps, max(1, train.schedule.count(now_ps - 1)), NEVER)

    @property
    def all_trains(self) -> list[Train]:
        """Refreshes, and frames that nothing asks for."""
        return [*self.trains, *self.unasked] if any(self._unasked_ps) else self.trains

    @property
    def is_quiet(self) -> bool:
        """True while no class is paused, and none will be without congestion."""
        return not (self.sending or any(self._unasked_ps))

    def set_unasked(self, periods_ps: list[int], now_ps: int) -> None:
        """Send XOFF at the multiples of a period by class (0: never), the next one after now."""
        for priority, period_ps in enumerate(periods_ps):
            if period_ps != self._unasked_ps[priority]:
                self._unasked_ps[priority] = period_ps
                self.unasked[priority].stop()
        self.start_unasked(now_ps)

    def start_unasked(self, now_ps: int) -> None:
        """Begin with the frames that nothing asks for, if the link is up."""
        for train, period_ps in zip(self.unasked, self._unasked_ps):
            if period_ps and self.line.is_up and not train.is_running:
                train.schedule = Schedule(0, Fraction(PS_PER_SECOND, period_ps))
                train.start(0, train.schedule.count(now_ps), NEVER)

    def xoff(self, priority: int, now_ps: int) -> None:
        """Start pausing a class."""
        if self.sending >> priority & 1 or not self.line.is_up:
            return
        self.sending |= 1 << priority
        self.line.moved_ps = now_ps
        self.line.queue(self.xoff_items[priority], now_ps)
        self.trains[priority].start(now_ps, 1, NEVER if self.repeats >> priority & 1 else 1)

    def xon(self, priority: int, now_ps: int) -> None:
        """Let a class go on; a refresh that would be due at this instant is not sent any more."""
        if not self.sending >> priority & 1:
            return
        self.abandon(priority, now_ps)
        if self.tells_xon >> priority & 1:
            self.line.queue(self.xon_items[priority], now_ps)

    def abandon(self, priority: int, now_ps: int) -> None:
        """Stop repeating without an XON: the other end resumes when its timer runs out."""
        self.sending &= ~(1 << priority)
        self.line.moved_ps = now_ps
        self.trains[priority].stop()

    def link_went_down(self, now_ps: int) -> None:
        """No class is paused any more, nothing waits."""
        for priority in range(8):
            self.abandon(priority, now_ps)
            self.unasked[priority].stop()
        self.line.controls.clear()

    def count(self, priority: int, now_ps: int) -> int:
        """Frames of a class sent by `now_ps`."""
        old = sum(self.line.sent(item, now_ps) for retired, item in self.retired if retired == priority)
        return old + sum(self.line.sent(items[priority], now_ps) for items in (self.xoff_items, self.xon_items))
