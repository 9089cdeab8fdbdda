"""Pause flows of a generator port: a regular train of MAC control frames.

Each frame is an event, unless the train is a **level**: alone on its port, and each pause outlasting the longest gap
between two frames. Then only its first frame and its end are events; what it has done by any instant is closed form.
"""
from __future__ import annotations

from typing import Protocol

from virtual_testbed.dataplane.counters import PAUSED, STARTED, STOPPED
from virtual_testbed.dataplane.events import FRAME_RECEIVED, NEVER, EventLoop
from virtual_testbed.dataplane.pause import DISCARD, FCS_BYTES, PFC, Control, PauseReceiver, understand
from virtual_testbed.dataplane.traffic import PauseFlow
from virtual_testbed.dataplane.units import WIRE_OVERHEAD_BYTES, Schedule, pause_time_ps


class Line(Protocol):
    """What a pause flow needs of the generator port that sends it."""

    ps_per_byte: int
    propagation_ps: int
    is_up: bool

    def settle_storms(self, now_ps: int) -> None:
        """Something about the port's pause flows changes: no train is a level for the moment."""


class Storm:
    """A pause flow, running or not.

    Attributes:
        receiver: where its frames arrive (None: nowhere); `control` what the switch makes of them.
        wire_ps, delay_ps: time of one frame on the line; from its due instant to its last bit at the switch.
        total: number of frames of this run (None: until stopped); `arrived` how many reached the switch as events or
            settled.
        delivered: frames that reached the switch while the link was up.
    """

    def __init__(self, spec: PauseFlow, index: int, side: Line, loop: EventLoop) -> None:
        self.spec, self.side, self.loop = spec, side, loop
        self.order = (1 << 20) + 2 * index  # after data frames, storms of one instant in the order of the flows
        self.frame_bytes = len(spec.frame) + FCS_BYTES
        self.wire_ps = (self.frame_bytes + WIRE_OVERHEAD_BYTES) * side.ps_per_byte
        self.delay_ps = self.wire_ps + side.propagation_ps
        self.state = STOPPED
        self.schedule = Schedule(0, spec.rate_fps)
        self.total: int | None = 0
        self.arrived = self.delivered = 0
        self.before = self.paused_at = self.sent_floor = 0
        self.sent_cleared = self.delivered_cleared = 0
        self.is_level = False
        self.receiver: PauseReceiver | None = None
        self.control = Control(DISCARD)
        self.receive = self._receive
        self.begin_action, self.end_action = self._begin, self._end

    def resolve(self, receiver: PauseReceiver, station_mac: str) -> None:
        """Learn where the frames arrive, and what the switch with this MAC address makes of them."""
        self.receiver = receiver
        self.control = understand(self.spec.frame, station_mac, self.spec.fcs_error)

    def start(self, now_ps: int) -> None:
        """START at `now_ps`; a running flow goes on."""
        if self.state == STOPPED:
            self.side.settle_storms(now_ps)
            self._let_go()
            self.before = self.sent(now_ps)
            self.state = STARTED
            self.total, self.arrived = None, 0
            self.schedule.base_ps = NEVER
            self.loop.at(now_ps + self.spec.duration.delay_ps, self.begin_action)

    def stop(self, now_ps: int) -> None:
        """STOP: frames due up to now are sent, none after."""
        if self.state == STOPPED:
            return
        self.side.settle_storms(now_ps)
        self._cut(self.schedule.count(now_ps))
        self.loop.cancel(self.begin_action)
        self.loop.cancel(self.end_action)
        self.state = STOPPED

    def pause(self, now_ps: int) -> None:
        """Freeze the schedule."""
        if self.state == STARTED:
            self.side.settle_storms(now_ps)
            self.paused_at = self.schedule.count(now_ps)
            self._cut(min(self.paused_at, self._limit()))
            self.state = PAUSED

    def resume(self, now_ps: int) -> None:
        """Go on: the next frame is due now."""
        if self.state == PAUSED:
            self.state = STARTED
            self.side.settle_storms(now_ps)
            self.sent_floor = self.sent(now_ps)
            self._let_go()
            self.schedule.base_ps += now_ps - self.schedule.instant_ps(self.paused_at)
            self.total = self.spec.duration.frames
            self._expect()

    def sent(self, now_ps: int) -> int:
        """Frames whose last bit has left by `now_ps`."""
        return max(self.sent_floor, self.before + min(self.schedule.count(now_ps - self.wire_ps), self._limit()))

    def level_frames(self, now_ps: int) -> int:
        """Frames that reached the switch since the train became a level."""
        return min(self.schedule.count(now_ps - self.delay_ps), self._limit()) - self.arrived if self.is_level else 0

    def received(self, now_ps: int) -> int:
        """Frames that have reached the switch by `now_ps`."""
        return self.delivered + self.level_frames(now_ps)

    def leave_level(self, now_ps: int) -> None:
        """Become single frames again: settle counts and timers as of `now_ps`."""
        if not self.is_level:
            return
        frames = self.level_frames(now_ps)
        self.is_level = False
        self.loop.cancel(self.receive)
        self.arrived += frames
        self.delivered += frames
        receiver = self.receiver
        if receiver is not None:
            receiver.count_frames(self.control, frames)
            last_ps = self.schedule.instant_ps(self.arrived - 1) + self.delay_ps
            for priority, quanta in self.control.pauses:
                if receiver.shuts[priority] and quanta:
                    receiver.hold(priority, now_ps, last_ps + pause_time_ps(quanta, receiver.speed_mbps))
        self._expect()

    def _let_go(self) -> None:
        """Frames of an earlier run that are still under way arrive on their own."""
        self.loop.cancel(self.receive)
        for number in range(self.arrived, self.total or 0):
            self.loop.at(self.schedule.instant_ps(number) + self.delay_ps, self._receive_one, FRAME_RECEIVED,
                         self.order + 1)
        self.arrived = self.total or 0

    def _limit(self) -> int:
        return NEVER if self.total is None else self.total

    def _cut(self, total: int) -> None:
        self.total = min(total, self._limit())
        self.loop.cancel(self.receive)
        self._expect()

    def _begin(self, now_ps: int) -> None:
        self.schedule.base_ps = now_ps
        self.total = self.spec.duration.frames
        if self.spec.duration.time_ps is not None:
            self.loop.at(now_ps + self.spec.duration.time_ps, self.end_action)
        self.side.settle_storms(now_ps)
        self._expect()

    def _end(self, now_ps: int) -> None:
        self.side.settle_storms(now_ps)
        self._cut(self.schedule.count(now_ps - 1))
        self.state = STOPPED

    def _expect(self) -> None:
        """Set the event of the next frame's arrival."""
        if self.arrived < self._limit():
            self._expect_number(self.arrived)
        elif self.spec.duration.frames is not None and self._limit() >= self.spec.duration.frames:
            self.state = STOPPED

    def _expect_number(self, number: int) -> None:
        self.loop.at(self.schedule.instant_ps(number) + self.delay_ps, self.receive, FRAME_RECEIVED, self.order)

    def _receive(self, now_ps: int) -> None:
        """A frame's last bit reaches the switch, or the last frame of a level does."""
        if self.is_level:
            self.leave_level(now_ps)
            return
        self.arrived += 1
        self._receive_one(now_ps)
        if self.side.is_up and self._may_be_level():
            self._become_level()
        else:
            self._expect()

    def _receive_one(self, now_ps: int) -> None:
        if self.receiver is not None and self.side.is_up:
            self.delivered += 1
            self.receiver.frame(self.control, now_ps)

    def _may_be_level(self) -> bool:
        receiver = self.receiver
        if receiver is None or self.arrived >= self._limit():
            return False
        if self.control.kind != PFC:
            return True
        if sum(1 for storm in receiver.storms if storm.is_running and storm.control.kind == PFC) > 1:
            return False
        gap_ps = self.schedule.longest_gap_ps
        return all(not quanta or not receiver.shuts[priority] or pause_time_ps(quanta, receiver.speed_mbps) >= gap_ps
                   for priority, quanta in self.control.pauses)

    @property
    def is_running(self) -> bool:
        """True while frames are still to reach the switch."""
        return self.state == STARTED or self.arrived < self._limit()

    def _become_level(self) -> None:
        self.is_level = True
        if self.receiver is not None:
            for priority, quanta in self.control.pauses:
                if self.receiver.shuts[priority] and quanta:
                    self.receiver.until_ps[priority] = NEVER
        if self.total is not None:
            self._expect_number(self.total - 1)
