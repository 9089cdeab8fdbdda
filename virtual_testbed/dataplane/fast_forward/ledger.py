"""What all parts of fast-forward keep of the model's parts, beside what these know of themselves."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from virtual_testbed.dataplane.model.buffer import BufferPool, Share


class Ledger:
    """See the module.

    Attributes:
        reasons: why nothing was skipped, with how often.
    """

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self._ceilings: dict[BufferPool, int] = {}
        self._bounds: dict[Share, int] = {}
        self._decided_ps: dict[object, int] = {}

    def count(self, reason: str) -> None:
        """Count a reason why nothing was skipped."""
        self.reasons[reason] += 1

    def set_ceilings(self, ceilings: Mapping[BufferPool, int]) -> None:
        """Let proofs allow for so many bytes of these pools in use, whatever is used now; none of any other."""
        self._ceilings = dict(ceilings)

    def used_at_most(self, pool: BufferPool, more: int) -> int:
        """Bytes of a pool in use when so many are used beyond those that are used now, or as many as may be."""
        return max(pool.used + more, self._ceilings.get(pool, 0))

    def note_bound(self, share: Share, most: int) -> None:
        """Note that a group or queue may have held so many bytes while not every frame was stepped."""
        if most > self._bounds.get(share, 0):
            self._bounds[share] = most

    def forget_bound(self, share: Share) -> None:
        """Note nothing of what a group or queue may have held before."""
        self._bounds.pop(share, None)

    def bound(self, share: Share) -> int:
        """The most bytes that a group or queue may have held."""
        bound = self._bounds.get(share)
        return share.peak if bound is None or bound < share.peak else bound

    def note_decision(self, line: object, now_ps: int) -> None:
        """Note that the sender of a line has decided on XOFF or XON."""
        self._decided_ps[line] = now_ps

    def decided_ps(self, line: object) -> int | None:
        """When the sender of a line last decided on XOFF or XON; None: never."""
        return self._decided_ps.get(line)
