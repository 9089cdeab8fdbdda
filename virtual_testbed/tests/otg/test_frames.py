"""Data frames as bytes, dissected by scapy, which computes lengths and checksums by itself."""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from virtual_testbed.dataplane.frames import data_frame
from virtual_testbed.dataplane.traffic import DataFlow

SOURCE, DESTINATION = "00:01:22:33:44:01", "02:00:5e:00:00:01"
ADDRESSES = {4: ("192.168.0.2", "10.1.2.3"), 6: ("fc02:1000::2", "fc02:2000::ffff")}
TAGS = [(None, 0), (0, 7), (1000, 3), (4094, 0)]
SIZES = (64, 65, 66, 67, 68, 127, 128, 512, 1024, 1518, 9216, 14000)


def flow(version=4, vlan_id=None, vlan_priority=0, sizes=SIZES):
    return DataFlow("data", "p1", ("p2",), "00:00:00:00:00:01", "00:00:00:00:00:02", *ADDRESSES[version], (3, 4, 63), 3,
                    sizes, Fraction(1), vlan_id=vlan_id, vlan_priority=vlan_priority)


def rebuilt(frame):
    """The frame built anew by scapy from its fields without lengths and checksums."""
    packet = Ether(frame)
    for kind, names in ((IP, ("len", "chksum")), (IPv6, ("plen",)), (UDP, ("len", "chksum"))):
        if kind in packet:
            for name in names:
                packet[kind].delfieldval(name)
    return bytes(packet)


@pytest.mark.parametrize(("vlan_id", "vlan_priority"), TAGS)
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("number", [*range(12), 4095, 2**40 + 5])
def test_lengths_and_checksums_are_those_that_scapy_computes(version, vlan_id, vlan_priority, number):
    frame = data_frame(flow(version, vlan_id, vlan_priority), number, SOURCE, DESTINATION)
    assert len(frame) == SIZES[number % len(SIZES)] - 4
    assert rebuilt(frame) == frame


@pytest.mark.parametrize(("vlan_id", "vlan_priority"), TAGS)
@pytest.mark.parametrize("version", [4, 6])
def test_headers_are_those_of_the_flow(version, vlan_id, vlan_priority):
    for number, dscp in enumerate((3, 4, 63, 3)):
        packet = Ether(data_frame(flow(version, vlan_id, vlan_priority, (128,)), number, SOURCE, DESTINATION))
        assert (packet.src, packet.dst) == (SOURCE, DESTINATION)
        ip = packet[IP if version == 4 else IPv6]
        assert (ip.src, ip.dst) == ADDRESSES[version]
        assert (ip.tos if version == 4 else ip.tc) == dscp << 2
        assert (ip.ttl if version == 4 else ip.hlim) == 64
        assert (packet[UDP].sport, packet[UDP].dport) == (9, 9)
        assert (Dot1Q in packet) == (vlan_id is not None)
        if vlan_id is not None:
            assert (packet[Dot1Q].vlan, packet[Dot1Q].prio, packet[Dot1Q].dei) == (vlan_id, vlan_priority, 0)


@pytest.mark.parametrize("version", [4, 6])
def test_the_payload_is_the_frames_number(version):
    payload = Ether(data_frame(flow(version, sizes=(128,)), 0x0102030405, SOURCE, DESTINATION))[Raw].load
    assert payload == bytes.fromhex("0000000102030405") + bytes(len(payload) - 8)


@pytest.mark.parametrize(("vlan_id", "expected"), [(None, "010203040506"), (5, "0506")])
def test_the_smallest_ipv6_frame_has_no_room_for_udp(vlan_id, expected):
    packet = Ether(data_frame(flow(6, vlan_id, sizes=(64,)), 0x010203040506, SOURCE, DESTINATION))
    assert UDP not in packet
    assert packet[IPv6].nh == 59
    assert bytes(packet[IPv6].payload) == bytes.fromhex(expected)


def test_a_udp_checksum_of_zero_is_sent_as_all_ones():
    base = replace(flow(), sizes=(64,), dscp=(0,))
    checksums = {data_frame(base, number, SOURCE, DESTINATION)[40:42]: number for number in range(65536)}
    assert bytes(2) not in checksums
    frame = data_frame(base, checksums[b"\xff\xff"], SOURCE, DESTINATION)
    assert rebuilt(frame) == frame
