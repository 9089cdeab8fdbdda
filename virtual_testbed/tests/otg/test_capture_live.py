"""The real snappi client and simulated traffic: what a capture holds, and what mixed sizes, bursts and tags become."""
from __future__ import annotations

import io
import zlib
from collections import Counter

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.utils import RawPcapNgReader, RawPcapReader

from pfctest.frame import PfcFrame, decode
from virtual_testbed.tests.otg.conftest import SWITCH_MAC
from virtual_testbed.tests.otg.test_http import MACS, Client, add_data, add_storm, base_config

READERS = {"pcap": RawPcapReader, "pcapng": RawPcapNgReader}
LIMIT = 16384
BYTE_NS = 0.08
IMIX_FRAMES, IMIX_BYTES = 12, 7 * 64 + 4 * 570 + 1518


@pytest.fixture
def client(server):
    client = Client(server.url)
    yield client
    client.close()


def add_capture(config, *ports, file_format="pcap"):
    capture = config.captures.capture(name="Packet Capture")[-1]
    capture.port_names, capture.format = list(ports), file_format
    return capture


def read(data, file_format="pcap"):
    """(nanoseconds, bytes with FCS) of every captured frame."""
    with READERS[file_format](io.BytesIO(data)) as packets:
        if file_format == "pcap":
            assert packets.nano
            return [(about.sec * 10**9 + about.usec, frame) for frame, about in packets]
        return [(about.tshigh << 32 | about.tslow, frame) for frame, about in packets]


def check_fcs(frame):
    assert zlib.crc32(frame[:-4]).to_bytes(4, "little") == frame[-4:]
    return frame[:-4]


def numbers(frames):
    """The frame numbers in captured untagged IPv4 frames: 8 bytes behind Ethernet (14), IP (20) and UDP (8)."""
    return [int.from_bytes(frame[42:50], "big") for _, frame in frames]


@pytest.mark.parametrize("file_format", READERS)
def test_received_data_frames_are_captured_as_they_were_sent(client, file_format):
    config = base_config(client.api)
    flow = add_data(config, "data", 3, 3, 10, packets=100)
    flow.packet[1].priority.dscp.phb.values = [3, 4]
    add_capture(config, "rx", file_format=file_format)
    client.api.set_config(config)
    client.capture_control("start")
    client.transmit("start")
    client.advance(0.001)
    frames = read(client.capture("rx"), file_format)
    assert numbers(frames) == list(range(100))
    for number, (_, frame) in enumerate(frames):
        packet = Ether(check_fcs(frame))
        assert len(frame) == 1024
        assert (packet.src, packet.dst) == (MACS[1], MACS[0])
        assert (packet[IP].src, packet[IP].dst, packet[IP].len) == ("192.168.0.3", "192.168.0.2", 1024 - 18)
        assert packet[IP].tos >> 2 == (3, 4)[number % 2]
    gaps = {after - before for (before, _), (after, _) in zip(frames, frames[1:])}
    assert all(abs(gap - 1044 * BYTE_NS * 10) <= 1 for gap in gaps)


def test_pause_frames_of_a_congested_switch_are_captured(client):
    config = base_config(client.api)
    add_data(config, "lossless", 3, 3, 100)
    add_storm(config)
    add_capture(config, "tx")
    client.api.set_config(config)
    client.capture_control("start")
    client.transmit("start")
    client.advance(0.01)
    frames = read(client.capture("tx"))
    assert len(frames) > 10
    pauses = [decode(check_fcs(frame)) for _, frame in frames]
    assert all(isinstance(pause, PfcFrame) and pause.class_enable == 8 and pause.source == SWITCH_MAC
               for pause in pauses)
    assert all(len(frame) == 64 for _, frame in frames)
    assert pauses[0].quanta[3] == 0xFFFF


def test_a_routed_frame_shows_the_macs_of_the_last_switch(client):
    config = base_config(client.api)
    flow = add_data(config, "data", 3, 3, 10, packets=3)
    flow.packet[0].dst.value = SWITCH_MAC
    add_capture(config, "rx")
    client.api.set_config(config)
    client.capture_control("start")
    client.transmit("start")
    client.advance(0.001)
    frames = [Ether(frame[:-4]) for _, frame in read(client.capture("rx"))]
    assert [(frame.src, frame.dst) for frame in frames] == [(SWITCH_MAC, MACS[0])] * 3


def test_a_capture_holds_the_first_frames_until_it_is_full_and_begins_anew(client):
    config = base_config(client.api)
    add_data(config, "data", 3, 3, 50)
    add_capture(config, "rx")
    client.api.set_config(config)
    client.transmit("start")
    client.advance(0.001)
    before = client.flows()["data"].frames_rx
    client.capture_control("start")
    client.advance(0.01)
    assert client.ports()["rx"].capture == "started"
    first = client.capture("rx")
    assert client.ports()["rx"].capture == "stopped"
    assert numbers(read(first)) == list(range(before, before + LIMIT))
    assert client.capture("rx") == first
    again = client.flows()["data"].frames_rx
    client.capture_control("start")
    client.advance(0.0001)
    client.capture_control("stop")
    client.advance(0.001)
    frames = numbers(read(client.capture("rx")))
    assert frames == list(range(again, again + len(frames)))
    assert 500 < len(frames) < 700


def test_a_capture_changes_no_counter(make_server):
    found = []
    for capture in (False, True):
        with make_server() as server:
            client = Client(server.url)
            config = base_config(client.api)
            add_data(config, "lossless", 3, 3, 60, seconds=0.05)
            add_data(config, "lossy", 1, 1, 40, seconds=0.05)
            add_storm(config)
            add_capture(config, "rx", "tx")
            client.api.set_config(config)
            if capture:
                client.capture_control("start")
            client.transmit("start")
            client.advance(0.1)
            found.append({name: (flow.frames_tx, flow.frames_rx, flow.bytes_rx)
                          for name, flow in client.flows().items()})
            client.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("packets", [12_000, 60_007])
def test_bytes_of_mixed_sizes_are_exact(client, packets):
    config = base_config(client.api)
    flow = add_data(config, "data", 3, 3, 50, packets=packets)
    flow.size.weight_pairs.predefined = "imix"
    add_capture(config, "rx")
    client.api.set_config(config)
    client.capture_control("start")
    client.transmit("start")
    client.advance(2)
    metric = client.flows()["data"]
    assert (metric.transmit, metric.frames_tx, metric.frames_rx) == ("stopped", packets, packets)
    sizes = [len(frame) for _, frame in read(client.capture("rx"))]
    assert len(sizes) == min(packets, LIMIT)
    assert Counter(sizes[:IMIX_FRAMES]) == {64: 7, 570: 4, 1518: 1}
    cycles, rest = divmod(packets, IMIX_FRAMES)
    assert metric.bytes_tx == metric.bytes_rx == cycles * IMIX_BYTES + sum(sizes[:rest])


def test_half_a_line_of_mixed_sizes_is_half_a_line(client):
    config = base_config(client.api)
    flow = add_data(config, "data", 3, 3, 50)
    flow.size.weight_pairs.predefined = "imix"
    client.api.set_config(config)
    client.transmit("start")
    client.advance(0.01)
    metric = client.flows()["data"]
    assert metric.tx_l1_rate_bps == pytest.approx(50e9, rel=1e-4)
    assert metric.rx_l1_rate_bps == pytest.approx(50e9, rel=1e-4)
    assert metric.tx_rate_bps == pytest.approx(50e9 * IMIX_BYTES / (IMIX_BYTES + 20 * IMIX_FRAMES), rel=1e-4)


def test_bursts_come_with_their_gap(client):
    config = base_config(client.api)
    flow = add_data(config, "data", 3, 3, 100)
    flow.duration.burst.bursts, flow.duration.burst.packets = 7, 5
    flow.duration.burst.inter_burst_gap.microseconds = 20
    add_capture(config, "rx")
    client.api.set_config(config)
    client.capture_control("start")
    client.transmit("start")
    client.advance(0.01)
    metric = client.flows()["data"]
    assert (metric.transmit, metric.frames_tx, metric.frames_rx) == ("stopped", 35, 35)
    times = [time for time, _ in read(client.capture("rx"))]
    frame_ns = 1044 * BYTE_NS
    for number, (before, after) in enumerate(zip(times, times[1:]), 1):
        expected = frame_ns if number % 5 else frame_ns - 12 * BYTE_NS + 20_000
        assert after - before == pytest.approx(expected, abs=1)


def test_a_tag_arrives_as_it_was_sent(client):
    config = base_config(client.api)
    flow = config.flows.add(name="data")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "tx", ["rx"]
    ethernet, tag, ip = flow.packet.ethernet().vlan().ipv4()
    ethernet.src.value, ethernet.dst.value = MACS[1], MACS[0]
    tag.id.value, tag.priority.value = 1000, 4
    ip.src.value, ip.dst.value = "192.168.0.3", "192.168.0.2"
    flow.size.fixed, flow.duration.fixed_packets.packets = 128, 3
    flow.metrics.enable = True
    add_capture(config, "rx")
    client.api.set_config(config)
    client.capture_control("start")
    client.transmit("start")
    client.advance(0.1)
    frames = [Ether(check_fcs(frame)) for _, frame in read(client.capture("rx"))]
    assert [(frame[Dot1Q].vlan, frame[Dot1Q].prio, len(frame)) for frame in frames] == [(1000, 4, 124)] * 3


def test_a_slow_port_sends_on_until_its_delay_has_passed(make_server):
    """After XOFF a port with `pfc_delay` goes on for so many quanta: the switch takes in so many bytes more."""
    quanta = 200
    occupied = []
    for delay in (0, quanta):
        with make_server() as server:
            client = Client(server.url)
            config = base_config(client.api)
            config.layer1[0].flow_control.ieee_802_1qbb.pfc_delay = delay
            add_data(config, "lossless", 3, 3, 100)
            add_storm(config)
            client.api.set_config(config)
            client.transmit("start")
            client.advance(0.01)
            counters = server.agents[0].network.switch_counters("vtb-t0-01")
            occupied.append(counters.priority_groups["Ethernet8", 3].headroom_watermark_bytes)
            assert client.flows()["lossless"].frames_tx > 0
            client.close()
    cells = -(-1024 // 208) * 208
    frames = quanta * 64 / 1044
    assert occupied[1] - occupied[0] == pytest.approx(frames * cells, abs=2 * cells)


def raw_flow(config, name, source, destination):
    """100 frames from port tx to a MAC address that no device has, received at port rx."""
    flow = config.flows.add(name=name)
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "tx", ["rx"]
    ethernet, ip = flow.packet.ethernet().ipv4()
    ethernet.src.value, ethernet.dst.value = source, destination
    ip.src.value, ip.dst.value = "1.1.1.1", "1.1.1.2"
    flow.size.fixed, flow.duration.fixed_packets.packets, flow.rate.pps = 256, 100, 50
    flow.metrics.enable = True
    return flow


def test_frames_to_nobody_known_reach_the_receiver_with_all_their_headers(client):
    config = base_config(client.api)
    tcp = raw_flow(config, "tcp", "00:00:01:01:01:01", "00:00:01:01:01:02").packet.tcp()[-1]
    tcp.src_port.decrement.start, tcp.src_port.decrement.step, tcp.src_port.decrement.count = 5000, 2, 10
    tunnel = raw_flow(config, "tunnel", "00:00:01:01:01:03", "00:00:01:01:01:02").packet
    tunnel.udp().vxlan().ethernet().ipv6().udp()
    tunnel[2].dst_port.value, tunnel[3].vni.values = 4789, [7, 8, 9]
    add_capture(config, "rx")
    assert client.api.set_config(config).warnings == [
        "captures[0].overwrite: true, but a capture keeps the first 16384 frames of a port, not the last ones",
        "port rx: no device has the MAC address 00:00:01:01:01:02; it is taken to be behind this port, where flows to "
        "it are received"]
    client.capture_control("start")
    client.transmit("start")
    client.advance(3)
    assert {(flow.frames_tx, flow.frames_rx) for flow in client.flows().values()} == {(100, 100)}
    frames = [Ether(check_fcs(frame)) for _, frame in read(client.capture("rx"))]
    ports = [frame[TCP].sport for frame in frames if TCP in frame]
    assert ports == [5000 - number % 10 * 2 for number in range(100)]
    networks = [frame[VXLAN].vni for frame in frames if VXLAN in frame]
    assert networks == [7 + number % 3 for number in range(100)]
