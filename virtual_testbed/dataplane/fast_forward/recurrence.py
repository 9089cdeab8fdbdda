"""Skipping whole cycles: the traffic's state relative to now recurs, so what happens next is what happened last time.

Between two timers the data plane is deterministic and takes no outside influence. At samples (frames of
one flow) the state relative to now is taken; when it was seen before, one more cycle is stepped to measure what it
adds to every counter, and as many cycles as fit before the next timer (or the end of the span) are added at once.
Queues that are shut are no part of the state either: that their levels grow is seen to by `queue_growth`.
Control paths that carry steady trains of control frames and nothing else ride along: they are no part of the state, and
their own state at the end of the skip follows from their schedules. A train that sends seldom is no part of the state
either: nothing is skipped beyond its next frame.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from virtual_testbed.dataplane.fast_forward.control_path import ControlPath, control_paths
from virtual_testbed.dataplane.fast_forward.frame_rotation import is_in_turn, length, likeness, replace_frames_under_way
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.queue_growth import QueueGrowth
from virtual_testbed.dataplane.model.counters import STARTED
from virtual_testbed.dataplane.model.events import NEVER, EventLoop
from virtual_testbed.dataplane.model.flow import FlowSnapshot, FlowState, Segment
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.line import ControlItem, ItemSnapshot, Train, TrainSnapshot
from virtual_testbed.dataplane.model.pause_receiver import PauseReceiver, ReceiverSnapshot
from virtual_testbed.dataplane.model.port import Path, PathSnapshot, SwitchPort, paths_through
from virtual_testbed.dataplane.model.units import refresh_period_ps

MEMORY = 4096
"""States remembered in one search; a longer cycle is still found, because then only every second state is kept, and
so on.
"""
RUNS_PER_STEP = 16
"""Looking at long queues costs time: look that much more seldom, and later at first."""
MIN_CYCLES = 3
QUIET_REFRESHES = 8
"""A control path rides along when nothing but trains was on it for this fraction of the time between two refreshes."""
SELDOM = 100
"""A train whose frames are so many refreshes apart sends seldom: no cycle is looked for that has one in it."""


@dataclass(frozen=True)
class Cycle:
    """The start of a cycle that is being measured.

    Attributes:
        key: the state relative to then.
        paths, flows, items, receivers, trains: state of each, with what repeats itself from there.
    """

    key: Any
    start_ps: int
    period_ps: int
    growth: QueueGrowth
    paths: dict[Path, PathSnapshot]
    flows: dict[FlowState, FlowSnapshot]
    items: dict[ControlItem, ItemSnapshot]
    receivers: dict[PauseReceiver, ReceiverSnapshot]
    trains: dict[Train, TrainSnapshot]


class Recurrence:
    """Finds cycles and skips them.

    Attributes:
        is_wanted: there is nothing better; else it does not look.
        jumps, cycles, skipped_ps: what was skipped.
    """

    def __init__(self, loop: EventLoop, ledger: Ledger, reschedule: Callable[[], None]) -> None:
        self.loop = loop
        self._ledger = ledger
        self._reschedule = reschedule
        self.sides: Sequence[GeneratorSide] = []
        self.ports: Sequence[SwitchPort] = []
        self.is_wanted = False
        self.jumps = 0
        self.cycles = 0
        self.skipped_ps = 0
        self._seen: dict[Any, int] = {}
        self._stride = 1
        self._wait = 0
        self._measure: Cycle | None = None
        self._riding: list[tuple[ControlPath, int]] = []
        self._still: list[ControlPath] = []
        self._changes_ps = NEVER
        self._loud: set[int] = set()
        self._turns: dict[FlowState, int] = {}

    def watch(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort]) -> None:
        """Take the ports that take part; flows lead where they lead until this is called again."""
        self.sides = sides
        self.ports = ports
        self._turns = {flow: length(flow) for side in sides for flow in side.flows}

    def reset(self) -> None:
        """What was seen before says nothing about what comes."""
        if len(self._seen) > 8:
            self._ledger.count("search for a cycle ended by a change")
        self._seen.clear()
        self._measure = None
        self._stride = 1
        self._wait = 0  # the first sample says how long
        self._loud.clear()
        self.choose_sample()

    def choose_sample(self) -> None:
        """Sample where the slowest flow that sends has a frame; anew whenever PFC holds or frees flows.

        What is left of a flow that has stopped or is paused ends unannounced: it is sampled if there is nothing else.
        """
        sending = [flow for flow in self._flows() if flow.segment is not None and not flow.is_shut]
        self.loop.sample(max(sending, key=lambda flow: (flow.state == STARTED, flow.step), default=None))

    def want(self, is_wanted: bool) -> None:
        """Look for cycles from now on, or do not."""
        self.is_wanted = is_wanted

    def at_sample(self, now_ps: int, last_ps: int) -> None:
        """A sample: look for the state, or finish measuring a cycle and skip."""
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
            self._ledger.count("a measured cycle did not close")
        self._wait -= 1
        if self._wait > 0:
            return
        rest = self._runs() // RUNS_PER_STEP
        if self._wait == 0 or not rest:
            self._wait = self._stride + rest
            self._look(now_ps, last_ps)
        else:
            self._wait = rest

    def _runs(self) -> int:
        """Of frames in queues that are open."""
        return sum(queue.runs() for port in self.ports for queue in port.queues if not port.gate & queue.bit)

    def _look(self, now_ps: int, last_ps: int) -> None:
        key = self._key(now_ps)
        before_ps = self._seen.get(key)
        self._seen[key] = now_ps
        if before_ps is not None and now_ps > before_ps:
            if now_ps + MIN_CYCLES * (now_ps - before_ps) <= last_ps:
                self._measure = self._begin(key, now_ps, now_ps - before_ps)
        elif len(self._seen) > MEMORY:
            self._ledger.count(f"no recurrence in {MEMORY} states")
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
            parts.append([(queue.number, [(id(path), frames) for path, frames in queue.content()])
                          for queue in port.queues if queue.frames and not port.gate & ~port.leak & queue.bit])
            parts.append([(group.number, group.headroom, group.xoff) for group in port.pgs if group.xoff or group.held])
            parts.append([(arrival_ps - now_ps, id(path)) for arrival_ps, path in port.flight if arrival_ps > now_ps])
            parts.append([path.drop_phase for path in port.paths if path.drop_one_in])
        return repr(parts)

    def _sort_control_paths(self, now_ps: int) -> None:
        """Which control paths ride along."""
        self._riding = []
        self._still = []
        self._changes_ps = NEVER
        for control_path in control_paths(self.sides, self.ports):
            quiet_ps = refresh_period_ps(control_path.line.speed_mbps) // QUIET_REFRESHES
            silent = _silent(control_path, now_ps)
            steady = None
            is_quiet = not silent and now_ps - self._touched_ps(control_path) > quiet_ps
            if is_quiet and id(control_path.line) not in self._loud:
                steady = control_path.steadiness(0, now_ps)
            pauses = enumerate(control_path.receiver.since_ps)
            kept = steady is not None and all(since is None or priority in steady.keeps for priority, since in pauses)
            if steady is None or not kept or steady.changes_ps <= now_ps or steady.disturbs:
                self._still.append(control_path)
                self._changes_ps = min([self._changes_ps, *(train.due_ps - 1 for train in silent)])
            else:
                self._riding.append((control_path, steady.jitter_ps))
                self._changes_ps = min(self._changes_ps, steady.changes_ps)

    # ---- skipping

    def _begin(self, key: Any, now_ps: int, period_ps: int) -> Cycle:
        """What is now, as the start of a cycle."""
        return Cycle(
            key, now_ps, period_ps, QueueGrowth(self.ports, self._ledger),
            {path: path.snapshot() for path in paths_through(self.ports)},
            {flow: flow.snapshot() for flow in self._flows()},
            {item: item.snapshot() for one in self._still for item in one.line.items},
            {one.receiver: one.receiver.snapshot() for one in self._still},
            {train: train.snapshot() for one in self._still for train in one.trains})

    def _flows(self) -> Iterator[FlowState]:
        return (flow for side in self.sides for flow in side.flows)

    def _skip(self, now_ps: int, last_ps: int, cycle: Cycle) -> None:
        """Add as many cycles as fit up to `last_ps` and leave each flow of fixed frames at least one."""
        now = self._begin(cycle.key, now_ps, cycle.period_ps)
        obstacle = self._obstacle(cycle, now)
        if obstacle:
            self._ledger.count(obstacle)
            return
        cycles = (min(last_ps, self._changes_ps) - now_ps) // cycle.period_ps
        cycles = min([cycles, *(_cycles_of_fixed_frames(now.flows[flow], before)
                                for flow, before in cycle.flows.items())])
        cycles = cycle.growth.cycles(cycles) if cycles > 0 else 0
        end_ps = now_ps + cycles * cycle.period_ps
        if cycles < MIN_CYCLES or any(
                one.carry_begin_ps(jitter_ps, end_ps) <= now_ps for one, jitter_ps in self._riding):
            return
        for control_path, jitter_ps in self._riding:
            control_path.carry(self.loop, jitter_ps, end_ps)
        self._repeat(cycle, cycles)
        self._shift(now_ps, end_ps - now_ps)
        self._reschedule()
        self.jumps += 1
        self.cycles += cycles
        self.skipped_ps += end_ps - now_ps

    def _obstacle(self, cycle: Cycle, now: Cycle) -> str:
        """Why what has passed since the start of a cycle cannot be repeated; empty: it can."""
        if any(before.keys() != after.keys() for before, after in (
                (cycle.paths, now.paths), (cycle.items, now.items), (cycle.trains, now.trains))):
            return "a cycle with changing parts"
        loud = {id(one.line) for one, _ in self._riding if self._touched_ps(one) > cycle.start_ps}
        if loud:
            self._loud |= loud
            return "data on a line that seemed quiet"
        if not all(is_in_turn(side) for side in self.sides):
            return "frames under way from before a flow began anew"
        if any(now.trains[train].number != cycle.trains[train].number for one in self._still
               for train in _silent(one, self.loop.now_ps)):
            return "a cycle with a frame of a train that sends seldom"
        if any(train.limit < NEVER for train in now.trains):
            return "a pause flow of fixed frames on a line with data"
        moves = [_moves(now.receivers[receiver].since_ps, before.since_ps)
                 for receiver, before in cycle.receivers.items()]
        moves += [_moves([one.due_ps for one in now.flows[flow].waiting], [one.due_ps for one in before.waiting])
                  for flow, before in cycle.flows.items() if flow.is_shut]
        moves += [_moves([now.trains[train].base_ps], [before.base_ps]) for train, before in cycle.trains.items()]
        if any(move not in (0, cycle.period_ps) for found in moves for move in found):
            return "pauses out of step"
        return ""

    def _repeat(self, cycle: Cycle, cycles: int) -> None:
        """Let what has happened since the start of the cycle happen so many times more."""
        for path, counts in cycle.paths.items():
            path.repeat(counts, cycles, cycle.period_ps)
        for flow, state in cycle.flows.items():
            flow.repeat(state, cycles, cycle.period_ps)
        for item, frames in cycle.items.items():
            item.repeat(frames, cycles)
        for receiver, pauses in cycle.receivers.items():
            receiver.repeat(pauses, cycles)
        for train, progress in cycle.trains.items():
            train.repeat(progress, cycles)
        for side in self.sides:
            replace_frames_under_way(side)
        cycle.growth.apply(cycles)

    def _shift(self, now_ps: int, shift_ps: int) -> None:
        """Move everything that recurs."""
        self.loop.move_to(now_ps + shift_ps)
        for control_path in self._still:
            control_path.line.shift(shift_ps)
            control_path.receiver.shift(shift_ps)
        for side in self.sides:
            for flow in side.flows:
                flow.shift(shift_ps, now_ps)
            side.sort_flows()
        for port in self.ports:
            port.shift(shift_ps, now_ps)

    def _touched_ps(self, control_path: ControlPath) -> int:
        """When anything but trains was last on the line."""
        decided_ps = self._ledger.decided_ps(control_path.line)
        data_ps = control_path.line.data_ps
        return data_ps if decided_ps is None else max(data_ps, decided_ps)


def _moves(now_ps: Sequence[int | None], before_ps: Sequence[int | None]) -> Iterator[int | None]:
    """How much later each instant is than before; None: it is there once only."""
    for new_ps, old_ps in zip_longest(now_ps, before_ps):
        if new_ps is None and old_ps is None:
            yield 0
        else:
            yield None if new_ps is None or old_ps is None else new_ps - old_ps


def _cycles_of_fixed_frames(now: FlowSnapshot, before: FlowSnapshot) -> int:
    """How many cycles more a flow can have if each takes as many of its frames as since before, and one is left."""
    if not now.waiting or not before.waiting:
        return NEVER
    left = now.waiting[-1].left
    earlier = before.waiting[-1].left
    return (left - 1) // (earlier - left) if left is not None and earlier is not None and left < earlier else NEVER


def _relative(time_ps: int, now_ps: int) -> int:
    return max(0, time_ps - now_ps)


def _silent(control_path: ControlPath, now_ps: int) -> list[Train]:
    """The trains that send seldom, and not soon."""
    soon_ps = refresh_period_ps(control_path.line.speed_mbps)
    return [train for train in control_path.trains
            if train.schedule.longest_gap_ps > SELDOM * soon_ps and train.due_ps > now_ps + soon_ps]


def _control_path_key(control_path: ControlPath, now_ps: int) -> Any:
    line = control_path.line
    receiver = control_path.receiver
    silent = _silent(control_path, now_ps)
    trains = [(id(train), train.due_ps - now_ps, train.residue) for train in control_path.trains if train not in silent]
    pauses = [(_ahead(until_ps, now_ps), habits.shuts) for since_ps, until_ps, habits in zip(
        receiver.since_ps, receiver.until_ps, receiver.habits) if since_ps is not None]
    return (_relative(line.busy_until_ps, now_ps), id(line.on_line) if line.busy_until_ps > now_ps else 0,
            [id(item) for item in line.controls],
            [(time_ps - now_ps, likeness(frame)) for time_ps, frame in line.flight],
            [(time_ps - now_ps, control.timers) for time_ps, control in receiver.responding],
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
