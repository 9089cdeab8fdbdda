"""How many bytes may wait for a line of a switch together, whatever queues they are in: a bound in a steady state.

Let t be an instant of the steady state and s the last one up to t before which no data frame that can leave by the
line was in the switch, or the steady state's beginning. From s to t the line is never idle (a port sends whenever an
open queue or a control frame waits), so with x = t - s the work that is left at t, in time on the line, is at most

    R(x) = work at the steady state's beginning + data that comes in x + control frames sent in x - x.

Data comes over the cables of other ports. What comes over one of them in x is bounded twice:

 * the cable carries one frame after the other, and a frame comes with its last bit: all but the first were sent
   within x, so they took x at most, and the first its own time (**serial**);
 * of a flow of period p whose frames reach the switch at most d after they came due, those due in x + d come, at most
   (x + d) / p + 1 of them in a row (`FrameTimes`); and the ones that were under way at the beginning (**streams**).

Control frames on the line are due in x or up to their jitter before, or waited at the beginning. All of these are
concave in x, so R is greatest at 0 or where one cable's bounds cross; no line is overloaded, so it falls beyond. Of
the frames that are left one may have been sent in part; it is held whole.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

from virtual_testbed.dataplane.fast_forward.buffer_levels import SteadyFlow
from virtual_testbed.dataplane.fast_forward.busy_periods import FrameTimes, Stream, ceil_div
from virtual_testbed.dataplane.fast_forward.delivery import leaving, passes
from virtual_testbed.dataplane.model.flow import FlowState
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.port import Path, SwitchPort
from virtual_testbed.dataplane.model.units import WIRE_OVERHEAD_BYTES


@dataclass(frozen=True)
class Lines:
    """What is known of lines, by `id` of the line.

    Attributes:
        delays_ps: longest time from a frame's due instant until it has left a line.
        trains: the control frames that are sent on it; `jitters_ps` longest time from a due instant of theirs until
            one has been sent.
        carried: what the frames of flows need of it.
    """

    delays_ps: Mapping[int, int]
    trains: Mapping[int, Sequence[Stream]]
    jitters_ps: Mapping[int, int]
    carried: Mapping[int, Mapping[FlowState, FrameTimes]]

    def stream(self, flow: FlowState, cable: Line, line: Line) -> Stream:
        """All that a flow has for a line, as if it came in over this cable."""
        return Stream(flow.step, self.carried[id(line)][flow], self.delays_ps[id(cable)] + cable.propagation_ps)


@dataclass
class CableFeed:
    """What comes for a line over one cable: time on the line.

    Attributes:
        longest_ps: of a frame; `ratio` the most that a frame takes on the line for each unit of time on the cable.
        under_way_ps: all frames that were under way at the beginning.
        streams: flow -> its frames.
    """

    longest_ps: int = 0
    ratio: Fraction = Fraction(0)
    under_way_ps: int = 0
    streams: dict[FlowState, Stream] = field(default_factory=dict)

    def add(self, path: Path, arriving: int, streams: Mapping[FlowState, Stream]) -> None:
        """Frames of this path come: those of flows, and so many that are under way."""
        took_ps = (path.frame_bytes + WIRE_OVERHEAD_BYTES) * _cable(path.in_port).ps_per_byte
        self.longest_ps = max(self.longest_ps, path.tx_time_ps)
        self.ratio = max(self.ratio, Fraction(path.tx_time_ps, took_ps))
        self.under_way_ps += arriving * path.tx_time_ps
        self.streams |= streams

    def crossing_ps(self) -> Fraction:
        """When the two bounds are the same; 0: never."""
        slower = self.ratio - sum(Fraction(one.times.turn_ps, one.turn_period_ps) for one in self.streams.values())
        ahead_ps = self.under_way_ps - self.longest_ps + sum(
            one.times.first_ps + Fraction(one.jitter_ps * one.times.turn_ps, one.turn_period_ps)
            for one in self.streams.values())
        return max(Fraction(0), ahead_ps / slower) if slower else Fraction(0)

    def comes_ps(self, span_ps: int) -> int:
        """Most that comes in a time."""
        return min(ceil(span_ps * self.ratio) + self.longest_ps,
                   self.under_way_ps + _most_ps(self.streams.values(), span_ps))


@dataclass
class LineBacklog:
    """What may wait for one line.

    Attributes:
        at_first_ps: work that is there at the beginning.
        kinds: bytes in whole cells and time on the line of its frames.
        feeds: what comes, by the port where it does.
    """

    at_first_ps: int = 0
    kinds: set[tuple[int, int]] = field(default_factory=set)
    feeds: dict[SwitchPort, CableFeed] = field(default_factory=dict)

    def add_leaving(self, path: Path, frames: int) -> None:
        """So many frames of a path are in the switch."""
        self.kinds.add((path.size, path.tx_time_ps))
        self.at_first_ps += frames * path.tx_time_ps

    def add_coming(self, path: Path, arriving: int, streams: Mapping[FlowState, Stream]) -> None:
        """Frames of a path come: those of flows, and so many that are under way."""
        self.kinds.add((path.size, path.tx_time_ps))
        self.feeds.setdefault(path.in_port, CableFeed()).add(path, arriving, streams)

    def most_bytes(self, trains: Sequence[Stream]) -> int:
        """Most bytes that wait at once, the frame on the line among them.

        Args:
            trains: control frames that are sent on it.
        """
        if not self.kinds:
            return 0
        left_ps = max(self._left_ps(trains, span) for span in
                      {Fraction(0), *(feed.crossing_ps() for feed in self.feeds.values())})
        whole_ps = left_ps + max(tx_ps for _, tx_ps in self.kinds) - 1
        if len(self.kinds) == 1:
            size, tx_ps = next(iter(self.kinds))
            return whole_ps // tx_ps * size
        return max(whole_ps * size // tx_ps for size, tx_ps in self.kinds)

    def _left_ps(self, trains: Sequence[Stream], span_ps: Fraction) -> int:
        """Most work that is left after a time without an idle instant."""
        longer_ps = ceil(span_ps)
        return (self.at_first_ps + sum(feed.comes_ps(longer_ps) for feed in self.feeds.values())
                + _most_ps(trains, longer_ps) - floor(span_ps))


def most_waiting(ports: Iterable[SwitchPort], coming: Mapping[Path, SteadyFlow], arriving: Mapping[Path, int],
                 lines: Lines, now_ps: int) -> dict[int, int]:
    """Most bytes that wait at once for the line of each of these ports, by its `id`, from now on.

    Args:
        ports: switch ports that exchange frames with no others.
        coming: paths that flows send on, with the flow.
        arriving: frames of each path that are due or under way now.
        lines: what is known of their lines.
        now_ps: the beginning.
    """
    found = {port: LineBacklog(_at_first_ps(port, now_ps)) for port in ports}
    for path in (path for port in found for path in port.paths):
        if path.out is None or path.out not in found:
            continue
        waiting = found[path.out]
        frames = leaving(path)
        if frames:
            waiting.add_leaving(path, frames)
        if passes(path) and (path in coming or path in arriving):
            flows = [coming[path].flow] if path in coming else []
            streams = {flow: lines.stream(flow, _cable(path.in_port), path.out.line) for flow in flows}
            waiting.add_coming(path, arriving.get(path, 0), streams)
    most = {}
    for port, waiting in found.items():
        number = id(port.line)
        trains = [train._replace(jitter_ps=lines.jitters_ps[number]) for train in lines.trains.get(number, ())]
        most[number] = waiting.most_bytes(trains)
    return most


def _at_first_ps(port: SwitchPort, now_ps: int) -> int:
    """Control frames that wait or are on the line; and of the data frame on it, which is counted whole elsewhere, what
    is over (negative)."""
    line = port.line
    left_ps = max(0, line.busy_until_ps - now_ps)
    waits_ps = sum(item.tx_time_ps for item in line.controls)
    if port.current is not None:
        return waits_ps - (port.current.tx_time_ps - left_ps)
    return waits_ps + left_ps


def _cable(port: SwitchPort) -> Line:
    """What frames come in over."""
    assert isinstance(port.peer, (SwitchPort, GeneratorSide)), f"{port.name} has no cable, yet frames come in by it"
    return port.peer.line


def _most_ps(streams: Iterable[Stream], span_ps: int) -> int:
    """Most time on the line that streams need of what is due in a time."""
    return sum(ceil_div((span_ps + one.jitter_ps) * one.times.turn_ps, one.turn_period_ps) + one.times.first_ps
               for one in streams)
