"""What becomes of the frames of a path while a steady state lasts: closed-form counts."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from virtual_testbed.dataplane.model.buffer import Share
from virtual_testbed.dataplane.model.port import Path, PathSnapshot


@dataclass(eq=False)
class Tally:
    """Counts of one path when every frame of it has been delivered.

    Attributes:
        counts: what the path counts, by name, in the order of `PathSnapshot`.
        waits: frames of it that wait in a queue that is shut.
        fills: further frames will wait there too.
    """

    path: Path
    counts: dict[str, int]
    waits: int
    fills: bool

    def deliver(self, frames: int) -> int:
        """Count frames that arrive; how many go on to the next switch or the generator port."""
        path = self.path
        counts = self.counts
        counts["rx"] += frames
        if path.blocked is not None or path.queue is None:
            counts["blocked_drops"] += frames
            return 0
        if path.queue.dropping or path.pg.dropping:
            counts["watchdog_tx_drops" if path.queue.dropping else "watchdog_rx_drops"] += frames
            return 0
        if path.drop_one_in:
            drops, counts["drop_phase"] = divmod(counts["drop_phase"] + frames, path.drop_one_in)
            counts["fault_drops"] += drops
            frames -= drops
        if self.fills:
            self.waits += frames
            return 0
        counts["tx"] += frames
        return frames

    def arrive(self, arrived_ps: int) -> None:
        """The sum of the instants at which the frames have arrived is this."""
        self.counts["arrived_ps"] = arrived_ps

    def copy(self) -> Tally:
        """One of its own."""
        return Tally(self.path, dict(self.counts), self.waits, self.fills)

    def apply(self) -> None:
        """Let the path have these counts."""
        self.path.restore(PathSnapshot._make(self.counts.values()))


def tally(path: Path) -> Tally:
    """The counts of a path when the frames that leave its switch now have left it."""
    counts = path.snapshot()._asdict()
    gone = leaving(path)
    waits = path.inside - gone
    counts["tx"] += gone
    dropping = path.queue is not None and (path.queue.dropping or path.pg.dropping)
    return Tally(path, counts, waits, is_shut(path) and not dropping and path.blocked is None)


def deliver(tallies: Mapping[Path, Tally], path: Path | None, frames: int) -> None:
    """Count frames that arrive at a path's switch, and at those after it."""
    while path is not None and frames:
        frames = tallies[path].deliver(frames)
        path = path.onward


def is_shut(path: Path) -> bool:
    """True when a path's queue is shut."""
    return path.out is not None and path.queue is not None and bool(path.out.gate & path.queue.bit)


def passes(path: Path) -> bool:
    """True when frames of a path that arrive leave the switch again."""
    return (path.blocked is None and path.out is not None and path.queue is not None and not is_shut(path)
            and not path.queue.dropping and not path.pg.dropping)


def leaving(path: Path) -> int:
    """Frames of a path in its switch that leave it: none that wait in a queue that is shut."""
    return path.inside if not is_shut(path) else int(path.out is not None and path.out.current is path)


def shares(path: Path) -> tuple[Share, ...]:
    """What a path's frames are charged to."""
    return (path.pg,) if path.queue is None else (path.pg, path.queue)
