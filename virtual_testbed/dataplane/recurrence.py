"""Skipping whole cycles: the traffic's state relative to now recurs, so what happens next is what happened last time.

Between two timers the data plane is deterministic and takes no outside influence. At section points (frames due of
one flow) the state relative to now is taken; when it was seen before, one more cycle is stepped to measure what it
adds to every counter, and as many cycles as fit before the next timer (or the end of the span) are added at once.
Nothing is approximated: without a recurrence every frame is stepped, and the reason is counted.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from virtual_testbed.dataplane.events import EventLoop
from virtual_testbed.dataplane.generator import FlowState, GeneratorSide
from virtual_testbed.dataplane.pause import PauseSender
from virtual_testbed.dataplane.switch import SwitchPort

MEMORY = 4096
"""States remembered in one search; a longer cycle is still found, because then only every second state is kept, and
so on.
"""
SLOW_RATIO = 256
"""A flow this many times slower than the fastest one bounds cycles instead of being part of them."""
RUNS_PER_STEP = 16
"""Looking at long queues costs time: look that much more seldom."""
MIN_CYCLES = 3


@dataclass(frozen=True)
class Cycle:
    """The start of a cycle that is being measured: state, instant, length, counters, open XOFF trains, frames left to
    send.
    """

    key: Any
    start_ps: int
    period_ps: int
    counts: list[int]
    trains: list[int | None]
    remaining: list[int]


class Recurrence:
    """Finds cycles and skips them.

    Attributes:
        jumps, cycles, skipped_ps: what was skipped.
        reasons: why searches ended without a skip.
    """

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.sides: list[GeneratorSide] = []
        self.ports: list[SwitchPort] = []
        self.jumps = self.cycles = self.skipped_ps = 0
        self.reasons: dict[str, int] = {}
        self._seen: dict[Any, int] = {}
        self._stride = self._wait = 1
        self._measure: Cycle | None = None
        loop.at_section = self.at_section
        loop.after_timer = self.reset

    def watch(self, sides: list[GeneratorSide], ports: list[SwitchPort]) -> None:
        """Take the ports that take part."""
        self.sides, self.ports = sides, ports
        for side in sides:
            side.flows_changed = self.flows_changed
            side.holds_changed = self.choose_section
        self.flows_changed()

    def reset(self) -> None:
        """Something from outside happened: what was seen before says nothing about what comes."""
        if self._seen and len(self._seen) > 8:
            self._count("search ended by a timer or a command")
        self._seen.clear()
        self._measure = None
        self._stride = self._wait = 1

    def flows_changed(self) -> None:
        """Flows started or ended: sort out the slow ones and choose the section."""
        flows = [flow for side in self.sides for flow in side.flows if flow.generating]
        if flows:
            fastest = min(flow.step for flow in flows)
            for flow in flows:
                slow = flow.step > SLOW_RATIO * max(1, fastest)
                if slow != flow.slow:
                    flow.slow = slow
                    if not flow.held:
                        self.loop.cancel(flow.fire)
                        flow.expect()
        self.reset()
        self.choose_section()

    def choose_section(self) -> None:
        """Sample where the slowest flow that takes part and is not held comes due."""
        best: FlowState | None = None
        for side in self.sides:
            for flow in side.flows:
                flow.is_section = False
                if flow.generating and not flow.held and not flow.slow and (best is None or flow.step > best.step):
                    best = flow
        if best is not None:
            best.is_section = True

    def at_section(self, now_ps: int, last_ps: int) -> None:
        """A section point: look for the state, or finish measuring a cycle and skip."""
        if self._measure is not None:
            cycle = self._measure
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
        key = self._key(now_ps)
        runs = sum(len(queue.runs) for port in self.ports for queue in port.queues)
        self._wait = self._stride + runs // RUNS_PER_STEP
        before_ps = self._seen.get(key)
        self._seen[key] = now_ps
        if before_ps is not None and now_ps > before_ps:
            if now_ps + MIN_CYCLES * (now_ps - before_ps) <= last_ps:
                self._measure = Cycle(key, now_ps, now_ps - before_ps, self._counts(), self._trains(),
                                      [flow.remaining or 0 for flow in self._limited()])
        elif len(self._seen) > MEMORY:
            self._count(f"no recurrence in {MEMORY} states")
            self._seen.clear()
            self._stride *= 2

    def _key(self, now_ps: int) -> Any:
        """Everything that influences the future, relative to now."""
        parts: list[Any] = [(time_ps - now_ps, kind, id(action)) for time_ps, kind, _, action in sorted(
            self.loop.heap, key=lambda event: event[:3])]
        for side in self.sides:
            busy_ps = side.busy_until_ps - now_ps
            parts.append((busy_ps if busy_ps > 0 else 0, side.paused_queues, [flow.index for flow in side.waiting]))
            parts.append([(flow.residue, flow.position, flow.held, flow.waiting)
                          for flow in side.flows if not flow.slow])
        for port in self.ports:
            scheduler = port.scheduler
            parts.append((id(port.current), port.gate, port.leak, scheduler.turn, scheduler.deficits[:]))
            parts.append([(queue.number, [(id(path), frames) for path, frames in queue.runs])
                          for queue in port.queues if queue.frames])
            parts.append([(group.number, group.reserved, group.shared, group.headroom, group.xoff)
                          for group in port.pgs if group.xoff or group.held])
            horizon_ps = now_ps - port.propagation_ps
            parts.append([(sent_ps - now_ps, id(path)) for sent_ps, path in port.flight if sent_ps > horizon_ps])
            parts.append([path.drop_phase for path in port.switch.paths if path.drop_one_in and path.out is port])
        return repr(parts)

    def _counters(self) -> list[tuple[Any, str]]:
        switches = {id(port.switch): port.switch for port in self.ports}
        found: list[tuple[Any, str]] = [(path, name) for switch in switches.values() for path in switch.paths
                                        for name in path.COUNTED]
        found += [(flow, name) for side in self.sides for flow in side.flows for name in ("sent", "lost")]
        return found

    def _lists(self) -> list[list[int]]:
        return [port.sender.sent for port in self.ports] + [side.received for side in self.sides]

    def _counts(self) -> list[int]:
        counts = [getattr(owner, name) for owner, name in self._counters()]
        for values in self._lists():
            counts += values
        return counts

    def _trains(self) -> list[int | None]:
        return [since_ps for owner in self._train_owners() for since_ps in owner.since_ps]

    def _train_owners(self) -> list[PauseSender | GeneratorSide]:
        return [*(port.sender for port in self.ports), *self.sides]

    def _limited(self) -> list[FlowState]:
        return [flow for side in self.sides for flow in side.flows if flow.remaining and not flow.slow]

    def _skip(self, now_ps: int, last_ps: int, cycle: Cycle) -> None:
        """Add as many cycles as fit up to `last_ps` and leave each flow of fixed frames at least one."""
        moving = []
        for old_ps, new_ps in zip(cycle.trains, self._trains()):
            moving.append(new_ps != old_ps)
            if new_ps != old_ps and (old_ps is None or new_ps is None or new_ps - old_ps != cycle.period_ps):
                self._count("XOFF refreshes out of step")
                return
        cycles = (last_ps - now_ps) // cycle.period_ps
        limited = [(flow, flow.remaining or 0, before) for flow, before in zip(self._limited(), cycle.remaining)]
        for _, left, before in limited:
            if before > left:
                cycles = min(cycles, (left - 1) // (before - left))
        if cycles <= 0:
            return
        for flow, left, before in limited:
            flow.remaining = left - cycles * (before - left)
        self._add_counts(cycle.counts, cycles)
        self._shift(cycles * cycle.period_ps, moving)
        self.jumps += 1
        self.cycles += cycles
        self.skipped_ps += cycles * cycle.period_ps

    def _add_counts(self, before: list[int], cycles: int) -> None:
        place = 0
        for owner, name in self._counters():
            value = getattr(owner, name)
            setattr(owner, name, value + cycles * (value - before[place]))
            place += 1
        for values in self._lists():
            for index, value in enumerate(values):
                values[index] = value + cycles * (value - before[place])
                place += 1

    def _shift(self, shift_ps: int, moving: list[bool]) -> None:
        """Move everything that recurs by `shift_ps`."""
        loop = self.loop
        loop.now_ps += shift_ps
        loop.heap[:] = [(time_ps + shift_ps, kind, index, action) for time_ps, kind, index, action in loop.heap]
        for side in self.sides:
            side.busy_until_ps += shift_ps
            for flow in side.flows:
                if not flow.slow:
                    flow.due_ps += shift_ps
        for port in self.ports:
            moved = [(sent_ps + shift_ps, path) for sent_ps, path in port.flight]
            port.flight.clear()
            port.flight.extend(moved)
        place = 0
        for owner in self._train_owners():
            for priority in range(8):
                since_ps = owner.since_ps[priority]
                if moving[place] and since_ps is not None:
                    owner.since_ps[priority] = since_ps + shift_ps
                place += 1

    def _count(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
