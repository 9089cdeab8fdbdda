"""Skipping whole cycles: the traffic's state relative to now recurs, so what happens next is what happened last time.

Between two timers the data plane is deterministic and takes no outside influence. At section points (frames of
one flow) the state relative to now is taken; when it was seen before, one more cycle is stepped to measure what it
adds to every counter, and as many cycles as fit before the next timer (or the end of the span) are added at once.
Queues that are shut are no part of the state either: that their levels grow is seen to by `queue_growth`.
Control paths that carry steady trains of control frames and nothing else ride along: they are no part of the state, and
their own state at the end of the skip follows from their schedules.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from virtual_testbed.dataplane.fast_forward.control_path import ControlPath, control_paths
from virtual_testbed.dataplane.fast_forward.frame_rotation import is_in_turn, length, likeness, rotate
from virtual_testbed.dataplane.fast_forward.queue_growth import QueueGrowth
from virtual_testbed.dataplane.model.counters import STARTED
from virtual_testbed.dataplane.model.events import NEVER, EventLoop
from virtual_testbed.dataplane.model.flow import FlowState, Segment
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.line import Line, Train
from virtual_testbed.dataplane.model.pause_receiver import PauseReceiver
from virtual_testbed.dataplane.model.port import Path, SwitchPort, paths_through
from virtual_testbed.dataplane.model.units import refresh_period_ps

MEMORY = 4096
"""States remembered in one search; a longer cycle is still found, because then only every second state is kept, and
so on.
"""
RUNS_PER_STEP = 16
"""Looking at long queues costs time: look that much more seldom."""
MIN_CYCLES = 3
QUIET_REFRESHES = 8
"""A control path rides along when nothing but trains was on it for this fraction of the time between two refreshes."""


@dataclass(frozen=True)
class Cycle:
    """The start of a cycle that is being measured: state, instant, length, counters, and what may move on its own;
    `sent` of each flow."""

    key: Any
    start_ps: int
    period_ps: int
    counts: list[int]
    sent: dict[FlowState, int]
    trains: list[tuple[int, int]]
    begins: list[int | None]
    left: list[int]
    growth: QueueGrowth


class Recurrence:
    """Finds cycles and skips them.

    Attributes:
        is_wanted: there is nothing better; else it does not look.
        jumps, cycles, skipped_ps: what was skipped.
    """

    def __init__(self, loop: EventLoop, count_reason: Callable[[str], None],
                 reschedule: Callable[[], None]) -> None:
        self.loop, self._count, self._reschedule = loop, count_reason, reschedule
        self.sides: Sequence[GeneratorSide] = []
        self.ports: Sequence[SwitchPort] = []
        self.is_wanted = False
        self.jumps = self.cycles = self.skipped_ps = 0
        self._seen: dict[Any, int] = {}
        self._stride = self._wait = 1
        self._measure: Cycle | None = None
        self._riding: list[tuple[ControlPath, int]] = []
        self._still: list[ControlPath] = []
        self._changes_ps = NEVER
        self._loud: set[int] = set()
        self._turns: dict[FlowState, int] = {}

    def watch(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort]) -> None:
        """Take the ports that take part; flows lead where they lead until this is called again."""
        self.sides, self.ports = sides, ports
        self._turns = {flow: length(flow) for side in sides for flow in side.flows}

    def reset(self) -> None:
        """What was seen before says nothing about what comes."""
        if len(self._seen) > 8:
            self._count("search for a cycle ended by a change")
        self._seen.clear()
        self._measure = None
        self._stride = self._wait = 1
        self._loud.clear()
        self.choose_section()

    def choose_section(self) -> None:
        """Sample where the slowest flow that sends has a frame; anew whenever PFC holds or frees flows.

        What is left of a flow that has stopped or is paused ends unannounced: it is sampled if there is nothing else.
        """
        sending: list[FlowState] = []
        for side in self.sides:
            for flow in side.flows:
                flow.is_section = False
                if flow.segment is not None and not flow.is_shut:
                    sending.append(flow)
        best = max(sending, key=lambda flow: (flow.state == STARTED, flow.step), default=None)
        if best is not None:
            best.is_section = True

    def at_section(self, now_ps: int, last_ps: int) -> None:
        """A section point: look for the state, or finish measuring a cycle and skip."""
        if not self.is_wanted:
            return
        cycle = self._measure
        if cycle is not None:
            if now_ps < cycle.start_ps + cycle.period_ps:
                return
            self._measure = None
            if now_ps == cycle.start_ps + cycle.period_ps and self._key(now_ps) == cycle.key:
                self._skip(now_ps, last_ps, cycle)
                self._seen = {cycle.key: self.loop.now_ps}
                return
            self._count("a measured cycle did not close")
        self._wait -= 1
        if self._wait > 0:
            return
        self._look(now_ps, last_ps)

    def _look(self, now_ps: int, last_ps: int) -> None:
        key = self._key(now_ps)
        runs = sum(len(queue.runs) for port in self.ports for queue in port.queues if not port.gate & queue.bit)
        self._wait = self._stride + runs // RUNS_PER_STEP
        before_ps = self._seen.get(key)
        self._seen[key] = now_ps
        if before_ps is not None and now_ps > before_ps:
            if now_ps + MIN_CYCLES * (now_ps - before_ps) <= last_ps:
                sent = {flow: flow.sent for flow in self._turns}
                self._measure = Cycle(key, now_ps, now_ps - before_ps, self._counts(), sent, self._train_states(),
                                      self._begins(), [segment.left or 0 for segment in self._limited()],
                                      QueueGrowth(self.ports))
        elif len(self._seen) > MEMORY:
            self._count(f"no recurrence in {MEMORY} states")
            self._seen.clear()
            self._stride *= 2

    # ---- the state relative to now

    def _key(self, now_ps: int) -> Any:
        """Everything that influences the future, relative to now."""
        self._sort_control_paths(now_ps)
        riding = {id(control_path.line) for control_path, _ in self._riding}
        parts: list[Any] = [sorted(riding)]
        for control_path in self._still:
            parts.append(_control_path_key(control_path, now_ps))
        for side in self.sides:
            parts.append((side.gate, likeness(side.current) if side.line.busy_until_ps > now_ps else 0))
            parts.append([(flow.position % self._turns[flow], _flow_key(flow, now_ps)) for flow in side.flows])
        for port in self.ports:
            scheduler = port.scheduler
            parts.append((id(port.current), port.gate, port.leak, scheduler.turn, scheduler.deficits[:],
                          port.sender.sending))
            parts.append([(queue.number, [(id(path), frames) for path, frames in queue.runs])
                          for queue in port.queues if queue.frames and not port.gate & ~port.leak & queue.bit])
            parts.append([(group.number, group.headroom, group.xoff) for group in port.pgs if group.xoff or group.held])
            parts.append([(arrival_ps - now_ps, id(path)) for arrival_ps, path in port.flight if arrival_ps > now_ps])
            parts.append([path.drop_phase for path in port.paths if path.drop_one_in])
        return repr(parts)

    def _sort_control_paths(self, now_ps: int) -> None:
        """Which control paths ride along."""
        self._riding, self._still, self._changes_ps = [], [], NEVER
        for control_path in control_paths(self.sides, self.ports):
            quiet_ps = refresh_period_ps(control_path.line.speed_mbps) // QUIET_REFRESHES
            steady = None
            if now_ps - _touched_ps(control_path) > quiet_ps and id(control_path.line) not in self._loud:
                steady = control_path.steadiness(0, now_ps)
            pauses = enumerate(control_path.receiver.since_ps)
            kept = steady is not None and all(since is None or priority in steady.keeps for priority, since in pauses)
            if steady is None or not kept or steady.changes_ps <= now_ps or steady.disturbs:
                self._still.append(control_path)
            else:
                self._riding.append((control_path, steady.jitter_ps))
                self._changes_ps = min(self._changes_ps, steady.changes_ps)

    # ---- counters

    def _counters(self) -> list[tuple[Any, str]]:
        found: list[tuple[Any, str]] = [(path, name) for path in paths_through(self.ports) for name in Path.COUNTED]
        for side in self.sides:
            for flow in side.flows:
                found += [(flow, "sent"), (flow, "lost")]
        for line in self._still_lines():
            found += [(item, name) for item in line.items for name in ("launched", "arrived")]
        return found

    def _still_lines(self) -> list[Line]:
        return [control_path.line for control_path in self._still]

    def _still_receivers(self) -> list[PauseReceiver]:
        return [control_path.receiver for control_path in self._still]

    def _lists(self) -> list[list[int]]:
        return [values for receiver in self._still_receivers()
                for values in (receiver.counts, receiver.on2off, receiver.paused_ps)]

    def _counts(self) -> list[int]:
        counts = [getattr(owner, name) for owner, name in self._counters()]
        for values in self._lists():
            counts += values
        for receiver in self._still_receivers():
            counts += [receiver.kinds[kind] for kind in sorted(receiver.kinds)]
        return counts

    def _trains(self) -> list[Train]:
        return [train for control_path in self._still for train in control_path.trains]

    def _train_states(self) -> list[tuple[int, int]]:
        return [(train.schedule.base_ps, train.number) for train in self._trains()]

    def _begins(self) -> list[int | None]:
        """Instants that matter beside others like them: begins of pauses, dues of frames that a pause holds."""
        waiting = [segment.due_ps for flow in self._held() for segment in (flow.segment, *flow.later) if segment]
        return [*(since_ps for receiver in self._still_receivers() for since_ps in receiver.since_ps), *waiting]

    def _held(self) -> list[FlowState]:
        return [flow for side in self.sides for flow in side.flows if flow.is_shut]

    def _limited(self) -> list[Segment]:
        return [flow.segment for side in self.sides for flow in side.flows
                if flow.segment is not None and flow.segment.left is not None and not flow.is_shut]

    # ---- skipping

    def _skip(self, now_ps: int, last_ps: int, cycle: Cycle) -> None:
        """Add as many cycles as fit up to `last_ps` and leave each flow of fixed frames at least one."""
        counts, trains, begins = self._counts(), self._train_states(), self._begins()
        limited = [segment.left or 0 for segment in self._limited()]
        if len(counts) != len(cycle.counts) or len(trains) != len(cycle.trains) or len(limited) != len(cycle.left):
            self._count("a cycle with changing parts")
            return
        loud = {id(control_path.line) for control_path, _ in self._riding if _touched_ps(control_path) > cycle.start_ps}
        if loud:
            self._loud |= loud
            self._count("data on a line that seemed quiet")
            return
        cycles = (min(last_ps, self._changes_ps) - now_ps) // cycle.period_ps
        for left, before in zip(limited, cycle.left):
            if before > left:
                cycles = min(cycles, (left - 1) // (before - left))
        if not all(is_in_turn(side) for side in self.sides):
            self._count("frames under way from before a flow began anew")
            return
        if any(train.limit < NEVER for train in self._trains()):
            self._count("a pause flow of fixed frames on a line with data")
            return
        pairs = [*((new, old) for (new, _), (old, _) in zip(trains, cycle.trains)), *zip(begins, cycle.begins)]
        if any(new != old and (new is None or old is None or new - old != cycle.period_ps) for new, old in pairs):
            self._count("pauses out of step")
            return
        cycles = cycle.growth.cycles(cycles) if cycles > 0 else 0
        shift_ps = cycles * cycle.period_ps
        end_ps = now_ps + shift_ps
        if cycles < MIN_CYCLES or any(
                one.carry_begin_ps(jitter_ps, end_ps) <= now_ps for one, jitter_ps in self._riding):
            return
        for control_path, jitter_ps in self._riding:
            control_path.carry(jitter_ps, end_ps)
        self._rotate(cycle, cycles)
        self._add_counts(cycle.counts, counts, cycles)
        cycle.growth.apply(cycles)
        self._shift(now_ps, shift_ps)
        self._shift_limited(cycle, limited, cycles)
        self._shift_trains(cycle, trains, cycles)
        self._shift_begins(cycle, begins, shift_ps)
        self._reschedule()
        self.jumps += 1
        self.cycles += cycles
        self.skipped_ps += shift_ps

    def _rotate(self, cycle: Cycle, cycles: int) -> None:
        """Let flows take as many turns as they have in so many cycles."""
        for side in self.sides:
            for flow in side.flows:
                rotate(side, flow, cycles * (flow.sent - cycle.sent[flow]))

    def _add_counts(self, before: list[int], now: list[int], cycles: int) -> None:
        added = iter([value + cycles * (value - old) for value, old in zip(now, before)])
        for owner, name in self._counters():
            setattr(owner, name, next(added))
        for values in self._lists():
            for index in range(len(values)):
                values[index] = next(added)
        for receiver in self._still_receivers():
            for kind in sorted(receiver.kinds):
                receiver.kinds[kind] = next(added)

    def _shift(self, now_ps: int, shift_ps: int) -> None:
        """Move everything that recurs."""
        self.loop.now_ps += shift_ps
        for control_path in self._still:
            line, receiver = control_path.line, control_path.receiver
            line.busy_until_ps += shift_ps
            line.flight = deque((time_ps + shift_ps, frame) for time_ps, frame in line.flight)
            line.data_ps += shift_ps
            receiver.responding = deque((time_ps + shift_ps, what) for time_ps, what in receiver.responding)
            receiver.until_ps[:] = [time_ps + shift_ps for time_ps in receiver.until_ps]
        for side in self.sides:
            for flow in side.flows:
                if flow.segment is not None and not flow.is_shut:
                    flow.segment = _moved(flow.segment, shift_ps)
                    flow.later = deque(_moved(segment, shift_ps) for segment in flow.later)
                if flow.frozen is not None and flow.frozen.due_ps > now_ps:
                    flow.frozen = _moved(flow.frozen, shift_ps)
            side.sort_flows()
        for port in self.ports:
            moved = [(arrival_ps + shift_ps, path) for arrival_ps, path in port.flight if arrival_ps > now_ps]
            port.flight.clear()
            port.flight.extend(moved)

    def _shift_limited(self, cycle: Cycle, limited: list[int], cycles: int) -> None:
        changes = iter([cycles * (before - left) for before, left in zip(cycle.left, limited)])
        for side in self.sides:
            for flow in side.flows:
                if flow.segment is not None and flow.segment.left is not None and not flow.is_shut:
                    flow.segment = flow.segment._replace(left=flow.segment.left - next(changes))

    def _shift_trains(self, cycle: Cycle, now: list[tuple[int, int]], cycles: int) -> None:
        """A train that began anew moves with the cycle, any other goes on."""
        for train, (base_ps, number), (old_ps, old) in zip(self._trains(), now, cycle.trains):
            if base_ps != old_ps:
                train.schedule.base_ps += cycles * cycle.period_ps
            else:
                train.number += cycles * (number - old)

    def _shift_begins(self, cycle: Cycle, now: list[int | None], shift_ps: int) -> None:
        """A pause that began in the cycle moves with it, any other goes on; so do frames that came due in it."""
        moves = iter([shift_ps if new_ps != old_ps else 0 for new_ps, old_ps in zip(now, cycle.begins)])
        for receiver in self._still_receivers():
            receiver.since_ps[:] = [since_ps if since_ps is None else since_ps + move_ps
                                    for since_ps, move_ps in zip(receiver.since_ps, moves)]
        for flow in self._held():
            if flow.segment is not None:
                flow.segment = _moved(flow.segment, next(moves))
                flow.later = deque(_moved(segment, next(moves)) for segment in flow.later)


def _moved(segment: Segment, shift_ps: int) -> Segment:
    return segment._replace(due_ps=segment.due_ps + shift_ps, burst_ps=segment.burst_ps + shift_ps)


def _touched_ps(control_path: ControlPath) -> int:
    """When anything but trains was last on the line."""
    return max(control_path.line.data_ps, control_path.line.moved_ps)


def _relative(time_ps: int, now_ps: int) -> int:
    return max(0, time_ps - now_ps)


def _control_path_key(control_path: ControlPath, now_ps: int) -> Any:
    line, receiver = control_path.line, control_path.receiver
    trains = [(id(train), train.due_ps - now_ps, train.residue) for train in control_path.trains]
    pauses = [(_ahead(until_ps, now_ps), shuts) for since_ps, until_ps, shuts in zip(
        receiver.since_ps, receiver.until_ps, receiver.shuts) if since_ps is not None]
    return (_relative(line.busy_until_ps, now_ps), id(line.on_line) if line.busy_until_ps > now_ps else 0,
            [id(item) for item in line.controls],
            [(time_ps - now_ps, likeness(frame)) for time_ps, frame in line.flight],
            [(time_ps - now_ps, control.pauses) for time_ps, control in receiver.responding],
            [since_ps is not None for since_ps in receiver.since_ps], trains, pauses)


def _flow_key(flow: FlowState, now_ps: int) -> Any:
    if flow.is_shut or flow.segment is None:
        waiting = [segment.left if segment else None for segment in (flow.segment, *flow.later)]
        return flow.state, waiting, _frozen_key(flow.frozen, now_ps, flow.burst > 0)
    segments = [(segment.due_ps - now_ps, segment.residue, segment.place,
                 segment.burst_ps - now_ps if flow.burst else 0,
                 segment.left if place < len(flow.later) else None)
                for place, segment in enumerate((flow.segment, *flow.later))]
    return flow.state, segments, _frozen_key(flow.frozen, now_ps, flow.burst > 0)


def _frozen_key(frozen: Segment | None, now_ps: int, bursts: bool) -> Any:
    if frozen is None:
        return None
    begun_ps = frozen.burst_ps - frozen.due_ps if bursts else 0
    if frozen.due_ps > now_ps:
        return frozen.due_ps - now_ps, frozen.residue, frozen.place, begun_ps, frozen.left
    return 0, 0, frozen.place, begun_ps, frozen.left


def _ahead(until_ps: int, now_ps: int) -> int:
    """How long a pause still lasts; one that no timer ends lasts as long at any time."""
    return NEVER if until_ps >= NEVER else until_ps - now_ps
