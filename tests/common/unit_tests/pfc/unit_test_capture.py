"""Captured pause frames are read field by field, whoever sent them and however they end."""

import struct
import zlib
from dataclasses import replace

import pytest

from tests.common.pfc.lab.capture import ControlFrame
from tests.common.pfc.lab.capture_file import decode, read_capture, read_dscps
from tests.common.pfc.model.errors import QualificationError

XOFF = bytes.fromhex("0180c2000001 02aabbccddee 8808 0101 0018" + "0000" * 3 + "ffff 1000" + "0000" * 3) + bytes(26)
GLOBAL = bytes.fromhex("0180c2000001 02aabbccddee 8808 0001 ffff") + bytes(42)
DATA = bytes.fromhex("0022334401aa 02aabbccddee 0800") + bytes(50)
FIELDS = ControlFrame(
    0, "01:80:c2:00:00:01", "02:aa:bb:cc:dd:ee", 0x8808, 0x0101, 0x18, (0, 0, 0, 0xFFFF, 0x1000, 0, 0, 0), bytes(26), 60
)


def with_fcs(frame):
    """The frame as it is on the line."""
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def pcap(frames):
    """A capture file, one frame a microsecond from 7 s on."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(
        struct.pack("<IIII", 7, number, len(frame), len(frame)) + frame for number, frame in enumerate(frames)
    )


def pcapng(frames):
    """The same in the newer form, whose times are microseconds too unless it says otherwise."""
    blocks = [(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), (1, struct.pack("<HHI", 1, 0, 65535))]
    for number, frame in enumerate(frames):
        head = struct.pack("<IIIII", 0, 0, 7_000_000 + number, len(frame), len(frame))
        blocks.append((6, head + frame + bytes(-len(frame) % 4)))
    sizes = [(kind, struct.pack("<I", len(body) + 12), body) for kind, body in blocks]
    return b"".join(struct.pack("<I", kind) + size + body + size for kind, size, body in sizes)


@pytest.mark.parametrize("frame", [XOFF, with_fcs(XOFF)], ids=["without FCS", "with FCS"])
def test_every_field(frame):
    """The FCS is recognised by its value, and is no padding."""
    assert decode(frame) == replace(FIELDS, has_fcs=frame != XOFF), f"read {decode(frame)}"
    assert decode(frame).pauses == {3: 0xFFFF, 4: 0x1000}, f"read {decode(frame).pauses}"
    assert decode(frame).is_pfc, "PFC was not recognised"


def test_what_a_frame_is_too_short_for_is_not_made_up():
    """Seven times and no eighth; then not even an enable vector."""
    seven = decode(with_fcs(XOFF[:32]))
    assert (seven.length, seven.times, seven.padding) == (32, FIELDS.times[:7], b""), f"read {seven}"
    bare = decode(XOFF[:16])
    assert (bare.operation_code, bare.enable_vector, bare.times, bare.pauses) == (0x0101, 0, (), {}), f"read {bare}"


def test_other_mac_control_is_no_pfc():
    """An 802.3x pause frame is MAC control of another operation code."""
    read = decode(GLOBAL)
    assert read.operation_code == 1 and not read.is_pfc, f"read {read}"


def test_reserved_bits_are_kept():
    """The upper byte of the vector belongs to no priority."""
    read = decode(XOFF[:16] + b"\x80" + XOFF[17:])
    assert read.enable_vector == 0x8018 and set(read.pauses) == {3, 4}, f"read {read}"


@pytest.mark.parametrize("written", [pcap, pcapng])
def test_a_file_of_pauses_and_data(written):
    """Data is counted and not read; a frame with one of type and destination wrong is still looked at. Times are those
    of the file, in nanoseconds."""
    other_type, other_address = XOFF[:12] + b"\x88\x09" + XOFF[14:], b"\x02" + XOFF[1:]
    read = read_capture(written([XOFF, DATA, other_type, other_address, with_fcs(XOFF)]))
    assert read.frames == 5, f"read {read.frames} frames"
    types = [(frame.ether_type, frame.destination[:2]) for frame in read.control]
    assert types == [(0x8808, "01"), (0x8809, "01"), (0x8808, "02"), (0x8808, "01")], f"read {types}"
    moments = [frame.at_ns - 7 * 10**9 for frame in read.control]
    assert moments == [0, 2000, 3000, 4000], f"read {moments}"
    assert read.as_record()["control_frames"] == 4, f"recorded {read.as_record()}"


@pytest.mark.parametrize("written", [pcap, pcapng])
def test_when_frames_of_which_dscp_came(written):
    """Of IPv4 and IPv6, by the upper six bits of type of service and traffic class."""
    ipv4 = bytes.fromhex("020000000001 020000000002 0800 450d0014000000004011 0000 c0000201 c0000202")
    ipv6 = bytes.fromhex("020000000001 020000000002 86dd 6d100000 0000 3b40") + bytes(32)
    read = [(at_ns - 7 * 10**9, dscp) for at_ns, dscp in read_dscps(written([XOFF, ipv4, ipv6, ipv4]))]
    assert read == [(1000, 3), (2000, 52), (3000, 3)], f"read {read}"


@pytest.mark.parametrize("data", [b"", b"no capture at all, but long enough for a header"])
def test_what_is_no_capture_is_refused(data):
    """One sentence with its size."""
    with pytest.raises(QualificationError, match=rf"capture \({len(data)} bytes\) is no pcap or pcapng file"):
        read_capture(data)
