"""A minigraph of a deployed switch, in the layout that sonic-mgmt's and SONiC's parsers read, made from CONFIG_DB."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

MINIGRAPH = "/etc/sonic/minigraph.xml"
_GRAPH = "Microsoft.Search.Autopilot.Evolution"
_DATA = "http://schemas.datacontract.org/2004/07/Microsoft.Search.Autopilot.Evolution"
_NET = "Microsoft.Search.Autopilot.NetMux"
_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"


def minigraph(host: str, config: Mapping[str, Any], with_speeds: bool = False) -> str:
    """The XML; ports, VLANs and links are named by alias, as minigraphs do. `with_speeds`: it has those of ports."""
    root = Element(f"{{{_GRAPH}}}DeviceMiniGraph")
    _add_routing(root)
    _add_data_plane(root, host, config)
    _add_links(root, host, config)
    if with_speeds:
        _add_speeds(root, config)
    metadata = _add(root, "MetadataDeclaration")
    _add(metadata, "Devices")
    _add(root, "Hostname", host)
    _add(root, "HwSku", config["DEVICE_METADATA"]["localhost"]["hwsku"])
    return ElementTree.tostring(root, encoding="unicode")


def _add(parent: Element, name: str, text: str | None = None, space: str = _GRAPH) -> Element:
    child = SubElement(parent, f"{{{space}}}{name}")
    child.text = text
    return child


def _add_routing(root: Element) -> None:
    """No BGP."""
    routing = _add(root, "CpgDec")
    _add(routing, "PeeringSessions")
    _add(routing, "Routers")


def _add_data_plane(root: Element, host: str, config: Mapping[str, Any]) -> None:
    plane = _add(_add(root, "DpgDec"), "DeviceDataPlaneInfo")
    _add(plane, "Hostname", host)
    loopbacks = _add(plane, "LoopbackIPInterfaces")
    for name, prefix in _addresses(config, "LOOPBACK_INTERFACE"):
        _add_address(loopbacks, "LoopbackIPInterface", name, prefix)
    management = _add(plane, "ManagementIPInterfaces")
    for name, prefix in _addresses(config, "MGMT_INTERFACE"):
        _add_address(management, "ManagementIPInterface", name, prefix)
    for name in ("PortChannelInterfaces", "AclInterfaces"):
        _add(plane, name)
    vlans = _add(plane, "VlanInterfaces")
    for name, row in config.get("VLAN", {}).items():
        _add_vlan(vlans, name, row["vlanid"], config)
    interfaces = _add(plane, "IPInterfaces")
    aliases = {name: row["alias"] for name, row in config["PORT"].items()}
    for table in ("INTERFACE", "VLAN_INTERFACE"):
        for name, prefix in _addresses(config, table):
            interface = _add(interfaces, "IPInterface")
            _add(interface, "AttachTo", aliases.get(name, name))
            _add(interface, "Prefix", prefix)


def _add_address(parent: Element, kind: str, name: str, prefix: str) -> None:
    interface = _add(parent, kind, space=_DATA)
    _add(interface, "AttachTo", name)
    _add(interface, "PrefixStr", prefix, _DATA)


def _add_vlan(parent: Element, name: str, vlan_id: str, config: Mapping[str, Any]) -> None:
    members = [key.split("|")[1] for key in config.get("VLAN_MEMBER", {}) if key.split("|")[0] == name]
    vlan = _add(parent, "VlanInterface")
    _add(vlan, "Name", name)
    _add(vlan, "AttachTo", ";".join(config["PORT"][member]["alias"] for member in members))
    _add(vlan, "VlanID", vlan_id)


def _add_links(root: Element, host: str, config: Mapping[str, Any]) -> None:
    links = _add(root, "PngDec")
    interfaces = _add(links, "DeviceInterfaceLinks")
    for port, row in config.get("DEVICE_NEIGHBOR", {}).items():
        link = _add(interfaces, "DeviceLinkBase")
        link.set(f"{{{_SCHEMA}}}type", "DeviceInterfaceLink")
        _add(link, "ElementType", "DeviceInterfaceLink")
        _add(link, "EndDevice", row["name"])
        _add(link, "EndPort", row["port"])
        _add(link, "StartDevice", host)
        _add(link, "StartPort", config["PORT"][port]["alias"])
    device = _add(_add(links, "Devices"), "Device")
    _add(device, "Hostname", host)
    _add(device, "HwSku", config["DEVICE_METADATA"]["localhost"]["hwsku"])
    _add(device, "ElementType", config["DEVICE_METADATA"]["localhost"]["type"])
    for _, prefix in _addresses(config, "MGMT_INTERFACE"):
        _add(_add(device, "ManagementAddress"), "IPPrefix", prefix, _NET)


def _add_speeds(root: Element, config: Mapping[str, Any]) -> None:
    device = _add(_add(root, "DeviceInfos"), "DeviceInfo")
    interfaces = _add(device, "EthernetInterfaces")
    for row in config["PORT"].values():
        interface = _add(interfaces, "EthernetInterface", space=_DATA)
        _add(interface, "InterfaceName", row["alias"])
        _add(interface, "Speed", row["speed"])
    _add(device, "HwSku", config["DEVICE_METADATA"]["localhost"]["hwsku"])


def _addresses(config: Mapping[str, Any], table: str) -> Iterator[tuple[str, str]]:
    """Name and address of each row that has both."""
    for key in config.get(table, {}):
        name, bar, prefix = key.partition("|")
        if bar:
            yield name, prefix
