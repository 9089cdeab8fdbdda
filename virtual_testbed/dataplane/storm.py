"""Pause flows of a generator port: a regular train of MAC control frames.

Each frame is an event, unless the train is a **level**: alone on its port, and each pause outlasting the longest gap
between two frames. Then only its first frame and its end are events; what it has done by any instant is closed form.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from virtual_testbed.dataplane.events import FRAME_RECEIVED, NEVER, EventLoop
from virtual_testbed.dataplane.pause import FCS_BYTES, PFC, Control, understand
from virtual_testbed.dataplane.traffic import PauseFlow
from virtual_testbed.dataplane.units import WIRE_OVERHEAD_BYTES, Schedule, pause_time_ps

if TYPE_CHECKING:
    from virtual_testbed.dataplane.generator import GeneratorSide

STOPPED, STARTED, PAUSED = "stopped", "started", "paused"


class Storm:
    """A pause flow, running or not.

    Attributes:
        control: what the switch makes of its frames.
        total: number of frames of this run (None: until stopped); `arrived` how many reached the switch as events or
            settled.
        delivered: frames that reached the switch while the link was up.
    """

    def __init__(self, spec: PauseFlow, index: int, side: GeneratorSide, loop: EventLoop) -> None:
        self.spec, self.side, self.loop = spec, side, loop
        self.order = (1 << 20) + 2 * index  # after data frames, storms of one instant in the order of the flows
        self.frame_bytes = len(spec.frame) + FCS_BYTES
        self.state = STOPPED
        self.schedule = Schedule(0, spec.rate_fps)
        self.total: int | None = 0
        self.arrived = self.delivered = 0
        self.before = self.paused_at = self.sent_floor = 0
        self.sent_cleared = self.delivered_cleared = 0
        self.is_level = False
        self.control = Control("discard")
        self.receive = self._receive
        self.begin_action, self.end_action = self._begin, self._end
        self.resolve()

    @property
    def wire_ps(self) -> int:
        """Time of one frame on the line."""
        return (self.frame_bytes + WIRE_OVERHEAD_BYTES) * self.side.ps_per_byte

    @property
    def delay_ps(self) -> int:
        """From a frame's due instant to its last bit at the switch."""
        return self.wire_ps + self.side.propagation_ps

    def resolve(self) -> None:
        """Learn again what the switch makes of the frames."""
        port = self.side.switch_port
        self.control = understand(self.spec.frame, port.switch.config.mac if port else "", self.spec.fcs_error)

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
        port = self.side.switch_port
        if port is not None:
            port.receiver.count_frames(self.control, frames)
            last_ps = self.schedule.instant_ps(self.arrived - 1) + self.delay_ps
            for priority, quanta in self.control.pauses:
                if port.receiver.shuts[priority] and quanta:
                    port.receiver.hold(priority, now_ps, last_ps + pause_time_ps(quanta, port.speed_mbps))
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
        port = self.side.switch_port
        if port is not None and self.side.is_up:
            self.delivered += 1
            port.receiver.frame(self.control, now_ps)

    def _may_be_level(self) -> bool:
        port = self.side.switch_port
        if port is None or self.arrived >= self._limit():
            return False
        if self.control.kind != PFC:
            return True
        if sum(1 for storm in port.receiver.storms if storm.is_running and storm.control.kind == PFC) > 1:
            return False
        gap_ps = self.schedule.longest_gap_ps
        return all(not quanta or not port.receiver.shuts[priority] or pause_time_ps(quanta, port.speed_mbps) >= gap_ps
                   for priority, quanta in self.control.pauses)

    @property
    def is_running(self) -> bool:
        """True while frames are still to reach the switch."""
        return self.state == STARTED or self.arrived < self._limit()

    def _become_level(self) -> None:
        port = self.side.switch_port
        self.is_level = True
        if port is not None:
            for priority, quanta in self.control.pauses:
                if port.receiver.shuts[priority] and quanta:
                    port.receiver.until_ps[priority] = NEVER
        if self.total is not None:
            self._expect_number(self.total - 1)
