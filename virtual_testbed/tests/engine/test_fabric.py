"""Who answers a generator's address resolution, in a row of switches."""
from __future__ import annotations

from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig, VlanConfig
from virtual_testbed.engine.testbed import ConfiguredFabric
from virtual_testbed.lab_files.cables import GeneratorLink, SwitchLink

MACS = {name: f"02:00:00:00:00:0{number}" for number, name in enumerate(("s1", "s2", "s3"), 1)}


def switch(name, number):
    """A switch with a generator port, a routed one, and one to each side, in a VLAN over the whole row."""
    ports = {port: SwitchPortConfig(port, 100_000, True, frozenset(), frozenset(), {}, {}, {}, {})
             for port in ("host", "routed", "left", "right")}
    vlan = VlanConfig(1000, frozenset({"host", "left", "right"}), (f"192.168.7.{number}/21", f"fc02::{number}/64"))
    return SwitchConfig(name, MACS[name], "broadcom", 208, ports, {}, (vlan,),
                        {"routed": (f"10.0.{number}.0/31", f"fc00::{number}:1/126")})


@pytest.fixture
def switches():
    """s1 - s2 - s3."""
    return {name: switch(name, number) for number, name in enumerate(MACS, 1)}


@pytest.fixture
def fabric(switches):
    """A generator port on each switch, and a second one on a routed port."""
    links = [GeneratorLink(f"{port} {name}", name, port, 100_000, 5) for name in MACS for port in ("host", "routed")]
    cables = [SwitchLink(("s1", "right"), ("s2", "left"), 100_000, 40),
              SwitchLink(("s2", "right"), ("s3", "left"), 100_000, 40)]
    return ConfiguredFabric(links, cables, switches)


def set_port(switches, name, port, **changes):
    ports = {**switches[name].ports, port: replace(switches[name].ports[port], **changes)}
    switches[name] = replace(switches[name], ports=ports)


@pytest.mark.parametrize("at", MACS)
@pytest.mark.parametrize("gateway, owner", [("192.168.7.1", "s1"), ("192.168.7.3", "s3"), ("fc02::2", "s2"),
                                            ("fc02:0:0::3", "s3")])
def test_a_gateway_in_the_vlan_answers_from_any_switch(fabric, at, gateway, owner):
    assert fabric.gateway_mac(f"host {at}", gateway) == MACS[owner]


def test_a_routed_port_is_answered_by_its_own_switch_only(fabric):
    assert fabric.gateway_mac("routed s2", "10.0.2.0") == fabric.gateway_mac("routed s2", "fc00::2:1") == MACS["s2"]
    for gateway in ("10.0.1.0", "192.168.7.2", "10.0.2.1"):
        assert fabric.gateway_mac("routed s2", gateway) is None
    assert fabric.gateway_mac("host s2", "10.0.2.0") is None


@pytest.mark.parametrize("name, port", [("s2", "right"), ("s3", "left")])
def test_a_cable_that_is_shut_down_cuts_the_row(fabric, switches, name, port):
    set_port(switches, name, port, admin_up=False)
    assert fabric.gateway_mac("host s1", "192.168.7.3") is None
    assert fabric.gateway_mac("host s1", "192.168.7.2") == MACS["s2"]


def test_another_vlan_at_the_far_end_is_not_the_same_segment(fabric, switches):
    (vlan,) = switches["s2"].vlans
    switches["s2"] = replace(switches["s2"], vlans=(replace(vlan, vlan_id=20),))
    assert fabric.gateway_mac("host s1", "192.168.7.2") is None and fabric.gateway_mac("host s1", "192.168.7.3") is None


def test_a_switch_that_is_not_configured_answers_nothing(fabric, switches):
    del switches["s3"]
    assert fabric.gateway_mac("host s3", "192.168.7.3") is None and fabric.gateway_mac("host s1", "192.168.7.3") is None
    set_port(switches, "s1", "host", admin_up=False)
    assert fabric.gateway_mac("host s1", "192.168.7.1") is None


def test_a_ring_ends(switches):
    links = [GeneratorLink("host", "s1", "host", 100_000, 5)]
    cables = [SwitchLink((near, "right"), (far, "left"), 100_000, 40)
              for near, far in (("s1", "s2"), ("s2", "s3"), ("s3", "s1"))]
    assert ConfiguredFabric(links, cables, switches).gateway_mac("host", "192.168.7.9") is None
