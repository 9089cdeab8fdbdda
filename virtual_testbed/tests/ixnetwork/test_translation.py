"""What a session's objects mean as OTG; what the virtual traffic generator has nothing for is refused by name."""
from __future__ import annotations

import pytest

from virtual_testbed.ixnetwork.translation import OTHER_PROTOCOL_ADDRESS, otg_config
from virtual_testbed.ixnetwork.tree import ROOT
from virtual_testbed.tests.ixnetwork.imported import DATA, MACS, STORM, field, host, item
from virtual_testbed.tests.ixnetwork.served import ServedSession

ETHERNET = {"destinationAddress": MACS[0], "sourceAddress": MACS[1]}
V6 = {"ethernet": ETHERNET, "ipv6": {"srcIP": "fc02::3", "dstIP": "fc02::2", "trafficClass": [12, 16]},
      "udp": {"srcPort": 5003, "dstPort": 5004}}
COUNTING = {"startValue": "1", "stepValue": "1", "countValue": "2"}
TAG = {"vlanID": 10, "vlanUserPriority": 3}
GLOBAL = {"globalPause": {"dstAddress": "01:80:C2:00:00:01", "srcAddress": "00:00:fa:ce:fa:ce", "ethertype": "8808",
                          "controlOpcode": 1, "pfcQueue0": "ffff"}}


def translated(*items, hosts=()):
    """OTG's configuration of a session, as the traffic generator got it."""
    return ServedSession().configure(items, hosts).otg.configs[-1]


def flow(packet=DATA, **changes):
    """OTG's flow of a traffic item."""
    return translated(item(1, "Data", packet, **changes))["flows"][0]


def header(of, kind):
    """A header of a flow."""
    return next(one[kind] for one in of["packet"] if one["choice"] == kind)


def refused(*items):
    """The sentence with which these traffic items are refused, when they are applied."""
    with pytest.raises(AssertionError) as caught:
        ServedSession().configure(items)
    return str(caught.value)


def tagged(packet, **fields):
    """A packet with a tag behind its Ethernet header."""
    return {"ethernet": packet["ethernet"], "vlan": {**TAG, **fields},
            **{name: given for name, given in packet.items() if name != "ethernet"}}


def test_ports_and_hosts():
    config = translated(hosts=[host(1), host(2, "ipv6", "fc02::3", "fc02::1")])
    assert config["ports"] == [{"name": "rx", "location": "10.0.0.9;1;1"}, {"name": "tx", "location": "10.0.0.9;1;2"}]
    first, second = config["devices"]
    assert first == {"name": "host 1", "ethernets": [
        {"name": "ethernet 1", "mac": MACS[0], "connection": {"choice": "port_name", "port_name": "rx"},
         "ipv4_addresses": [{"name": "address 1", "address": "192.168.0.2", "gateway": "192.168.0.1", "prefix": 21}]}]}
    assert second["ethernets"][0]["connection"]["port_name"] == "tx"
    assert second["ethernets"][0]["ipv6_addresses"][0]["gateway"] == "fc02::1"


def test_data():
    found = flow()
    assert found["tx_rx"]["port"] == {"tx_name": "tx", "rx_names": ["rx"]}
    assert (found["name"], found["metrics"]) == ("Data", {"enable": True})
    assert header(found, "ethernet") == {"dst": {"choice": "value", "value": MACS[0]},
                                         "src": {"choice": "value", "value": MACS[1]},
                                         "pfc_queue": {"choice": "value", "value": 3}}
    assert header(found, "ipv4")["dst"]["value"] == "192.168.0.2"
    assert header(found, "ipv4")["priority"]["dscp"]["phb"] == {"choice": "values", "values": [3]}
    assert header(found, "udp")["dst_port"]["value"] == 5003


@pytest.mark.parametrize("name", ["defaultPHB", "classSelectorPHB", "assuredForwardingPHB", "expeditedForwardingPHB"])
def test_each_field_of_the_dscp_is_the_dscp(name):
    packet = {**DATA, "ipv4": {"srcIp": "192.168.0.3", "dstIp": "192.168.0.2", name: [46, 47]}}
    assert header(flow(packet), "ipv4")["priority"]["dscp"]["phb"]["values"] == [46, 47]


def test_data_over_ipv6():
    found = flow(V6)
    assert header(found, "ipv6")["traffic_class"] == {"choice": "values", "values": [12, 16]}
    assert header(found, "ipv6")["dst"]["value"] == "fc02::2"
    assert header(found, "ethernet")["pfc_queue"]["value"] == 0, "where it is not said"


def test_a_pfc_frame():
    [pause] = flow(STORM)["packet"]
    found = pause["pfcpause"]
    assert found["class_enable_vector"]["value"] == 0x18 and found["control_op_code"]["value"] == 0x0101
    assert found["ether_type"]["value"] == 0x8808
    times = [found[f"pause_class_{number}"]["value"] for number in range(8)]
    assert times == [0, 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0]


def test_a_global_pause_frame():
    [pause] = flow(GLOBAL)["packet"]
    assert pause["choice"] == "ethernetpause"
    assert pause["ethernetpause"]["time"]["value"] == 0xFFFF and pause["ethernetpause"]["control_op_code"]["value"] == 1


@pytest.mark.parametrize("size, expected", [
    ({"type": "fixed", "fixedSize": 64}, {"choice": "fixed", "fixed": 64}),
    ({"type": "increment", "incrementFrom": 64, "incrementTo": 9122, "incrementStep": 1},
     {"choice": "increment", "increment": {"start": 64, "end": 9122, "step": 1}}),
    ({"type": "weightedPairs", "weightedPairs": [64, 7, 1518, 1]},
     {"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom": [
         {"size": 64, "weight": 7}, {"size": 1518, "weight": 1}]}})])
def test_sizes(size, expected):
    assert flow(frameSize=size)["size"] == expected


@pytest.mark.parametrize("rate, expected", [
    ({"type": "framesPerSecond", "rate": 5960.0}, {"choice": "pps", "pps": 5960}),
    ({"type": "percentLineRate", "rate": 8.25}, {"choice": "percentage", "percentage": 8.25})])
def test_rates(rate, expected):
    assert flow(frameRate=rate)["rate"] == expected


@pytest.mark.parametrize("control, expected", [
    ({"type": "continuous"}, {"choice": "continuous", "continuous": {"delay": {"choice": "bytes", "bytes": 0}}}),
    ({"type": "fixedDuration", "duration": 5, "startDelay": 1500.0, "startDelayUnits": "nanoseconds"},
     {"choice": "fixed_seconds", "fixed_seconds": {
         "seconds": 5, "delay": {"choice": "nanoseconds", "nanoseconds": 1500.0}}}),
    ({"type": "fixedFrameCount", "frameCount": 1000.0}, {"choice": "fixed_packets", "fixed_packets": {
        "packets": 1000, "delay": {"choice": "bytes", "bytes": 0}}})])
def test_durations(control, expected):
    assert flow(transmissionControl=control)["duration"] == expected


MIX = {"type": "weightedPairs", "weightedPairs": [64, 7, 1518, 1]}
"""245.75 bytes in the mean."""


@pytest.mark.parametrize("changes, frames", [
    ({"frameRate": {"type": "percentLineRate", "rate": 22},
      "transmissionControl": {"type": "fixedDuration", "duration": 2}}, 5_268_199),
    ({"frameRate": {"type": "framesPerSecond", "rate": 5960.0}}, 5 * 5960),
    ({"frameSize": MIX}, 117_591_721), ({"frameRate": {"type": "percentLineRate", "rate": 1e-9}}, 1)])
def test_a_fixed_time_is_a_number_of_frames_by_habit(changes, frames):
    """22 % of 100 Gb/s for 2 s is what chassis in public logs sent, also where the flow was paused for 0.1 s."""
    session = ServedSession("sends-what-was-held").configure([item(1, "Data", **changes)])
    [found] = session.otg.configs[-1]["flows"]
    assert found["duration"] == {"choice": "fixed_packets", "fixed_packets": {
        "packets": frames, "delay": {"choice": "bytes", "bytes": 0}}}, found["duration"]


@pytest.mark.parametrize("control", [{"type": "continuous"}, {"type": "fixedFrameCount", "frameCount": 7}])
def test_other_durations_are_as_without_the_habit(control):
    session = ServedSession("sends-what-was-held").configure([item(1, "Data", transmissionControl=control)])
    assert session.otg.configs[-1]["flows"][0]["duration"] == flow(transmissionControl=control)["duration"], control


@pytest.mark.parametrize("changes, sentence", [
    ({"frameSize": {"type": "random", "randomMin": 64}},
     "trafficItem[1]/configElement[1]/frameSize: frame sizes of type random are not modelled"),
    ({"frameRate": {"type": "bitsPerSecond", "rate": 1}},
     "trafficItem[1]/configElement[1]/frameRate: rates of type bitsPerSecond are not modelled"),
    ({"transmissionControl": {"type": "custom", "burstPacketCount": 2}}, "transmission of type custom is not modelled"),
    ({"transmissionControl": {"type": "continuous", "startDelay": 1, "startDelayUnits": "microseconds"}},
     "delays in microseconds are not modelled"),
])
def test_what_there_is_nothing_for_is_refused_by_name(changes, sentence):
    assert sentence in refused(item(1, "Data", **changes))


@pytest.mark.parametrize("packet, sentence", [
    ({**DATA, "tcp": {"srcPort": 1}}, "traffic item Data: the protocol tcp is not modelled"),
    ({"ethernet": ETHERNET, "mpls": {"label": 1}, "ipv4": DATA["ipv4"]},
     "traffic item Data: the protocol mpls is not modelled"),
])
def test_a_protocol_that_is_not_modelled_is_refused_by_name(packet, sentence):
    assert sentence in refused(item(1, "Data", packet))


def test_values_that_are_not_modelled_are_refused_by_name():
    """Counting classes, random ports; those that IxNetwork fills in are not."""
    made = item(1, "Data")
    stack = made["configElement"][0]["stack"][2]
    stack["field"].append({**field(stack["xpath"], "udp.header.length", 3, None)})
    assert translated(made)["flows"], "an automatic one"
    stack["field"][0] |= {"valueType": "random", "startValue": 5000}
    assert "udp.header.srcPort-1']: values of type random are not modelled" in refused(made)
    storm = item(1, "Storm", STORM)
    storm["configElement"][0]["stack"][0]["field"][4] |= {"valueType": "increment", **COUNTING}
    assert "priorityEnableVector-5']: values of type increment are not modelled" in refused(storm)


@pytest.mark.parametrize("kind, place, start, step, header_name, name", [
    ("increment", 2, 5000, 1, "udp", "src_port"), ("decrement", 2, "5000", "2", "udp", "src_port"),
    ("increment", 1, "192.168.0.3", "0.0.0.1", "ipv4", "src")])
def test_values_that_count_from_frame_to_frame_do_so(kind, place, start, step, header_name, name):
    made = item(1, "Data")
    field_of = made["configElement"][0]["stack"][place]["field"][0]
    field_of |= {"valueType": kind, "startValue": start, "stepValue": step, "countValue": "10"}
    is_port = header_name == "udp"
    assert header(translated(made)["flows"][0], header_name)[name] == {"choice": kind, kind: {
        "start": int(start) if is_port else start, "step": int(step) if is_port else step, "count": 10}}


def test_ports_of_a_list_are_used_in_turn():
    packet = {**DATA, "udp": {"srcPort": ["5003", "5004"], "dstPort": 5003}}
    assert header(flow(packet), "udp")["src_port"] == {"choice": "values", "values": [5003, 5004]}


def test_traffic_between_hosts_is_refused_by_name():
    made = item(1, "Data")
    made["endpointSet"][0]["sources"] = ["/topology[1]"]
    assert "/topology[1]: traffic between ports only is modelled" in refused(made)


@pytest.mark.parametrize("protocol", ["800", "0800", "0x800"[2:]])
def test_a_tag_that_says_that_ipv4_follows_changes_nothing(protocol):
    found = flow(tagged(DATA, protocolID=protocol))
    assert header(found, "ipv4")["dst"]["value"] == "192.168.0.2"
    assert header(found, "vlan") == {"id": {"choice": "value", "value": 10},
                                     "priority": {"choice": "value", "value": 3}}


def test_a_tag_that_leaves_it_to_ixnetwork_what_follows_changes_nothing():
    assert header(flow(tagged(DATA, protocolID=None)), "ipv4")["dst"]["value"] == "192.168.0.2"
    assert header(flow(tagged(V6, protocolID="86DD")), "ipv6")["dst"]["value"] == "fc02::2"


@pytest.mark.parametrize("packet, kind, protocol, address", [
    (DATA, "ipv4", "ffff", OTHER_PROTOCOL_ADDRESS), (DATA, "ipv4", "86dd", OTHER_PROTOCOL_ADDRESS),
    (V6, "ipv6", "ffff", f"::ffff:{OTHER_PROTOCOL_ADDRESS}"), (V6, "ipv6", "800", f"::ffff:{OTHER_PROTOCOL_ADDRESS}")])
def test_behind_a_tag_that_says_something_else_nobody_routes(packet, kind, protocol, address):
    """As snappi_ixnetwork sends it where `tpid` is left out: 0xFFFF."""
    assert header(flow(tagged(packet, protocolID=protocol)), kind)["dst"]["value"] == address


def test_a_port_honours_pfc_for_the_priorities_that_have_a_group():
    session = ServedSession().configure([])
    tree = session.session.tree
    fcoe = tree.node("/vport[1]/l1Config/novusHundredGigLan/fcoe")
    fcoe |= {"pfcPriorityGroups": [0, 1, 0, 3, 2, -1, 1, -1], "enablePFCPauseDelay": True, "pfcPauseDelay": 7}
    tree.node("/vport[2]/l1Config")["currentType"] = "novusHundredGigLan"
    [layer1] = otg_config(tree.root)["layer1"]
    assert layer1["port_names"] == ["rx"], "a port whose type has no Fcoe does not"
    assert layer1["flow_control"]["ieee_802_1qbb"] == {
        "pfc_delay": 7, "pfc_class_0": 0, "pfc_class_1": 1, "pfc_class_2": 0, "pfc_class_3": 3, "pfc_class_4": 2,
        "pfc_class_6": 1}
    fcoe["enablePFCPauseDelay"] = False
    assert otg_config(tree.root)["layer1"][0]["flow_control"]["ieee_802_1qbb"]["pfc_delay"] == 0


def test_what_is_captured():
    session = ServedSession().configure([])
    assert session.otg.configs[-1]["captures"] == []
    session.session.request("PATCH", f"{ROOT}/vport/2/capture", "", {"hardwareEnabled": True})
    assert otg_config(session.session.tree.root)["captures"] == [
        {"name": "capture", "port_names": ["tx"], "format": "pcapng"}]


def test_a_field_without_a_name_is_refused():
    made = item(1, "Data")
    made["configElement"][0]["stack"][0]["field"][0]["xpath"] += "/odd"
    assert "/odd: not modelled" in refused(made)
