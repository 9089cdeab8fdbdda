"""The codec against bytes written by hand and against scapy's CRC convention."""
from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pfctest import frame
from pfctest.frame import FrameError, GlobalPauseFrame, PfcFrame, decode, encode, pfc_frame

PFC_3 = bytes.fromhex("0180c2000001" "001122334455" "8808" "0101" "0008" "000000000000ffff0000000000000000") + bytes(26)


def test_encode_matches_the_standard_layout():
    assert encode(pfc_frame("00:11:22:33:44:55", {3: 0xFFFF})) == PFC_3
    assert len(PFC_3) == 60


def test_decode():
    read = decode(PFC_3)
    assert read == PfcFrame("00:11:22:33:44:55", 8, (0, 0, 0, 0xFFFF, 0, 0, 0, 0))
    assert read.pauses == {3: 0xFFFF}


def test_a_time_without_its_bit_is_no_pause():
    assert PfcFrame("00:00:00:00:00:00", 0, (9,) * 8).pauses == {}


def test_the_reserved_high_byte_enables_nothing():
    assert PfcFrame("00:00:00:00:00:00", 0xFF00, (9,) * 8).pauses == {}


def test_pause_frame():
    data = encode(GlobalPauseFrame("00:11:22:33:44:55", 100))
    assert data[14:18] == bytes.fromhex("00010064") and len(data) == 60
    assert decode(data) == GlobalPauseFrame("00:11:22:33:44:55", 100)


@given(st.integers(0, 0xFFFF), st.tuples(*[st.integers(0, 0xFFFF)] * 8))
def test_round_trip(class_enable, quanta):
    sent = PfcFrame("02:00:00:00:00:01", class_enable, quanta)
    assert decode(encode(sent)) == sent


@pytest.mark.parametrize("change, reason, text", [
    (lambda d: d[:59], "short", "59 bytes"),
    (lambda d: d[:12] + b"\x08\x00" + d[14:], "ethertype", "0x0800"),
    (lambda d: d[:14] + b"\x10\x01" + d[16:], "opcode", "0x1001"),
    (lambda d: b"\x00" * 6 + d[6:], "destination", "00:00:00:00:00:00"),
])
def test_decode_names_what_is_wrong(change, reason, text):
    with pytest.raises(FrameError, match=text) as caught:
        decode(change(PFC_3))
    assert caught.value.reason == reason


def test_own_address_is_accepted_when_asked():
    assert decode(b"\x02" + bytes(5) + PFC_3[6:], any_destination=True).destination == "02:00:00:00:00:00"


@pytest.mark.parametrize("make, text", [
    (lambda: encode(PfcFrame("nonsense", 0, (0,) * 8)), "'nonsense' is not a MAC address"),
    (lambda: encode(PfcFrame("00:00:00:00:00:00", 0x10000, (0,) * 8)), "class-enable vector 65536"),
    (lambda: encode(PfcFrame("00:00:00:00:00:00", 0, (0,) * 7)), "7 pause times"),
    (lambda: encode(GlobalPauseFrame("00:00:00:00:00:00", -1)), "pause time -1"),
    (lambda: pfc_frame("00:00:00:00:00:00", {8: 1}), "class 8"),
])
def test_bad_values(make, text):
    with pytest.raises(FrameError, match=text):
        make()


@pytest.mark.parametrize("data, wrong", [
    (PFC_3[:16] + b"\xff" + PFC_3[17:40], ["frame of 40 bytes", "class-enable vector 0xff08"]),
    (frame.tagged(PFC_3[:16] + b"\xff" + PFC_3[17:-1] + b"x", 5),
     ["the frame has a tag of VLAN 5", "class-enable vector 0xff08", "padding of 26 bytes"]),
    (PFC_3[:14] + b"\x01\x02" + PFC_3[16:40], ["frame of 40 bytes", "MAC control opcode 0x0102"]),
    (frame.tagged(encode(GlobalPauseFrame("00:11:22:33:44:55", 9))[:-1] + b"x", 5)[:-4] + b"x",
     ["the frame has a tag of VLAN 5", "padding of 39 bytes"]),
    (PFC_3[:14], ["frame of 14 bytes"]), (PFC_3[:15], ["frame of 15 bytes"]), (PFC_3[:17], ["frame of 17 bytes"]),
    (PFC_3[:12] + bytes(2) + PFC_3[14:50], ["frame of 50 bytes", "ethertype 0x0000"]), (PFC_3, []),
], ids=len)
def test_every_rule_that_is_broken_is_named(data, wrong):
    found = frame.problems(data)
    assert len(found) == len(wrong) and all(map(str.startswith, found, wrong)), found


def test_fcs():
    whole = frame.with_fcs(PFC_3)
    assert len(whole) == 64 and frame.fcs_is_good(whole)
    assert not frame.fcs_is_good(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert frame.with_fcs(b"123456789")[-4:] == bytes.fromhex("2639f4cb")
