"""Pause flows of a generator port: trains of MAC control frames that are started and stopped."""
from __future__ import annotations

from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.model.counters import PAUSED, STARTED, STOPPED
from virtual_testbed.dataplane.model.events import NEVER, EventLoop
from virtual_testbed.dataplane.model.line import ControlItem, Line
from virtual_testbed.dataplane.model.line import Train
from virtual_testbed.dataplane.model.traffic import PauseFlow
from virtual_testbed.dataplane.model.units import Schedule


class PauseFlowState:
    """A pause flow, running or not.

    Attributes:
        item: its frames on the line, with their counts; `train` when they come due.
        is_told: it was told to start, and not to stop since.
    """

    def __init__(self, spec: PauseFlow, index: int, line: Line, loop: EventLoop) -> None:
        self.spec = spec
        self.line = line
        self.loop = loop
        self.item = ControlItem(MacControlFrame(spec.frame, spec.fcs_error, index), line)
        self.frame_bytes = self.item.frame.frame_bytes
        duration = spec.duration
        schedule = Schedule(0, spec.rate_fps, duration.burst_frames, duration.burst_period_ps)
        self.train = Train(self.item, schedule, index, loop)
        self.state = STOPPED
        self.is_told = False
        self.sent_cleared = 0
        self.received_cleared = 0
        self.bytes_sent_cleared = 0
        self.bytes_received_cleared = 0
        self._held: tuple[int, int] | None = None
        self.begin_action = self._begin
        self.end_action = self._end

    def start(self, now_ps: int) -> None:
        """START at `now_ps`; a running flow goes on."""
        if self._state() == STOPPED:
            self.stop(now_ps)
            self.state = STARTED
            self.is_told = True
            self.loop.at(now_ps + self.spec.duration.delay_ps, self.begin_action)

    def stop(self, now_ps: int) -> None:
        """STOP: frames due up to now are sent, none after."""
        for action in (self.begin_action, self.end_action):
            self.loop.cancel(action)
        self.is_told = False
        self._end(now_ps)

    def pause(self, now_ps: int) -> None:
        """Hold the flow by command."""
        if self._state() == STARTED:
            self.state = PAUSED
            self._held = self.train.number, self.train.limit
            self.train.stop()

    def resume(self, now_ps: int) -> None:
        """Go on: a frame that came due in the hold is due now, the schedule goes on from there."""
        if self.state != PAUSED:
            return
        self.state = STARTED
        if self._held is not None and self._held[0] < self._held[1]:
            number, limit = self._held
            schedule = self.train.schedule
            if schedule.instant_ps(number) >= now_ps:
                self.train.start(schedule.base_ps, number, limit)
            elif schedule.burst:
                self.train.start(schedule.base_ps + now_ps - schedule.instant_ps(number), number, limit)
            else:
                self.train.start(now_ps, 0, NEVER if limit >= NEVER else limit - number)
        self._held = None

    def sent(self, now_ps: int) -> int:
        """Frames whose last bit has left by `now_ps`."""
        return self.line.sent(self.item, now_ps)

    @property
    def has_finished(self) -> bool:
        """True when it was started and has ended by itself since."""
        return self.is_told and self._state() == STOPPED

    def transmit_state(self, now_ps: int) -> str:
        """started, stopped or paused; stopped only once its last frame has left."""
        state = self._state()
        on_line = self.line.on_line is self.item and self.line.busy_until_ps > now_ps
        return STARTED if state == STOPPED and (on_line or self.item in self.line.controls) else state

    def _state(self) -> str:
        ended = self.state == STARTED and self.train.limit != 0 and not self.train.is_running
        return STOPPED if ended else self.state

    def _begin(self, now_ps: int) -> None:
        duration = self.spec.duration
        if duration.time_ps is not None:
            self.loop.at(now_ps + duration.time_ps, self.end_action)
        limit = NEVER if duration.frames is None else duration.frames
        if self.state == PAUSED:  # held before it began
            self._held = 0, limit
            self.train.schedule.base_ps = now_ps
        else:
            self.train.start(now_ps, 0, limit)

    def _end(self, now_ps: int) -> None:
        self.train.limit = 0
        self.train.number = 0
        self.state = STOPPED
        self._held = None
