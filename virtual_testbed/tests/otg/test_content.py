"""Data frames with every header of their flow, dissected by scapy, which computes lengths and checksums by itself."""
from __future__ import annotations

from fractions import Fraction

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Padding, Raw

from virtual_testbed.dataplane.model.traffic import DataFlow
from virtual_testbed.otg.fields import Fields, Report
from virtual_testbed.otg.headers import read_headers

SOURCE, DESTINATION = "00:01:22:33:44:01", "02:00:5e:00:00:01"
LENGTHS = {IP: ("len", "chksum"), IPv6: ("plen",), UDP: ("len", "chksum"), TCP: ("chksum",)}
PORTS = {"src_port": {"choice": "increment", "increment": {"start": 5000, "step": 2, "count": 10}},
         "dst_port": {"choice": "values", "values": [6000, 6010, 6020]}}
ADDRESSES = {4: ("192.168.0.2", "10.1.2.3"), 6: ("fc02:1000::2", "fc02:2000::ffff")}


def header(name, **fields):
    return {"choice": name, name: fields}


def ip(version, **fields):
    source, destination = ADDRESSES[version]
    return header(f"ipv{version}", src={"value": source}, dst={"value": destination}, **fields)


def ethernet(source="00:00:00:00:00:0a", destination="00:00:00:00:00:0b"):
    return header("ethernet", src={"value": source}, dst={"value": destination})


def flow_of(packet, sizes):
    report = Report()
    headers = read_headers(Fields({"packet": packet}, "flow", report))
    assert report.errors == []
    assert min(sizes) >= headers.shortest_frame
    return DataFlow("data", "p1", ("p2",), headers.source_mac, headers.destination_mac, headers.source,
                    headers.destination, headers.dscp, 3, sizes, Fraction(1), vlan_id=headers.vlan_id,
                    vlan_priority=headers.vlan_priority, content=headers.content.frame)


def frames_of(packet, numbers, sizes=(256,)):
    """Frames as the data plane captures them."""
    flow = flow_of(packet, sizes)
    return [flow.content(flow, number, SOURCE, DESTINATION) for number in numbers]


def rebuilt(frame):
    """The frame built anew by scapy from its fields without lengths and checksums; what is in a tunnel as it is."""
    packet = layer = Ether(frame)
    if VXLAN in packet:
        packet[VXLAN].payload = Raw(bytes(packet[VXLAN].payload))
    while layer:
        for name in LENGTHS.get(type(layer), ()):
            layer.delfieldval(name)
        layer = layer.payload
    return bytes(packet)


TRANSPORTS = {"none": [], "udp": [header("udp", **PORTS)],
              "tcp": [header("tcp", **PORTS, seq_num={"value": 77}, ctl_syn={"value": 1}, window={"value": 512})]}
TAGS = {"untagged": [], "tagged": [header("vlan", id={"value": 1000}, priority={"value": 3}, cfi={"value": 1})]}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("version", [4, 6])
def test_lengths_and_checksums_are_those_that_scapy_computes(version, tag, transport):
    packet = [ethernet(), *TAGS[tag], ip(version), *TRANSPORTS[transport]]
    sizes = (82, 83, 97, 128, 512, 1518, 9216)
    for number, frame in enumerate(frames_of(packet, range(14), sizes)):
        assert len(frame) == sizes[number % len(sizes)] - 4
        assert rebuilt(frame) == frame
        assert (Ether(frame).src, Ether(frame).dst) == (SOURCE, DESTINATION)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(("transport", "kind"), [("udp", UDP), ("tcp", TCP)])
def test_fields_run_through_their_patterns(version, transport, kind):
    frames = frames_of([ethernet(), ip(version), *TRANSPORTS[transport]], range(25))
    ports = [(Ether(frame)[kind].sport, Ether(frame)[kind].dport) for frame in frames]
    assert ports == [(5000 + number % 10 * 2, 6000 + number % 3 * 10) for number in range(25)]


def test_a_tcp_header_is_that_of_the_request():
    [frame] = frames_of([ethernet(), ip(4), *TRANSPORTS["tcp"]], [0])
    tcp = Ether(frame)[TCP]
    assert (tcp.dataofs, tcp.seq, tcp.flags, tcp.window) == (5, 77, "S", 512)


def test_an_ip_header_is_that_of_the_request():
    fields = {"identification": {"choice": "increment", "increment": {"start": 65535, "step": 1, "count": 4}},
              "time_to_live": {"value": 9}, "dont_fragment": {"value": 1},
              "priority": {"choice": "dscp", "dscp": {"phb": {"values": [3, 4]}, "ecn": {"value": 2}}}}
    frames = [Ether(frame)[IP] for frame in frames_of([ethernet(), ip(4, **fields)], range(3))]
    assert [(frame.id, frame.ttl, frame.flags, frame.tos, frame.proto) for frame in frames] == [
        (65535, 9, "DF", 3 << 2 | 2, 61), (0, 9, "DF", 4 << 2 | 2, 61), (1, 9, "DF", 3 << 2 | 2, 61)]
    fields = {"traffic_class": {"value": 0x0D}, "flow_label": {"value": 0x12345}, "hop_limit": {"value": 7}}
    [frame] = frames_of([ethernet(), ip(6, **fields)], [0])
    seen = Ether(frame)[IPv6]
    assert (seen.tc, seen.fl, seen.hlim, seen.nh) == (0x0D, 0x12345, 7, 59)


def test_the_octet_of_rfc_791_is_eight_bits():
    tos = {"precedence": {"value": 5}, "delay": {"value": 1}, "monetary": {"value": 1}, "unused": {"value": 0}}
    [frame] = frames_of([ethernet(), ip(4, priority={"choice": "tos", "tos": tos})], [0])
    assert Ether(frame)[IP].tos == 0b10110010


@pytest.mark.parametrize(("outer", "inner"), [(4, 6), (6, 4)])
def test_a_tunnel_has_headers_of_its_own(outer, inner):
    packet = [ethernet(), ip(outer), header("udp", src_port={"value": 4789}, dst_port={"value": 4789}),
              header("vxlan", vni={"values": [1000, 1001, 1002]}),
              ethernet("00:00:00:00:00:0c", "00:00:00:00:00:0d"), *TAGS["tagged"], ip(inner), *TRANSPORTS["tcp"]]
    for number, frame in enumerate(frames_of(packet, range(7))):
        assert rebuilt(frame) == frame
        outside = Ether(frame)
        inner_frame = bytes(outside[VXLAN].payload)
        assert rebuilt(inner_frame) == inner_frame
        assert (outside.src, outside.dst) == (SOURCE, DESTINATION)
        assert (outside[VXLAN].vni, int(outside[VXLAN].flags)) == (1000 + number % 3, 8)
        inside = outside[VXLAN].payload
        assert inside[Padding].load == bytes(4)
        assert (inside.src, inside.dst, inside[Dot1Q].vlan) == ("00:00:00:00:00:0c", "00:00:00:00:00:0d", 1000)
        assert (inside[IP if inner == 4 else IPv6].src, inside[TCP].dport) == (
            ADDRESSES[inner][0], 6000 + number % 3 * 10)


@pytest.mark.parametrize("version", [4, 6])
def test_the_payload_is_the_frames_number(version):
    [frame] = frames_of([ethernet(), ip(version), *TRANSPORTS["udp"]], [0x0102030405])
    payload = Ether(frame)[Raw].load
    assert payload == bytes.fromhex("0000000102030405") + bytes(len(payload) - 8)


@pytest.mark.parametrize("version", [4, 6])
def test_a_udp_checksum_of_zero_is_sent_as_all_ones(version):
    numbers = range(65536)
    frames = frames_of([ethernet(), ip(version), header("udp")], numbers, (96,))
    at = {4: 40, 6: 60}[version]
    checksums = {frame[at:at + 2]: frame for frame in frames}
    assert bytes(2) not in checksums
    assert rebuilt(checksums[b"\xff\xff"]) == checksums[b"\xff\xff"]
