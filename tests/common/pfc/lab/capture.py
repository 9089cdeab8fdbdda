"""What a traffic generator captured: MAC control frames, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAC_CONTROL = 0x8808  # IEEE 802.3 clause 31: the ether type of MAC control
PFC_OPERATION = 0x0101  # IEEE 802.3 annex 31D


@dataclass(frozen=True)
class ControlFrame:
    """A captured MAC control frame, field by field.

    Attributes:
        at_ns: when it was captured, nanoseconds from some fixed moment.
        destination, source: MAC addresses in lower case.
        ether_type, operation_code, enable_vector: 16 bits each; what the frame is too short for is 0.
        times: the pause times that it has, of priorities 0 to 7, in quanta.
        padding: what follows them, without the FCS.
        length: bytes without FCS.
        has_fcs: whether its FCS was captured, and is right.
    """

    at_ns: int
    destination: str
    source: str
    ether_type: int
    operation_code: int
    enable_vector: int
    times: tuple[int, ...]
    padding: bytes
    length: int
    has_fcs: bool = False

    @property
    def pauses(self) -> dict[int, int]:
        """Enabled priority -> its pause time in quanta; the low byte of the vector enables."""
        return {priority: time for priority, time in enumerate(self.times) if self.enable_vector >> priority & 1}

    @property
    def is_pfc(self) -> bool:
        """Whether it calls itself PFC, 802.3x pause and other MAC control being something else."""
        return self.operation_code == PFC_OPERATION

    def as_record(self) -> dict[str, Any]:
        """The fields, for the record."""
        return {
            "at_ns": self.at_ns,
            "destination": self.destination,
            "source": self.source,
            "ether_type": f"0x{self.ether_type:04x}",
            "operation_code": f"0x{self.operation_code:04x}",
            "enable_vector": f"0x{self.enable_vector:04x}",
            "times": list(self.times),
            "padding": self.padding.hex(),
            "bytes_without_fcs": self.length,
        }


@dataclass(frozen=True)
class Capture:
    """A capture of one generator port.

    Attributes:
        frames: how many frames it has, of any kind.
        control: those that are MAC control or are addressed as such, in the order of arrival.
        sha256: of the file.
    """

    frames: int
    control: tuple[ControlFrame, ...]
    sha256: str

    def as_record(self) -> dict[str, Any]:
        """What identifies the capture, and its first and last control frames, for the record."""
        ends = [*self.control[:2], *self.control[2:][-2:]]
        return {
            "frames": self.frames,
            "control_frames": len(self.control),
            "sha256": self.sha256,
            "first_and_last": [frame.as_record() for frame in ends],
        }
