"""Capture files: scapy, an independent reader, must read what was captured, FCS included."""
from __future__ import annotations

import io
import zlib

import pytest
from scapy.utils import PcapNgReader, PcapReader

from virtual_testbed.dataplane.model.counters import CapturedFrame
from virtual_testbed.otg.capture_file import capture_file

FRAMES = [CapturedFrame(3_000_000_001_500 * n + 999, bytes([n]) * (60 + n)) for n in range(3)]
READERS = {"pcap": PcapReader, "pcapng": PcapNgReader}


def read(data, file_format):
    """(nanoseconds, bytes, length on the wire) of every frame, by scapy's raw reader."""
    with READERS[file_format](io.BytesIO(data)) as reader:
        found = []
        for packet in reader:
            found.append((round(packet.time * 10**9), packet.original, packet.wirelen))
        return found


@pytest.mark.parametrize("file_format", READERS)
def test_frames_come_back_with_their_fcs_and_time(file_format):
    assert read(capture_file(FRAMES, file_format), file_format) == [
        (frame.time_ps // 1000, frame.data + zlib.crc32(frame.data).to_bytes(4, "little"), len(frame.data) + 4)
        for frame in FRAMES]


@pytest.mark.parametrize("file_format", READERS)
def test_frames_are_cut_to_the_snap_length(file_format):
    found = read(capture_file(FRAMES, file_format, snap_bytes=20), file_format)
    assert [(data, length) for _, data, length in found] == [
        (frame.data[:20], len(frame.data) + 4) for frame in FRAMES]


@pytest.mark.parametrize("file_format", READERS)
def test_without_frames_the_file_is_valid(file_format):
    assert read(capture_file([], file_format), file_format) == []
