"""Data flows of a traffic generator: when frames come due, which they are, and how a hold slips the schedule.

A flow's frames are not events: what is due at an instant follows from its schedule. While it is held a flow's schedule
stands still: the frame that came due in the hold is due at its end, and the schedule goes on from there (**slip**);
what the hold has cost is not made up. Waiting behind other frames does not slip a schedule.
"""
from __future__ import annotations

from collections import deque
from math import lcm
from typing import NamedTuple, Protocol

from virtual_testbed.dataplane.model.counters import PAUSED, STARTED, STOPPED
from virtual_testbed.dataplane.model.events import EventLoop
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.port import Path
from virtual_testbed.dataplane.model.traffic import DataFlow
from virtual_testbed.dataplane.model.units import Schedule, frame_time_ps, repeated_ps


class Sender(Protocol):
    """What a flow needs of the generator port that sends it.

    Attributes:
        gate: mask of the transmit queues that PFC holds.
        current: the lane of the data frame on the line until it is free.
    """

    line: Line
    gate: int
    current: Lane | None

    def queue_flows(self) -> None:
        """Flows, or what holds them, have changed."""

    def flow_changed(self) -> None:
        """A flow began or ended."""


class Lane:
    """The frames of one flow with one DSCP and size: where they arrive, and along which path."""

    __slots__ = ("flow", "dscp", "frame_bytes", "tx_time_ps", "path", "launched")

    def __init__(self, flow: FlowState, dscp: int, frame_bytes: int) -> None:
        self.flow = flow
        self.dscp = dscp
        self.frame_bytes = frame_bytes
        self.tx_time_ps = frame_time_ps(frame_bytes, flow.side.line.speed_mbps)
        self.path: Path | None = None
        self.launched = 0

    def arrive(self, now_ps: int) -> None:
        """A frame's last bit reaches the switch."""
        path = self.path
        if path is None:
            self.flow.lost += 1
        else:
            path.in_port.receive(path, now_ps)

    def lose(self) -> None:
        """A frame goes into the void."""
        self.flow.lost += 1


class Segment(NamedTuple):
    """Frames of a flow that come due in one go.

    Attributes:
        due_ps, residue: the first is due at `due_ps`, `residue / parts` ps before its exact instant.
        place, burst_ps: its place in its burst, and when that began.
        left: how many there are (None: no end).
    """

    due_ps: int
    residue: int
    place: int
    burst_ps: int
    left: int | None

    def moved(self, shift_ps: int) -> Segment:
        """The same so much later."""
        return self._replace(due_ps=self.due_ps + shift_ps, burst_ps=self.burst_ps + shift_ps)


class FlowSnapshot(NamedTuple):
    """What moves in a flow; `launched` by kind of its frames. See `FlowState`."""

    state: str
    has_begun: bool
    segment: Segment | None
    later: tuple[Segment, ...]
    frozen: Segment | None
    position: int
    sent: int
    sent_ps: int
    lost: int
    launched: tuple[int, ...]

    @property
    def waiting(self) -> tuple[Segment, ...]:
        """Segments of frames that come due, the next one first."""
        return (self.segment, *self.later) if self.segment is not None else ()


class FlowState:
    """A data flow, running or not.

    Attributes:
        lanes: by frame number modulo their count; `position` is that of the next frame.
        segment: frames that come due next (None: none do), `later` those after them; the last one of a flow that is
            generating has no end, unless the flow has one.
        has_begun: its delay since START is over; `begin_ps` when it is, or was.
        is_told: it was told to start, and not to stop since.
        frozen: what remains of the schedule while the flow is held.
        wants_latency: sums of instants are kept for it; `is_measured` until its latency is given up.
        sent: frames put on the line (the last one may still be on it); `sent_ps` the sum of the instants at which they
            were.
    """

    def __init__(self, spec: DataFlow, index: int, side: Sender, loop: EventLoop) -> None:
        self.spec = spec
        self.index = index
        self.side = side
        self.loop = loop
        self.state = STOPPED
        self.queue_bit = 1 << spec.queue
        self.burst = spec.duration.burst_frames
        self.burst_period_ps = spec.duration.burst_period_ps
        schedule = Schedule(0, spec.rate_fps)
        self.step = schedule.step
        self.rest = schedule.rest
        self.parts = schedule.parts
        self.position = 0
        self.sent = 0
        self.sent_ps = 0
        self.lost = 0
        self.sent_cleared = 0
        self.received_cleared = 0
        self.bytes_sent_cleared = 0
        self.bytes_received_cleared = 0
        self.latency_cleared_ps: int | None = 0
        self.wants_latency = spec.latency is not None
        self.is_measured = self.wants_latency
        self.segment: Segment | None = None
        self.later: deque[Segment] = deque()
        self.frozen: Segment | None = None
        self.has_begun = False
        self.is_told = False
        self.begin_ps = 0
        kinds: dict[tuple[int, int], Lane] = {}
        self.lanes = [self._lane(kinds, spec.dscp[n % len(spec.dscp)], spec.sizes[n % len(spec.sizes)])
                      for n in range(lcm(len(spec.dscp), len(spec.sizes)))]
        self.kinds = list(kinds.values())
        self.begin_action = self._begin
        self.end_action = self._end
        self.paths: list[Path] = []

    def _lane(self, kinds: dict[tuple[int, int], Lane], dscp: int, size: int) -> Lane:
        return kinds.setdefault((dscp, size), Lane(self, dscp, size))

    def snapshot(self) -> FlowSnapshot:
        """Its state now."""
        return FlowSnapshot(self.state, self.has_begun, self.segment, tuple(self.later), self.frozen, self.position,
                            self.sent, self.sent_ps, self.lost, tuple(lane.launched for lane in self.kinds))

    def restore(self, snapshot: FlowSnapshot) -> None:
        """Take a state; its port sorts flows anew afterwards. Timers are not part of it."""
        (self.state, self.has_begun, self.segment, later, self.frozen, self.position, self.sent, self.sent_ps,
         self.lost, launched) = snapshot
        if later or self.later:
            self.later = deque(later)
        for lane, frames in zip(self.kinds, launched):
            lane.launched = frames

    def shift(self, shift_ps: int, now_ps: int) -> None:
        """Let what is to come due after now come so much later; frames that PFC holds stay what they are."""
        if self.segment is not None and not self.is_shut:
            self.segment = self.segment.moved(shift_ps)
            self.later = deque(segment.moved(shift_ps) for segment in self.later)
        if self.frozen is not None and self.frozen.due_ps > now_ps:
            self.frozen = self.frozen.moved(shift_ps)

    def repeat(self, since: FlowSnapshot, times: int, period_ps: int) -> None:
        """Count what was sent since then so many times more, a period later each time, and take as many turns; what
        came due since then while PFC holds it comes due that much later each time.
        """
        self.sent_ps += repeated_ps(self.sent_ps - since.sent_ps, self.sent - since.sent, times, period_ps)
        frames = times * (self.sent - since.sent)
        self.sent += frames
        self.lost += times * (self.lost - since.lost)
        self._take_turns(frames)
        again = [self._repeated(new, old, times) for new, old in zip(self.snapshot().waiting, since.waiting)]
        if again:
            self.segment = again[0]
            self.later = deque(again[1:])

    def _repeated(self, new: Segment, old: Segment, times: int) -> Segment:
        moved = new.moved(times * (new.due_ps - old.due_ps)) if self.is_shut else new
        if new.left is None or old.left is None:
            return moved
        return moved._replace(left=new.left + times * (new.left - old.left))

    def _take_turns(self, frames: int) -> None:
        """So many frames more have been put on the line."""
        rounds, rest = divmod(frames, len(self.lanes))
        for number, lane in enumerate(self.lanes):
            lane.launched += rounds + ((number - self.position) % len(self.lanes) < rest)
        self.position = (self.position + frames) % len(self.lanes)

    def start(self, now_ps: int) -> None:
        """START at `now_ps`; a running flow goes on."""
        if self.state != STOPPED:
            return
        self.state = STARTED
        self.has_begun = False
        self.is_told = True
        self.begin_ps = now_ps + self.spec.duration.delay_ps
        self.loop.at(self.begin_ps, self.begin_action)

    def stop(self, now_ps: int) -> None:
        """STOP: no further frame comes due; those held by PFC are forgotten, others still leave."""
        self.loop.cancel(self.begin_action)
        self.is_told = False
        self._stop(now_ps)

    def _stop(self, until_ps: int) -> None:
        """Frames due up to `until_ps` were the last."""
        self.loop.cancel(self.end_action)
        if self.state != STOPPED:
            self.freeze(until_ps)
        self.state = STOPPED
        self.frozen = None
        if self.is_shut:
            self.forget()
        self.side.queue_flows()

    @property
    def is_shut(self) -> bool:
        """True while PFC holds the flow's queue."""
        return bool(self.side.gate & self.queue_bit)

    def forget(self) -> None:
        """Frames that wait are not sent any more."""
        self.segment = None
        self.later.clear()

    def pause(self, now_ps: int) -> None:
        """Hold the flow by command; what waits is sent."""
        if self.state == STARTED:
            self.state = PAUSED
            self.freeze(now_ps)
            self.side.queue_flows()

    def resume(self, now_ps: int) -> None:
        """End a hold by command."""
        if self.state == PAUSED:
            self.state = STARTED
            self.thaw(now_ps)
            self.side.queue_flows()

    def freeze(self, until_ps: int) -> None:
        """The schedule stands still: frames due up to `until_ps` came due, the next one does not."""
        if self.frozen is not None or self.state == STOPPED or self.segment is None:
            return
        last = self.later.pop() if self.later else self.segment
        due = self.due_by(last, until_ps)
        self.frozen = self.after(last, due)
        kept = last._replace(left=due) if due else None
        if last is self.segment:
            self.segment = kept
        elif kept is not None:
            self.later.append(kept)

    def thaw(self, now_ps: int) -> None:
        """The schedule goes on, unless something else still holds it: a frame that came due is due now."""
        frozen = self.frozen
        if frozen is None or self.state != STARTED or self.is_shut:
            return
        self.frozen = None
        slip_ps = now_ps - frozen.due_ps
        if slip_ps > 0:
            frozen = frozen._replace(due_ps=now_ps, residue=0, burst_ps=frozen.burst_ps + slip_ps)
        self._append(frozen)

    def _append(self, segment: Segment) -> None:
        if self.segment is None:
            self.segment = segment
        else:
            self.later.append(segment)

    def due_by(self, segment: Segment, until_ps: int) -> int:
        """How many frames of a segment come due at or before `until_ps`."""
        if until_ps < segment.due_ps:
            return 0
        if self.burst:
            count = self._due_in_bursts(segment, until_ps)
        else:
            count = self._steps(segment, until_ps)
        return count if segment.left is None else min(count, segment.left)

    def _steps(self, segment: Segment, until_ps: int) -> int:
        elapsed = (until_ps - segment.due_ps + 1) * self.parts - 1 - segment.residue
        return elapsed // (self.step * self.parts + self.rest) + 1 if elapsed >= 0 else 1

    def _due_in_bursts(self, segment: Segment, until_ps: int) -> int:
        ahead = self.burst - segment.place
        next_ps = segment.burst_ps + self.burst_period_ps
        if until_ps < next_ps:
            return min(ahead, self._steps(segment, until_ps))
        bursts, rest_ps = divmod(until_ps - next_ps, self.burst_period_ps)
        return ahead + bursts * self.burst + min(
            self.burst, self._steps(Segment(0, 0, 0, 0, None), rest_ps))

    def after(self, segment: Segment, frames: int) -> Segment | None:
        """What remains of a segment after so many frames; None: nothing."""
        left = segment.left
        if left is not None:
            left -= frames
            if left <= 0:
                return None
        if not self.burst:
            exact = segment.residue + frames * (self.step * self.parts + self.rest)
            moved_ps, residue = divmod(exact, self.parts)
            return Segment(segment.due_ps + moved_ps, residue, 0, 0, left)
        bursts, place = divmod(segment.place + frames, self.burst)
        if not bursts:
            moved_ps, residue = divmod(segment.residue + frames * (self.step * self.parts + self.rest), self.parts)
            return Segment(segment.due_ps + moved_ps, residue, place, segment.burst_ps, left)
        burst_ps = segment.burst_ps + bursts * self.burst_period_ps
        moved_ps, residue = divmod(place * (self.step * self.parts + self.rest), self.parts)
        return Segment(burst_ps + moved_ps, residue, place, burst_ps, left)

    def measure(self) -> None:
        """Its latency is measured from now on, if that is wanted."""
        self.is_measured = self.wants_latency

    def give_up_latency(self) -> None:
        """Its latency is not measured any more, until it is counted from 0 again."""
        self.is_measured = False

    def take(self, now_ps: int) -> Lane:
        """The next frame goes on the line."""
        lane = self.lanes[self.position]
        self.position += 1
        if self.position == len(self.lanes):
            self.position = 0
        self.sent += 1
        if self.wants_latency:
            self.sent_ps += now_ps
        lane.launched += 1
        due_ps, residue, place, burst_ps, left = self.segment  # type: ignore[misc]
        if left is not None or self.burst:
            self._advance()
        else:
            due_ps += self.step
            residue += self.rest
            if residue >= self.parts:
                residue -= self.parts
                due_ps += 1
            self.segment = Segment(due_ps, residue, place, burst_ps, None)
        return lane

    def _advance(self) -> None:
        assert self.segment is not None
        self.segment = self.after(self.segment, 1)
        if self.segment is None and self.later:
            self.segment = self.later.popleft()
        if self.segment is None and self.frozen is None and self.state == STARTED and self.has_begun:
            self.finish()

    def finish(self) -> None:
        """It ends by itself: its last frame has gone on the line."""
        self.state = STOPPED
        self.loop.cancel(self.end_action)
        self.side.flow_changed()

    @property
    def has_finished(self) -> bool:
        """True when it was started and has ended by itself since."""
        return self.is_told and self.state == STOPPED

    def transmit_state(self, now_ps: int) -> str:
        """started, stopped or paused; stopped only once its last frame has left."""
        waits = self.segment is not None or self.on_line(now_ps) is not None
        return STARTED if self.state == STOPPED and waits else self.state

    def on_line(self, now_ps: int) -> Lane | None:
        """The flow's frame that is on the line now."""
        side = self.side
        current = side.current
        on_line = current is not None and current.flow is self and side.line.busy_until_ps > now_ps
        return current if on_line else None

    def frames_sent(self, now_ps: int) -> int:
        """Frames whose last bit has left by `now_ps`."""
        return self.sent - (1 if self.on_line(now_ps) else 0)

    def bytes_sent(self, now_ps: int) -> int:
        """Bytes of these frames."""
        on_line = self.on_line(now_ps)
        return sum(lane.launched * lane.frame_bytes for lane in self.kinds) - (on_line.frame_bytes if on_line else 0)

    def _begin(self, now_ps: int) -> None:
        duration = self.spec.duration
        if duration.time_ps is not None:
            self.loop.at(now_ps + duration.time_ps, self.end_action)
        self.position = 0
        self.has_begun = True
        whole = Segment(now_ps, 0, 0, now_ps, duration.frames)
        if self.state == PAUSED or self.is_shut:
            self.frozen = whole
        else:
            self._append(whole)
        self.side.queue_flows()
        self.side.flow_changed()

    def _end(self, now_ps: int) -> None:
        self._stop(now_ps - 1)
        self.side.flow_changed()


def is_complete(flow: FlowState) -> bool:
    """Whether no frame of a flow has been lost, dropped or copied so far."""
    return not flow.lost and not any(
        path.lost or path.tx_side_drops or path.rx_side_drops or path.copies for path in flow.paths)


def has_latency(flow: FlowState) -> bool:
    """Whether the latency of a flow is measured, and known so far."""
    return flow.is_measured and is_complete(flow)
