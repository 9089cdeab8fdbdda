"""How full priority groups, queues and pools may get while a regime lasts."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from virtual_testbed.dataplane.bounds import frames_within
from virtual_testbed.dataplane.buffer import Pool, PriorityGroup, Share
from virtual_testbed.dataplane.delivery import Tally, passes, shares
from virtual_testbed.dataplane.flow import FlowState, Segment
from virtual_testbed.dataplane.port import Path


@dataclass(frozen=True)
class Schedule:
    """A data flow at the beginning of the regime."""

    flow: FlowState
    segment: Segment
    sent: int
    position: int
    launched: tuple[int, ...]
    lost: int


@dataclass
class Use:
    """What one group or queue may hold while the regime lasts.

    Attributes:
        held: bytes that it may hold at once, without what fills it; `fills` flows whose frames all stay, with a path.
        largest: longest frame that it may have to admit (0: none comes).
    """

    share: Share
    held: int = 0
    largest: int = 0
    fills: list[tuple[Schedule, Path]] = field(default_factory=list)

    def most(self, until_ps: int) -> int:
        """Most bytes that it holds up to then."""
        return self.held + sum(schedule.flow.due_by(schedule.segment, until_ps) * path.size
                               for schedule, path in self.fills)

    def note_bound(self, until_ps: int) -> None:
        """Up to then frames are not stepped: the peak may have been as high as this."""
        if self.largest:
            self.share.bound = max(self.share.bound, self.most(until_ps) - (
                self.share.size if isinstance(self.share, PriorityGroup) else 0))


@dataclass(frozen=True)
class Coming:
    """Frames that come while the regime lasts.

    Attributes:
        paths: paths that flows send on, with the flow; `arriving` frames of each path that are due or under way now.
        stay_ps: by line, longest time from a frame's due instant until it has left it.
    """

    paths: Mapping[Path, Schedule]
    arriving: Mapping[Path, int]
    stay_ps: Mapping[int, int]


def uses(tallies: Iterable[Tally], coming: Coming) -> list[Use]:
    """What each group and queue may hold, groups that are congested (in which nothing moves) apart."""
    found: dict[int, Use] = {}
    for tally in tallies:
        for share in shares(tally.path):
            if not is_congested(share):
                _add(found.setdefault(id(share), Use(share)), tally, coming)
    return list(found.values())


def _add(use: Use, tally: Tally, coming: Coming) -> None:
    path = tally.path
    use.held += path.inside * path.size
    schedule, arriving = coming.paths.get(path), coming.arriving.get(path, 0)
    if (schedule is None and not arriving) or not (tally.fills or passes(path)):
        return
    use.largest = max(use.largest, path.size)
    use.held += arriving * path.size
    if schedule is not None and tally.fills:
        use.fills.append((schedule, path))
    elif schedule is not None and path.out is not None:
        use.held += frames_within(schedule.flow.step, coming.stay_ps[id(path.out.line)]) * path.size


def is_congested(share: Share) -> bool:
    """True for a priority group that has sent XOFF or holds headroom."""
    return isinstance(share, PriorityGroup) and (share.xoff or share.headroom > 0)


def rises(found: Iterable[Use], until_ps: int) -> dict[Pool, int]:
    """Most bytes of each pool that are used up to then beyond those that are used now."""
    return _more((use.share, use.most(until_ps)) for use in found)


def _more(levels: Iterable[tuple[Share, int]]) -> dict[Pool, int]:
    more: dict[Pool, int] = {}
    for share, held in levels:
        more[share.pool] = more.get(share.pool, 0) + max(0, held - share.size - share.shared)
    return more


def fits(found: Sequence[Use], until_ps: int) -> bool:
    """No limit is reached up to then, whatever the order in which frames come and go."""
    most = [use.most(until_ps) for use in found]
    more = _more((use.share, held) for use, held in zip(found, most))
    return not any(use.largest and held + use.largest > use.share.limit_with(more[use.share.pool])
                   for use, held in zip(found, most))
