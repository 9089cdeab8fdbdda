"""MAC control frames: what a receiver makes of one."""
from __future__ import annotations

from dataclasses import dataclass

from pfctest.frame import FrameError, PfcFrame, decode

FCS_BYTES = 4
PFC, GLOBAL_PAUSE, ERROR, DISCARD = "pfc", "pause", "error", "discard"
LOST = "lost"
"""Of `Control.kind`: what never reached the receiver, which therefore knows nothing of it."""


@dataclass(frozen=True)
class Control:
    """What a receiver makes of a MAC control frame: its kind, and the quanta by enabled class of a PFC frame, which is
    counted under those classes. `sets` are the timers that it sets instead of theirs (None: as it should).
    """

    kind: str
    pauses: tuple[tuple[int, int], ...] = ()
    sets: tuple[tuple[int, int], ...] | None = None

    @property
    def timers(self) -> tuple[tuple[int, int], ...]:
        """The timers that it sets: classes, and quanta of each."""
        return self.pauses if self.sets is None else self.sets


@dataclass(frozen=True)
class MacControlFrame:
    """A MAC control frame before its FCS; `fcs_error` sends it with a wrong one. `flow` is the number of the pause flow
    that it is of, -1 if it is of none.
    """

    data: bytes
    fcs_error: bool = False
    flow: int = -1

    @property
    def frame_bytes(self) -> int:
        """Length with FCS."""
        return len(self.data) + FCS_BYTES


def understand(frame: MacControlFrame, station_mac: str) -> Control:
    """Validity at the receiver: FCS, length, ethertype, opcode, destination (the group address or the station's own).

    Frames with errors are `error`, valid ones that no rule accepts `discard`; neither pauses nor counts as PFC.
    """
    if frame.fcs_error:
        return Control(ERROR)
    try:
        read = decode(frame.data, any_destination=frame.data[:6].hex(":") == station_mac.lower())
    except FrameError as wrong:
        return Control(ERROR if wrong.reason == "short" else DISCARD)
    if isinstance(read, PfcFrame):
        return Control(PFC, tuple(sorted(read.pauses.items())))
    return Control(GLOBAL_PAUSE)
