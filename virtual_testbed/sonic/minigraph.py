"""A minigraph as configuration: what sonic-config-engine's `minigraph.py` makes of it, of what a virtual switch has.

Read: host and role, ports with their speed and neighbour, VLANs, PortChannels, and addresses of these, of loopbacks and
of the management port. Not read: BGP, ACLs, servers of any kind, multi-ASIC and chassis.
"""
from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from virtual_testbed.sonic.databases import Config, Row
from virtual_testbed.sonic.profile import Profile

FILE = "/etc/sonic/minigraph.xml"
_LINK = "DeviceInterfaceLink"


class MinigraphError(Exception):
    """A minigraph that cannot be used; the text says why, after the file's name."""


def tables_of(text: str, profile: Profile, factory: Config) -> Config:
    """The tables of a minigraph.

    Args:
        text: the XML.
        profile: the hardware.
        factory: what the switch has that was never configured, for its ports and what names its hardware.

    Raises:
        MinigraphError: it is none, or one of another switch.
    """
    root = _root(text)
    host = _text(root, "Hostname")
    hwsku = _text(root, "HwSku")
    if hwsku != profile.hwsku:
        raise MinigraphError(f"is for the HwSKU {hwsku}, and this switch is a {profile.hwsku}")
    plane = next((one for one in root.iterfind("DpgDec/DeviceDataPlaneInfo") if one.findtext("Hostname") == host), None)
    if plane is None:
        raise MinigraphError(f"has no DeviceDataPlaneInfo of {host}")
    names = _Names(profile)
    neighbors = _neighbors(root, host, names)
    identity = factory["DEVICE_METADATA"]["localhost"]
    kinds = {_text(device, "Hostname"): device for device in root.iterfind("PngDec/Devices/Device")}
    if host not in kinds:
        raise MinigraphError(f"has no Device {host}")
    config: Config = {
        "DEVICE_METADATA": {"localhost": {
            **{name: identity[name] for name in ("hwsku", "mac", "platform")}, "hostname": host,
            "type": _text(kinds[host], "ElementType")}},
        "DEVICE_NEIGHBOR": neighbors,
        "DEVICE_NEIGHBOR_METADATA": {row["name"]: {"hwsku": kinds[row["name"]].findtext("HwSku") or "",
                                                   "type": _text(kinds[row["name"]], "ElementType")}
                                     for row in neighbors.values() if row["name"] in kinds},
        "LOOPBACK_INTERFACE": _with_names(_own_addresses(plane, "LoopbackIPInterface")),
        "MGMT_INTERFACE": {f"{name}|{prefix}": {"gwaddr": _first_host(prefix)}
                           for name, prefix in _own_addresses(plane, "ManagementIPInterface")},
        "MGMT_PORT": factory["MGMT_PORT"],
        **_vlans(plane, names), **_port_channels(plane, names), **_interfaces(plane, names)}
    config["PORT"] = _ports(root, config, names, factory["PORT"])
    return {table: rows for table, rows in config.items() if rows}


class _Names:
    """Names of ports by alias; a minigraph may also have the names themselves."""

    def __init__(self, profile: Profile) -> None:
        self._by_alias = {port.alias: port.name for port in profile.ports.values()}
        self._names = frozenset(profile.ports)

    def port(self, text: str) -> str:
        """Of a port. Raises MinigraphError: this switch has none of that name."""
        name = text if text in self._names else self._by_alias.get(text, "")
        if not name:
            raise MinigraphError(f"has a port {text}, which this switch does not have")
        return name

    def interface(self, text: str) -> str:
        """Of a port, a VLAN or a PortChannel."""
        return text if text.startswith(("Vlan", "PortChannel")) else self.port(text)

    def ports(self, text: str) -> list[str]:
        """Of `Ethernet1/1;Ethernet2/1`."""
        return [self.port(part) for part in text.split(";") if part]


def _root(text: str) -> Element:
    """The document, without namespaces."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise MinigraphError(f"is not XML: {error}") from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "DeviceMiniGraph":
        raise MinigraphError(f"is no minigraph: its root is {root.tag}, not DeviceMiniGraph")
    return root


def _text(parent: Element, name: str) -> str:
    found = parent.findtext(name)
    if not found:
        raise MinigraphError(f"has a {parent.tag} without {name}")
    return found.strip()


def _neighbors(root: Element, host: str, names: _Names) -> dict[str, Row]:
    found = {}
    for link in root.iterfind("PngDec/DeviceInterfaceLinks/DeviceLinkBase"):
        if _text(link, "ElementType") != _LINK:
            continue
        for own, other in (("Start", "End"), ("End", "Start")):
            if link.findtext(f"{own}Device") == host:
                found[names.port(_text(link, f"{own}Port"))] = {
                    "name": _text(link, f"{other}Device"), "port": _text(link, f"{other}Port")}
    return found


def _own_addresses(plane: Element, kind: str) -> Iterator[tuple[str, str]]:
    """Name and prefix of each loopback or management address."""
    for interface in plane.iterfind(f"{kind}s/{kind}"):
        yield _text(interface, "AttachTo"), _prefix(_text(interface, "PrefixStr"))


def _prefix(text: str) -> str:
    try:
        return str(ipaddress.ip_interface(text))
    except ValueError as error:
        raise MinigraphError(f"has an address that is none: {error}") from error


def _first_host(prefix: str) -> str:
    network = ipaddress.ip_interface(prefix).network
    return str(next(iter(network.hosts()), network.network_address))


def _with_names(addresses: Iterator[tuple[str, str]]) -> dict[str, Row]:
    """Rows of interfaces and of their addresses."""
    rows: dict[str, Row] = {}
    for name, prefix in addresses:
        rows.update({name: {}, f"{name}|{prefix}": {}})
    return rows


def _vlans(plane: Element, names: _Names) -> Config:
    vlans: dict[str, Row] = {}
    members: dict[str, Row] = {}
    for interface in plane.iterfind("VlanInterfaces/VlanInterface"):
        number = _text(interface, "VlanID")
        mode = "tagged" if interface.findtext("Type") == "Tagged" else "untagged"
        vlans[f"Vlan{number}"] = {"alias": _text(interface, "Name"), "vlanid": number}
        members.update({f"Vlan{number}|{names.interface(part)}": {"tagging_mode": mode}
                        for part in (interface.findtext("AttachTo") or "").split(";") if part})
    return {"VLAN": vlans, "VLAN_MEMBER": members}


def _port_channels(plane: Element, names: _Names) -> Config:
    channels: dict[str, Row] = {}
    members: dict[str, Row] = {}
    for channel in plane.iterfind("PortChannelInterfaces/PortChannel"):
        name = _text(channel, "Name")
        ports = names.ports(_text(channel, "AttachTo"))
        fallback = channel.findtext("Fallback")
        channels[name] = {"admin_status": "up", "lacp_key": "auto", "mtu": "9100",
                          "min_links": str(math.ceil(len(ports) * 0.75)),
                          **({"fallback": fallback.lower()} if fallback else {})}
        members.update({f"{name}|{port}": {} for port in ports})
    return {"PORTCHANNEL": channels, "PORTCHANNEL_MEMBER": members}


def _interfaces(plane: Element, names: _Names) -> Config:
    found: Config = {"VLAN_INTERFACE": {}, "PORTCHANNEL_INTERFACE": {}, "INTERFACE": {}}
    for interface in plane.iterfind("IPInterfaces/IPInterface"):
        name = names.interface(_text(interface, "AttachTo"))
        prefix = _prefix(_text(interface, "Prefix"))
        table = next(table for table in found if name.upper().startswith(table.rpartition("_")[0]))
        found[table].update({name: {}, f"{name}|{prefix}": {}})
    return found


def _ports(root: Element, config: Config, names: _Names, ports: dict[str, Row]) -> dict[str, Row]:
    """The hardware's ports; up are those with a neighbour, an address, a VLAN or a PortChannel."""
    used = {*config["DEVICE_NEIGHBOR"], *(key.partition("|")[0] for key in config["INTERFACE"]),
            *(key.partition("|")[2] for key in (*config["VLAN_MEMBER"], *config["PORTCHANNEL_MEMBER"]))}
    found = {name: {**row, "admin_status": "up" if name in used else "down"} for name, row in ports.items()}
    for name, row in config["DEVICE_NEIGHBOR"].items():
        found[name]["description"] = f"{row['name']}:{row['port']}"
    hwsku = root.findtext("HwSku")
    for device in root.iterfind("DeviceInfos/DeviceInfo"):
        if device.findtext("HwSku") == hwsku:
            for interface in device.iterfind("EthernetInterfaces/EthernetInterface"):
                found[names.port(_text(interface, "InterfaceName"))]["speed"] = _text(interface, "Speed")
    return found
