"""At what level of its priority group a port tells senders to go on: XON, by SONiC's `BUFFER_PROFILE`, once the group
has no more than `xon` bytes, or than `xon_offset` below its threshold, whichever is more (SAI's `XON_TH`,
`XON_OFFSET_TH`). One that waits until the group is empty lets the line behind it run dry; one that does not wait stops
its senders again at once.

Both ports are captured: frames that had left by the instant of XON are missing in the group then. That needs captures
of two ports on one clock, which only an exact one is known to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.checking import Place, at_least, at_most
from ..record.verdict import Check
from .group_profiles import GroupProfile
from .group_room import MOST_CELL_BYTES

UNDER_WAY = 2
"""Frames that may be on the line, or not yet given back, when XON leaves."""


@dataclass(frozen=True)
class Resumption:
    """One priority, when its storm ended.

    Attributes:
        profile: of its priority group.
        frame_bytes: of its frames, with FCS.
        held: frames that the switch held in the storm.
        gone: frames that had been captured at the port under test, since the storm ended, when XON was at the tx port.
    """

    profile: GroupProfile
    frame_bytes: int
    held: int
    gone: int

    @property
    def left(self) -> int:
        """Frames that the group had at XON."""
        return max(0, self.held - self.gone)

    @property
    def due(self) -> int:
        """Frames that it must have had at least; 0: its profile has no level. Of what it held headroom had no more than
        its size; the rest was below the threshold, which only rises as groups alike drain. A frame takes its size in
        buffer, and at most the rest of a cell."""
        by_xon = self.profile.number("xon") // self._most_bytes
        offset = self.profile.number("xon_offset")
        without_headroom = self.held - self._frames_of(self.profile.xoff_bytes)
        by_offset = self.held - self._frames_of(self.profile.xoff_bytes + offset)
        return max(0, min(by_xon, without_headroom) - UNDER_WAY, by_offset - UNDER_WAY if offset else 0)

    @property
    def most(self) -> int:
        """Frames that it may have had at most, alone in its pool. Its threshold is 2^dynamic_th of what the pool has
        left, so that it rises as the group drains: it is met by the (1 + 2^dynamic_th)th part of `xon_offset`."""
        by_xon = self._frames_of(self.profile.number("size") + self.profile.number("xon"))
        offset = self.profile.number("xon_offset")
        drained = offset / self.profile.rise // self._most_bytes if offset else self.held
        return max(by_xon, self.held - int(drained)) + UNDER_WAY

    def _frames_of(self, size_bytes: int) -> int:
        """The most frames that so many bytes of the buffer may hold, the last one in part."""
        return -(-size_bytes // self.frame_bytes)

    @property
    def _most_bytes(self) -> int:
        """Of the buffer that one of its frames may take."""
        return self.frame_bytes + MOST_CELL_BYTES - 1

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "profile": self.profile.name, "xon": self.profile.number("xon"),
            "xon_offset": self.profile.number("xon_offset"), "held_frames": self.held, "left_at_xon": self.left,
        }

    def soon_enough(self, place: Place) -> Check:
        """Whether XON came as soon as the group was at its level."""
        return at_least("xon-level", place, self.due, self._expected, self.left)

    def late_enough(self, place: Place) -> Check:
        """Whether XON waited until the group was at its level; of the only group that fills its pool."""
        return at_most("xon-not-early", place, self.most, self._expected, self.left)

    @property
    def _expected(self) -> str:
        levels = f"xon={self.profile.number('xon')}, xon_offset={self.profile.number('xon_offset')}"
        return f"of the {self.held} frames that were held left at XON, by {levels} of {self.profile.name}"
