"""Capture files in memory: pcap and pcapng, Ethernet frames with their FCS, nanosecond time stamps.

Times count from the start of the simulated testbed, so they begin in 1970. Formats: IETF draft-ietf-opsawg-pcap and
draft-ietf-opsawg-pcapng.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable

from pfctest.frame import with_fcs
from virtual_testbed.otg.plane import CapturedFrameView

ETHERNET = 1
NANOSECOND_PCAP = 0xA1B23C4D
WHOLE_FRAME = 65535
FCS_BYTES = 4
SECTION_HEADER, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
OPTION_TIME_RESOLUTION, OPTION_FCS_LENGTH, OPTION_COMMENT = 9, 13, 1
PS_PER_NS = 1000


def capture_file(frames: Iterable[CapturedFrameView], file_format: str, snap_bytes: int | None = None,
                 comment: str = "") -> bytes:
    """The file as bytes.

    Args:
        frames: what was captured, oldest first.
        file_format: `pcap` or `pcapng`.
        snap_bytes: bytes kept of each frame; None: all.
        comment: a remark for the reader, which only pcapng can hold.
    """
    snap = snap_bytes or WHOLE_FRAME
    return _pcap(frames, snap) if file_format == "pcap" else _pcapng(frames, snap, comment)


def _pcap(frames: Iterable[CapturedFrameView], snap: int) -> bytes:
    parts = [struct.pack("<IHHiIII", NANOSECOND_PCAP, 2, 4, 0, 0, snap, ETHERNET)]
    for frame in frames:
        seconds, nanoseconds = divmod(frame.time_ps // PS_PER_NS, 10**9)
        data = with_fcs(frame.data)
        parts.append(struct.pack("<IIII", seconds, nanoseconds, len(data[:snap]), len(data)) + data[:snap])
    return b"".join(parts)


def _pcapng(frames: Iterable[CapturedFrameView], snap: int, comment: str) -> bytes:
    remark = _option(OPTION_COMMENT, comment.encode()) + _option(0, b"") if comment else b""
    parts = [
        _block(SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + remark),
        _block(INTERFACE, struct.pack("<HHI", ETHERNET, 0, snap) + _option(OPTION_TIME_RESOLUTION, b"\x09")
               + _option(OPTION_FCS_LENGTH, bytes([FCS_BYTES])) + _option(0, b""))]
    for frame in frames:
        time = frame.time_ps // PS_PER_NS
        data = with_fcs(frame.data)
        head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data[:snap]), len(data))
        parts.append(_block(ENHANCED_PACKET, head + _padded(data[:snap])))
    return b"".join(parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
