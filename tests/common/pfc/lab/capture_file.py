"""Reads capture files by scapy: a decoder of MAC control frames that shares nothing with whoever built them.

Importing scapy takes half a second, and it writes caches: who needs a capture imports this module then.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator

from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.error import Scapy_Exception
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import PcapReader

from ..model.errors import QualificationError
from ..model.traffic import PAUSE_ADDRESS
from .capture import MAC_CONTROL, Capture, ControlFrame

ETHERNET_BYTES = 14
FCS_BYTES = 4
PFC_BYTES = 20  # operation code, enable vector, eight times


def read_capture(data: bytes) -> Capture:
    """Reads a capture file, pcap or pcapng, whose frames may or may not end with their FCS.

    Raises:
        QualificationError: it is no capture file of Ethernet frames.
    """
    captured = _captured(data)
    control = tuple(decode(frame, at_ns) for at_ns, frame in captured if is_control(frame))
    return Capture(len(captured), control, hashlib.sha256(data).hexdigest())


def read_dscps(data: bytes) -> list[tuple[int, int]]:
    """When IP frames of a capture file, as `read_capture` takes it, came (nanoseconds), and their DSCP.

    Raises:
        QualificationError: see `read_capture`.
    """
    heads = ((at_ns, Ether(frame)) for at_ns, frame in _captured(data))
    return [(at_ns, (head[IP].tos if IP in head else head[IPv6].tc) >> 2)
            for at_ns, head in heads if IP in head or IPv6 in head]


def _captured(data: bytes) -> list[tuple[int, bytes]]:
    """Time in nanoseconds, and bytes, of each captured frame; raises QualificationError where it is no capture file."""
    try:
        return list(_frames(data))
    except (Scapy_Exception, EOFError, struct.error) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise QualificationError(
            f"the traffic generator's capture ({len(data)} bytes) is no pcap or pcapng file: {reason}"
        ) from error


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
        has_fcs=content != frame,
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
