"""How full priority groups, queues and pools may get while a steady state lasts.

What moves through a group or queue is bounded twice: each flow by itself, and all that waits for a line together
(`line_backlog`), whatever groups and queues it is in.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from virtual_testbed.dataplane.fast_forward.busy_periods import frames_within
from virtual_testbed.dataplane.fast_forward.delivery import Tally, leaving, passes, shares
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.model.buffer import BufferPool, PriorityGroup, Share
from virtual_testbed.dataplane.model.flow import FlowSnapshot, FlowState, Segment
from virtual_testbed.dataplane.model.port import Path


@dataclass(frozen=True)
class SteadyFlow:
    """A data flow at the beginning of the steady state, and the segment of frames that come due in it."""

    flow: FlowState
    segment: Segment
    begin: FlowSnapshot


@dataclass
class BufferUse:
    """What one group or queue may hold while the steady state lasts.

    Attributes:
        held: bytes that it may hold at once, without what fills it; `fills` flows whose frames all stay, with a path.
        stays: those of the bytes that do not leave.
        lines: by line that the others leave by, most bytes that wait for it at once, of this and of all others.
        largest: longest frame that it may have to admit (0: none comes).
    """

    share: Share
    held: int = 0
    stays: int = 0
    lines: dict[int, int] = field(default_factory=dict)
    largest: int = 0
    fills: list[tuple[SteadyFlow, Path]] = field(default_factory=list)

    def most(self, until_ps: int) -> int:
        """Most bytes that it holds up to then."""
        return min(self.held, self.stays + sum(self.lines.values())) + self._filled(until_ps)

    def most_staying(self, until_ps: int) -> int:
        """Most bytes of it that do not leave up to then."""
        return self.stays + self._filled(until_ps)

    def _filled(self, until_ps: int) -> int:
        return sum(one.flow.due_by(one.segment, until_ps) * path.size for one, path in self.fills)

    def note_bound(self, ledger: Ledger, until_ps: int) -> None:
        """Up to then frames are not stepped: the peak may have been as high as this."""
        if self.largest:
            reserved = self.share.size if isinstance(self.share, PriorityGroup) else 0
            ledger.note_bound(self.share, self.most(until_ps) - reserved)

    def add(self, tally: Tally, coming: ComingFrames) -> None:
        """Allow for the frames of a path."""
        path = tally.path
        self.held += path.inside * path.size
        self.stays += (path.inside - leaving(path)) * path.size
        steady_flow = coming.paths.get(path)
        arriving = coming.arriving.get(path, 0)
        comes = (steady_flow is not None or arriving > 0) and (tally.fills or passes(path))
        if path.out is not None and (leaving(path) or (comes and not tally.fills)):
            self.lines[id(path.out.line)] = coming.waiting[id(path.out.line)]
        if not comes:
            return
        self.largest = max(self.largest, path.size)
        self.held += arriving * path.size
        if tally.fills:
            self.stays += arriving * path.size
            self.fills += [(steady_flow, path)] if steady_flow is not None else []
        elif steady_flow is not None and path.out is not None:
            self.held += frames_within(steady_flow.flow.step, coming.stay_ps[id(path.out.line)]) * path.size


@dataclass(frozen=True)
class ComingFrames:
    """Frames that come while the steady state lasts.

    Attributes:
        paths: paths that flows send on, with the flow; `arriving` frames of each path that are due or under way now.
        stay_ps: by line, longest time from a frame's due instant until it has left it.
        waiting: by line, most bytes that wait for it at once, in whole cells.
    """

    paths: Mapping[Path, SteadyFlow]
    arriving: Mapping[Path, int]
    stay_ps: Mapping[int, int]
    waiting: Mapping[int, int]


def uses(tallies: Iterable[Tally], coming: ComingFrames) -> list[BufferUse]:
    """What each group and queue may hold, groups that are congested (in which nothing moves) apart."""
    found: dict[int, BufferUse] = {}
    for tally in tallies:
        for share in shares(tally.path):
            if not is_congested(share):
                found.setdefault(id(share), BufferUse(share)).add(tally, coming)
    return list(found.values())


def is_congested(share: Share) -> bool:
    """True for a priority group that has sent XOFF or holds headroom."""
    return isinstance(share, PriorityGroup) and (share.xoff or share.headroom > 0)


def rises(found: Iterable[BufferUse], until_ps: int) -> dict[BufferPool, int]:
    """Most bytes of each pool that are used up to then beyond those that are used now."""
    return _more([(use, use.most(until_ps)) for use in found], until_ps)


def _more(levels: Sequence[tuple[BufferUse, int]], until_ps: int) -> dict[BufferPool, int]:
    """`levels`: the most that each holds. Of the two sums, of what each may hold more and of what stays with what waits
    for the lines, the smaller: a frame takes at most its bytes from a pool, in one group and in one queue."""
    each: dict[BufferPool, int] = {}
    all_in_all: dict[BufferPool, int] = {}
    waiting: dict[tuple[BufferPool, bool, int], int] = {}
    for use, held in levels:
        share = use.share
        pool = use.share.pool
        each[pool] = each.get(pool, 0) + max(0, held - share.size - share.shared)
        stays = max(0, use.most_staying(until_ps) - share.size)
        all_in_all[pool] = all_in_all.get(pool, 0) + stays - share.shared
        is_group = isinstance(share, PriorityGroup)
        waiting |= {(pool, is_group, line): most for line, most in use.lines.items()}
    for (pool, _, _), most in waiting.items():
        all_in_all[pool] += most
    return {pool: min(more, max(0, all_in_all[pool])) for pool, more in each.items()}


def fits(found: Sequence[BufferUse], until_ps: int, ledger: Ledger) -> bool:
    """No limit is reached up to then, whatever the order in which frames come and go."""
    most = [use.most(until_ps) for use in found]
    more = _more([*zip(found, most)], until_ps)
    used = {pool: ledger.used_at_most(pool, rise) for pool, rise in more.items()}
    return not any(use.largest and held + use.largest > use.share.limit_at(used[use.share.pool])
                   for use, held in zip(found, most))
