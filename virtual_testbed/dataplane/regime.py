"""Regeneration: between two changes of regime, counts follow from schedules, and single frames from a short window.

While every line is idle now and then, no threshold is reached and no pause begins or ends, what happened before a
line's last idle instant no longer matters. So the state at any later instant t is found by letting every frame that
came due before t - `window_ps` be delivered (closed form) and stepping the rest. `Regime` is the proof that this holds,
with the counts at its beginning; `docs/data-plane.md` gives the argument.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from virtual_testbed.dataplane.bounds import Stream, busy_period_ps, frames_within
from virtual_testbed.dataplane.buffer import EgressQueue, PriorityGroup, Share
from virtual_testbed.dataplane.counters import STOPPED
from virtual_testbed.dataplane.events import NEVER
from virtual_testbed.dataplane.flow import FlowState, Lane, Segment
from virtual_testbed.dataplane.generator import GeneratorSide
from virtual_testbed.dataplane.line import ControlItem, Line
from virtual_testbed.dataplane.pause import PauseReceiver
from virtual_testbed.dataplane.port import Path, SwitchPort
from virtual_testbed.dataplane.train import Train
from virtual_testbed.dataplane.ways import Way, disturbs, steadiness, under_way, ways


class NotRegular(Exception):
    """Regeneration is not possible now; `str()` is the reason."""


@dataclass(eq=False)
class Tally:
    """Counts of one path when every frame of it has been delivered.

    Attributes:
        counts: values of `Path.COUNTED`.
        waits: frames of it that wait in a queue that is shut.
        fills: further frames will wait there too.
    """

    path: Path
    counts: dict[str, int]
    phase: int
    waits: int
    fills: bool

    def deliver(self, frames: int) -> int:
        """Count frames that arrive; how many go on to the next switch or the generator port."""
        path, counts = self.path, self.counts
        counts["rx"] += frames
        if path.blocked is not None or path.queue is None:
            counts["blocked_drops"] += frames
            return 0
        if path.queue.dropping or path.pg.dropping:
            counts["watchdog_tx_drops" if path.queue.dropping else "watchdog_rx_drops"] += frames
            return 0
        if path.drop_one_in:
            drops, self.phase = divmod(self.phase + frames, path.drop_one_in)
            counts["fault_drops"] += drops
            frames -= drops
        if self.fills:
            self.waits += frames
            return 0
        counts["tx"] += frames
        return frames

    def copy(self) -> Tally:
        """One of its own."""
        return Tally(self.path, dict(self.counts), self.phase, self.waits, self.fills)


@dataclass(eq=False)
class Anchor:
    """One way at the beginning of the regime, when all control frames under way have been received.

    Attributes:
        items: frames of each kind (launched, arrived); `numbers` the next frame of each train.
        counts, kinds, until_ps: of the receiver.
        under_way: kinds of frames that were under way, which prolong pauses.
    """

    way: Way
    items: dict[ControlItem, tuple[int, int]]
    numbers: list[int]
    counts: list[int]
    kinds: dict[str, int]
    until_ps: list[int]
    under_way: set[ControlItem]


@dataclass(frozen=True)
class Schedule:
    """A data flow at the beginning of the regime."""

    flow: FlowState
    segment: Segment
    sent: int
    position: int
    launched: tuple[int, ...]
    lost: int


class Regime:
    """See the module.

    Attributes:
        begin_ps: counts are as of here; `valid_ps` the first instant that a window may begin at.
        end_ps: the last instant that it holds at.
        window_ps: how much must be stepped to know the state; `long_window_ps` to know the end of every pause too.
    """

    def __init__(self, survey: Survey, now_ps: int) -> None:
        self.begin_ps = now_ps
        self.sides, self.ports = survey.sides, survey.ports
        self.flows, self.anchors, self.tallies = survey.schedules, survey.anchors, survey.tallies
        self.window_ps = survey.window_ps
        self.long_window_ps = survey.window_ps + survey.response_ps + survey.longest_gap_ps
        self.valid_ps, self.end_ps = now_ps + survey.settle_ps + 1, survey.end_ps
        self.base_runs: dict[int, list[tuple[Any, Any]]] = {
            id(queue): [(run[0], run[1]) for run in queue.runs]
            for port in self.ports for queue in port.queues if port.gate & queue.bit}

    def place(self, begin_ps: int) -> None:
        """The state in which every frame due before `begin_ps` has been delivered, and none after."""
        tallies = {path: tally.copy() for path, tally in self.tallies.items()}
        for schedule in self.flows:
            self._place_flow(schedule, begin_ps, tallies)
        for path, tally in tallies.items():
            for name, value in tally.counts.items():
                setattr(path, name, value)
            path.drop_phase = tally.phase
        for port in self.ports:
            self._empty(port)
        self._fill(tallies)
        for anchor in self.anchors:
            _place_way(anchor, begin_ps)
        for side in self.sides:
            side.current, side.awake = None, False

    def _place_flow(self, schedule: Schedule, begin_ps: int, tallies: Mapping[Path, Tally]) -> None:
        flow = schedule.flow
        frames = flow.due_by(schedule.segment, begin_ps - 1)
        flow.segment = flow.after(schedule.segment, frames)
        flow.sent, flow.lost = schedule.sent + frames, schedule.lost
        lanes = flow.lanes
        flow.position = (schedule.position + frames) % len(lanes)
        rounds, rest = divmod(frames, len(lanes))
        counts: dict[Lane, int] = {}
        for number, lane in enumerate(lanes):
            extra = (number - schedule.position) % len(lanes) < rest
            counts[lane] = counts.get(lane, 0) + rounds + extra
        for lane, launched in zip(flow.kinds, schedule.launched):
            lane.launched = launched + counts[lane]
            if lane.path is None:
                flow.lost += counts[lane]
            else:
                deliver(tallies, lane.path, counts[lane])

    def _empty(self, port: SwitchPort) -> None:
        """Nothing waits for the line except in queues that are shut."""
        port.current, port.awake = None, False
        port.flight.clear()
        port.scheduler.forget(0)
        for queue in port.queues:
            if not port.gate & queue.bit:
                queue.runs.clear()
                queue.frames = 0
                port.backlog &= ~queue.bit

    def _fill(self, tallies: Mapping[Path, Tally]) -> None:
        """Put what waits into the shut queues, and charge it."""
        groups: dict[int, list[Tally]] = {}
        queues: dict[int, list[Tally]] = {}
        for path, tally in tallies.items():
            groups.setdefault(id(path.pg), []).append(tally)
            if path.queue is not None:
                queues.setdefault(id(path.queue), []).append(tally)
        for found in groups.values():
            group = found[0].path.pg
            if not group.xoff and not group.headroom:
                charge(group, sum(tally.waits * tally.path.size for tally in found))
                group.peak = max(group.peak, group.shared)
        for found in queues.values():
            queue = found[0].path.queue
            if queue is not None:
                self._refill(queue, [tally for tally in found if tally.fills])
                charge(queue, sum(tally.waits * tally.path.size for tally in found))
                queue.peak = max(queue.peak, queue.reserved + queue.shared)

    def _refill(self, queue: EgressQueue[Path], tallies: Sequence[Tally]) -> None:
        """Let a shut queue hold what it held at the beginning, and what has come since (of one path only)."""
        runs = self.base_runs.get(id(queue))
        if runs is None:
            return
        queue.runs.clear()
        queue.runs.extend(list(run) for run in runs)
        queue.frames = sum(frames for _, frames in runs)
        for tally in tallies:
            added = tally.waits - sum(frames for path, frames in runs if path is tally.path)
            if added:
                queue.runs.append([tally.path, added])
                queue.frames += added
            if queue.frames and tally.path.out is not None:
                tally.path.out.backlog |= queue.bit


def deliver(tallies: Mapping[Path, Tally], path: Path | None, frames: int) -> None:
    """Count frames that arrive at a path's switch, and at those after it."""
    while path is not None and frames:
        frames = tallies[path].deliver(frames)
        path = path.onward


def charge(share: Share, held: int) -> None:
    """Let a group or queue hold so many bytes, reserved ones first."""
    shared = max(0, held - share.size)
    share.pool.used += shared - share.shared
    share.shared, share.reserved = shared, held - shared


def _place_way(anchor: Anchor, begin_ps: int) -> None:
    line, receiver, trains = anchor.way
    line.controls.clear()
    line.flight.clear()
    line.on_line = None
    line.busy_until_ps = 0
    receiver.responding.clear()
    receiver.counts[:] = anchor.counts
    receiver.kinds.update(anchor.kinds)
    receiver.until_ps[:] = anchor.until_ps
    for item, (launched, arrived) in anchor.items.items():
        item.launched, item.arrived = launched, arrived
    for item in anchor.under_way:
        _forget_ends(receiver, item)
    for train, number in zip(trains, anchor.numbers):
        train.number = max(number, min(train.limit, train.schedule.count(begin_ps - 1)))
        frames = train.number - number
        if frames:
            train.item.launched += frames
            if line.is_up:
                train.item.arrived += frames
                receiver.count(train.item.frame, frames)
                _forget_ends(receiver, train.item)


def _forget_ends(receiver: PauseReceiver, item: ControlItem) -> None:
    """The pauses that a frame prolongs end at an instant that is not known; not before its successor comes."""
    for priority, quanta in receiver.reading(item.frame).pauses:
        if quanta and receiver.shuts[priority]:
            receiver.until_ps[priority] = NEVER


class Survey:
    """Looks whether a regime holds now, and what follows from it.

    Args:
        sides: generator ports with a cable.
        ports: switch ports with a cable.
        last_ps: how far the regime is wanted.

    Raises:
        NotRegular: it does not.
    """

    def __init__(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], now_ps: int, last_ps: int) -> None:
        self.sides, self.ports, self.now_ps, self.end_ps = sides, ports, now_ps, last_ps
        self.ways = ways(sides, ports)
        self.longest_gap_ps = 0
        self.response_ps = max((way.receiver.response_ps for way in self.ways), default=0)
        self.schedules = [schedule for side in sides for flow in side.flows for schedule in self._schedule(flow)]
        self.paths = self._paths()
        self.tallies = {path: _tally(path) for path in self._all_paths()}
        self._in_transit = self._transit()
        self._arriving = self._still_to_arrive()
        self._check_queues()
        self._carried = self._collect()
        self._busy: dict[int, tuple[int, int]] = {}
        self.anchors = [self._survey_way(way) for way in self.ways]
        self.window_ps, self.settle_ps = self._windows()
        for path, frames in self._in_transit:
            deliver(self.tallies, path, frames)
        self._certify()

    # ---- flows

    def _schedule(self, flow: FlowState) -> Iterable[Schedule]:
        segment = flow.segment
        if segment is None or flow.is_shut:
            return
        if flow.later or flow.frozen is not None or flow.state == STOPPED:
            raise NotRegular("frames of a stopped or held flow wait in a generator")
        if flow.burst:
            raise NotRegular("a flow sends bursts")
        if segment.left is not None:
            last = flow.after(segment, segment.left - 1)
            self.end_ps = min(self.end_ps, last.due_ps - 1 if last else self.now_ps)
        yield Schedule(flow, segment, flow.sent, flow.position, tuple(lane.launched for lane in flow.kinds), flow.lost)

    def _paths(self) -> dict[Path, Schedule]:
        """Paths that frames still take, with one of the flows' schedules."""
        found: dict[Path, Schedule] = {}
        for schedule in self.schedules:
            for lane in schedule.flow.kinds:
                path = lane.path
                while path is not None:
                    found[path] = schedule
                    path = path.onward if _passes(path) else None
        return found

    def _all_paths(self) -> list[Path]:
        switches = {id(port.switch): port.switch for port in self.ports}
        return [path for switch in switches.values() for path in switch.paths]

    def _check_queues(self) -> None:
        """XOFF must be over, or nothing of the group may move; a shut queue may be filled by one path only."""
        fillers: dict[int, Path] = {}
        for path, tally in self.tallies.items():
            group, queue = path.pg, path.queue
            comes = path in self.paths or path in self._arriving
            if comes and tally.fills and queue is not None:
                if fillers.setdefault(id(queue), path) is not path:
                    raise NotRegular("several flows fill one queue")
            moving = comes and path.blocked is None and queue is not None and not queue.dropping
            if (group.xoff or group.headroom) and (moving or (path.inside and not is_shut(path))):
                raise NotRegular("a congested priority group receives or sends")
            if (group.shared and group.reserved < group.size) or (
                    queue is not None and queue.shared and queue.reserved < queue.size):
                raise NotRegular("reserved memory was changed")

    def _transit(self) -> list[tuple[Path, int]]:
        """Frames that have not reached the switch of a path yet, or leave one for the next."""
        found: list[tuple[Path, int]] = []
        for side in self.sides:
            for _, frame in side.line.flight:
                if isinstance(frame, Lane) and frame.path is not None:
                    found.append((frame.path, 1))
        for path, tally in self.tallies.items():
            inside = 0 if is_shut(path) and path.out is not None and path.out.current is not path else path.inside
            if is_shut(path) and path.out is not None and path.out.current is path:
                inside = 1
            if inside:
                tally.counts["tx"] += inside
                if path.onward is not None:
                    found.append((path.onward, inside))
        for port in self.ports:
            for _, frame in port.line.flight:
                if isinstance(frame, Path) and frame is not port.current and frame.onward is not None:
                    found.append((frame.onward, 1))
            if port.current is not None and port.to_switch:
                same = sum(1 for _, frame in port.line.flight if frame is port.current)
                if same > 1 and port.current.onward is not None:
                    found.append((port.current.onward, same - 1))
        return found

    def _still_to_arrive(self) -> dict[Path, int]:
        """Frames that are due or under way now and have not reached the switch of a path."""
        found: dict[Path, int] = {}
        starts = list(self._in_transit)
        for schedule in self.schedules:
            waiting = schedule.flow.due_by(schedule.segment, self.now_ps)
            starts += [(lane.path, waiting) for lane in schedule.flow.kinds if lane.path is not None and waiting]
        for start, frames in starts:
            path: Path | None = start
            while path is not None:
                found[path] = found.get(path, 0) + frames
                path = path.onward if _passes(path) else None
        return found

    # ---- control frames

    def _survey_way(self, way: Way) -> Anchor:
        line, receiver, trains = way
        steady = steadiness(way, max((tx_ps for tx_ps, _ in self._data_on(line)), default=0))
        if steady is None:
            raise NotRegular("control frames fill a line")
        if disturbs(way, steady.keeps):
            raise NotRegular("a pause frame is under way")
        self.end_ps = min(self.end_ps, steady.changes_ps)
        self.longest_gap_ps = max([self.longest_gap_ps, *(
            train.schedule.longest_gap_ps + steady.jitter_ps for train in trains)])
        for priority in range(8):
            if receiver.since_ps[priority] is not None and priority not in steady.keeps:
                self.end_ps = min(self.end_ps, receiver.until_ps[priority] - 1)
        return _anchor(way)

    # ---- time

    def _data_on(self, line: Line) -> list[tuple[int, Schedule]]:
        """Time on the line and schedule of every data stream of a line."""
        return self._carried.get(id(line), [])

    def _collect(self) -> dict[int, list[tuple[int, Schedule]]]:
        carried: dict[int, list[tuple[int, Schedule]]] = {}
        for schedule in self.schedules:
            flow = schedule.flow
            carried.setdefault(id(flow.side.line), []).append((max(lane.tx_time_ps for lane in flow.kinds), schedule))
        longest: dict[tuple[int, int], tuple[int, Schedule]] = {}
        for path, schedule in self.paths.items():
            if _passes(path) and path.out is not None:
                key = id(path.out.line), schedule.flow.index
                before = longest[key][0] if key in longest else 0
                longest[key] = max(before, path.tx_time_ps), schedule
        for (line, _), stream in longest.items():
            carried.setdefault(line, []).append(stream)
        return carried

    def _windows(self) -> tuple[int, int]:
        """Time to step so that nothing before it matters; time after which what is under way now no longer does."""
        window_ps = settle_ps = 0
        trains = {id(way.line): way.trains for way in self.ways}
        backlog = self._backlog()
        for way in self.ways:
            steady_ps, first_ps = self._bound(way.line, trains, backlog, ())
            window_ps = max(window_ps, steady_ps + way.line.propagation_ps)
            settle_ps = max(settle_ps, first_ps + way.line.propagation_ps)
        return window_ps + 1, settle_ps + self.response_ps + 1

    def _backlog(self) -> dict[int, int]:
        """Work in hand for every line, in its own time: on it, waiting, and on the way to it."""
        work: dict[int, int] = {}
        for way in self.ways:
            line = way.line
            work[id(line)] = max(0, line.busy_until_ps - self.now_ps) + sum(item.tx_time_ps for item in line.controls)
        for schedule in self.schedules:
            waiting = schedule.flow.due_by(schedule.segment, self.now_ps)
            longest_ps = max(lane.tx_time_ps for lane in schedule.flow.kinds)
            work[id(schedule.flow.side.line)] += waiting * longest_ps
            for lane in schedule.flow.kinds:
                self._add_work(work, lane.path, waiting)
        for path, frames in self._in_transit:
            self._add_work(work, path, frames)
        for path in self.tallies:
            if path.out is not None and path.inside and not is_shut(path):
                work[id(path.out.line)] += path.inside * path.tx_time_ps
        return work

    def _add_work(self, work: dict[int, int], path: Path | None, frames: int) -> None:
        while path is not None and _passes(path) and path.out is not None:
            work[id(path.out.line)] += frames * path.tx_time_ps
            path = path.onward

    def _bound(self, line: Line, trains: Mapping[int, list[Train]], backlog: Mapping[int, int],
               above: tuple[int, ...]) -> tuple[int, int]:
        """Longest time from a frame's due instant until it has left a line: in the long run, and from now."""
        if id(line) in self._busy:
            return self._busy[id(line)]
        if id(line) in above:
            raise NotRegular("traffic goes round in a circle of switches")
        streams = [Stream(train.schedule.step, train.item.tx_time_ps, 0) for train in trains.get(id(line), [])
                   if train.is_running]
        early_ps = first_ps = 0
        for tx_ps, schedule in self._data_on(line):
            jitter_ps = later_ps = 0
            for before in self._lines_before(line, schedule):
                steady_ps, now_ps = self._bound(before, trains, backlog, (*above, id(line)))
                jitter_ps, later_ps = max(jitter_ps, steady_ps + before.propagation_ps), max(
                    later_ps, now_ps + before.propagation_ps)
            early_ps, first_ps = max(early_ps, jitter_ps), max(first_ps, later_ps)
            streams.append(Stream(schedule.flow.step, tx_ps, jitter_ps))
        steady = busy_period_ps(streams, 0)
        first = busy_period_ps(streams, backlog[id(line)])
        if steady is None or first is None:
            raise NotRegular("a line has no idle time")
        self._busy[id(line)] = early_ps + steady, first_ps + first
        return self._busy[id(line)]

    def _lines_before(self, line: Line, schedule: Schedule) -> list[Line]:
        """Lines that a flow's frames come from when they go on `line`."""
        found = []
        for lane in schedule.flow.kinds:
            before, path = schedule.flow.side.line, lane.path
            if line is before:
                return []
            while path is not None and path.out is not None and _passes(path):
                if path.out.line is line:
                    found.append(before)
                before, path = path.out.line, path.onward
        return found

    # ---- thresholds

    def _certify(self) -> None:
        """No limit may be reached: shorten the regime until that is certain for the queues that fill."""
        uses = self._uses()
        if _fits(uses, self.end_ps):
            return
        if not any(use.fills for use in uses) or not _fits(uses, self.now_ps):
            raise NotRegular("a buffer threshold may be reached")
        good_ps, bad_ps = self.now_ps, self.end_ps
        while bad_ps - good_ps > self.window_ps:
            middle_ps = (good_ps + bad_ps) // 2
            if _fits(uses, middle_ps):
                good_ps = middle_ps
            else:
                bad_ps = middle_ps
        self.end_ps = good_ps

    def _uses(self) -> list[Use]:
        uses: dict[int, Use] = {}
        for path, tally in self.tallies.items():
            shares: list[Share] = [path.pg] if path.queue is None else [path.pg, path.queue]
            schedule = self.paths.get(path)
            for share in shares:
                use = uses.setdefault(id(share), Use(share))
                if isinstance(share, PriorityGroup) and (share.xoff or share.headroom):
                    continue
                use.counted = True
                use.held += tally.waits * path.size
                arriving = self._arriving.get(path, 0)
                if (schedule is None and not arriving) or not (tally.fills or _passes(path)):
                    continue
                use.tested = True
                use.largest = max(use.largest, path.size)
                use.held += arriving * path.size
                if schedule is not None and tally.fills:
                    use.fills.append((schedule, path))
                elif _passes(path) and path.out is not None:
                    use.held += path.inside * path.size
                    if schedule is not None:
                        stream = Stream(schedule.flow.step, path.tx_time_ps, 0)
                        use.held += frames_within(stream, max(self._busy[id(path.out.line)])) * path.size
        return list(uses.values())


@dataclass
class Use:
    """What one group or queue may hold while the regime lasts."""

    share: Share
    held: int = 0
    largest: int = 0
    counted: bool = False
    tested: bool = False
    fills: list[tuple[Schedule, Path]] = field(default_factory=list)

    def most(self, until_ps: int) -> int:
        """Most bytes that it holds up to then."""
        return self.held + sum(schedule.flow.due_by(schedule.segment, until_ps) * path.size
                               for schedule, path in self.fills)


def _fits(uses: Sequence[Use], until_ps: int) -> bool:
    """No limit is reached up to then, whatever the order in which frames come and go."""
    used: dict[int, int] = {}
    for use in uses:
        share = use.share
        most = max(share.shared, use.most(until_ps) - share.size) if use.counted else share.shared
        used[id(share.pool)] = used.get(id(share.pool), 0) + max(0, most)
    for use in uses:
        share = use.share
        if not use.tested:
            continue
        free = share.pool.size - max(used[id(share.pool)], share.pool.used)
        limit = share.static_limit if share.static_limit is not None else max(0, free) << share.up >> share.down
        if use.most(until_ps) + use.largest > limit:
            return False
    return True


def is_shut(path: Path) -> bool:
    """True when a path's queue is shut."""
    return path.out is not None and path.queue is not None and bool(path.out.gate & path.queue.bit)


def _passes(path: Path) -> bool:
    """True when frames of a path leave the switch again at once."""
    return (path.blocked is None and path.out is not None and path.queue is not None and not is_shut(path)
            and not path.queue.dropping and not path.pg.dropping)


def _tally(path: Path) -> Tally:
    counts = {name: getattr(path, name) for name in Path.COUNTED}
    shut = is_shut(path)
    waits = path.inside if shut else 0
    if shut and path.out is not None and path.out.current is path:
        waits -= 1
    dropping = path.queue is not None and (path.queue.dropping or path.pg.dropping)
    return Tally(path, counts, path.drop_phase, waits, shut and not dropping and path.blocked is None)


def _anchor(way: Way) -> Anchor:
    line, receiver, trains = way
    moving = under_way(way)
    items = {item: (item.launched, item.arrived) for item in {*(train.item for train in trains), *moving}}
    anchor = Anchor(way, items, [train.number for train in trains], list(receiver.counts), dict(receiver.kinds),
                    list(receiver.until_ps), set(moving))
    for item in line.controls:
        launched, arrived = anchor.items[item]
        anchor.items[item] = launched + 1, arrived
    for item in moving:
        launched, arrived = anchor.items[item]
        anchor.items[item] = launched, arrived + line.is_up
    _count_ahead(anchor, moving)
    for _, control in receiver.responding:
        for priority, quanta in control.pauses:
            if quanta and receiver.shuts[priority]:
                anchor.until_ps[priority] = NEVER
    return anchor


def _count_ahead(anchor: Anchor, moving: list[ControlItem]) -> None:
    """Count frames under way as received, in the anchor alone."""
    receiver = anchor.way.receiver
    if anchor.way.line.is_up:
        for item in moving:
            receiver.count(item.frame, 1)
    counts, kinds = list(receiver.counts), dict(receiver.kinds)
    receiver.counts[:] = anchor.counts
    receiver.kinds.update(anchor.kinds)
    anchor.counts, anchor.kinds = counts, kinds
