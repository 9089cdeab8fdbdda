"""How much of a line its flows ask for, instant by instant: exact, so that 100 % is not more than 100 %."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from virtual_testbed.dataplane.model.flow import FlowState
from virtual_testbed.dataplane.model.traffic import DataFlow, Flow
from virtual_testbed.dataplane.model.units import PS_PER_SECOND, WIRE_OVERHEAD_BYTES

FCS_BYTES = 4


@dataclass(frozen=True)
class Demand:
    """What a flow asks of its line, the gaps between its bursts left out.

    Attributes:
        flow: its name.
        share: of the line; 1 is all of it.
        begin_ps, end_ps: from when up to, not including, when (None: without end).
    """

    flow: str
    share: Fraction
    begin_ps: int
    end_ps: Fraction | None


@dataclass(frozen=True)
class Overload:
    """The first stretch of time in which more than the line is asked for.

    Attributes:
        flows: those that ask for something in it, by name.
        share: the most of the line that is asked for at an instant of it.
        begin_ps, end_ps: from when up to, not including, when (None: without end).
    """

    flows: tuple[str, ...]
    share: Fraction
    begin_ps: Fraction
    end_ps: Fraction | None

    def describe(self, zero_ps: int, zero: str) -> str:
        """Flows, percent, and when, in seconds: `flows a, b need 200 % of the line from 0.5 s to 1 s after now`.

        Args:
            zero_ps: the instant that seconds are counted from.
            zero: what it is called.
        """
        return f"flows {', '.join(self.flows)} need {self._percent()} % of the line {self._when(zero_ps, zero)}"

    def _percent(self) -> str:
        text = f"{float(self.share) * 100:.6g}"
        return "a little more than 100" if text == "100" else text

    def _when(self, zero_ps: int, zero: str) -> str:
        begin = _seconds(self.begin_ps - zero_ps)
        if self.end_ps is not None:
            return f"from {begin} s to {_seconds(self.end_ps - zero_ps)} s after {zero}"
        return f"from {zero} on" if begin == "0" else f"from {begin} s after {zero} on"


def share_of_line(flow: Flow, speed_mbps: int) -> Fraction:
    """Share of a line that a flow's rate asks for; sizes that differ count with their mean."""
    sizes = flow.sizes if isinstance(flow, DataFlow) else (len(flow.frame) + FCS_BYTES,)
    mean_bytes = Fraction(sum(sizes), len(sizes)) + WIRE_OVERHEAD_BYTES
    return flow.rate_fps * mean_bytes * 8 / (speed_mbps * 10**6)


def whole_demand(flow: Flow, share: Fraction, begin_ps: int) -> Demand:
    """What a flow asks for when its first frame is due at `begin_ps` and nothing holds it."""
    duration = flow.duration
    ends = []
    if duration.time_ps is not None:
        ends.append(Fraction(begin_ps + duration.time_ps))
    if duration.frames is not None:
        bursts, further = divmod(duration.frames - 1, duration.burst_frames or duration.frames)
        last_ps = begin_ps + bursts * duration.burst_period_ps + further * PS_PER_SECOND / flow.rate_fps
        ends.append(last_ps + mean_frame_time_ps(flow, share))
    return Demand(flow.name, share, begin_ps, min(ends, default=None))


def demand_of_start(flow: FlowState, now_ps: int) -> Demand:
    """What a flow asks of its line when it is started now."""
    return whole_demand(flow.spec, _share(flow), now_ps + flow.spec.duration.delay_ps)


def demand_of_rest(flow: FlowState, now_ps: int) -> Demand:
    """What a flow, which was started, asks of its line from now on; when it is paused: if it goes on now.

    As long as PFC holds it nobody knows when its last frame will leave.
    """
    share = _share(flow)
    duration = flow.spec.duration
    if not flow.has_begun:
        return whole_demand(flow.spec, share, flow.begin_ps)
    ends = []
    if duration.time_ps is not None:
        ends.append(Fraction(flow.begin_ps + duration.time_ps))
    if duration.frames is not None and not flow.is_shut:
        ends.append(_last_due_ps(flow, now_ps) + mean_frame_time_ps(flow.spec, share))
    return Demand(flow.spec.name, share, now_ps, min(ends, default=None))


def _share(flow: FlowState) -> Fraction:
    return share_of_line(flow.spec, flow.side.line.speed_mbps)


def _last_due_ps(flow: FlowState, now_ps: int) -> Fraction:
    """When the last frame of a flow of fixed frames comes due if it goes on from now on; now: it is due already."""
    last = flow.frozen or (flow.later[-1] if flow.later else flow.segment)
    if last is None or last.left is None:
        return Fraction(now_ps)
    slip_ps = max(0, now_ps - last.due_ps) if last is flow.frozen else 0
    final = flow.after(last, last.left - 1)
    assert final is not None, "one frame is left"
    return final.due_ps + Fraction(final.residue, flow.parts) + slip_ps


def mean_frame_time_ps(flow: Flow, share: Fraction) -> Fraction:
    """How long a flow's frames take on the line that it asks that share of, in the mean."""
    return share * PS_PER_SECOND / flow.rate_fps


def first_overload(demands: Iterable[Demand]) -> Overload | None:
    """When the demands together ask for more than the line for the first time; None: never."""
    asked = [one for one in demands if one.end_ps is None or one.begin_ps < one.end_ps]
    begin_ps: Fraction | None = None
    most = Fraction(0)
    for instant_ps, share in _sums(asked):
        if share > 1:
            begin_ps = instant_ps if begin_ps is None else begin_ps
            most = max(most, share)
        elif begin_ps is not None:
            return _overload(asked, most, begin_ps, instant_ps)
    return None if begin_ps is None else _overload(asked, most, begin_ps, None)


def _sums(demands: Sequence[Demand]) -> list[tuple[Fraction, Fraction]]:
    """The instants at which the sum of all demands changes, in order, and the sum from there on."""
    changes: dict[Fraction, Fraction] = {}
    for one in demands:
        begin_ps = Fraction(one.begin_ps)
        changes[begin_ps] = changes.get(begin_ps, Fraction(0)) + one.share
        if one.end_ps is not None:
            changes[one.end_ps] = changes.get(one.end_ps, Fraction(0)) - one.share
    share = Fraction(0)
    sums = []
    for instant_ps, change in sorted(changes.items()):
        share += change
        sums.append((instant_ps, share))
    return sums


def _overload(demands: Sequence[Demand], share: Fraction, begin_ps: Fraction, end_ps: Fraction | None) -> Overload:
    within = [one.flow for one in demands if (end_ps is None or one.begin_ps < end_ps)
              and (one.end_ps is None or begin_ps < one.end_ps)]
    return Overload(tuple(sorted(within)), share, begin_ps, end_ps)


def _seconds(time_ps: Fraction) -> str:
    """All digits that it has; a time that is no whole picosecond is rounded to one."""
    seconds, rest_ps = divmod(round(time_ps), PS_PER_SECOND)
    return f"{seconds}.{rest_ps:012d}".rstrip("0").rstrip(".")
