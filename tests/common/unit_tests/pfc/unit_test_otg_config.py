"""The OTG configuration of flows: ports as the switch has them, frames that reach their priority, loads and lengths."""

import dataclasses

import pytest
import snappi

from tests.common.pfc.lab.otg_config import TrafficBuilder
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import PlayedHost, PortPair
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.pfc.model.traffic import PauseFrame, Role, global_pause_frame
from tests.common.unit_tests.pfc.unit_test_measurement import OTHER, RX, STORM, SUBJECT, TEST, TX

ROUTER = "02:00:00:00:00:01"
HERE, THERE, FURTHER = (
    PlayedHost(f"Host {port.port}", f"00:0{number}:22:33:44:01", f"192.168.0.{number}", 21, "192.168.0.1", segment)
    for number, (port, segment) in enumerate(((RX, "Vlan1000"), (TX, "Vlan1000"), (OTHER, "Ethernet8")), 2)
)
HOSTS = {RX: HERE, TX: THERE, OTHER: FURTHER}
LIMITED = dataclasses.replace(EXACT, storm_limit_s=60, reason="storms end by themselves")


def builder(hosts=None, tolerances=EXACT, **rest):
    """A builder for the pair and a further port; what is not its own is of the subject."""
    own = {name: rest.pop(name) for name in ("beside", "vlan_id", "switch_ports") if name in rest}
    subject = dataclasses.replace(SUBJECT, further=(OTHER,), tolerances=tolerances, **rest)
    return TrafficBuilder(snappi.Api(), subject, hosts or HOSTS, ROUTER, **own)


def built(*flows, **rest):
    """The configuration's only flow, of these."""
    [flow] = builder(**rest).build(flows).config.flows
    return flow


def test_a_configuration_has_the_ports_that_its_flows_need():
    """The pair's in any case; what comes out of the port under test is received."""
    needed = {None: ["rx Ethernet1", "tx Ethernet64"], "Ethernet8": ["rx Ethernet1", "tx Ethernet64", "tx Ethernet8"]}
    for enters, names in needed.items():
        config = builder().build([dataclasses.replace(TEST, enters=enters or "")]).config
        assert [port.name for port in config.ports] == names, config.ports
        assert [port.location for port in config.ports][0] == "127.1.0.1;1;1", config.ports
        assert [device.name for device in config.devices] == [f"Host {name.split()[1]}" for name in names], names


@pytest.mark.parametrize(("speed_mbps", "row", "speed", "fec", "negotiates", "trains"), [
    (10000, {}, "speed_10_gbps", False, False, False),
    (25000, {}, "speed_25_gbps", False, False, False),
    (25000, {"fec": "rs"}, "speed_25_gbps", True, False, False),
    (50000, {}, "speed_50_gbps", True, False, False),
    (100000, {"fec": "none", "autoneg": "off"}, "speed_100_gbps", False, False, False),
    (100000, {"fec": "auto"}, "speed_100_gbps", True, False, False),
    (25000, {"fec": "auto"}, "speed_25_gbps", False, False, False),
    (400000, {"autoneg": "on", "link_training": "on"}, "speed_400_gbps", True, True, True),
])
def test_the_generators_end_of_a_link_is_as_the_switchs(speed_mbps, row, speed, fec, negotiates, trains):
    """Otherwise it stays down: FEC is what such a speed usually has, where the switch says nothing."""
    rx = dataclasses.replace(RX, speed_mbps=speed_mbps)
    config = builder({rx: HERE, TX: THERE}, pair=PortPair(rx, TX), switch_ports={"Ethernet1": row}).build([TEST]).config
    layer1 = config.layer1[0]
    found = (layer1.speed, layer1.auto_negotiation.rs_fec, layer1.auto_negotiate,
             layer1.auto_negotiation.link_training)
    assert found == (speed, fec, negotiates, trains), found


@pytest.mark.parametrize(("queues", "classes"), [(8, [0, 1, 2, 3, 4, 5, 6, 7]), (4, [0, 1, 0, 3, 2, 0, 1, 0])])
def test_a_pause_holds_the_queue_that_its_priority_is_sent_from(queues, classes):
    """On every port, and 3 and 4 have queues of their own on each card."""
    config = builder(tolerances=dataclasses.replace(EXACT, pfc_queues=queues)).build([TEST]).config
    for layer1 in config.layer1:
        pfc = layer1.flow_control.ieee_802_1qbb
        assert [getattr(pfc, f"pfc_class_{one}") for one in range(8)] == classes, pfc
    assert config.flows[0].packet[0].pfc_queue.value == classes[3], config.flows[0].packet[0]


@pytest.mark.parametrize(("flow", "sends", "receives"), [
    (TEST, "tx Ethernet64", "rx Ethernet1"),
    (STORM, "rx Ethernet1", "tx Ethernet64"),
    (dataclasses.replace(TEST, enters="Ethernet8"), "tx Ethernet8", "rx Ethernet1"),
    (dataclasses.replace(TEST, enters="Ethernet1", leaves="Ethernet8"), "rx Ethernet1", "tx Ethernet8"),
    (dataclasses.replace(STORM, leaves="Ethernet8"), "rx Ethernet1", "tx Ethernet8"),
])
def test_which_way_a_flow_goes(flow, sends, receives):
    """Data from the tx port to the port under test, pauses the other way, unless a flow says otherwise."""
    found = built(flow).tx_rx.port
    assert (found.tx_name, list(found.rx_names)) == (sends, [receives]), found


@pytest.mark.parametrize(("enters", "mac"), [("", HERE.mac), ("Ethernet8", ROUTER)])
def test_data_goes_to_its_receiver_or_to_the_router(enters, mac):
    """Within a VLAN frames are switched, into another network the switch routes them."""
    ethernet = built(dataclasses.replace(TEST, enters=enters)).packet[0]
    assert ethernet.dst.value == mac, ethernet


def test_frames_carry_the_dscp_values_of_their_priority():
    """All of them, and they may be marked in congestion, where WRED drops others: in IPv6 both are one byte."""
    qos = dataclasses.replace(SUBJECT.qos, dscps={**SUBJECT.qos.dscps, 3: (3, 48)})
    priority = built(TEST, qos=qos).packet[1].priority
    assert (list(priority.dscp.phb.values), priority.dscp.ecn.value) == ([3, 48], 3), priority
    six = {port: dataclasses.replace(host, address=f"fc02::{number}") for number, (port, host) in
           enumerate(HOSTS.items(), 2)}
    header = built(TEST, qos=qos, hosts=six).packet[1]
    assert list(header.traffic_class.values) == [0b00001111, 0b11000011], header.traffic_class
    assert (header.src.value, header.dst.value) == ("fc02::3", "fc02::2"), header


def test_flows_of_each_role_say_otherwise_that_they_may_be_marked():
    """A switch may sort frames by the whole octet: each codepoint but 0, which WRED may drop, reaches each priority."""
    data = {role: dataclasses.replace(TEST, role=role) for role in Role if role is not Role.STORM}
    found = {role: built(flow).packet[1].priority.dscp.ecn.value for role, flow in data.items()}
    assert found == {Role.TEST: 3, Role.BACKGROUND: 1, Role.CLEAN: 2, Role.BYSTANDER: 2}, found


def test_a_tag_says_the_class_by_the_number_above_it():
    packet = built(TEST, vlan_id=1000).packet
    assert (type(packet[1]), packet[1].id.value, packet[1].priority.value) == (snappi.FlowVlan, 1000, 4), packet
    assert snappi.FlowVlan not in [type(header) for header in built(TEST).packet], "no tag is asked for"


@pytest.mark.parametrize(("flow", "tolerances", "choice", "lasts"), [
    (dataclasses.replace(TEST, frames=1000, seconds=None), EXACT, "fixed_packets", 1000),
    (dataclasses.replace(TEST, seconds=0.25), EXACT, "fixed_seconds", 0.25),
    (dataclasses.replace(TEST, seconds=0.25), HARDWARE, "fixed_seconds", 1),
    (dataclasses.replace(TEST, seconds=5), HARDWARE, "fixed_seconds", 5),
    (STORM, EXACT, "continuous", None),
    (STORM, LIMITED, "fixed_seconds", 60),
    (dataclasses.replace(STORM, seconds=2), LIMITED, "fixed_seconds", 2),
])
def test_how_long_a_flow_lasts(flow, tolerances, choice, lasts):
    """Fractions of seconds only where a generator takes them, and the longer; what goes on until it is stopped ends by
    itself where a killed run would leave it."""
    duration = built(flow, tolerances=tolerances).duration
    assert duration.choice == choice, duration
    found = {"fixed_packets": lambda: duration.fixed_packets.packets,
             "fixed_seconds": lambda: duration.fixed_seconds.seconds, "continuous": lambda: None}[choice]()
    assert found == lasts, duration


def test_what_is_owed_is_what_is_sent():
    """The flows of the answer have the load and the time that the testbed allows; frames a second stay."""
    traffic = builder(tolerances=HARDWARE).build([dataclasses.replace(TEST, seconds=0.25), STORM])
    test, storm = traffic.flows[TEST.name], traffic.flows[STORM.name]
    assert (test.percent, test.seconds, storm.fps) == (49.5, 1, STORM.fps), traffic.flows
    rates = [flow.rate.percentage if flow.rate.choice == "percentage" else flow.rate.pps
             for flow in traffic.config.flows]
    assert rates == [49.5, STORM.fps], rates


@pytest.mark.parametrize(("needed_s", "limit_s", "refused"), [
    (0, 0, False), (60, 60, False), (75.2, 60, True), (1000, 0, False),
])
def test_a_storm_that_would_end_too_early_is_refused(needed_s, limit_s, refused):
    """With what would be long enough; without a limit it goes on for ever."""
    storm = dataclasses.replace(STORM, needed_s=needed_s)
    build = builder(tolerances=dataclasses.replace(EXACT, storm_limit_s=limit_s)).build
    if not refused:
        assert build([storm]).flows[STORM.name].limit_s == (limit_s if needed_s else 0), "what it ends after"
        return
    with pytest.raises(QualificationError) as error:
        build([storm])
    assert str(error.value) == ("Pause Storm: a storm of 76 s is needed, and each ends by itself after 60 s: the"
                                " testbed's pfc_conditions need a storm_limit_s of 76 or more"), str(error.value)


@pytest.mark.parametrize(("frame", "kind", "fields"), [
    (STORM.pause, snappi.FlowPfcPause, {"class_enable_vector": 8, "pause_class_2": 0, "pause_class_3": 65535}),
    (PauseFrame((9,) * 8, (0, 7, 9)), snappi.FlowPfcPause, {"class_enable_vector": 1 + 128 + 512, "pause_class_5": 9}),
    (PauseFrame((9,) * 8, (3,), operation_code=2, ether_type=0x88FF), snappi.FlowPfcPause,
     {"control_op_code": 2, "ether_type": 0x88FF}),
    (global_pause_frame(7), snappi.FlowEthernetPause, {"time": 7}),
    (PauseFrame((7,), source="02:00:00:00:00:09", destination="01:80:C2:00:00:02"), snappi.FlowEthernetPause,
     {"src": "02:00:00:00:00:09", "dst": "01:80:C2:00:00:02"}),
])
def test_pauses_are_as_they_were_described(frame, kind, fields):
    """Also wrong ones, which a switch has to leave alone."""
    [header] = built(dataclasses.replace(STORM, pause=frame)).packet
    found = {name: getattr(header, name).value for name in fields}
    assert (type(header), found) == (kind, fields), header


def test_pauses_from_elsewhere_are_no_flows_of_the_generator():
    """What they are is known all the same."""
    traffic = builder(pauses_from="fanout-01 Ethernet48").build([STORM, TEST])
    assert [flow.name for flow in traffic.config.flows] == [TEST.name], traffic.config.flows
    assert list(traffic.flows) == [STORM.name, TEST.name], traffic.flows


def test_flows_beside_a_case_are_told_apart():
    """They are in its configuration, and none of its flows; their ports are there too."""
    light = dataclasses.replace(TEST, name="Light Flow", role=Role.BYSTANDER, enters="Ethernet8", percent=1.0)
    traffic = builder(beside=lambda subject, flows: [light], tolerances=HARDWARE).build([TEST])
    assert [flow.name for flow in traffic.config.flows] == [TEST.name, "Light Flow"], traffic.config.flows
    assert (list(traffic.flows), list(traffic.beside)) == ([TEST.name], ["Light Flow"]), traffic
    assert traffic.beside["Light Flow"].percent == 0.99, "with the load that the testbed allows"
    assert "tx Ethernet8" in [port.name for port in traffic.config.ports], traffic.config.ports


def test_a_mix_of_sizes_is_sent_with_its_weights():
    mix = ((64, 7), (570, 4))
    size = built(dataclasses.replace(TEST, mix=mix)).size
    assert [(pair.size, pair.weight) for pair in size.weight_pairs.custom] == list(mix), size
    assert built(TEST).size.fixed == 1024, "one size"


@pytest.mark.parametrize(("device", "port", "name"), [
    ("vtb-t0-01", "Ethernet1", "Test Flow vtb-t0-01 Ethernet1"),
    ("t0.lab,a", "Ethernet1/1", "Test Flow t0_lab_a Ethernet1_1"),
])
def test_names_of_flows_have_their_port_and_nothing_that_statistics_cannot_find(device, port, name):
    rx = dataclasses.replace(RX, device=device, port=port)
    found = builder({rx: HERE, TX: THERE}, pair=PortPair(rx, TX)).flow_name("Test Flow")
    assert found == name, found
