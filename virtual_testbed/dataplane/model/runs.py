"""Runs of frames in little room: what compiled code leaves in a queue of tens of thousands stays packed until its turn
comes."""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, eq=False)
class PackedRuns(Generic[Kind]):
    """Frames in a row as (kind, frames), the first is next; neighbours are of different kinds.

    Attributes:
        kinds: what there is; more than occur do no harm.
        which: of each run the place of its kind among these.
        frames: of each run how many frames it has.
    """

    kinds: Sequence[Kind]
    which: array[int]
    frames: array[int]

    def __len__(self) -> int:
        return len(self.which)

    def __iter__(self) -> Iterator[tuple[Kind, int]]:
        kinds = self.kinds
        return ((kinds[which], frames) for which, frames in zip(self.which, self.frames))

    def between(self, begin: int, end: int) -> PackedRuns[Kind]:
        """The runs from one place up to another."""
        return PackedRuns(self.kinds, self.which[begin:end], self.frames[begin:end])
