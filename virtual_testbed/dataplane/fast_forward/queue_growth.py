"""Levels that grow from cycle to cycle: queues that are shut fill up while everything else recurs.

`Growth` remembers the levels at the beginning of a cycle that is measured. At its end it says for how many further
cycles no threshold test can turn out differently, which is linear in their number, and brings the levels to where they
are then.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.model.buffer import EgressQueue, Share
from virtual_testbed.dataplane.model.port import Path, SwitchPort, paths_through

LONGEST_QUEUE = 1 << 20
"""Runs of frames that one skip may append to a queue."""


def shut_queues(port: SwitchPort) -> Iterable[EgressQueue[Path]]:
    """Queues of a port that received pauses keep shut, whose content nothing depends on."""
    return (queue for queue in port.queues if port.gate & ~port.leak & queue.bit)


class QueueGrowth:
    """See the module; `ports` are those whose state recurs, `ledger` says how full pools may be."""

    def __init__(self, ports: Sequence[SwitchPort], ledger: Ledger) -> None:
        self._ledger = ledger
        self._shares: list[Share] = [share for port in ports for share in (*port.pgs, *port.queues)]
        self._levels = [(share.reserved, share.shared, share.peak) for share in self._shares]
        self._headroom = [group.headroom for port in ports for group in port.pgs]
        self._groups = [group for port in ports for group in port.pgs]
        self._queues = [queue for port in ports for queue in shut_queues(port)]
        self._contents = [queue.content() for queue in self._queues]
        self._paths = paths_through(ports)
        self._counts = [(path.rx, path.tx, path.rx_side_drops + path.tx_side_drops) for path in self._paths]

    def cycles(self, most: int) -> int:
        """For how many cycles like the one that has passed, at most so many, everything goes on the same way."""
        if not self._opened_ones_recur():
            return 0
        if all((share.reserved, share.shared) == level[:2] for share, level in zip(self._shares, self._levels)):
            return most
        grown = {id(share): share.shared - shared for share, (_, shared, _) in zip(self._shares, self._levels)}
        if not self._is_plain(grown):
            return 0
        arrived = self._arrived()
        good, bad = 0, most + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._fits(middle, grown, arrived):
                good = middle
            else:
                bad = middle
        runs = sum(len(_appended(queue, before)) for queue, before in zip(self._queues, self._contents))
        return min(good, LONGEST_QUEUE // max(1, runs))

    def _opened_ones_recur(self) -> bool:
        """What was in a queue that has sent meanwhile mattered: it must be the same again."""
        sent = {id(path.queue) for path, (_, tx, _) in zip(self._paths, self._counts) if path.tx != tx}
        return all(queue.content() == before
                   for queue, before in zip(self._queues, self._contents) if id(queue) in sent)

    def _is_plain(self, grown: dict[int, int]) -> bool:
        """Only levels of shut queues grow, nothing is dropped, no congested group moves, and peaks grow with levels."""
        for share, (reserved, _, peak) in zip(self._shares, self._levels):
            growth = grown[id(share)]
            if growth < 0 or share.reserved != reserved or (growth and share.peak <= peak):
                return False
        if [group.headroom for group in self._groups] != self._headroom:
            return False
        for path, (rx, tx, drops) in zip(self._paths, self._counts):
            moved = path.rx != rx or path.tx != tx
            if path.rx_side_drops + path.tx_side_drops != drops or (moved and path.pg.xoff):
                return False
        return True

    def _arrived(self) -> dict[int, int]:
        """Bytes that came for each share in a cycle."""
        found: dict[int, int] = {}
        for path, (rx, _, _) in zip(self._paths, self._counts):
            for share in (path.pg, path.queue):
                if share is not None and path.rx > rx:
                    found[id(share)] = found.get(id(share), 0) + (path.rx - rx + 1) * path.size
        return found

    def _fits(self, cycles: int, grown: dict[int, int], arrived: dict[int, int]) -> bool:
        """No limit is reached, whatever the order of frames within a cycle."""
        used: dict[int, int] = {}
        for share in self._shares:
            used[id(share.pool)] = used.get(id(share.pool), 0) + cycles * grown[id(share)] + arrived.get(id(share), 0)
        for share in self._shares:
            if id(share) not in arrived:
                continue
            most = share.shared + cycles * grown[id(share)] + arrived[id(share)]
            if most > share.limit_at(self._ledger.used_at_most(share.pool, used[id(share.pool)])):
                return False
        return True

    def apply(self, cycles: int) -> None:
        """Bring levels and shut queues to where they are after so many cycles more."""
        for queue, before in zip(self._queues, self._contents):
            pattern = _appended(queue, before)
            if len(pattern) == 1:
                queue.push(pattern[0][0], cycles * pattern[0][1])
                continue
            for _ in range(cycles if pattern else 0):
                for path, frames in pattern:
                    queue.push(path, frames)
        for share, (_, shared, _) in zip(self._shares, self._levels):
            share.grow(cycles * (share.shared - shared))


def _appended(queue: EgressQueue[Path], before: Sequence[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """What a cycle has appended to a shut queue that held `before`, as (path, frames)."""
    content = queue.content()
    added = content[len(before):]
    if before and content[len(before) - 1] != before[-1]:
        path, frames = content[len(before) - 1]
        added.insert(0, (path, frames - before[-1][1]))
    return added
