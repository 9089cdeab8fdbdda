"""A T0 with ports of 100G, 400G and 800G, really: deployed by Ansible, in a VLAN and routed, IPv4 and IPv6."""
from __future__ import annotations

import pytest

from virtual_testbed.tests.supervision.deployed import Host, Load, deployed, routed_host

pytestmark = pytest.mark.slow("a testbed for them, deployed by Ansible: half a minute")
SWITCH = "vtb-mixed-01"
MACS = ("00:00:22:33:44:01", "00:01:22:33:44:01")
LINE_RATE_FRAMES = {100: 11973, 400: 47892}
"""Frames of 1024 bytes in one millisecond at so many Gb/s: speed / 8 / 1044."""


def in_vlan(location, side, family):
    """A host in the VLAN; `side` is 0 or 1."""
    address, gateway, prefix = {"ipv4": (f"192.168.0.{2 + side}", "192.168.0.1", 21),
                                "ipv6": (f"fc02:1000::{2 + side}", "fc02:1000::1", 64)}[family]
    return Host(location, MACS[side], address, gateway, prefix)


# speed in Gb/s: generator ports (tx, rx) in the VLAN, and routed ones with the positions of the switch's ports
PAIRS = {100: (("127.1.0.7;1;1", "127.1.0.8;1;1"), ("127.1.0.7;1;3", 2, "127.1.0.8;1;3", 10)),
         400: (("127.1.0.7;1;5", "127.1.0.8;1;5"), ("127.1.0.7;1;7", 6, "127.1.0.8;1;7", 14))}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """vtb-mixed, deployed."""
    with deployed("vtb-mixed", tmp_path_factory.mktemp("mixed")) as found:
        yield found


def test_ports_have_the_speeds_of_their_cables(lab):
    config = lab.configuration(SWITCH)
    speeds = [int(config["PORT"][f"Ethernet{8 * at}"]["speed"]) // 1000 for at in range(17)]
    assert speeds == ([100] * 4 + [400] * 4) * 2 + [800]
    assert len(config["VLAN_MEMBER"]) == 9 and len(config["INTERFACE"]) == 8 * 3
    assert {"Ethernet16|10.0.0.4/31", "Ethernet16|fc00::9/126"} < set(config["INTERFACE"])
    lossless = lab.ssh(SWITCH, "for port in 0 32 128; do "
                               "sonic-db-cli APPL_DB HGET BUFFER_PG_TABLE:Ethernet$port:3-4 profile; done").split()
    assert lossless == [f"pg_lossless_{speed}000_5m_profile" for speed in (100, 400, 800)]
    rows = lab.ssh(SWITCH, "show interfaces status").splitlines()
    found = [row.split() for row in rows if row.split()[:1] in (["Ethernet0"], ["Ethernet32"], ["Ethernet128"])]
    assert [row[2] for row in found] == ["100G", "400G", "800G"] and all("up" in row for row in found)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("speed", [100, 400])
def test_vlan_and_routed_ports_at_line_rate(lab, speed, family):
    (tx, rx), (routed_tx, near, routed_rx, far) = PAIRS[speed]
    for left, right in ((in_vlan(tx, 0, family), in_vlan(rx, 1, family)),
                        (routed_host(routed_tx, MACS[0], family, near), routed_host(routed_rx, MACS[1], family, far))):
        gateway = lab.connect(left, right)
        assert gateway == lab.configuration(SWITCH)["DEVICE_METADATA"]["localhost"]["mac"]
        sent, received = lab.send(left, right, gateway, Load(100, 1))
        assert sent == received and abs(sent - LINE_RATE_FRAMES[speed]) <= 1


def test_a_fast_port_cannot_fill_a_slow_one_without_loss_of_a_lossless_class(lab):
    """400G into 100G: the switch pauses the sender, and every frame that was sent arrives."""
    tx, rx = in_vlan("127.1.0.7;1;5", 0, "ipv6"), in_vlan("127.1.0.8;1;1", 1, "ipv6")
    lab.connect(tx, rx)
    sent, received = lab.send(tx, rx, rx.mac, Load(100, 5))
    assert sent == received < 5 * LINE_RATE_FRAMES[400]
