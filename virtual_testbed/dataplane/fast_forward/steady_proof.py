"""The proof that regeneration is possible from now on, or why not; `docs/data-plane.md` gives the argument."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from virtual_testbed.dataplane.fast_forward.buffer_levels import ComingFrames, SteadyFlow, fits, is_congested, uses
from virtual_testbed.dataplane.fast_forward.busy_periods import FrameTimes, Stream, busy_period_ps
from virtual_testbed.dataplane.fast_forward.control_path import ControlPathAnchor, control_paths
from virtual_testbed.dataplane.fast_forward.delivery import deliver, leaving, passes, shares, tally
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.line_backlog import Lines, most_waiting
from virtual_testbed.dataplane.fast_forward.steady_latency import Feed, SteadyLatency, way
from virtual_testbed.dataplane.model.counters import STOPPED
from virtual_testbed.dataplane.model.flow import FlowState, Lane, has_latency
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.port import Path, SwitchPort, paths_through


class NotSteady(Exception):
    """Regeneration is not possible now; `str()` is the reason."""


class LatencyUnknown(NotSteady):
    """It would be possible if no latency were measured."""


class Stay(NamedTuple):
    """How long frames may need from their due instant until they have left a line.

    Attributes:
        settled_ps: after that time without a difference in what comes due, two runs are the same here.
        delay_ps: a frame has left the line.
        first_settled_ps: from now on, what is under way now has left, and no longer matters.
        first_delay_ps: as `delay_ps`, for all frames that come due from now on, with what is under way now.
    """

    settled_ps: int
    delay_ps: int
    first_settled_ps: int
    first_delay_ps: int

    def or_longer(self, other: Stay, cable_ps: int) -> Stay:
        """The longer times of this and of `other` with a cable behind it."""
        return Stay(*(max(mine, its + cable_ps) for mine, its in zip(self, other)))


NO_STAY = Stay(0, 0, 0, 0)


class SteadyProof:
    """Looks whether a steady state holds now, and what follows from it.

    Args:
        sides: generator ports with a cable.
        ports: switch ports with a cable.
        ledger: how full pools may be.
        last_ps: how far the steady state is wanted.

    Attributes:
        end_ps: the last instant that it holds at.
        window_ps: time to step so that nothing before it matters; `settle_ps` time after which what is under way now no
            longer does.
        longest_gap_ps: longest time between frames that keep a pause.
        tallies: of the paths that have frames in the switch now, or get some while the steady state lasts.
        fillers: by shut queue the path that fills it.
        measured: flows with frames under way whose latency is measured; `latencies` of those that send.

    Raises:
        NotSteady: it does not.
    """

    def __init__(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], ledger: Ledger, now_ps: int,
                 last_ps: int) -> None:
        self.sides = sides
        self.ports = ports
        self.ledger = ledger
        self.now_ps = now_ps
        self.end_ps = last_ps
        self.control_paths = control_paths(sides, ports)
        self.longest_gap_ps = 0
        self.response_ps = max((control_path.receiver.response_ps for control_path in self.control_paths), default=0)
        self.steady_flows = [found for side in sides for flow in side.flows for found in self._steady_flow(flow)]
        self.paths = self._paths()
        self._through = paths_through(ports)
        self._holding = [path for path in self._through if path.inside]
        self._in_transit = self._transit()
        self._arriving = self._still_to_arrive()
        moving = {*self._holding, *self.paths, *self._arriving}
        self.tallies = {path: tally(path) for path in self._through if path in moving}
        self.fillers: dict[int, Path] = {}
        self._check_queues()
        self._check_accounts()
        self._carried = self._collect()
        self._jitters: dict[int, int] = {}
        self.anchors = self._prove_control_paths()
        self._trains = {id(line): [Stream(train.schedule.step, FrameTimes.of([train.item.tx_time_ps]), 0)
                                   for train in trains]
                        for _, line, _, trains in self.control_paths}
        self._generators = {id(side.line) for side in sides}
        self._stays: dict[int, Stay] = {}
        self.window_ps, self.settle_ps = self._windows()
        for path, frames in self._in_transit:
            deliver(self.tallies, path, frames)
        self._certify()
        self.measured = [flow for side in sides for flow in side.flows
                         if has_latency(flow) and any(path in self.tallies for path in flow.paths)]
        self.latencies = list(self._latencies())

    # ---- flows

    def _steady_flow(self, flow: FlowState) -> Iterator[SteadyFlow]:
        segment = flow.segment
        if segment is None or flow.is_shut:
            return
        if flow.later or flow.frozen is not None or flow.state == STOPPED:
            raise NotSteady("frames of a stopped or held flow wait in a generator")
        if flow.burst:
            raise NotSteady("a flow sends bursts")
        if segment.left is not None:
            last = flow.after(segment, segment.left - 1)
            self.end_ps = min(self.end_ps, last.due_ps - 1 if last else self.now_ps)
        yield SteadyFlow(flow, segment, flow.snapshot())

    def _paths(self) -> dict[Path, SteadyFlow]:
        """Paths that frames still take, with the flow's schedule."""
        return {path: steady_flow for steady_flow in self.steady_flows for lane in steady_flow.flow.kinds
                for path in _way_on(lane.path)}

    def _check_queues(self) -> None:
        """XOFF must be over, or nothing of the group may move; a shut queue may be filled by one path only."""
        for path, found in self.tallies.items():
            comes = path in self.paths or path in self._arriving
            if path.queue is None or path.out is None:
                continue
            if comes and found.fills and self.fillers.setdefault(id(path.queue), path) is not path:
                raise NotSteady("several flows fill one queue")
            if path.out.leak & path.queue.bit and (comes or path.inside):
                raise NotSteady("a fault lets a frame out of a shut queue")
            moving = comes and path.blocked is None and not path.queue.dropping
            if is_congested(path.pg) and (moving or leaving(path)):
                raise NotSteady("a congested priority group receives or sends")

    def _check_accounts(self) -> None:
        """What a group or queue holds must follow from the frames in it: reserved bytes first."""
        held = {share: 0 for path in self._through for share in shares(path)}
        for path in self._holding:
            for share in shares(path):
                held[share] += path.inside * path.size
        for share, size in held.items():
            shared = max(0, size - share.size)
            if not is_congested(share) and (share.shared, share.reserved) != (shared, size - shared):
                raise NotSteady("buffers were changed while frames were in them")

    def _transit(self) -> list[tuple[Path, int]]:
        """Frames that have not reached the switch of a path yet, or leave one for the next."""
        found = [(frame.path, 1) for side in self.sides for _, frame in side.line.flight
                 if isinstance(frame, Lane) and frame.path is not None]
        found += [(path.onward, leaving(path)) for path in self._holding if path.onward is not None and leaving(path)]
        for port in self.ports:
            flight = [frame for _, frame in port.line.flight if isinstance(frame, Path)]
            if flight and flight[-1] is port.current:
                flight.pop()  # it has not left yet
            found += [(frame.onward, 1) for frame in flight if frame.onward is not None]
        return found

    def _still_to_arrive(self) -> dict[Path, int]:
        """Frames that are due or under way now and have not reached the switch of a path."""
        found: dict[Path, int] = {}
        starts = list(self._in_transit)
        for steady_flow in self.steady_flows:
            waiting = steady_flow.flow.due_by(steady_flow.segment, self.now_ps)
            starts += [(lane.path, waiting) for lane in steady_flow.flow.kinds if lane.path is not None and waiting]
        for start, frames in starts:
            for path in _way_on(start):
                found[path] = found.get(path, 0) + frames
        return found

    # ---- control frames

    def _prove_control_paths(self) -> list[ControlPathAnchor]:
        longest_ps = self._longest_frames()
        for control_path in self.control_paths:
            steady = control_path.steadiness(longest_ps.get(id(control_path.line), 0), self.now_ps)
            if steady is None:
                raise NotSteady("control frames fill a line")
            if steady.disturbs:
                raise NotSteady("a pause frame is under way")
            self._jitters[id(control_path.line)] = steady.jitter_ps
            self.end_ps = min(self.end_ps, steady.changes_ps)
            self.longest_gap_ps = max([self.longest_gap_ps, *steady.keeps.values()])
            for priority, since_ps in enumerate(control_path.receiver.since_ps):
                if since_ps is not None and priority not in steady.keeps:
                    self.end_ps = min(self.end_ps, control_path.receiver.until_ps[priority] - 1)
        return [control_path.anchor() for control_path in self.control_paths]

    def _longest_frames(self) -> dict[int, int]:
        """By line, longest time of a data frame that is on it or may still go on it."""
        longest_ps: dict[int, int] = {}

        def note(line: Line, tx_ps: int) -> None:
            longest_ps[id(line)] = max(longest_ps.get(id(line), 0), tx_ps)
        for side in self.sides:
            if side.current is not None:
                note(side.line, side.current.tx_time_ps)
        for steady_flow in self.steady_flows:
            note(steady_flow.flow.side.line, max(lane.tx_time_ps for lane in steady_flow.flow.kinds))
        for path in self.tallies:
            comes = path in self.paths or path in self._arriving
            if path.out is not None and (leaving(path) or (comes and passes(path))):
                note(path.out.line, path.tx_time_ps)
        return longest_ps

    # ---- time

    def _collect(self) -> dict[int, dict[FlowState, FrameTimes]]:
        """By line, what each flow that it carries needs of it."""
        carried: dict[int, dict[FlowState, FrameTimes]] = {}
        for flow in (steady_flow.flow for steady_flow in self.steady_flows):
            times_ps = {id(flow.side.line): {lane: lane.tx_time_ps for lane in flow.kinds}}
            for lane in flow.kinds:
                for path in _way_on(lane.path):
                    if passes(path) and path.out is not None:
                        times_ps.setdefault(id(path.out.line), {})[lane] = path.tx_time_ps
            for line, of_lanes in times_ps.items():
                turn = [of_lanes.get(lane, 0) for lane in flow.lanes]
                carried.setdefault(line, {})[flow] = FrameTimes.of(turn)
        return carried

    def _windows(self) -> tuple[int, int]:
        window_ps = 0
        settle_ps = 0
        backlog = self._backlog()
        for control_path in self.control_paths:
            stay = self._stay(control_path.line, backlog, ())
            window_ps = max(window_ps, stay.settled_ps + control_path.line.propagation_ps)
            settle_ps = max(settle_ps, stay.first_settled_ps + control_path.line.propagation_ps)
        return window_ps + 1, settle_ps + self.response_ps + 1

    def _backlog(self) -> dict[int, int]:
        """Work in hand for every line, in its own time: on it, waiting, and on the way to it."""
        work: dict[int, int] = {}
        for control_path in self.control_paths:
            line = control_path.line
            work[id(line)] = max(0, line.busy_until_ps - self.now_ps) + sum(item.tx_time_ps for item in line.controls)
        for steady_flow in self.steady_flows:
            waiting = steady_flow.flow.due_by(steady_flow.segment, self.now_ps)
            work[id(steady_flow.flow.side.line)] += waiting * max(lane.tx_time_ps for lane in steady_flow.flow.kinds)
        for path, frames in self._arriving.items():
            if passes(path) and path.out is not None:
                work[id(path.out.line)] += frames * path.tx_time_ps
        for path in self.tallies:
            if path.out is not None:
                work[id(path.out.line)] = work.get(id(path.out.line), 0) + leaving(path) * path.tx_time_ps
        return work

    def _stay(self, line: Line, backlog: Mapping[int, int], above: tuple[int, ...]) -> Stay:
        if id(line) in self._stays:
            return self._stays[id(line)]
        if id(line) in above:
            raise NotSteady("traffic goes round in a circle of switches")
        streams = [*self._trains[id(line)]]
        at_first = [*streams]
        arrival = NO_STAY
        for flow, times in self._carried.get(id(line), {}).items():
            came = NO_STAY
            for before in _lines_before(line, flow):
                came = came.or_longer(self._stay(before, backlog, (*above, id(line))), before.propagation_ps)
            arrival = arrival.or_longer(came, 0)
            streams.append(Stream(flow.step, times, came.delay_ps))
            at_first.append(Stream(flow.step, times, came.first_delay_ps))
        busy_ps = _busy_ps(streams, 0)
        first_ps = _busy_ps(at_first, backlog[id(line)])
        stay = Stay(arrival.settled_ps + busy_ps, arrival.delay_ps + busy_ps,
                    arrival.first_settled_ps + first_ps, arrival.first_delay_ps + first_ps)
        if id(line) in self._generators:  # first come first served, except that control frames overtake
            wait_ps = sum(stream.times.first_ps for stream in streams)
            stay = stay._replace(delay_ps=_busy_ps(self._trains[id(line)], wait_ps),
                                 first_delay_ps=_busy_ps(self._trains[id(line)], wait_ps + backlog[id(line)]))
        self._stays[id(line)] = stay
        return stay

    # ---- latency

    def _latencies(self) -> Iterator[SteadyLatency]:
        """Of the flows whose latency is measured."""
        for flow in (steady_flow.flow for steady_flow in self.steady_flows if has_latency(steady_flow.flow)):
            lanes = [lane for lane in flow.kinds if self._reaches_its_end(lane)]
            paths = dict.fromkeys(path for lane in lanes for path in way(lane)[0])
            if any(self._feed(port).waits(port.line) for port in {path.out for path in paths} if port is not None):
                raise LatencyUnknown("frames whose latency is measured wait for others")
            if lanes:
                yield SteadyLatency(flow, lanes, list(paths))

    def _reaches_its_end(self, lane: Lane) -> bool:
        """Whether frames come to a generator port; where others are dropped, the latency of their flow is not known."""
        end = way(lane)[1]
        if end is not None and self.tallies[end].fills:
            raise LatencyUnknown("frames whose latency is measured fill a shut queue")
        return lane.path is not None and end is None

    def _feed(self, port: SwitchPort) -> Feed:
        """What leaves by a port."""
        line = port.line
        lines = {id(before): before for flow in self._carried[id(line)] for before in _lines_before(line, flow)}
        times_ps = {path.tx_time_ps for path in self.paths if path.out is port and passes(path)}
        return Feed(lines, times_ps, bool(self._trains[id(line)]))

    # ---- thresholds

    def _certify(self) -> None:
        """No limit may be reached: shorten the steady state until that is certain for the queues that fill."""
        delays_ps = {line: stay.first_delay_ps for line, stay in self._stays.items()}
        lines = Lines(delays_ps, self._trains, self._jitters, self._carried)
        waiting = most_waiting(self.ports, self.paths, self._arriving, lines, self.now_ps)
        coming = ComingFrames(self.paths, self._arriving, delays_ps, waiting)
        self.uses = uses(self.tallies.values(), coming)
        if fits(self.uses, self.end_ps, self.ledger):
            return
        if not any(use.fills for use in self.uses) or not fits(self.uses, self.now_ps, self.ledger):
            raise NotSteady("a buffer threshold may be reached")
        good_ps = self.now_ps
        bad_ps = min(self.end_ps, self.now_ps + self.window_ps)
        while bad_ps < self.end_ps and fits(self.uses, bad_ps, self.ledger):
            good_ps = bad_ps
            bad_ps = min(self.end_ps, 2 * bad_ps - self.now_ps)
        while bad_ps - good_ps > self.window_ps:
            middle_ps = (good_ps + bad_ps) // 2
            if fits(self.uses, middle_ps, self.ledger):
                good_ps = middle_ps
            else:
                bad_ps = middle_ps
        self.end_ps = good_ps


def _way_on(start: Path | None) -> Iterable[Path]:
    """A path and those after it, as far as frames get now."""
    path = start
    while path is not None:
        yield path
        path = path.onward if passes(path) else None


def _lines_before(line: Line, flow: FlowState) -> list[Line]:
    """Lines that a flow's frames come from when they go on `line`."""
    found = []
    for lane in flow.kinds:
        before = flow.side.line
        if line is before:
            return []
        for path in _way_on(lane.path):
            if path.out is None or not passes(path):
                break
            if path.out.line is line:
                found.append(before)
            before = path.out.line
    return found


def _busy_ps(streams: Sequence[Stream], backlog_ps: int) -> int:
    busy_ps = busy_period_ps(streams, backlog_ps)
    if busy_ps is None:
        raise NotSteady("a line has no idle time")
    return busy_ps
