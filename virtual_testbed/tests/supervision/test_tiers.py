"""A T1 over two T0 and its replacement, really: deployed by Ansible, IPv4 and IPv6 from T0 to T0, and put back."""
from __future__ import annotations

import re

import pytest

from virtual_testbed.tests.supervision.deployed import Host, Load, deployed

pytestmark = pytest.mark.slow("four switches, deployed by Ansible: three quarters of a minute")

T1, LEFT, RIGHT, REPLACEMENT = "vtb-t1-01", "vtb-t1-t0-01", "vtb-t1-t0-02", "vtb-t1-rep-01"
FAR = {"ipv4": (Host("127.1.0.5;2;1", "00:00:22:33:44:01", "192.168.8.2", "192.168.8.1", 21),
                Host("127.1.0.6;3;1", "00:01:22:33:44:01", "192.168.16.2", "192.168.16.1", 21)),
       "ipv6": (Host("127.1.0.5;2;1", "00:00:22:33:44:01", "fc02:1001::2", "fc02:1001::1", 64),
                Host("127.1.0.6;3;1", "00:01:22:33:44:01", "fc02:1002::2", "fc02:1002::1", 64))}
NEAR = {"ipv4": (Host("127.1.0.5;1;1", "00:00:22:33:44:01", "192.168.0.2", "192.168.0.1", 21),
                 Host("127.1.0.6;1;1", "00:01:22:33:44:01", "192.168.0.3", "192.168.0.1", 21)),
        "ipv6": (Host("127.1.0.5;1;1", "00:00:22:33:44:01", "fc02:1000::2", "fc02:1000::1", 64),
                 Host("127.1.0.6;1;1", "00:01:22:33:44:01", "fc02:1000::3", "fc02:1000::1", 64))}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """vtb-t1, deployed."""
    with deployed("vtb-t1", tmp_path_factory.mktemp("t1")) as found:
        yield found


def mac_of(lab, switch):
    return lab.configuration(switch)["DEVICE_METADATA"]["localhost"]["mac"]


def frames_out(lab, switch, port):
    """TX_OK of a port."""
    found = re.search(rf"^ *{port} +U(.*)$", lab.ssh(switch, "show interfaces counters"), re.MULTILINE)
    return int(re.split(r" {2,}", found[1].strip())[6].replace(",", ""))


def test_each_switch_has_its_tier(lab):
    found = {switch: lab.configuration(switch) for switch in (T1, LEFT, RIGHT, REPLACEMENT)}
    assert {switch: config["DEVICE_METADATA"]["localhost"]["type"] for switch, config in found.items()} == {
        T1: "LeafRouter", LEFT: "ToRRouter", RIGHT: "ToRRouter", REPLACEMENT: "ToRRouter"}
    assert "VLAN" not in found[T1] and list(found[T1]["INTERFACE"]) == [
        "Ethernet0", "Ethernet0|10.0.0.0/31", "Ethernet0|fc00::1/126",
        "Ethernet4", "Ethernet4|10.0.0.2/31", "Ethernet4|fc00::5/126"]
    assert found[T1]["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] == "3,4" and "Ethernet4" in found[T1]["PFC_WD"]
    assert list(found[RIGHT]["INTERFACE"]) == ["Ethernet124", "Ethernet124|10.0.0.3/31", "Ethernet124|fc00::6/126"]
    assert len(found[REPLACEMENT]["VLAN_MEMBER"]) == len(found[REPLACEMENT]["DEVICE_NEIGHBOR"]) == 32
    assert lab.ssh(T1, "show version | head -2") == lab.ssh(REPLACEMENT, "show version | head -2")


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_routed_traffic_passes_the_t1(lab, family):
    tx, rx = FAR[family]
    lab.advance(1000)
    before = frames_out(lab, T1, "Ethernet4")
    mac = lab.connect(tx, rx)
    assert mac == mac_of(lab, LEFT)
    sent, received = lab.send(tx, rx, mac)
    assert sent == received > 20000
    lab.advance(1000)  # until the switches have polled their counters
    assert frames_out(lab, T1, "Ethernet4") - before == sent


def test_a_pause_travels_over_the_t1(lab):
    tx, rx = FAR["ipv6"]
    sent, received = lab.send(tx, rx, lab.connect(tx, rx), Load(90, 20, paused=True))
    assert sent == received < 20 * 11000  # held by the first switch, and nothing was lost
    lab.advance(1000)
    for near, port, far, other in ((RIGHT, "Ethernet124", T1, "Ethernet4"), (T1, "Ethernet0", LEFT, "Ethernet124")):
        assert lab.class_3_frames(near, "Tx").get(port, 0) == lab.class_3_frames(far, "Rx").get(other, 0) > 0
    assert lab.class_3_frames(LEFT, "Tx").get("Ethernet0", 0) > 0


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_bridged_and_routed_traffic_passes_the_replacement(lab, family):
    tx, rx = NEAR[family]
    gateway = lab.connect(tx, rx)
    assert gateway == mac_of(lab, REPLACEMENT)
    for mac in (rx.mac, gateway):
        sent, received = lab.send(tx, rx, mac)
        assert sent == received > 20000


def test_what_was_deployed_is_put_back(lab):
    lab.play("remove_testbed.yml")
    for switch in (T1, LEFT, REPLACEMENT):
        config = lab.configuration(switch)
        assert config["DEVICE_METADATA"]["localhost"]["type"] == "not-provisioned"
        assert not {"INTERFACE", "VLAN", "PORT_QOS_MAP", "PFC_WD", "LOOPBACK_INTERFACE"} & set(config)
