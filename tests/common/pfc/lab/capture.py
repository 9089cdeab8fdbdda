"""Reads what a traffic generator captured, by scapy: a decoder of MAC control frames that shares nothing with whoever
built them."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.error import Scapy_Exception
from scapy.layers.l2 import Ether
from scapy.utils import PcapReader

from ..model.errors import QualificationError
from ..model.traffic import PAUSE_ADDRESS

MAC_CONTROL = 0x8808  # IEEE 802.3 clause 31: the ether type of MAC control
PFC_OPERATION = 0x0101  # IEEE 802.3 annex 31D
ETHERNET_BYTES = 14
FCS_BYTES = 4
PFC_BYTES = 20  # operation code, enable vector, eight times


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


def read_capture(data: bytes) -> Capture:
    """Reads a capture file, pcap or pcapng, whose frames may or may not end with their FCS.

    Raises:
        QualificationError: it is no capture file of Ethernet frames.
    """
    try:
        captured = list(_frames(data))
    except (Scapy_Exception, EOFError, struct.error) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise QualificationError(
            f"the traffic generator's capture ({len(data)} bytes) is no pcap or pcapng file: {reason}"
        ) from error
    control = tuple(decode(frame, at_ns) for at_ns, frame in captured if is_control(frame))
    return Capture(len(captured), control, hashlib.sha256(data).hexdigest())


def is_control(frame: bytes) -> bool:
    """Whether a frame is MAC control by its type or by its address, so that one of them may be wrong."""
    head = Ether(frame)
    return bool(head.type == MAC_CONTROL or head.dst.lower() == PAUSE_ADDRESS.lower())


def decode(frame: bytes, at_ns: int = 0) -> ControlFrame:
    """The fields of a frame, taken for PFC whatever its operation code says.

    Args:
        frame: from the destination address on, with or without FCS.
        at_ns: when it was captured.
    """
    content = without_fcs(frame)
    head = Ether(content[:ETHERNET_BYTES])
    body = content[ETHERNET_BYTES:]
    read = MACControlClassBasedFlowControl(body[:PFC_BYTES].ljust(PFC_BYTES, b"\0"))
    enabled = sum(getattr(read, f"c{priority}_enabled") << priority for priority in range(8))
    times = tuple(getattr(read, f"c{priority}_pause_time") for priority in range(8))
    return ControlFrame(
        at_ns=at_ns,
        destination=head.dst.lower(),
        source=head.src.lower(),
        ether_type=head.type,
        operation_code=read._op_code,
        enable_vector=read._reserved << 8 | enabled,
        times=times[: max(0, len(body) - 4) // 2],
        padding=body[PFC_BYTES:],
        length=len(content),
    )


def without_fcs(frame: bytes) -> bytes:
    """The frame without its last four bytes where these are its FCS. Some generators capture it, some do not; that
    other bytes are taken for it is as likely as that a line's error goes unnoticed."""
    has_it = zlib.crc32(frame[:-FCS_BYTES]).to_bytes(FCS_BYTES, "little") == frame[-FCS_BYTES:]
    return frame[:-FCS_BYTES] if has_it else frame


def _frames(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Time in nanoseconds, and bytes, of each captured frame."""
    with PcapReader(io.BytesIO(data)) as reader:  # type: ignore[arg-type]  # scapy's annotation knows file names only
        for packet in reader:
            yield int(packet.time * 10**9), bytes(packet.original)
