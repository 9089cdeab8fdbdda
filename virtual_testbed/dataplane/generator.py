"""Traffic generator ports: data flows, their serializer, and how received PFC holds them.

Frames due wait in one line per port, oldest first, and leave in that order, except those whose transmit queue is
paused. While its queue is paused a flow's schedule stands still: the frame that came due in the pause is due at the
resume, and the schedule goes on from there (**slip**); what the pause has cost is not made up. Waiting behind other
frames does not slip a schedule.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable

from virtual_testbed.dataplane.counters import PAUSED, STARTED, STOPPED
from virtual_testbed.dataplane.events import FRAME_DUE, FRAME_RECEIVED, FRAME_SENT, NEVER, EventLoop
from virtual_testbed.dataplane.storm import Storm
from virtual_testbed.dataplane.switch import Path, SwitchPort
from virtual_testbed.dataplane.traffic import DataFlow, GeneratorPort
from virtual_testbed.dataplane.units import PS_PER_METRE, Schedule, frame_time_ps, ps_per_byte


class Lane:
    """The frames of one flow that carry one DSCP: where they arrive, and along which path."""

    __slots__ = ("flow", "dscp", "path", "arrive", "loop")

    def __init__(self, flow: FlowState, dscp: int, loop: EventLoop) -> None:
        self.flow, self.dscp, self.loop = flow, dscp, loop
        self.path: Path | None = None
        self.arrive = self._arrive

    def _arrive(self, now_ps: int) -> None:
        path = self.path
        if path is None:
            self.flow.lost += 1
        else:
            path.in_port.receive(path, now_ps)


class FlowState:
    """A data flow, running or not.

    Attributes:
        lanes: by frame number modulo their count; `position` is that of the next frame.
        due_ps, residue: the next frame is due at `due_ps`, `residue / parts` ps before its exact instant.
        waiting: frames that came due and are not on the line yet.
        sent: frames put on the line (the last one may still be on it).
        slow: so slow that it bounds cycle skips instead of taking part in them.
    """

    def __init__(self, spec: DataFlow, index: int, side: GeneratorSide, loop: EventLoop) -> None:
        self.spec, self.index, self.side, self.loop = spec, index, side, loop
        self.state = STOPPED
        self.queue_bit = 1 << spec.queue
        schedule = Schedule(0, spec.rate_fps)
        self.step, self.rest, self.parts = schedule.step, schedule.rest, schedule.parts
        self.due_ps = self.residue = self.position = self.waiting = self.sent = self.lost = 0
        self.sent_cleared = self.received_cleared = 0
        self.remaining: int | None = None
        self.generating = self.held = self.slow = self.is_section = False
        self.tx_time_ps = frame_time_ps(spec.frame_bytes, side.speed_mbps)
        self.lanes = [Lane(self, dscp, loop) for dscp in spec.dscp]
        self.fire = self._fire
        self.begin_action, self.end_action = self._begin, self._end
        self.paths: list[Path] = []

    def start(self, now_ps: int) -> None:
        """START at `now_ps`; a running flow goes on."""
        if self.state != STOPPED:
            return
        self.state = STARTED
        self.remaining = self.spec.duration.frames
        self.loop.at(now_ps + self.spec.duration.delay_ps, self.begin_action)

    def stop(self, now_ps: int) -> None:
        """STOP: no further frame comes due; those held by PFC are forgotten, others still leave."""
        for action in (self.fire, self.begin_action, self.end_action):
            self.loop.cancel(action)
        self.state = STOPPED
        self.generating = self.held = False
        if self.side.paused_queues & self.queue_bit:
            self.side.forget_waiting(self)

    def pause(self, now_ps: int) -> None:
        """Hold the flow by command."""
        if self.state == STARTED:
            self.state = PAUSED

    def resume(self, now_ps: int) -> None:
        """End a hold by command."""
        if self.state == PAUSED:
            self.state = STARTED
            self.release(now_ps)

    def release(self, now_ps: int) -> None:
        """Go on after a hold, unless something else still holds the flow: the held frame is due now."""
        if self.held and self.state == STARTED and not self.side.paused_queues & self.queue_bit:
            self.held = False
            self.due_ps, self.residue = now_ps, 0
            self.expect()

    def expect(self) -> None:
        """Set the event of the next frame."""
        if self.slow:
            self.loop.at(self.due_ps, self.fire, FRAME_DUE, self.index)
        else:
            self.loop.push_traffic((self.due_ps, FRAME_DUE, self.index, self.fire))

    def transmit_state(self, now_ps: int) -> str:
        """started, stopped or paused; stopped only once its last frame has left."""
        return STARTED if self.state == STOPPED and (self.waiting or self._on_line(now_ps)) else self.state

    def frames_sent(self, now_ps: int) -> int:
        """Frames whose last bit has left by `now_ps`."""
        return self.sent - (1 if self._on_line(now_ps) else 0)

    def _on_line(self, now_ps: int) -> bool:
        current = self.side.current
        return current is not None and current.flow is self and self.side.busy_until_ps > now_ps

    def _begin(self, now_ps: int) -> None:
        if self.spec.duration.time_ps is not None:
            self.loop.at(now_ps + self.spec.duration.time_ps, self.end_action)
        self.generating = True
        self.due_ps, self.residue, self.position = now_ps, 0, 0
        self.expect()
        self.side.flows_changed()

    def _end(self, now_ps: int) -> None:
        self.stop(now_ps)
        self.side.flows_changed()

    def _fire(self, now_ps: int) -> None:
        """A frame is due."""
        side = self.side
        if self.state == PAUSED or side.paused_queues & self.queue_bit:
            self.held = True
            side.holds_changed()
            return
        side.waiting.append(self)
        self.waiting += 1
        if side.busy_until_ps <= now_ps:
            if not side.awake:
                side.awake = True
                self.loop.awake.append(side)
        elif not side.free_expected:
            side.expect_free()
        if self.is_section:
            self.loop.section = True
        if self.remaining is not None:
            self.remaining -= 1
            if not self.remaining:
                self.state, self.generating = STOPPED, False
                side.flows_changed()
                return
        self.due_ps += self.step
        self.residue += self.rest
        if self.residue >= self.parts:
            self.residue -= self.parts
            self.due_ps += 1
        self.expect()


class GeneratorSide:
    """The generator's end of a link: serializer, pause state, flows and storms.

    Attributes:
        paused_classes: mask of classes paused by received PFC; `paused_queues` the transmit queues they hold.
        waiting: flows with a frame due, in order; `current` the lane of the frame on the line until `busy_until_ps`.
        since_ps, received: arrival of the XOFF of the open train of each class, and PFC frames received without its
            refreshes.
    """

    def __init__(self, location: str, index: int, speed_mbps: int, cable_m: int, loop: EventLoop) -> None:
        self.location, self.index, self.speed_mbps, self.loop = location, index, speed_mbps, loop
        self.ps_per_byte = ps_per_byte(speed_mbps)
        self.propagation_ps = cable_m * PS_PER_METRE
        self.spec: GeneratorPort | None = None
        self.switch_port: SwitchPort | None = None
        self.admin_up, self.is_up = True, False
        self.flows: list[FlowState] = []
        self.storms: list[Storm] = []
        self.waiting: deque[FlowState] = deque()
        self.current: Lane | None = None
        self.busy_until_ps = 0
        self.awake = self.free_expected = False
        self.paused_classes = self.paused_queues = 0
        self.since_ps: list[int | None] = [None] * 8
        self.lapse_ps = [NEVER] * 8
        self.received, self.received_cleared = [0] * 8, [0] * 8
        self.xoff_actions = [self._xoff_of(priority) for priority in range(8)]
        self.xon_actions = [self._xon_of(priority) for priority in range(8)]
        self.free = self._free
        self.flows_changed: Callable[[], None] = lambda: None
        self.holds_changed: Callable[[], None] = lambda: None

    def pick(self, now_ps: int) -> None:
        """Put the oldest frame whose queue is not paused on the line."""
        if self.busy_until_ps > now_ps or not self.waiting:
            return
        flow = self._take()
        if flow is None:
            return
        flow.waiting -= 1
        flow.sent += 1
        lane = flow.lanes[flow.position]
        flow.position += 1
        if flow.position == len(flow.lanes):
            flow.position = 0
        self.current = lane
        self.busy_until_ps = now_ps + flow.tx_time_ps
        self.loop.push_traffic((self.busy_until_ps + self.propagation_ps, FRAME_RECEIVED, self.index, lane.arrive))
        if self.waiting:
            self.expect_free()

    def _take(self) -> FlowState | None:
        waiting, paused = self.waiting, self.paused_queues
        if not waiting[0].queue_bit & paused:
            return waiting.popleft()
        for place, flow in enumerate(waiting):
            if not flow.queue_bit & paused:
                del waiting[place]
                return flow
        return None

    def expect_free(self) -> None:
        """Choose again when the line is free."""
        self.free_expected = True
        self.loop.push_traffic((self.busy_until_ps, FRAME_SENT, (1 << 20) + self.index, self.free))

    def _free(self, now_ps: int) -> None:
        self.free_expected = False
        self.loop.wake(self)

    def forget_waiting(self, flow: FlowState) -> None:
        """Drop a flow's frames that wait for the line."""
        self.waiting = deque(other for other in self.waiting if other is not flow)
        flow.waiting = 0

    def settle_storms(self, now_ps: int) -> None:
        """Something about this port's pause flows changes: no train is a level for the moment."""
        for storm in self.storms:
            storm.leave_level(now_ps)

    def update_pauses(self, now_ps: int) -> None:
        """Work out which transmit queues are paused, hold and release flows."""
        before = self.paused_queues
        mapping = self.spec.pfc_queues if self.spec else ()
        self.paused_queues = sum(1 << queue for queue in {
            queue for priority, queue in mapping if self.paused_classes >> priority & 1})
        if self.paused_queues == before:
            return
        for flow in self.flows:
            if flow.queue_bit & self.paused_queues & ~before:
                if flow.waiting and flow.state == STOPPED and flow.spec.duration.frames is None:
                    self.forget_waiting(flow)
            flow.release(now_ps)
        if self.waiting and self.busy_until_ps <= now_ps:
            self.loop.wake(self)
        elif self.waiting and not self.free_expected:
            self.expect_free()
        self.holds_changed()

    def stop_train(self, priority: int, last_ps: int, lapse_ps: int) -> None:
        """The refreshes of a class end at `last_ps` without an XON; its pause lapses at `lapse_ps`."""
        self.lapse_ps[priority] = lapse_ps

        def settle(now_ps: int) -> None:
            since_ps = self.since_ps[priority]
            if since_ps is not None and self.lapse_ps[priority] == lapse_ps:
                self.received[priority] += max(0, last_ps - since_ps) // self._refresh_ps()
                self.since_ps[priority] = None

        def lapse(now_ps: int) -> None:
            if self.lapse_ps[priority] == lapse_ps:
                self.lapse_ps[priority] = NEVER
                self._resume(priority, now_ps)

        self.loop.at(max(last_ps, self.loop.now_ps), settle)
        self.loop.at(max(lapse_ps, self.loop.now_ps), lapse)

    def link_went_down(self, now_ps: int) -> None:
        """Forget pauses and open trains; what was on the line is lost elsewhere."""
        for priority in range(8):
            since_ps = self.since_ps[priority]
            if since_ps is not None:
                self.received[priority] += (now_ps - since_ps) // self._refresh_ps()
                self.since_ps[priority] = None
            self.lapse_ps[priority] = NEVER
        self.paused_classes = 0
        self.update_pauses(now_ps)

    def pfc_received(self, priority: int, now_ps: int) -> int:
        """PFC frames received for a class up to `now_ps`."""
        since_ps = self.since_ps[priority]
        return self.received[priority] + ((now_ps - since_ps) // self._refresh_ps() if since_ps is not None else 0)

    def _refresh_ps(self) -> int:
        return self.switch_port.sender.refresh_ps if self.switch_port else 1

    def _xoff_of(self, priority: int) -> Callable[[int], None]:
        def xoff(now_ps: int) -> None:
            self.received[priority] += 1
            self.since_ps[priority] = now_ps
            self.lapse_ps[priority] = NEVER
            self.paused_classes |= 1 << priority
            self.update_pauses(now_ps)
        return xoff

    def _xon_of(self, priority: int) -> Callable[[int], None]:
        def xon(now_ps: int) -> None:
            since_ps = self.since_ps[priority]
            if since_ps is not None:
                self.received[priority] += max(0, now_ps - 1 - since_ps) // self._refresh_ps()
            self.received[priority] += 1
            self._resume(priority, now_ps)
        return xon

    def _resume(self, priority: int, now_ps: int) -> None:
        self.since_ps[priority] = None
        self.paused_classes &= ~(1 << priority)
        self.update_pauses(now_ps)
