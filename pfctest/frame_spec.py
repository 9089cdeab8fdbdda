"""Specifies the frames of a storm, before it is known which interface they leave from."""
from __future__ import annotations

from dataclasses import dataclass, replace

from pfctest.frame import CLASSES, CONTROL_ADDRESS, FrameError, GlobalPauseFrame, PfcFrame, decode, encode, tagged

NO_PAUSES = (0,) * CLASSES
_ANY_STATION = "02:00:00:00:00:00"
LENGTHS = range(14, 1515)
"""Frame lengths before the FCS that Linux sends: an Ethernet header at least."""


@dataclass(frozen=True)
class RawFields:
    """Fields that are put into a frame whatever the standard says of them, for negative tests; None: as it should be.

    `vector` 16 bits with the reserved high byte, `opcode` 16 bits, addresses as text, `length` in bytes before the FCS
    (shorter than 60: a runt, longer: more padding).
    """

    vector: int | None = None
    opcode: int | None = None
    destination: str | None = None
    source: str | None = None
    length: int | None = None


@dataclass(frozen=True)
class FrameSpec:
    """What a pause frame says, but for its source address.

    Attributes:
        classes: enabled classes; None: an 802.3x PAUSE frame, of `quanta[0]`.
        quanta: pause times of classes 0..7, also of those that are not enabled.
        vlan: VLAN and its priority, when the frame is to be tagged.
        raw: what is wrong with it on purpose.
    """

    classes: tuple[int, ...] | None
    quanta: tuple[int, ...] = NO_PAUSES
    vlan: tuple[int, int] | None = None
    raw: RawFields = RawFields()

    @property
    def released(self) -> FrameSpec:
        """The same kind of frame with pause times 0, which ends what this one began."""
        return replace(self, quanta=NO_PAUSES)

    @property
    def shortest_quanta(self) -> int:
        """The shortest pause that a receiver reads in it, in quanta; 0: it pauses nothing.

        Raises:
            FrameError: a field does not take its value.
        """
        data = self.build(_ANY_STATION)
        try:
            read = decode(data)
        except FrameError:  # wrong on purpose: no receiver acts on it
            return 0
        asked = [read.quanta] if isinstance(read, GlobalPauseFrame) else read.pauses.values()
        return min((quanta for quanta in asked if quanta), default=0)

    @property
    def title(self) -> str:
        """Classes and quanta in words."""
        if self.classes is None:
            return f"802.3x pause of {self.quanta[0]} quanta"
        if self.raw.vector is not None:
            return f"PFC of class-enable vector 0x{self.raw.vector:04x}, {' / '.join(map(str, self.quanta))} quanta"
        times = {self.quanta[number] for number in self.classes}
        quanta = f"{times.pop()} quanta" if len(times) == 1 else " / ".join(
            str(self.quanta[number]) for number in self.classes) + " quanta"
        return f"PFC of priority {','.join(map(str, self.classes))}, {quanta}"

    def build(self, source: str) -> bytes:
        """The frame before its FCS, from a station.

        Raises:
            FrameError: a field does not take its value.
        """
        raw = self.raw
        source = raw.source or source
        destination = raw.destination or CONTROL_ADDRESS
        if self.classes is None:
            data = encode(GlobalPauseFrame(source, self.quanta[0], destination))
        else:
            vector = sum(1 << number for number in self.classes) if raw.vector is None else raw.vector
            data = encode(PfcFrame(source, vector, self.quanta, destination))
        if raw.opcode is not None:
            data = data[:14] + raw.opcode.to_bytes(2, "big") + data[16:]
        if self.vlan is not None:
            data = tagged(data, *self.vlan)
        if raw.length is not None:
            data = data[:raw.length].ljust(raw.length, b"\0")
        return data
