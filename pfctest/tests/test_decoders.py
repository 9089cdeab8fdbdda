"""Frames are decoded by scapy and by tshark as they were meant."""
from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings, strategies as st
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.layers.l2 import Dot1Q, Ether

from pfctest import pcap
from pfctest.frame import FrameError, GlobalPauseFrame, decode, encode, problems
from pfctest.frame_spec import FrameSpec

STATION = "02:00:00:00:00:01"
TIMES = st.tuples(*[st.integers(0, 0xFFFF)] * 8)
KINDS = [FrameSpec((3,), (0, 0, 0, 0xFFFF, 0, 0, 0, 0)), FrameSpec((0, 7), (1, 0, 0, 5, 0, 0, 0, 0x1234)),
         FrameSpec(tuple(range(8)), tuple(range(1, 9))), FrameSpec((3,)), FrameSpec((), (9,) * 8),
         FrameSpec(None, (0xFFFF,)), FrameSpec(None, (0,)), FrameSpec((4,), (0, 0, 0, 0, 7, 0, 0, 0), vlan=(100, 3))]
FIELDS = ["eth.dst", "eth.src", "macc.opcode", "macc.cbfc.enbv", *(f"macc.cbfc.pause_time.c{n}" for n in range(8)),
          "macc.pause_time", "vlan.id"]


def read_by_scapy(data):
    """(vector or None, times) as scapy sees a frame."""
    layers = Ether(data)
    if MACControlPause in layers:
        return None, (layers[MACControlPause].pause_time,)
    pfc = layers[MACControlClassBasedFlowControl]
    flags = [pfc.getfieldval(f"c{n}_enabled") for n in range(8)]
    return sum(bool(flag) << n for n, flag in enumerate(flags)), tuple(pfc.getfieldval(f"c{n}_pause_time")
                                                                       for n in range(8))


def meant(frame_spec):
    """(vector or None, times) as they should be read."""
    return (None if frame_spec.classes is None else sum(1 << n for n in frame_spec.classes)), frame_spec.quanta


@pytest.mark.parametrize("frame_spec", KINDS, ids=lambda frame_spec: frame_spec.title)
def test_scapy_decodes_each_kind(frame_spec):
    data = frame_spec.build(STATION)
    layers = Ether(data)
    assert (layers.dst, layers.src) == ("01:80:c2:00:00:01", STATION)
    assert read_by_scapy(data) == meant(frame_spec)
    if frame_spec.vlan:
        assert (layers[Dot1Q].vlan, layers[Dot1Q].prio) == frame_spec.vlan
    else:
        assert problems(data) == [] and len(data) == 60


@settings(max_examples=60)
@given(st.sets(st.integers(0, 7)), TIMES)
def test_scapy_decodes_whatever_is_encoded(classes, times):
    frame_spec = FrameSpec(tuple(sorted(classes)), times)
    assert read_by_scapy(frame_spec.build(STATION)) == meant(frame_spec)


@given(st.binary(max_size=90))
def test_any_bytes_are_a_frame_or_one_sentence(data):
    try:
        read = decode(data)
    except FrameError as wrong:
        assert wrong.reason in ("short", "ethertype", "opcode", "destination") and problems(data)
        assert "\n" not in str(wrong)
    else:
        assert decode(encode(read)) == read


@given(TIMES, st.integers(0, 0xFFFF), st.integers(0, 59), st.integers(1, 255))
def test_a_changed_byte_is_seen_or_changes_what_is_read(times, vector, place, change):
    data = FrameSpec((), times).build(STATION)
    data = data[:16] + vector.to_bytes(2, "big") + data[18:]
    other = data[:place] + bytes([data[place] ^ change]) + data[place + 1:]
    try:
        same = decode(other) == decode(data) and problems(other) == problems(data)
    except FrameError:
        return
    assert not same


def test_a_pause_frame_round_trip():
    assert decode(encode(GlobalPauseFrame(STATION, 7))) == GlobalPauseFrame(STATION, 7)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: only scapy has decoded the frames")
def test_tshark_decodes_each_kind(tmp_path):
    file = tmp_path / "kinds.pcap"
    pcap.write(file, [frame_spec.build(STATION) for frame_spec in KINDS], 1_000_000_007)
    command = ["tshark", "-r", str(file), "-T", "fields", *(word for field in FIELDS for word in ("-e", field))]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    rows = [dict(zip(FIELDS, line.split("\t"))) for line in printed.splitlines()]
    assert len(rows) == len(KINDS)
    for frame_spec, row in zip(KINDS, rows):
        vector, times = meant(frame_spec)
        assert (row["eth.dst"], row["eth.src"]) == ("01:80:c2:00:00:01", STATION), row
        assert row["vlan.id"] == ("100" if frame_spec.vlan else ""), row
        if vector is None:
            assert (int(row["macc.opcode"], 16), int(row["macc.pause_time"])) == (1, times[0]), row
        else:
            assert (int(row["macc.opcode"], 16), int(row["macc.cbfc.enbv"], 16)) == (0x101, vector), row
            assert tuple(int(row[f"macc.cbfc.pause_time.c{n}"]) for n in range(8)) == times, row
