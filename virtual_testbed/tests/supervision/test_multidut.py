"""Two switches that are routed to each other, really: the testbed of sonic-mgmt's tests for `multidut-tgen`."""
from __future__ import annotations

import pytest

from virtual_testbed.tests.supervision.deployed import Load, deployed, routed_host

pytestmark = pytest.mark.slow("two switches of 66 ports each, deployed by Ansible: two minutes")
NAME = "vms-snappi-sonic-multidut"
FIRST, SECOND = "sonic-s6100-dut1", "sonic-s6100-dut2"
LINE_RATE_FRAMES = 11973
"""Frames of 1024 bytes in one millisecond at 100 Gb/s."""
HOSTS = {
    (FIRST, "Ethernet0"): ("127.1.0.13;1;1", 0), (FIRST, "Ethernet72"): ("127.1.0.13;1;4", 18),
    (SECOND, "Ethernet0"): ("127.1.0.14;1;1", 66), (SECOND, "Ethernet64"): ("127.1.0.14;1;2", 82)}
"""Switch port: the location of the generator port on it, and its number among the routed ports of both switches."""


def host(switch, port, family="ipv4"):
    """The neighbour of a routed port."""
    location, number = HOSTS[switch, port]
    return routed_host(location, f"00:{number:02}:22:33:44:01", family, number)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Both switches, deployed."""
    with deployed(NAME, tmp_path_factory.mktemp("multidut")) as found:
        yield found


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_line_rate_from_one_switch_to_the_other(lab, family):
    tx, rx = host(SECOND, "Ethernet64", family), host(FIRST, "Ethernet72", family)
    gateway = lab.connect(tx, rx)
    mac = lab.configuration(SECOND)["DEVICE_METADATA"]["localhost"]["mac"]
    assert gateway == mac, "the gateway is the sender's own switch"
    sent, received = lab.send(tx, rx, gateway, Load(100, 1))
    assert sent == received and abs(sent - LINE_RATE_FRAMES) <= 1, f"{sent} sent, {received} received"


@pytest.mark.parametrize("tx, rx, load", [
    pytest.param((SECOND, "Ethernet64"), (FIRST, "Ethernet72"), Load(90, 20, paused=True), id="paused"),
    pytest.param((SECOND, "Ethernet0"), (FIRST, "Ethernet0"), Load(100, 5), id="400G into 100G"),
])
def test_xoff_travels_hop_by_hop_and_nothing_is_lost(lab, tx, rx, load):
    for switch in (FIRST, SECOND):
        lab.ssh(switch, "pfcstat -c")
    sender, receiver = host(*tx), host(*rx)
    sent, received = lab.send(sender, receiver, lab.connect(sender, receiver), load)
    assert sent == received > 0, f"{sent} sent, {received} received"
    lab.advance(2500)  # until the switches have published their counters
    near, far = tx[0], rx[0]
    assert set(lab.class_3_frames(far, "Tx")) == {"Ethernet124"}, "the switch of the receiver stops the one before it"
    assert lab.class_3_frames(far, "Tx") == lab.class_3_frames(near, "Rx"), "what one has sent the other has received"
    assert set(lab.class_3_frames(near, "Tx")) == {tx[1]}, "and that one stops the sender"
    assert set(lab.class_3_frames(far, "Rx")) == ({rx[1]} if load.paused else set()), "the storm ends where it comes in"


def test_ports_have_the_speeds_of_their_cables(lab):
    speeds = {}
    for switch in (FIRST, SECOND):
        ports = lab.configuration(switch)["PORT"]
        speeds[switch] = [ports[f"Ethernet{at}"]["speed"] for at in (0, 64, 68, 72, 76, 124)]
    slow = ["100000"] * 4
    assert speeds == {FIRST: ["100000", *slow, "400000"], SECOND: ["400000", *slow, "400000"]}, "as in the links file"
