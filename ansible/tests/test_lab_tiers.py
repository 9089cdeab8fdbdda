"""Testbeds whose switches have different topologies: T1 and T0, routed ports between them, ports of several speeds."""

from pathlib import Path

import pytest

from ansible.module_utils.pfc import layout, testbed
from ansible.module_utils.pfc.testbed import TestbedError

ANSIBLE = Path(__file__).resolve().parent.parent
SKU = "Arista-7060CX-32S-C32"
PORTS = [f"Ethernet{number}" for number in range(0, 128, 4)]


def lay_out_one(found, name, ports=None):
    """The layout of a switch of a testbed of the project; it has the ports of its HwSKU, or these."""
    one = found["duts"][name]
    own_ports = {port: {} for port in ports or one["known_ports"]}
    switch = layout.SwitchFacts(name, one, own_ports, {"hwsku": one["hwsku"]})
    return layout.lay_out(found, switch)["tables"]


def describe_own(name):
    """A testbed of the project."""
    return testbed.describe(name, str(ANSIBLE / "testbed.yaml"), "/nowhere")


@pytest.mark.parametrize("name", ["vtb-t0", "vtb-chain", "vtb-t1", "vtb-t1-mismatch", "vtb-mixed", "vtb-t0-64x400g",
                                  "vms-snappi-sonic-multidut", "vms-snappi-sonic-multidut-400g"])
def test_every_testbed_of_the_project_can_be_laid_out(name):
    found = describe_own(name)
    tables = {name: lay_out_one(found, name) for name in found["dut_names"]}
    for table in ("INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE"):
        addresses = [key.split("|")[1] for one in tables.values() for key in one.get(table, {}) if "|" in key]
        assert len(set(addresses)) == len(addresses), table
    inventory = (ANSIBLE / found["inv_name"]).read_text()
    for name in found["dut_names"]:
        assert f"\n{name} ansible_host=127.0.0.1 ansible_port=22 hwsku={found['duts'][name]['hwsku']} " in inventory


def test_a_t1_over_two_t0_and_its_replacement():
    found = describe_own("vtb-t1")
    tables = {name: lay_out_one(found, name) for name in found["dut_names"]}
    types = [one["DEVICE_METADATA"]["localhost"]["type"] for one in tables.values()]
    assert types == ["LeafRouter", "ToRRouter", "ToRRouter", "ToRRouter"]
    upper, left, right, replacement = tables.values()
    assert "VLAN" not in upper and set(upper["INTERFACE"]) == {
        "Ethernet0", "Ethernet0|10.0.0.0/31", "Ethernet0|fc00::1/126",
        "Ethernet4", "Ethernet4|10.0.0.2/31", "Ethernet4|fc00::5/126"}
    assert set(left["INTERFACE"]) == {"Ethernet124", "Ethernet124|10.0.0.1/31", "Ethernet124|fc00::2/126"}
    assert set(right["INTERFACE"]) == {"Ethernet124", "Ethernet124|10.0.0.3/31", "Ethernet124|fc00::6/126"}
    assert {"Vlan1000|192.168.16.1/21", "Vlan1000|fc02:1002::1/64"} < set(right["VLAN_INTERFACE"])
    assert left["CABLE_LENGTH"]["AZURE"]["Ethernet124"] == "40m" and left["CABLE_LENGTH"]["AZURE"]["Ethernet0"] == "5m"
    assert list(replacement["DEVICE_NEIGHBOR"]) == PORTS and len(replacement["VLAN_MEMBER"]) == 32


def test_addresses_do_not_depend_on_the_order_of_the_tiers():
    found = describe_own("vtb-t1")
    found["dut_names"] = ["vtb-t1-t0-01", "vtb-t1-01", "vtb-t1-t0-02", "vtb-t1-rep-01"]
    upper, lower = lay_out_one(found, "vtb-t1-01"), lay_out_one(found, "vtb-t1-t0-01")
    assert "Ethernet0|10.0.0.64/31" in upper["INTERFACE"] and "Ethernet124|10.0.0.65/31" in lower["INTERFACE"]
    assert "Ethernet0|fc00::81/126" in upper["INTERFACE"] and "Ethernet124|fc00::82/126" in lower["INTERFACE"]


@pytest.mark.parametrize("switch", ["vtb-t1-01", "vtb-t1-t0-01"])
def test_a_t1_whose_ports_nobody_can_count(switch):
    found = describe_own("vtb-t1")
    found["duts"]["vtb-t1-01"]["known_ports"] = None
    words = rf"links.csv row \d+: the addresses of {switch} Ethernet\d+ follow from the position of vtb-t1-01 Ethernet0"
    with pytest.raises(TestbedError, match=words):
        lay_out_one(found, switch, PORTS)


def test_a_t1_that_has_other_ports_than_its_hwsku():
    with pytest.raises(TestbedError, match=f"so vars/hwsku/{SKU}.yml must have exactly the ports of vtb-t1-01"):
        lay_out_one(describe_own("vtb-t1"), "vtb-t1-01", [*PORTS, "Ethernet1"])


@pytest.mark.parametrize("changes, words", [
    ({"host_interfaces": [0, 1, 2, 3]}, "Ethernet0 of vtb-t1-01 is routed and leads to vtb-t1-t0-01 Ethernet124, which "
     "is no routed port in .*topo_tgen-t1-2-t0.yml"),
    ({"VMs": {"ARISTA01T1": {"vlans": [31]}}}, "Ethernet124 of vtb-t1-t0-01 leads to a VM, but in .*links.csv row"),
])
def test_ends_of_a_cable_that_contradict_each_other(changes, words):
    found = describe_own("vtb-t1")
    found["duts"]["vtb-t1-t0-01"]["topology"]["topology"].update(changes)
    with pytest.raises(TestbedError, match=words):
        for name in found["dut_names"]:
            lay_out_one(found, name)


def test_a_routed_port_that_leads_into_a_vlan():
    found = describe_own("vtb-t1")
    vlans = found["duts"]["vtb-t1-t0-01"]["topology"]["topology"]["DUT"]["vlan_configs"]
    vlans["one_vlan_a"]["Vlan1000"]["intfs"].append(31)
    with pytest.raises(TestbedError, match="leads to vtb-t1-t0-01 Ethernet124, which is no routed port"):
        lay_out_one(found, "vtb-t1-01")


def test_ports_of_three_speeds():
    tables = lay_out_one(describe_own("vtb-mixed"), "vtb-mixed-01")
    assert [row["speed"] for row in tables["PORT"].values()] == (
        (["100000"] * 4 + ["400000"] * 4) * 2 + ["800000"])
    assert len(tables["VLAN_MEMBER"]) == 9 and len(tables["INTERFACE"]) == 24
    assert {"Ethernet120|10.0.0.30/31", "Ethernet120|fc00::3d/126"} < set(tables["INTERFACE"])


def test_two_switches_of_one_tier_that_are_routed_to_each_other():
    """The first one's port has its number, the second one's the other addresses of the pair."""
    found = describe_own("vms-snappi-sonic-multidut")
    first, second = (lay_out_one(found, name)["INTERFACE"] for name in found["dut_names"])
    assert {"Ethernet0|10.0.0.0/31", "Ethernet124|10.0.0.62/31", "Ethernet124|fc00::7d/126"} < set(first), "from 0"
    assert {"Ethernet0|10.0.0.132/31", "Ethernet64|10.0.0.164/31"} < set(second), "numbered on, 66 ports further"
    assert {"Ethernet124|10.0.0.63/31", "Ethernet124|fc00::7e/126"} < set(second), "the other end of the first one's"


def test_64_ports_of_400g():
    """All in one VLAN with four traffic generators; the two SFP ports of the HwSKU stay as they are."""
    found = describe_own("vtb-t0-64x400g")
    tables = lay_out_one(found, "vtb-t0-64x400g-01")
    ports = [f"Ethernet{4 * number}" for number in range(64)]
    assert {port: row["speed"] for port, row in tables["PORT"].items()} == dict.fromkeys(ports, "400000")
    assert set(tables["VLAN_MEMBER"]) == {f"Vlan1000|{port}" for port in ports} and not tables.get("INTERFACE")
    assert [row["name"] for row in tables["DEVICE_NEIGHBOR"].values()] == [
        f"snappi-vtb-{generator}" for generator in (9, 10, 11, 12) for _ in range(16)]
    assert set(tables["CABLE_LENGTH"]["AZURE"]) == {*ports, "Ethernet256", "Ethernet257"}


@pytest.mark.parametrize("own, words", [
    ("{sw9: small}", r"dut_topo of testbed lab-t0 names sw9, which is not one of its switches \(sw1\)"),
    ("[sw1]", r"dut_topo of testbed lab-t0 must be a dictionary of switch and topology, found \['sw1'\]"),
    ("{sw1: large}", "topo_large.yml cannot be read"),
])
def test_a_switchs_own_topology_that_is_wrong(lab, own, words):
    path = lab / "testbed.yaml"
    path.write_text(path.read_text().replace("dut: [sw1]", f"dut: [sw1], dut_topo: {own}"))
    with pytest.raises(TestbedError, match=words):
        testbed.describe("lab-t0", str(path), "/nowhere")
