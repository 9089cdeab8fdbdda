"""The lab's files: graph, testbed and layout, those of the project and those that are wrong."""

import json
from pathlib import Path

import pytest
import yaml

from ansible.module_utils.pfc import graph, hwsku, layout, testbed
from ansible.module_utils.pfc.graph import GraphError
from ansible.module_utils.pfc.qos_templates import QOS_TABLES
from ansible.module_utils.pfc.testbed import TestbedError
from virtual_testbed.sonic import factory

ANSIBLE = Path(__file__).resolve().parent.parent
PROFILES = ANSIBLE.parent / "virtual_testbed" / "sonic" / "profiles"
SKU = "Arista-7060CX-32S-C32"
PORTS = [f"Ethernet{number}" for number in range(0, 128, 4)]


def make_switch(description, ports=("Ethernet0", "Ethernet4", "Ethernet8"), sku=SKU):
    """The switch of a description, with these ports."""
    name = next(iter(description["duts"]))
    return layout.SwitchFacts(name, description["duts"][name], {port: {} for port in ports}, {"hwsku": sku})


def describe(lab, name="lab-t0"):
    """A testbed of the lab."""
    return testbed.describe(name, str(lab / "testbed.yaml"), "/nowhere")


def lay_out(lab, **switch):
    """The layout of the lab's switch."""
    description = describe(lab)
    return layout.lay_out(description, make_switch(description, **switch))


def replace(path, old, new):
    """Change a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture
def facts(library):
    """Runs conn_graph_facts with these arguments."""
    def run(**params):
        names = ("host", "hosts", "anchor", "filepath", "filename", "group")
        return library("conn_graph_facts").read_facts({**dict.fromkeys(names), "ignore_errors": False, **params})
    return run


def test_the_projects_graph_has_sonic_mgmts_shape(facts):
    found = facts(filepath=str(ANSIBLE / "files"), group="vtb", hosts=["vtb-t0-01"])
    assert found["device_conn"]["vtb-t0-01"]["Ethernet64"] == {
        "peerdevice": "snappi-vtb-2", "peerport": "Card1/Port1", "speed": "100000", "fec_disable": False}
    assert list(found["device_conn"]["vtb-t0-01"]) == PORTS
    assert found["device_info"]["vtb-t0-01"]["mgmtip"] == "127.0.0.1"
    assert found["device_port_vlans"]["vtb-t0-01"]["Ethernet0"] == {"mode": "Access", "vlanids": "2", "vlanlist": [2]}
    assert found["device_vlan_list"]["vtb-t0-01"] == list(range(2, 34))
    assert found["device_vlan_range"]["vtb-t0-01"] == ["2-33"]
    assert found["device_vlan_map_list"]["vtb-t0-01"] == {index: index + 2 for index in range(32)}
    assert "device_pdu_info" not in found


def test_a_generator_has_its_side_of_the_cables(facts):
    found = facts(filepath=str(ANSIBLE / "files"), hosts=["snappi-vtb-1"])
    assert found["device_linked_ports"]["snappi-vtb-1"]["Card1/Port16"]["peerport"] == "Ethernet60"
    assert found["device_info"]["snappi-vtb-1"]["HwSku"] == "SNAPPI-tester"
    assert found["device_vlan_map_list"]["snappi-vtb-1"] == list(range(2, 18))


def test_the_graph_is_found_by_group_file_host_or_anchor(facts, lab):
    folder = str(lab / "files")
    whole = facts(filepath=folder, anchor=["sw1"])
    assert set(whole) == {"device_info", "device_conn", "device_port_vlans"} and set(whole["device_conn"]) == {
        "sw1", "snappi-1"}
    one = facts(filepath=folder, host="sw1")
    assert one == facts(filename=f"{folder}/sonic_lab_links.csv", host="sw1") == facts(filepath=folder, group="lab",
                                                                                       hosts=["sw1"])
    assert facts(filepath=folder, hosts=["unknown"])["device_info"] == {}
    with pytest.raises(GraphError, match="has no device unknown"):
        facts(filepath=folder, group="lab", hosts=["sw1", "unknown"])
    some = facts(filepath=folder, group="lab", hosts=["sw1", "unknown"], ignore_errors=True)
    assert set(some["device_info"]) == {"sw1"}
    with pytest.raises(GraphError, match="is not a graph file"):
        facts(filename="links.csv")


@pytest.mark.parametrize("file, old, new, words", [
    ("graph_groups.yml", "lab", "lob", "graph_groups.yml lists no group lab .it has: other, lob"),
    ("sonic_lab_devices.csv", "HwSku", "Sku", "devices.csv row 1: has no column HwSku"),
    ("sonic_lab_devices.csv", "snappi-1", "sw1", "devices.csv row 3: device sw1 stands already in .*devices.csv row 2"),
    ("sonic_lab_devices.csv", "192.0.2.1/24", "192.0.2/24", "devices.csv row 2: ManagementIp 192.0.2/24 of sw1 is not"),
    ("sonic_lab_links.csv", "sw1,Ethernet4", "sw2,Ethernet4", "links.csv row 3: device sw2 is not in .*devices.csv"),
    ("sonic_lab_links.csv", "sw1,Ethernet4", "sw1,Ethernet0",
     "links.csv row 3: sw1 Ethernet0 has a link already in .*row 2"),
    ("sonic_lab_links.csv", "Port2,100000", "Port2,100", "links.csv row 3: BandWidth 100 of sw1 Ethernet4 is no speed"),
    ("sonic_lab_links.csv", "Card1/Port2", "", "links.csv row 3: a link has two ends, but EndPort is empty"),
    ("sonic_lab_links.csv", "3,Access", "x,Access", "links.csv row 3: VlanID x is not a list of VLAN numbers"),
    ("sonic_lab_links.csv", "3,Access", "3,Access,5,6", "links.csv row 3: has more cells than the header"),
])
def test_a_wrong_row_is_named(lab, file, old, new, words):
    replace(lab / "files" / file, old, new)
    with pytest.raises(GraphError, match=words):
        graph.read_graph(str(lab / "files"), "lab")


def test_a_port_that_the_hwsku_lacks_is_named_by_conn_graph_facts(facts, lab):
    replace(lab / "files" / "sonic_lab_links.csv", "Ethernet4", "Ethernet5")
    with pytest.raises(GraphError, match=r"links.csv row 3: sw1 \(Arista-7060CX-32S-C32\) has no port Ethernet5"):
        facts(filepath=str(lab / "files"), group="lab", hosts=["sw1"])


@pytest.mark.parametrize("vlans, ranges", [([], []), ([2], ["2"]), ([4, 2, 3, 9, 3], ["2-4", "9"])])
def test_vlan_ranges(vlans, ranges):
    assert graph.vlan_ranges(vlans) == ranges


def test_both_forms_of_an_entry_are_read(lab):
    classic, newer = describe(lab), describe(lab, "lab-new")
    assert {**newer, "name": "lab-t0"} == classic
    assert classic["duts"]["sw1"]["links"][1]["where"].endswith("sonic_lab_links.csv row 3")


def test_a_testbed_file_that_stands_alone_uses_the_lab_folder(lab, tmp_path):
    alone = tmp_path / "elsewhere" / "testbed.yaml"
    alone.parent.mkdir()
    alone.write_text((lab / "testbed.yaml").read_text())
    assert testbed.describe("lab-t0", str(alone), str(lab))["lab_folder"] == str(lab)
    alone.write_text("- {conf-name: lab-t0, topo: small, inv_name: lab, dut: sw1, lab_folder: ..}\n")
    assert testbed.describe("lab-t0", str(alone), "/nowhere")["duts"]["sw1"]["hwsku"] == SKU


@pytest.mark.parametrize("old, new, words", [
    ("conf-name: lab-t0", "conf-name: lab-t1", r"testbed.yaml has no testbed lab-t0 \(it has: lab-t1, lab-new\)"),
    ("name: lab-new", "name: lab-t0", "has more than one testbed lab-t0"),
    ("dut: [sw1]", "dut: []", "names no switch"),
    ("dut: [sw1]", "dut: [sw9]", r"switch sw9 is not in .*devices.csv \(it has: snappi-1, sw1\)"),
    ("dut: [sw1]", "dut: [snappi-1]",
     "devices.csv row 3: snappi-1 is a switch under test and must be of Type DevSonic"),
    ("topo: small", "topo: large", "topo_large.yml cannot be read"),
    ("topo: small, ", "", "testbed lab-t0 has no topo"),
    ("- {", "- [", "is not YAML"),
])
def test_a_wrong_testbed_is_one_sentence(lab, old, new, words):
    replace(lab / "testbed.yaml", old, new)
    with pytest.raises(TestbedError, match=words):
        describe(lab)


def test_the_t0_of_the_project():
    description = testbed.describe("vtb-t0", str(ANSIBLE / "testbed.yaml"), "/nowhere")
    result = layout.lay_out(description, make_switch(description, PORTS))
    tables = result["tables"]
    assert json.loads(json.dumps(tables)) == tables and result["ports"] == PORTS
    assert tables["PORT"]["Ethernet124"] == {"admin_status": "up", "speed": "100000", "mtu": "9100"}
    assert tables["VLAN"] == {"Vlan1000": {"vlanid": "1000"}}
    assert tables["VLAN_MEMBER"] == {f"Vlan1000|{port}": {"tagging_mode": "untagged"} for port in PORTS}
    assert tables["VLAN_INTERFACE"] == {"Vlan1000": {}, "Vlan1000|192.168.0.1/21": {}, "Vlan1000|fc02:1000::1/64": {}}
    assert tables["LOOPBACK_INTERFACE"] == {"Loopback0": {}, "Loopback0|10.1.0.32/32": {}}
    assert "INTERFACE" not in tables and "Ethernet0|*" in result["absent"]["INTERFACE"]
    assert tables["DEVICE_NEIGHBOR"]["Ethernet64"] == {"name": "snappi-vtb-2", "port": "Card1/Port1"}
    assert set(tables) & set(QOS_TABLES) == {"CABLE_LENGTH"}
    assert tables["CABLE_LENGTH"]["AZURE"] == dict.fromkeys(PORTS, "5m")
    assert tables["DEVICE_METADATA"]["localhost"] == {"type": "ToRRouter", "default_pfcwd_status": "enable"}


CHAIN = ["vtb-chain-01", "vtb-chain-02", "vtb-chain-03"]


def lay_out_chain(name, description=None):
    """The layout of a switch of the project's three in a row."""
    found = description or testbed.describe("vtb-chain", str(ANSIBLE / "testbed.yaml"), "/nowhere")
    switch = layout.SwitchFacts(name, found["duts"][name], {port: {} for port in PORTS}, {"hwsku": SKU})
    return layout.lay_out(found, switch)


def test_three_switches_in_a_row():
    found = {name: lay_out_chain(name) for name in CHAIN}
    tables = {name: one["tables"] for name, one in found.items()}
    assert [one["ports"][-2:] for one in found.values()] == [
        ["Ethernet12", "Ethernet124"], ["Ethernet120", "Ethernet124"], ["Ethernet12", "Ethernet120"]]
    middle = tables["vtb-chain-02"]
    assert middle["DEVICE_NEIGHBOR"]["Ethernet120"] == {"name": "vtb-chain-01", "port": "Ethernet124"}
    assert middle["DEVICE_NEIGHBOR"]["Ethernet124"] == {"name": "vtb-chain-03", "port": "Ethernet120"}
    assert {port for port, length in middle["CABLE_LENGTH"]["AZURE"].items() if length == "40m"} == {
        "Ethernet120", "Ethernet124"}
    assert set(tables["vtb-chain-01"]["CABLE_LENGTH"]["AZURE"].items()) >= {("Ethernet0", "5m"), ("Ethernet124", "40m")}
    for one in tables.values():
        assert set(one["VLAN_MEMBER"]) == {f"Vlan1000|Ethernet{at}" for at in (0, 4, 8, 12, 120, 124)}
    for table in ("VLAN_INTERFACE", "LOOPBACK_INTERFACE"):
        addresses = [key for one in tables.values() for key in one[table] if "|" in key]
        assert len(set(addresses)) == len(addresses) == {"VLAN_INTERFACE": 6, "LOOPBACK_INTERFACE": 3}[table]
    assert "Vlan1000|192.168.7.3/21" in tables["vtb-chain-03"]["VLAN_INTERFACE"]


@pytest.mark.parametrize("changes, words", [
    ({"prefix": "192.168.0.1/21"}, "prefix of Vlan1000 would be 192.168.0.1/21 on vtb-chain-01 and on vtb-chain-02, "
     "which its Ethernet124 leads to; it must be a list of 3 addresses"),
    ({"prefix": ["192.168.0.1/21", "192.168.0.1/21", "192.168.0.2/21"]},
     "prefix of Vlan1000 must be 3 different addresses, one for each of vtb-chain-01, vtb-chain-02, vtb-chain-03; fou"),
    ({"prefix_v6": ["fc02::1/64"]}, "prefix_v6 of Vlan1000 must be 3 different addresses"),
])
def test_switches_in_a_row_that_cannot_be_deployed(changes, words):
    found = testbed.describe("vtb-chain", str(ANSIBLE / "testbed.yaml"), "/nowhere")
    found["topology"]["topology"]["DUT"]["vlan_configs"]["one_vlan_a"]["Vlan1000"].update(changes)
    with pytest.raises(TestbedError, match=words):
        lay_out_chain("vtb-chain-01", found)


def test_routed_ports_of_several_switches_have_different_addresses(lab):
    replace(lab / "files" / "sonic_lab_devices.csv", "snappi-1", f"sw2,192.0.2.3/24,{SKU},DevSonic\nsnappi-1")
    replace(lab / "files" / "sonic_lab_links.csv", "3,Access\n",
            "3,Access\nsw2,Ethernet0,snappi-1,Card1/Port3,100000,4,Access\n")
    replace(lab / "testbed.yaml", "dut: [sw1]", "dut: [sw1, sw2]")
    replace(lab / "vars" / "topo_small.yml", "intfs: [0, 1], ", "intfs: [1], ")
    replace(lab / "vars" / "topo_small.yml", "loopback: {ipv4: [10.1.0.32/32]}", "loopback: {}")
    found = describe(lab)
    ports = {"Ethernet0": {}, "Ethernet4": {}}
    switches = [layout.SwitchFacts(name, found["duts"][name], ports, {"hwsku": SKU})
                for name in ("sw1", "sw2")]
    rows = [layout.lay_out(found, switch)["tables"]["INTERFACE"] for switch in switches]
    assert "Ethernet0|10.0.0.0/31" in rows[0] and "Ethernet0|10.0.0.4/31" in rows[1]


def test_cables_between_switches_are_seen_from_both_ends(facts):
    found = facts(filepath=str(ANSIBLE / "files"), group="vtb", hosts=CHAIN)
    assert found["device_conn"]["vtb-chain-01"]["Ethernet124"] == {
        "peerdevice": "vtb-chain-02", "peerport": "Ethernet120", "speed": "100000", "fec_disable": False}
    assert found["device_conn"]["vtb-chain-02"]["Ethernet120"] == {
        "peerdevice": "vtb-chain-01", "peerport": "Ethernet124", "speed": "100000", "fec_disable": False}
    assert found["device_linked_ports"] == found["device_conn"]
    assert found["device_port_vlans"]["vtb-chain-03"]["Ethernet120"] == {
        "mode": "Access", "vlanids": "47", "vlanlist": [47]}
    assert found["device_vlan_map_list"]["vtb-chain-02"] == {0: 38, 1: 39, 2: 40, 3: 41, 30: 46, 31: 47}


def test_hwskus_have_the_ports_of_the_virtual_switch():
    for path in sorted((ANSIBLE / "vars" / "hwsku").glob("*.yml")):
        profile = json.loads((PROFILES / f"{path.stem}.json").read_text())
        assert hwsku.load(str(path.parent), path.stem) == {"ports": [port["name"] for port in profile["ports"]]}


def test_what_the_templates_make_is_what_the_virtual_switch_clears():
    assert set(QOS_TABLES) == set(factory.QOS_TABLES)


def test_a_t1_has_routed_ports(lab):
    topology = yaml.safe_load((lab / "vars" / "topo_small.yml").read_text())
    topology["configuration_properties"]["common"]["dut_type"] = "LeafRouter"
    topology["topology"] = {"host_interfaces": [0], "VMs": {"ARISTA01T0": {"vlans": [1], "vm_offset": 0}}}
    peer = {"interfaces": {"Loopback0": {"ipv4": "100.1.0.1/32"},
                           "Ethernet1": {"ipv4": "10.9.0.1/31", "ipv6": "FC00::a/126"}},
            "bgp": {"asn": 64001, "peers": {65100: ["10.9.0.0", "FC00::9"]}}}
    topology["configuration"] = {"ARISTA01T0": peer}
    (lab / "vars" / "topo_small.yml").write_text(yaml.safe_dump(topology))
    tables = lay_out(lab)["tables"]
    assert set(tables["INTERFACE"]) == {"Ethernet0", "Ethernet0|10.0.0.0/31", "Ethernet0|fc00::1/126", "Ethernet4",
                                        "Ethernet4|10.9.0.0/31", "Ethernet4|fc00::9/126"}
    assert "VLAN" not in tables and tables["DEVICE_METADATA"]["localhost"]["type"] == "LeafRouter"
    assert tables["CABLE_LENGTH"]["AZURE"]["Ethernet0"] == "40m"

    peer["bgp"]["peers"][65100] = ["10.8.0.0"]
    (lab / "vars" / "topo_small.yml").write_text(yaml.safe_dump(topology))
    with pytest.raises(TestbedError, match="addresses of ARISTA01T0 do not match"):
        lay_out(lab)
    peer["interfaces"]["Port-Channel1"] = {"ipv4": "10.9.0.1/31"}
    (lab / "vars" / "topo_small.yml").write_text(yaml.safe_dump(topology))
    with pytest.raises(TestbedError, match="ARISTA01T0 is behind a LAG, which is not deployed"):
        lay_out(lab)


def test_a_link_to_a_port_that_the_switch_lacks(lab):
    with pytest.raises(TestbedError, match=r"sonic_lab_links.csv row 3: sw1 has no port Ethernet4 \(its 2 ports: "
                                           r"Ethernet0, Ethernet8\)"):
        lay_out(lab, ports=["Ethernet8", "Ethernet0"])


def test_a_switch_of_another_hwsku(lab):
    with pytest.raises(TestbedError, match="row 2: sw1 is described as HwSku .*-C32, but the switch says it is X"):
        lay_out(lab, sku="X")


@pytest.mark.parametrize("old, new, words", [
    ("intfs: [0, 1]", "intfs: [0, 3]", "interface 3 is not a position among the switch's 3 ports"),
    ("default_vlan_config: one", "default_vlan_config: two",
     r"default_vlan_config two is not one of vlan_configs \(one\)"),
    ("ToRRouter", "Spine", "dut_type Spine is not one that can be deployed"),
])
def test_a_topology_that_does_not_fit(lab, old, new, words):
    replace(lab / "vars" / "topo_small.yml", old, new)
    with pytest.raises(TestbedError, match=words):
        lay_out(lab)


def test_the_layout_module_and_a_hwsku_without_ports(library, lab):
    params = {"testbed": describe(lab), "switch": "sw1", "ports": {"Ethernet0": {}, "Ethernet4": {}},
              "metadata": {"hwsku": SKU}}
    assert library("pfc_testbed_layout").make_layout(params)["ports"] == ["Ethernet0", "Ethernet4"]
    (lab / "vars" / "hwsku" / f"{SKU}.yml").write_text("port: []\n")
    with pytest.raises(hwsku.HwSkuError, match="has no key ports"):
        describe(lab)
