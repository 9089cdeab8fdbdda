"""A minigraph as configuration, and `config load_minigraph`."""
from __future__ import annotations

import json

import pytest

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.factory import factory_config
from virtual_testbed.sonic.minigraph import MinigraphError, tables_of
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME, following

PROFILE = load_profile(HWSKU)
FACTORY = factory_config(PROFILE, NAME)
ALIAS = {port.name: port.alias for port in PROFILE.ports.values()}
GRAPH = f"""<DeviceMiniGraph xmlns="Microsoft.Search.Autopilot.Evolution" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">
  <CpgDec><PeeringSessions/><Routers/></CpgDec>
  <DpgDec><DeviceDataPlaneInfo>
    <LoopbackIPInterfaces xmlns:a="http://schemas.datacontract.org/2004/07/Microsoft.Search.Autopilot.Evolution">
      <a:LoopbackIPInterface><Name>HostIP</Name><AttachTo>Loopback0</AttachTo><a:PrefixStr>10.1.0.32/32</a:PrefixStr>
      </a:LoopbackIPInterface></LoopbackIPInterfaces>
    <ManagementIPInterfaces xmlns:a="http://schemas.datacontract.org/2004/07/Microsoft.Search.Autopilot.Evolution">
      <a:ManagementIPInterface><Name>HostIP</Name><AttachTo>eth0</AttachTo><a:PrefixStr>192.0.2.9/24</a:PrefixStr>
      </a:ManagementIPInterface></ManagementIPInterfaces>
    <Hostname>dut</Hostname>
    <PortChannelInterfaces><PortChannel><Name>PortChannel101</Name>
      <AttachTo>{ALIAS["Ethernet8"]};{ALIAS["Ethernet12"]}</AttachTo></PortChannel></PortChannelInterfaces>
    <VlanInterfaces>
      <VlanInterface><Name>Vlan1000</Name><AttachTo>{ALIAS["Ethernet0"]}</AttachTo><VlanID>1000</VlanID></VlanInterface>
      <VlanInterface><Name>Storage</Name><AttachTo>{ALIAS["Ethernet0"]};PortChannel101</AttachTo><VlanID>20</VlanID>
        <Type>Tagged</Type></VlanInterface></VlanInterfaces>
    <IPInterfaces>
      <IPInterface><AttachTo>{ALIAS["Ethernet4"]}</AttachTo><Prefix>10.0.0.0/31</Prefix></IPInterface>
      <IPInterface><AttachTo>Ethernet4</AttachTo><Prefix>FC00::1/126</Prefix></IPInterface>
      <IPInterface><AttachTo>Vlan1000</AttachTo><Prefix>192.168.0.1/21</Prefix></IPInterface>
      <IPInterface><AttachTo>PortChannel101</AttachTo><Prefix>10.0.0.4/31</Prefix></IPInterface></IPInterfaces>
  </DeviceDataPlaneInfo></DpgDec>
  <PngDec>
    <DeviceInterfaceLinks>
      <DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><EndDevice>T1</EndDevice><EndPort>Eth9</EndPort>
        <StartDevice>dut</StartDevice><StartPort>{ALIAS["Ethernet4"]}</StartPort></DeviceLinkBase>
      <DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><EndDevice>dut</EndDevice>
        <EndPort>{ALIAS["Ethernet0"]}</EndPort><StartDevice>Servers0</StartDevice><StartPort>eth0</StartPort>
      </DeviceLinkBase>
      <DeviceLinkBase i:type="DeviceSerialLink"><ElementType>DeviceSerialLink</ElementType><EndDevice>dut</EndDevice>
        <EndPort>1</EndPort><StartDevice>Terminal1</StartDevice><StartPort>console</StartPort></DeviceLinkBase>
    </DeviceInterfaceLinks>
    <Devices>
      <Device i:type="ToRRouter"><Hostname>dut</Hostname><HwSku>{HWSKU}</HwSku><ElementType>ToRRouter</ElementType></Device>
      <Device><Hostname>T1</Hostname><HwSku>Arista</HwSku><ElementType>LeafRouter</ElementType></Device>
      <Device><Hostname>Servers0</Hostname><ElementType>Server</ElementType></Device></Devices>
  </PngDec>
  <DeviceInfos><DeviceInfo><EthernetInterfaces
      xmlns:a="http://schemas.datacontract.org/2004/07/Microsoft.Search.Autopilot.Evolution">
      <a:EthernetInterface><InterfaceName>{ALIAS["Ethernet4"]}</InterfaceName><Speed>40000</Speed></a:EthernetInterface>
    </EthernetInterfaces><HwSku>{HWSKU}</HwSku></DeviceInfo></DeviceInfos>
  <Hostname>dut</Hostname><HwSku>{HWSKU}</HwSku>
</DeviceMiniGraph>
"""  # noqa: E501


def test_the_tables_of_a_minigraph():
    found = tables_of(GRAPH, PROFILE, FACTORY)
    ports = found.pop("PORT")
    assert found == {
        "DEVICE_METADATA": {"localhost": {
            "hostname": "dut", "hwsku": HWSKU, "type": "ToRRouter", "platform": PROFILE.platform,
            "mac": FACTORY["DEVICE_METADATA"]["localhost"]["mac"]}},
        "DEVICE_NEIGHBOR": {"Ethernet4": {"name": "T1", "port": "Eth9"},
                            "Ethernet0": {"name": "Servers0", "port": "eth0"}},
        "DEVICE_NEIGHBOR_METADATA": {"T1": {"hwsku": "Arista", "type": "LeafRouter"},
                                     "Servers0": {"hwsku": "", "type": "Server"}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.32/32": {}},
        "MGMT_INTERFACE": {"eth0|192.0.2.9/24": {"gwaddr": "192.0.2.1"}}, "MGMT_PORT": FACTORY["MGMT_PORT"],
        "VLAN": {"Vlan1000": {"alias": "Vlan1000", "vlanid": "1000"}, "Vlan20": {"alias": "Storage", "vlanid": "20"}},
        "VLAN_MEMBER": {"Vlan1000|Ethernet0": {"tagging_mode": "untagged"},
                        "Vlan20|Ethernet0": {"tagging_mode": "tagged"},
                        "Vlan20|PortChannel101": {"tagging_mode": "tagged"}},
        "VLAN_INTERFACE": {"Vlan1000": {}, "Vlan1000|192.168.0.1/21": {}},
        "PORTCHANNEL": {"PortChannel101": {"admin_status": "up", "lacp_key": "auto", "mtu": "9100",
                                           "min_links": "2"}},
        "PORTCHANNEL_MEMBER": {"PortChannel101|Ethernet8": {}, "PortChannel101|Ethernet12": {}},
        "PORTCHANNEL_INTERFACE": {"PortChannel101": {}, "PortChannel101|10.0.0.4/31": {}},
        "INTERFACE": {"Ethernet4": {}, "Ethernet4|10.0.0.0/31": {}, "Ethernet4|fc00::1/126": {}}}
    assert [name for name, row in ports.items() if row["admin_status"] == "up"] == [
        "Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"] and set(ports) == set(PROFILE.ports)
    assert (ports["Ethernet4"]["speed"], ports["Ethernet0"]["speed"]) == ("40000", "100000")
    assert ports["Ethernet4"]["description"] == "T1:Eth9"
    assert "description" not in FACTORY["PORT"]["Ethernet4"], "the factory's rows are as they were"


@pytest.mark.parametrize("graph, said", [
    ("<a>", "is not XML: "), ("<a/>", "is no minigraph: its root is a"),
    (GRAPH.replace(f"<HwSku>{HWSKU}", "<HwSku>Other"), f"is for the HwSKU Other, and this switch is a {HWSKU}"),
    (GRAPH.replace("<Hostname>dut</Hostname>\n    <Port", "<Port"), "has no DeviceDataPlaneInfo of dut"),
    (GRAPH.replace("<Device i:type=\"ToRRouter\"><Hostname>dut", "<Device><Hostname>x"), "has no Device dut"),
    (GRAPH.replace("Ethernet4<", "Ethernet5<"), "has a port Ethernet5, which this switch does not have"),
    (GRAPH.replace("10.0.0.0/31", "10.0.0.0/33"), "has an address that is none: "),
    (GRAPH.replace("<VlanID>20</VlanID>", ""), "has a VlanInterface without VlanID")])
def test_one_that_cannot_be_used_is_named(graph, said):
    with pytest.raises(MinigraphError) as raised:
        tables_of(graph, PROFILE, FACTORY)
    assert str(raised.value).startswith(said)


@pytest.fixture(name="graph")
def fixture_graph(run):
    path = run.root / "etc/sonic/minigraph.xml"
    path.write_text(GRAPH, encoding="utf-8")
    yield path
    path.unlink(missing_ok=True)


def tables(run):
    return json.loads(run("sonic-cfggen -d --print-data"))


def test_a_switch_is_configured_by_its_minigraph(run, graph, agent, config_db):
    """With what `init_cfg.json` says, SONiC's QoS, and the watchdog, if that is its default."""
    databases.change_row(config_db, "VLAN", "Vlan7", {"vlanid": "7"})
    with following(agent):
        said = run("config load_minigraph -y -p /etc/sonic/golden_config_db.json")
    assert "Running command: pfcwd start_default\n" in said and "Restarting SONiC target" in said
    found = tables(run)
    assert set(found["VLAN"]) == {"Vlan1000", "Vlan20"}, "what was there before is gone"
    assert found["DEVICE_METADATA"]["localhost"]["default_pfcwd_status"] == "enable"
    assert found["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] == "3,4"
    assert found["CABLE_LENGTH"]["AZURE"]["Ethernet4"] == "40m", "to a T1"
    assert set(found["PFC_WD"]) == {"GLOBAL", "Ethernet0", "Ethernet4"}, "where there are neighbours"
    assert found["FEATURE"]["swss"]["state"] == "enabled", "of init_cfg.json"
    assert run("sonic-cfggen -m -v DEVICE_METADATA.localhost.hostname") == "dut\n"


def test_the_watchdog_stays_off_where_init_cfg_says_so(run, graph):
    initial = run.root / "etc/sonic/init_cfg.json"
    before = initial.read_text(encoding="utf-8")
    assert '"default_pfcwd_status": "enable"' in before
    try:
        run("sed -i 's/\"default_pfcwd_status\": \"enable\"/\"default_pfcwd_status\": \"disable\"/' "
            "/etc/sonic/init_cfg.json")
        run("config load_minigraph -y -n")
        assert "PFC_WD" not in tables(run)
    finally:
        initial.write_text(before, encoding="utf-8")


def test_a_golden_configuration_takes_the_place_of_tables(run, graph):
    golden = run.root / "etc/sonic/golden.json"
    golden.write_text(json.dumps({"PFC_WD": {"Ethernet8": {"detection_time": "300"}}}), encoding="utf-8")
    assert "start_default" not in run("config load_minigraph -y -n -o -p /etc/sonic/golden.json")
    assert tables(run)["PFC_WD"] == {"Ethernet8": {"detection_time": "300"}}
    golden.unlink()
    before = tables(run)
    assert "cannot be read" in run("config load_minigraph -y -n -o -p /etc/sonic/golden.json", status=1)
    graph.unlink()
    assert "/etc/sonic/minigraph.xml cannot be read" in run("config load_minigraph -y", status=1)
    assert tables(run) == before


def test_there_is_no_bgp_session_to_start(run):
    assert run("config bgp startup all; config bgp shutdown all") == ""
    run("config bgp startup neighbor x", status=2)
