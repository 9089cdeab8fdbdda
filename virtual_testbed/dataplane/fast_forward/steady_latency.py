"""Latency while a steady state lasts: frames that wait for no other in any switch take the same time each.

A frame goes on the line of its generator port, and so many picoseconds later its last bit reaches the generator port at
the other end. It never waits in a switch where all frames that leave by a port are of one size, come in over one cable
that is no faster, and share the line with no control frames: there is at least one frame time between any two of them.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from virtual_testbed.dataplane.fast_forward.delivery import passes
from virtual_testbed.dataplane.model.flow import FlowState, Lane
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.port import Path, SwitchPort


@dataclass(frozen=True)
class Feed:
    """What leaves by one port of a switch.

    Attributes:
        lines: that the frames come in over; `times_ps` how long they are on the line.
        has_trains: control frames share the line.
    """

    lines: Mapping[int, Line]
    times_ps: Collection[int]
    has_trains: bool

    def waits(self, line: Line) -> bool:
        """Whether a frame may have to wait for this line."""
        return (self.has_trains or len(self.times_ps) > 1 or len(self.lines) > 1
                or any(before.speed_mbps > line.speed_mbps for before in self.lines.values()))


@dataclass(frozen=True)
class SteadyLatency:
    """A flow whose frames wait for no other.

    Attributes:
        lanes: kinds of its frames that reach a generator port; `paths` all that they take.
    """

    flow: FlowState
    lanes: Sequence[Lane]
    paths: Sequence[Path]

    @property
    def last_path(self) -> Path:
        """One that leads to a generator port."""
        return next(path for path in self.paths if path.onward is None)

    def invariant_ps(self, now_ps: int) -> int | None:
        """What stays the same from instant to instant while each frame takes its time; None: one waits now.

        It is the sum of the instants at which frames have come, or will have come of those under way, less the time
        that each frame that was sent takes.
        """
        under_way_ps = self._under_way_ps(now_ps)
        if under_way_ps is None:
            return None
        return self.arrived_ps() + under_way_ps - self._taken_ps()

    def arrived_ps(self) -> int:
        """The sum of the instants at which frames have come, or will have of those that have left the last switch."""
        return sum(path.arrived_ps for path in self.paths if path.onward is None)

    def arrived_when_placed_ps(self, invariant_ps: int) -> int:
        """What `arrived_ps` of the last path is when all frames that were sent have come."""
        last = self.last_path
        return last.arrived_ps + invariant_ps + self._taken_ps() - self.arrived_ps()

    def _taken_ps(self) -> int:
        """What all frames that were sent take together, from going on the generator's line until the last bit has come.
        """
        line = self.flow.side.line
        return sum(lane.launched * (lane.tx_time_ps + line.propagation_ps + _from_switch_ps(lane.path))
                   for lane in self.lanes)

    def _under_way_ps(self, now_ps: int) -> int | None:
        """The sum of the instants at which frames under way will have come; None: one waits now."""
        found_ps = sum(time_ps + _from_switch_ps(frame.path) for time_ps, frame in self.flow.side.line.flight
                       if isinstance(frame, Lane) and frame in self.lanes)
        for path in self.paths:
            out = _out(path)
            waiting = path.inside - (out.current is path)
            if waiting > 1 or (waiting and out.line.busy_until_ps > now_ps):
                return None
            if waiting:  # it is about to go on the line
                found_ps += now_ps + _from_switch_ps(path)
            if out.current is path and not out.to_switch:
                found_ps += out.line.busy_until_ps + out.line.propagation_ps
            found_ps += sum(time_ps + _from_switch_ps(path.onward)
                            for time_ps, frame in out.line.flight if frame is path)
        return found_ps


def _from_switch_ps(start: Path | None) -> int:
    """How long a frame takes from when its last bit has reached the switch of a path."""
    found_ps = 0
    path = start
    while path is not None:
        found_ps += path.tx_time_ps + _out(path).line.propagation_ps
        path = path.onward
    return found_ps


def way(lane: Lane) -> tuple[list[Path], Path | None]:
    """The paths that frames pass on, and the one that they do not get further on (None: they reach their end)."""
    found: list[Path] = []
    path = lane.path
    while path is not None and passes(path):
        found.append(path)
        path = path.onward
    return found, path


def _out(path: Path) -> SwitchPort:
    assert path.out is not None, "a frame that passes leaves by a port"
    return path.out
