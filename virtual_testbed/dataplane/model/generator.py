"""Traffic generator ports: the line that flows share, and how received PFC holds them.

Frames leave in the order in which they came due, except those whose transmit queue is paused.
"""
from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from virtual_testbed.dataplane.model.control_frames import Control, MacControlFrame
from virtual_testbed.dataplane.model.counters import STOPPED
from virtual_testbed.dataplane.model.events import CONTROL_AT_GENERATOR, FRAME_DUE, FRAME_RECEIVED, NEVER, EventLoop
from virtual_testbed.dataplane.model.flow import FlowState, Lane
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.pause_flow import PauseFlowState
from virtual_testbed.dataplane.model.pause_receiver import ClassHabits, PauseReceiver
from virtual_testbed.dataplane.model.port import SwitchPort
from virtual_testbed.dataplane.model.traffic import GeneratorPort
from virtual_testbed.dataplane.model.units import PS_PER_METRE


class SideSnapshot(NamedTuple):
    """What moves in a generator port beside its line, its receiver, flows and trains. See `GeneratorSide`."""

    gate: int
    current: Lane | None


class GeneratorSide:
    """The generator's end of a link.

    Attributes:
        line: towards the switch.
        receiver: what comes from the switch; `gate` the transmit queues that it holds.
        due: flows that may send, as a heap by the next frame's due instant; `current` the lane of the data frame on the
            line until it is free.
        wake_ps: when the line next has to choose (`NEVER`: when something happens).
    """

    def __init__(self, location: str, index: int, speed_mbps: int, cable_m: int, loop: EventLoop) -> None:
        self.location = location
        self.index = index
        self.loop = loop
        self.speed_mbps = speed_mbps
        self.line = Line(self, speed_mbps, cable_m * PS_PER_METRE, loop)
        self.receiver = PauseReceiver(self, index, loop)
        self.receiver.set_timing(speed_mbps, 0)
        self.spec: GeneratorPort | None = None
        self.switch_port: SwitchPort | None = None
        self.admin_up = True
        self.is_up = False
        self.flows: list[FlowState] = []
        self.storms: list[PauseFlowState] = []
        self.due: list[tuple[int, int, FlowState]] = []
        self.current: Lane | None = None
        self.gate = 0
        self.wake_ps = NEVER
        self.awake = False
        self.received_cleared = [0] * 8
        self.wake = self._wake

    @property
    def is_busy(self) -> bool:
        """True when something is under way here, or paused."""
        return bool(self.receiver.is_busy or self.line.flight or self.line.controls)

    def connect(self, port: SwitchPort) -> None:
        """Plug the cable in."""
        self.switch_port = port
        port.connect(self.speed_mbps, self.line.propagation_ps, self)
        self.line.lead_to(port.receiver, FRAME_RECEIVED, port.index)
        port.line.lead_to(self.receiver, CONTROL_AT_GENERATOR, self.index)

    @property
    def station_mac(self) -> str:
        """Empty: a generator port accepts pause frames to the group address only."""
        return ""

    def parse(self, frame: MacControlFrame, reading: Control) -> Control:
        """The healthy reading: no fault changes how a generator reads a frame."""
        return reading

    def configure(self, now_ps: int) -> None:
        """Take what the port's specification says of PFC."""
        shuts = [0] * 8
        for priority, queue in self.spec.pfc_queues if self.spec else ():
            shuts[priority] |= 1 << queue
        self.receiver.set_timing(self.speed_mbps, self.spec.response_ps if self.spec else 0)
        if shuts != self.receiver.shuts:
            self.receiver.configure([ClassHabits(mask, (priority,)) for priority, mask in enumerate(shuts)], now_ps)

    def pick(self, now_ps: int) -> None:
        """Put the next frame on the line: a control frame, or the oldest data frame whose queue is not paused."""
        line = self.line
        if line.busy_until_ps > now_ps:
            return
        if line.controls:
            self.current = None
            end_ps = line.launch_control(now_ps)
            self._wake_at(end_ps if line.controls or not self.due else max(end_ps, self.due[0][0]))
            return
        line.on_line = None
        self.current = None
        due = self.due
        if not due:
            self.wake_ps = NEVER
            return
        due_ps, index, flow = due[0]
        if due_ps > now_ps:
            self._wake_at(due_ps)
            return
        if flow is self.loop.sampled:
            self.loop.has_sample = True
        lane = flow.take(now_ps)
        self.current = lane
        end_ps = now_ps + lane.tx_time_ps
        line.data_ps = now_ps
        line.launch(lane, end_ps)
        if flow.segment is None:
            heappop(due)
        else:
            heapreplace(due, (flow.segment[0], index, flow))
        if due:
            next_ps = due[0][0]
            self._wake_at(next_ps if next_ps > end_ps else end_ps)
        else:
            self.wake_ps = NEVER

    def queue_flows(self) -> None:
        """Flows, or what holds them, have changed: sort out anew which may send."""
        self.sort_flows()
        self.line_wanted(self.loop.now_ps)

    def flow_changed(self) -> None:
        """A flow began or ended."""
        self.loop.watcher.flows_changed()

    def sort_flows(self) -> None:
        """Sort out anew which flows may send."""
        self.due = [(flow.segment.due_ps, flow.index, flow) for flow in self.flows
                    if flow.segment is not None and not flow.is_shut]
        heapify(self.due)

    def snapshot(self) -> SideSnapshot:
        """Its state now."""
        return SideSnapshot(self.gate, self.current)

    def restore(self, snapshot: SideSnapshot) -> None:
        """Take a state, after those of the flows; events are set by `schedule`."""
        self.gate, self.current = snapshot
        self.sort_flows()

    def empty(self) -> None:
        """No data frame is on the line; sort out anew which flows may send."""
        self.current = None
        self.sort_flows()

    def replace_current(self, lane: Lane) -> None:
        """Take another lane as that of the data frame on the line."""
        self.current = lane

    def schedule(self) -> None:
        """Set the event of the next choice anew."""
        busy_until_ps = self.line.busy_until_ps
        if self.line.controls:
            self._wake_at(busy_until_ps)
        elif self.due:
            self._wake_at(max(busy_until_ps, self.due[0][0]))
        else:
            self.wake_ps = NEVER

    def line_wanted(self, now_ps: int) -> None:
        """A frame has begun to wait, or flows have changed: choose as soon as the line is free."""
        if self.line.busy_until_ps <= now_ps:
            self.loop.wake(self)
        elif self.wake_ps > self.line.busy_until_ps:
            self._wake_at(self.line.busy_until_ps)

    def _wake_at(self, time_ps: int) -> None:
        self.wake_ps = time_ps
        self.loop.push_traffic((time_ps, FRAME_DUE, self.index, self.wake))

    def _wake(self, now_ps: int) -> None:
        if now_ps == self.wake_ps and not self.awake:
            self.awake = True
            self.loop.awake.append(self)

    def forwards_by(self) -> tuple[str, ...]:
        """None: it is no switch."""
        return ()

    def set_gate(self, gate: int, now_ps: int) -> None:
        """Hold the flows of some transmit queues, and let all others go on."""
        if gate == self.gate:
            return
        before = self.gate
        self.gate = gate
        for flow in self.flows:
            if flow.queue_bit & gate & ~before:
                flow.freeze(now_ps - 1)
                if flow.state == STOPPED:
                    flow.forget()
            elif flow.queue_bit & before & ~gate:
                flow.thaw(now_ps)
        self.queue_flows()
        self.loop.watcher.holds_changed()

    def link_came_up(self, now_ps: int) -> None:
        """What is put on the line arrives."""
        self.is_up = True
        self.line.is_up = True

    def link_went_down(self, now_ps: int) -> None:
        """Lose what is on the cable, forget pauses; frames go into the void from now on."""
        self.is_up = False
        self.line.is_up = False
        self.line.cut()
        self.receiver.link_went_down(now_ps)
