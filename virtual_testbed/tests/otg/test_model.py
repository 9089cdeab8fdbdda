"""The OTG configuration model: what is translated into what, and what is refused in which words."""
from __future__ import annotations

from copy import deepcopy
from fractions import Fraction

import pytest

from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, GeneratorPort, EmulatedHost, PauseFlow
from virtual_testbed.otg.errors import OtgError
from virtual_testbed.otg.model import read_config

MAC_1, MAC_2, SWITCH_MAC = "00:01:22:33:44:01", "00:02:22:33:44:01", "02:00:5e:00:00:01"
LEFT, RIGHT = "127.1.0.1;1;1", "127.1.0.2;1;1"


class FakeFabric:
    """Two ports of 100G; the switch answers for 192.168.0.1 on both."""

    speeds = {LEFT: 100_000, RIGHT: 100_000}
    switch_macs = (SWITCH_MAC,)

    def gateway_mac(self, location, gateway):
        return SWITCH_MAC if gateway in ("192.168.0.1", "fc02:1000::1") else None


def device(name, port, mac, address):
    return {"name": name, "ethernets": [{
        "name": f"{name} eth", "mac": mac, "connection": {"choice": "port_name", "port_name": port},
        "ipv4_addresses": [{"name": f"{name} ip", "address": address, "gateway": "192.168.0.1", "prefix": 21}]}]}


def data_flow(**changes):
    return {"name": "data", "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
            "packet": [{"choice": "ethernet", "ethernet": {"dst": {"choice": "value", "value": MAC_2},
                                                           "src": {"choice": "value", "value": MAC_1.upper()},
                                                           "pfc_queue": {"choice": "value", "value": 3}}},
                       {"choice": "ipv4", "ipv4": {"src": {"choice": "value", "value": "192.168.0.2"},
                                                   "dst": {"choice": "value", "value": "192.168.0.3"}}}],
            **changes}


def config(*flows, **changes):
    return {"ports": [{"name": "p1", "location": LEFT}, {"name": "p2", "location": RIGHT}], "flows": list(flows),
            **changes}


def flow_of(flow, **changes):
    return read_config(config(flow, **changes), FakeFabric()).flows[0].flow


def errors_of(body):
    with pytest.raises(OtgError) as caught:
        read_config(body, FakeFabric())
    assert caught.value.code == 400
    assert caught.value.kind == "validation"
    return list(caught.value.errors)


def header(index, **fields):
    """The data flow with fields of one of its headers replaced or added."""
    flow = deepcopy(data_flow())
    entry = flow["packet"][index]
    entry[entry["choice"]].update(fields)
    return flow


def test_defaults_are_those_of_otg():
    flow = flow_of(data_flow())
    assert flow == DataFlow("data", "p1", ("p2",), MAC_1, MAC_2, "192.168.0.2", "192.168.0.3", (0,), 3, (64,),
                            Fraction(1000), Duration())


def test_an_empty_configuration_clears():
    model = read_config({}, FakeFabric())
    assert (model.ports, model.flows, model.warnings) == ((), (), ())


@pytest.mark.parametrize(("rate", "size", "expected"), [
    ({"choice": "pps", "pps": "5960"}, 64, Fraction(5960)),
    ({"choice": "pps", "pps": 5960}, 64, Fraction(5960)),
    ({"choice": "percentage", "percentage": 50}, 1024, Fraction(50 * 10**9, 1044 * 8)),
    ({"choice": "percentage", "percentage": 33.3}, 64, Fraction(333, 1000) * 10**11 / (84 * 8)),
    ({"choice": "percentage", "percentage": 50 / 7}, 64, Fraction(50, 700) * 10**11 / (84 * 8)),
    ({"choice": "percentage"}, 64, Fraction(10**11, 84 * 8)),
    ({"choice": "bps", "bps": "8192"}, 1024, Fraction(1)),
    ({"choice": "kbps", "kbps": 8192}, 1024, Fraction(1000)),
    ({"choice": "mbps", "mbps": "8192"}, 1024, Fraction(10**6)),
    ({"choice": "gbps", "gbps": 1}, 125, Fraction(10**6)),
    ({"percentage": 100}, 64, Fraction(10**11, 84 * 8)),
])
def test_rates_are_exact(rate, size, expected):
    assert flow_of(data_flow(rate=rate, size={"choice": "fixed", "fixed": size})).rate_fps == expected


@pytest.mark.parametrize(("duration", "expected"), [
    ({"choice": "continuous", "continuous": {"gap": 12}}, Duration()),
    ({"choice": "fixed_packets", "fixed_packets": {"packets": 7}}, Duration(0, None, 7)),
    ({"choice": "fixed_packets"}, Duration(0, None, 1)),
    ({"choice": "fixed_seconds", "fixed_seconds": {"seconds": 1.5}}, Duration(0, 1_500_000_000_000)),
    ({"choice": "fixed_seconds", "fixed_seconds": {
        "seconds": 2, "delay": {"choice": "nanoseconds", "nanoseconds": 10.5}}}, Duration(10_500, 2 * 10**12)),
    ({"choice": "continuous", "continuous": {"delay": {"choice": "microseconds", "microseconds": 3}}},
     Duration(3_000_000)),
    ({"choice": "continuous", "continuous": {"delay": {"choice": "bytes", "bytes": 100}}}, Duration(8_000)),
])
def test_durations_and_delays(duration, expected):
    assert flow_of(data_flow(duration=duration)).duration == expected


@pytest.mark.parametrize(("priority", "expected"), [
    ({"choice": "dscp", "dscp": {"phb": {"choice": "value", "value": 3}}}, (3,)),
    ({"choice": "dscp", "dscp": {"phb": {"choice": "values", "values": [3, 4]}, "ecn": {"value": 2}}}, (3, 4)),
    ({"choice": "dscp", "dscp": {"phb": {"choice": "increment", "increment": {"start": 8, "step": 8, "count": 3}}}},
     (8, 16, 24)),
    ({"choice": "dscp", "dscp": {"phb": {"choice": "decrement", "decrement": {"start": 1, "step": 1, "count": 3}}}},
     (1, 0, 63)),
    ({"choice": "raw", "raw": {"choice": "value", "value": 0xB8}}, (46,)),
    ({"choice": "tos", "tos": {"precedence": {"value": 5}, "delay": {"value": 1}, "throughput": {"value": 1}}}, (46,)),
    ({"choice": "dscp", "dscp": {}}, (0,)),
])
def test_dscp_in_every_form(priority, expected):
    assert flow_of(header(1, priority=priority)).dscp == expected


@pytest.mark.parametrize(("priority", "expected"), [
    ({"choice": "dscp", "dscp": {"phb": {"choice": "values", "values": [3, 4]}, "ecn": {"value": 3}}}, 3),
    ({"choice": "dscp", "dscp": {"ecn": {"choice": "values", "values": [1, 2]}}}, None),
    ({"choice": "raw", "raw": {"choice": "value", "value": 0xB9}}, 1),
    ({"choice": "raw", "raw": {"choice": "values", "values": [0xB8, 0xB9]}}, None),
    ({"choice": "tos", "tos": {"monetary": {"value": 1}}}, 2),
    ({"choice": "dscp", "dscp": {}}, 0),
])
def test_ecn_where_all_frames_have_the_same(priority, expected):
    assert flow_of(header(1, priority=priority)).ecn == expected


def test_ipv6_flow():
    packet = [data_flow()["packet"][0], {"choice": "ipv6", "ipv6": {
        "traffic_class": {"choice": "value", "value": 12}, "src": {"value": "FC02::2"}, "dst": {"value": "fc02:0::3"}}},
        {"choice": "tcp", "tcp": {"dst_port": {"choice": "values", "values": [80, 443]}}}]
    flow = flow_of(data_flow(packet=packet, size={"fixed": 128}))
    assert (flow.source_address, flow.destination_address, flow.dscp) == ("fc02::2", "fc02::3", (3,))


PFC = bytes.fromhex("0180c2000001 0000face face 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000") + bytes(26)


@pytest.mark.parametrize(("pause", "expected"), [
    ({"choice": "pfcpause", "pfcpause": {
        "src": {"value": "00:00:fa:ce:fa:ce"}, "class_enable_vector": {"value": 8}, "pause_class_3": {"value": 65535}}},
     PFC),
    ({"choice": "pfcpause", "pfcpause": {}},
     bytes.fromhex("0180c2000001 000000000000 8808 0101") + bytes(44)),
    ({"choice": "pfcpause", "pfcpause": {"dst": {"value": "00:11:22:33:44:55"}, "control_op_code": {"value": 2},
                                         "ether_type": {"value": 0x0800}, "class_enable_vector": {"value": 0x1ff}}},
     bytes.fromhex("001122334455 000000000000 0800 0002 01ff") + bytes(42)),
    ({"choice": "ethernetpause", "ethernetpause": {}},
     bytes.fromhex("0180c2000001 000000000000 8808 0001 0000") + bytes(42)),
    ({"choice": "ethernetpause", "ethernetpause": {"time": {"choice": "value", "value": 65535}}},
     bytes.fromhex("0180c2000001 000000000000 8808 0001 ffff") + bytes(42)),
])
def test_pause_frames_byte_for_byte(pause, expected):
    flow = flow_of(data_flow(packet=[pause]))
    assert flow == PauseFlow("data", "p1", ("p2",), expected, Fraction(1000), Duration())


def test_a_longer_pause_frame_is_padded():
    flow = flow_of(data_flow(packet=[{"choice": "pfcpause", "pfcpause": {}}], size={"choice": "fixed", "fixed": 128}))
    assert len(flow.frame) == 124


def test_deprecated_rx_name_is_read():
    ends = {"choice": "port", "port": {"tx_name": "p1", "rx_name": "p2"}}
    assert flow_of(data_flow(tx_rx=ends)).rx_ports == ("p2",)


def test_layer1_flow_control():
    layer1 = [
        {"name": "a", "port_names": ["p1"], "speed": "speed_100_gbps", "media": "fiber", "ieee_media_defaults": False,
         "auto_negotiate": False, "auto_negotiation": {"rs_fec": True, "link_training": True},
         "flow_control": {"choice": "ieee_802_1qbb", "ieee_802_1qbb": {f"pfc_class_{n}": n // 2 for n in range(8)}}},
        {"name": "b", "port_names": ["p2"], "flow_control": {"choice": "ieee_802_3x", "ieee_802_3x": {}}}]
    model = read_config(config(layer1=layer1), FakeFabric())
    assert model.ports == (
        GeneratorPort("p1", LEFT, 100_000, tuple((n, n // 2) for n in range(8))),
        GeneratorPort("p2", RIGHT, 0, (), True))
    assert model.warnings == ()


@pytest.mark.parametrize(("branch", "expected"), [
    ({}, tuple((n, n) for n in range(8))),
    ({"pfc_class_3": 5}, ((3, 5),)),
    ({"pfc_class_0": None, "pfc_class_4": "4"}, ((4, 4),)),
])
def test_a_pause_class_without_setting_stops_nothing(branch, expected):
    layer1 = [{"name": "a", "port_names": ["p1"], "flow_control": {"ieee_802_1qbb": branch}}]
    assert read_config(config(layer1=layer1), FakeFabric()).ports[0].pfc_queues == expected


@pytest.mark.parametrize(("speed", "expected"), [(None, 394 * 5120), ("speed_25_gbps", 394 * 20480)])
def test_pfc_delay_is_the_response_time_in_quanta_of_the_port(speed, expected):
    layer1 = [{"name": "a", "port_names": ["p1"], "speed": speed,
               "flow_control": {"ieee_802_1qbb": {"pfc_delay": 394}}}]
    assert read_config(config(layer1=layer1), FakeFabric()).ports[0].response_ps == expected


def test_without_flow_control_no_pause_is_honoured():
    port = read_config(config(layer1=[{"name": "a", "port_names": ["p1"]}]), FakeFabric()).ports[0]
    assert (port.pfc_queues, port.honours_global_pause) == ((), False)


def test_device_flow_takes_its_addresses_from_the_devices():
    devices = [device("d1", "p1", MAC_1, "192.168.0.2"), device("d2", "p2", MAC_2, "192.168.0.3")]
    ends = {"choice": "device", "device": {"tx_names": ["d1 ip"], "rx_names": ["d2 eth"]}}
    packet = [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}]
    model = read_config(config(data_flow(tx_rx=ends, packet=packet), devices=devices), FakeFabric())
    flow = model.flows[0].flow
    assert (flow.tx_port, flow.rx_ports) == ("p1", ("p2",))
    assert (flow.source_mac, flow.destination_mac) == (MAC_1, MAC_2)
    assert (flow.source_address, flow.destination_address) == ("192.168.0.2", "192.168.0.3")
    assert model.devices.hosts[0] == EmulatedHost("d1 eth", "p1", MAC_1, ("192.168.0.2",), ("192.168.0.1",))


@pytest.mark.parametrize(("gateway", "mac", "warnings"), [
    ("192.168.0.1", SWITCH_MAC, []),
    ("192.168.0.9", "00:00:00:00:00:00", [
        "flows[0].tx_rx.device: gateway 192.168.0.9 of 'd1 ip' is not resolved: no frame can be sent"]),
])
def test_device_flow_to_another_subnet_goes_to_the_gateway(gateway, mac, warnings):
    devices = [device("d1", "p1", MAC_1, "192.168.0.2"), device("d2", "p2", MAC_2, "10.0.0.3")]
    devices[0]["ethernets"][0]["ipv4_addresses"][0]["gateway"] = gateway
    ends = {"choice": "device", "device": {"tx_names": ["d1 ip"], "rx_names": ["d2 ip"]}}
    packet = [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}]
    model = read_config(config(data_flow(tx_rx=ends, packet=packet), devices=devices), FakeFabric())
    assert model.flows[0].flow.destination_mac == mac
    assert list(model.warnings) == warnings
    assert bool(model.flows[0].problem) == bool(warnings)


def test_harmless_settings_are_accepted_and_ignored_ones_are_said():
    layer1 = [{"name": "a", "port_names": ["p1"], "mtu": 9000, "promiscuous": False}]
    options = {"port_options": {"location_preemption": True, "data_integrity": False},
               "protocol_options": {"auto_start_all": False}}
    model = read_config(config(layer1=layer1, options=options, lags=[], lldp=[], egress_only_tracking=[]), FakeFabric())
    assert not model.auto_start
    assert [warning.split(":")[0] for warning in model.warnings] == ["layer1[0].mtu", "layer1[0].promiscuous"]


def test_flows_that_need_not_run_at_once_may_ask_for_more_than_the_line():
    """What counts is what is started."""
    flows = [data_flow(name=name, rate={"choice": "percentage", "percentage": 60}) for name in "ab"]
    devices = [device("d", "p2", MAC_2, "192.168.0.3")]
    assert read_config(config(*flows, devices=devices), FakeFabric()).warnings == ()


BACK = {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p1"]}}


def test_a_receiver_may_be_the_sender():
    """Nothing comes back to it; the other receivers are what they are without it."""
    told = "'p1' is also the sender: no switch sends a frame back, so it receives none"
    model = read_config(config(data_flow(tx_rx=BACK), devices=[device("d", "p2", MAC_2, "192.168.0.3")]), FakeFabric())
    assert model.flows[0].flow.rx_ports == ("p1",)
    assert model.warnings == (f"flows[0].tx_rx.port.rx_names: {told}",)
    both = {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p1", "p2"]}}
    model = read_config(config(data_flow(tx_rx=both), data_flow(name="other")), FakeFabric())
    assert model.flows[0].flow.rx_ports == ("p1", "p2")
    assert [(host.port, host.mac) for host in model.stations] == [("p2", MAC_2)]


def test_a_sender_that_receives_nothing_does_not_say_who_is_behind_it():
    alone = read_config(config(data_flow(tx_rx=BACK)), FakeFabric())
    assert alone.stations == ()
    assert alone.warnings[1:] == (f"flow data: nobody has its destination MAC address {MAC_2}, so the switch drops it",)
    beside = read_config(config(data_flow(tx_rx=BACK), data_flow(name="other")), FakeFabric())
    assert [(host.port, host.mac) for host in beside.stations] == [("p2", MAC_2)]


def test_devices_of_one_port_may_send_to_each_other():
    devices = [device("d", "p1", MAC_1, "192.168.0.2"), device("e", "p1", MAC_2, "192.168.0.3")]
    ends = {"choice": "device", "device": {"tx_names": ["d ip"], "rx_names": ["e ip"]}}
    model = read_config(config(data_flow(tx_rx=ends), devices=devices), FakeFabric())
    assert model.flows[0].flow.rx_ports == ("p1",)
    assert model.warnings == ("flows[0].tx_rx.device.rx_names: 'e ip' is on port 'p1', where the sender is too: no "
                              "switch sends a frame back, so it receives none",)
    ends["device"]["rx_names"] = ["d ip"]
    assert errors_of(config(data_flow(tx_rx=ends), devices=devices)) == [
        "flows[0].tx_rx.device.rx_names: 'd ip' is also the sender"]


HEADERS = "ethernet, vlan, ipv4, ipv6, udp, tcp, vxlan, pfcpause, ethernetpause"
SHAPES = ("ethernet, at most one vlan, ipv4 or ipv6, then nothing, udp or tcp; the same behind udp / vxlan; or "
          "pfcpause or ethernetpause alone")
PACKET = data_flow()["packet"]
VALUES = {"choice": "values", "values": [MAC_1, MAC_2]}


@pytest.mark.parametrize(("flow", "expected"), [
    (data_flow(packet=[{"choice": "mpls", "mpls": {}}]),
     f"flows[0].packet[0].mpls: not modelled; modelled are {HEADERS}"),
    (data_flow(packet=[*PACKET, {"choice": "vxlan", "vxlan": {}}, *PACKET]),
     f"flows[0].packet: ethernet / ipv4 / vxlan / ethernet / ipv4: not modelled; modelled are {SHAPES}"),
    (data_flow(packet=[*PACKET, {"choice": "udp"}, {"choice": "vxlan", "vxlan": {}}]),
     f"flows[0].packet: ethernet / ipv4 / udp / vxlan: not modelled; modelled are {SHAPES}"),
    (data_flow(packet=[*PACKET, {"choice": "udp"}, {"choice": "vxlan"}, {"choice": "ethernet"},
                       {"choice": "ipv6", "ipv6": {"hop_limit": {"value": 1}}}], size={"fixed": 256}),
     "flows[0].packet[5].ipv6.hop_limit: below 2: not modelled; modelled are 2 to 255"),
    (data_flow(packet=[PACKET[1], PACKET[0]]),
     f"flows[0].packet: ipv4 / ethernet: not modelled; modelled are {SHAPES}"),
    (data_flow(packet=[]), f"flows[0].packet: no header: not modelled; modelled are {SHAPES}"),
    (header(0, dst=VALUES), "flows[0].packet[0].ethernet.dst: 2 different values: not modelled; modelled is one value "
     "for all frames"),
    (header(0, dst={"choice": "value", "value": "zz"}),
     "flows[0].packet[0].ethernet.dst.value: 'zz' found, a MAC address expected"),
    (header(0, ether_type={"choice": "value", "value": 0x86dd}),
     "flows[0].packet[0].ethernet.ether_type: 34525: not modelled; modelled is 2048 (or auto)"),
    (header(1, options=[{"choice": "router_alert"}]), "flows[0].packet[1].ipv4.options: not modelled; modelled are"),
    (header(1, time_to_live={"choice": "value", "value": 1}),
     "flows[0].packet[1].ipv4.time_to_live: below 2: not modelled; modelled are 2 to 255"),
    (header(1, header_checksum={"choice": "custom", "custom": 1}),
     "flows[0].packet[1].ipv4.header_checksum.custom: not modelled; modelled are generated"),
    (header(1, header_checksum={"choice": "generated", "generated": "bad"}),
     "flows[0].packet[1].ipv4.header_checksum.generated: bad: not modelled; modelled is good"),
    (header(1, total_length={"choice": "value", "value": 46}),
     "flows[0].packet[1].ipv4.total_length.value: not modelled; modelled are auto"),
    (header(1, priority={"dscp": {"phb": {"choice": "value", "value": 64}}}),
     "flows[0].packet[1].ipv4.priority.dscp.phb.value: 64 found, an integer from 0 to 63 expected"),
    (header(1, priority={"dscp": {"phb": {"choice": "values", "values": []}}}),
     "flows[0].packet[1].ipv4.priority.dscp.phb.values: [] found, a list of 1 to 65536 values expected"),
    (header(1, src={"choice": "random", "random": {}}),
     "flows[0].packet[1].ipv4.src.random: not modelled; modelled are value, values, increment, decrement"),
    (header(1, src={"choice": "value", "value": "1.2.3.4", "metric_tags": [{"name": "t"}]}),
     "flows[0].packet[1].ipv4.src.metric_tags: not modelled; modelled are"),
    (data_flow(tx_rx={"choice": "port", "port": {"tx_name": "p3", "rx_names": ["p2"]}}),
     "flows[0].tx_rx.port.tx_name: no port is named 'p3'; ports are p1, p2"),
    (data_flow(tx_rx={"choice": "port", "port": {"tx_name": "p1"}}, metrics={"enable": True}),
     "flows[0].tx_rx.port.rx_names: missing, and metrics.enable needs to know where frames are received"),
    (data_flow(tx_rx=None), "flows[0].tx_rx: missing"),
    (data_flow(name=None), "flows[0].name: missing"),
    (data_flow(name=7), "flows[0].name: 7 found, a text expected"),
    (data_flow(size={"choice": "random", "random": {}}),
     "flows[0].size.random: not modelled; modelled are fixed, increment, weight_pairs"),
    (data_flow(size={"fixed": 63}),
     "flows[0].size.fixed: 63: frames with these headers have 64 to 14000 bytes with FCS"),
    (data_flow(rate={"choice": "percentage", "percentage": 101}),
     "flows[0].rate.percentage: 101 found, a number from 0 to 100 expected"),
    (data_flow(rate={"choice": "percentage", "percentage": float("nan")}),
     "flows[0].rate.percentage: nan found, a number from 0 to 100 expected"),
    (data_flow(rate={"choice": "pps", "pps": "many"}),
     "flows[0].rate.pps: 'many' found, an integer from 1 to 1000000000000000000 expected"),
    (data_flow(rate={"choice": "pps", "pps": 1, "mbps": 2}), "flows[0].rate.mbps: given beside the choice pps"),
    (data_flow(duration={"choice": "continuous", "continuous": {"gap": 100}}),
     "flows[0].duration.continuous.gap: 100: not modelled; modelled is 12, the rate spaces the frames"),
    (data_flow(metrics={"latency": {"enable": True, "mode": "fifo"}}),
     "flows[0].metrics.latency.mode: 'fifo' found, one of store_forward, cut_through expected"),
    (data_flow(metrics={"timestamps": True}),
     "flows[0].metrics.timestamps: true: not modelled; first and last arrivals are not kept"),
    (data_flow(egress_packet=[{"choice": "ethernet"}]), "flows[0].egress_packet: not modelled; modelled are"),
    (data_flow(payload={"choice": "fixed"}), "flows[0].payload: not modelled; modelled are"),
    (data_flow(speeed=1), "flows[0].speeed: not modelled; modelled are"),
    ("nonsense", "flows[0]: 'nonsense' found, a JSON object expected"),
])
def test_a_flow_that_is_not_modelled_is_refused_by_path(flow, expected):
    errors = errors_of(config(flow))
    assert len(errors) == 1, errors
    assert errors[0].startswith(expected)


LAYER1 = {"name": "l", "port_names": ["p1"]}


@pytest.mark.parametrize(("changes", "expected"), [
    ({"ports": [{"name": "p1", "location": "10.0.0.1;1;1"}]},
     f"ports[0].location: '10.0.0.1;1;1' is not a generator port of this testbed; they are {LEFT}, {RIGHT}"),
    ({"ports": [{"name": "p1"}]}, "ports[0].location: missing"),
    ({"ports": [{"name": "p1", "location": LEFT}, {"name": "p2", "location": LEFT}]},
     f"ports: 2 ports have the location {LEFT}"),
    ({"ports": [{"name": "p1", "location": LEFT}, {"name": "p1", "location": RIGHT}]},
     "ports[1].name: 'p1' is already the name of ports[0]"),
    ({"lags": [{"name": "lag"}]}, "lags: not modelled; modelled are captures, devices, flows, layer1, options, ports"),
    ({"layer1": [{**LAYER1, "port_names": ["p9"]}]},
     "layer1[0].port_names: no port is named 'p9'; ports are p1, p2"),
    ({"layer1": [LAYER1, {**LAYER1, "name": "m"}]}, "layer1[1].port_names: port 'p1' is in layer1 twice"),
    ({"layer1": [{**LAYER1, "name": "p1"}]}, "layer1[0].name: 'p1' is already the name of ports[0]"),
    ({"layer1": [{**LAYER1, "speed": "speed_3_gbps"}]}, "layer1[0].speed: 'speed_3_gbps' found, one of"),
    ({"layer1": [{**LAYER1, "flow_control": {"choice": "ieee_802_1qbb", "ieee_802_1qbb": {"pfc_delay": 65536}}}]},
     "layer1[0].flow_control.ieee_802_1qbb.pfc_delay: 65536 found, an integer from 0 to 65535 expected"),
    ({"captures": [{"name": "c", "port_names": ["p1"], "filters": [{"choice": "ethernet"}]}]},
     "captures[0].filters: not modelled; modelled are"),
    ({"captures": [{"name": "c"}]}, "captures[0].port_names: missing"),
    ({"devices": [{"name": "d", "bgp": {}}]}, "devices[0].bgp: not modelled; modelled are ethernets, name"),
    ({"devices": [{"name": "d", "ethernets": [{"name": "e", "connection": {"choice": "lag_name", "lag_name": "x"}}]}]},
     "devices[0].ethernets[0].connection.lag_name: not modelled; modelled are port_name"),
    ({"devices": [{"name": "d", "ethernets": [{"name": "e", "connection": {"port_name": "p1"}, "ipv4_addresses": [
        {"name": "i", "address": "1.2.3", "gateway": "1.2.3.4"}]}]}]},
     "devices[0].ethernets[0].ipv4_addresses[0].address: '1.2.3' found, an IPv4 address expected"),
    ({"options": {"per_port_options": [{"port_name": "p1"}]}}, "options.per_port_options: not modelled; modelled are"),
    ({"flows": {}}, "flows: {} found, a list expected"),
    ({"nonsense": 1}, "nonsense: not modelled; modelled are captures, devices, flows, layer1, options, ports"),
])
def test_a_configuration_that_is_not_modelled_is_refused_by_path(changes, expected):
    errors = errors_of(config(**changes))
    assert len(errors) == 1, errors
    assert errors[0].startswith(expected)


def test_all_errors_come_at_once():
    errors = errors_of(config(data_flow(name="x", size={"fixed": 1}), data_flow(name="x", payload={}),
                              layer1=[{**LAYER1, "bogus": 1}]))
    assert [error.split(":")[0] for error in errors] == [
        "layer1[0].bogus", "flows[0].size.fixed", "flows[1].payload", "flows[1].name"]


def test_device_ends_that_do_not_exist_are_named():
    ends = {"choice": "device", "device": {"tx_names": ["x"], "rx_names": ["y", "z"]}}
    devices = [device("d1", "p1", MAC_1, "192.168.0.2")]
    assert errors_of(config(data_flow(tx_rx=ends), devices=devices)) == [
        "flows[0].tx_rx.device.tx_names: no device interface is named 'x'; they are d1 eth, d1 ip",
        "flows[0].tx_rx.device.rx_names: no device interface is named 'y'; they are d1 eth, d1 ip",
        "flows[0].tx_rx.device.rx_names: no device interface is named 'z'; they are d1 eth, d1 ip",
        "flows[0].tx_rx.device.rx_names: 2 names: not modelled; modelled is one device interface at each end"]


@pytest.mark.parametrize("body", [None, [], "x", 7])
def test_a_body_that_is_no_object_is_refused(body):
    assert errors_of(body) == [f"request: {body!r} found, a JSON object expected"]
