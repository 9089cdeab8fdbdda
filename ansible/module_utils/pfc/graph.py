"""The connection graph: `graph_groups.yml`, `sonic_<group>_devices.csv` and `_links.csv`, in sonic-mgmt's formats.

Runs where Ansible runs. Rows are counted as lines of the file from 1, the header included.
"""

from __future__ import annotations

import csv
import ipaddress
import os
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Mapping, Sequence

import yaml

from ansible.module_utils.pfc.config_db import natural

DEVICE_COLUMNS = ("Hostname", "ManagementIp", "HwSku", "Type")
LINK_COLUMNS = ("StartDevice", "StartPort", "EndDevice", "EndPort", "BandWidth", "VlanID", "VlanMode")
# What sonic-mgmt's traffic generator code accepts, in Mb/s
SPEEDS = ("10000", "25000", "40000", "50000", "100000", "200000", "400000", "800000")
# Ports that sonic-mgmt takes for granted where it does not know the HwSKU
USUAL_PORTS = tuple(f"Ethernet{number}" for number in range(0, 128, 4))


class GraphError(Exception):
    """A graph file cannot be used; the text is one sentence that names file, row and object."""


@dataclass(frozen=True)
class Link:
    """A cable: two ends (device, port) and the row as read; `where` is `file row n`."""

    ends: tuple[tuple[str, str], tuple[str, str]]
    row: Mapping[str, str]
    where: str


@dataclass(frozen=True)
class Graph:
    """The files of one group. `devices` are the rows by host name, `where` says which row each came from."""

    group: str
    devices_file: str
    devices: Mapping[str, Mapping[str, str]]
    where: Mapping[str, str]
    links: Sequence[Link]

    def links_of(self, device: str) -> Iterator[tuple[str, str, str, Link]]:
        """(port, peer device, peer port, link) of each cable of a device, in the file's order."""
        for link in self.links:
            for near, far in (link.ends, link.ends[::-1]):
                if near[0] == device:
                    yield near[1], far[0], far[1], link


def read_groups(folder: str) -> list[str]:
    """The groups that graph_groups.yml lists."""
    path = os.path.join(folder, "graph_groups.yml")
    try:
        with open(path, encoding="utf-8") as file:
            groups = yaml.safe_load(file)
    except OSError as error:
        raise GraphError(f"{path} cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise GraphError(f"{path} is not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(groups, list):
        raise GraphError(f"{path} must be a list of graph groups, found {type(groups).__name__}")
    return [str(group) for group in groups]


def read_graph(folder: str, group: str) -> Graph:
    """Read and check the files of a group.

    Raises:
        GraphError: the group is not listed, a file is missing, or a row is wrong.
    """
    groups = read_groups(folder)
    if group not in groups:
        listed = os.path.join(folder, "graph_groups.yml")
        raise GraphError(f"{listed} lists no group {group} (it has: {', '.join(groups) or 'none'})")
    devices_file = os.path.join(folder, f"sonic_{group}_devices.csv")
    devices: dict[str, Mapping[str, str]] = {}
    where: dict[str, str] = {}
    for at, row in _rows(devices_file, DEVICE_COLUMNS):
        name = row["Hostname"]
        if not name:
            raise GraphError(f"{at}: Hostname is empty")
        if name in devices:
            raise GraphError(f"{at}: device {name} stands already in {where[name]}")
        devices[name], where[name] = _with_address(row, at), at
    links = [_link(row, at) for at, row in _rows(os.path.join(folder, f"sonic_{group}_links.csv"), LINK_COLUMNS)]
    _check_ends(links, devices, devices_file)
    return Graph(group, devices_file, devices, where, links)


def _rows(path: str, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV file with `file row n` for messages; cells are stripped, missing ones empty."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise GraphError(f"{path} cannot be read ({error.strerror})") from error
    reader = csv.DictReader(lines, restval="")
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise GraphError(f"{path} row 1: has no column {missing[0]} (needed: {', '.join(columns)})")
    for row in reader:
        where = f"{path} row {reader.line_num}"
        if None in row:
            raise GraphError(f"{where}: has more cells than the header has columns")
        yield where, {name: value.strip() for name, value in row.items()}


def _with_address(row: Mapping[str, str], where: str) -> dict[str, str]:
    """A device with the address (`mgmtip`) and the gateway that sonic-mgmt takes from ManagementIp `a.b.c.d/len`."""
    if "/" not in row["ManagementIp"]:
        return dict(row)
    try:
        interface = ipaddress.ip_interface(row["ManagementIp"])
    except ValueError as error:
        raise GraphError(f"{where}: ManagementIp {row['ManagementIp']} of {row['Hostname']} is not an address with a "
                         "prefix length") from error
    gateway = interface.network.network_address + 1
    return {"CardType": "Linecard", "HwSkuType": "predefined", **row, "mgmtip": str(interface.ip),
            "ManagementGw": str(gateway)}


def _link(row: Mapping[str, str], where: str) -> Link:
    """One cable with both ends named and a speed that exists."""
    for column in LINK_COLUMNS[:4]:
        if not row[column]:
            raise GraphError(f"{where}: a link has two ends, but {column} is empty")
    ends = ((row["StartDevice"], row["StartPort"]), (row["EndDevice"], row["EndPort"]))
    if row["BandWidth"] not in SPEEDS:
        raise GraphError(f"{where}: BandWidth {row['BandWidth'] or '(empty)'} of {' '.join(ends[0])} is no speed of a "
                         f"port in Mb/s (one of {', '.join(SPEEDS)})")
    link = Link(ends, row, where)
    parse_vlans(link)
    return link


def _check_ends(links: Iterable[Link], devices: Mapping[str, Any], devices_file: str) -> None:
    """Every end is a device that is known, and has one cable."""
    seen: dict[tuple[str, str], str] = {}
    for link in links:
        for end in link.ends:
            if end[0] not in devices:
                raise GraphError(f"{link.where}: device {end[0]} is not in {devices_file}")
            if end in seen:
                raise GraphError(f"{link.where}: {end[0]} {end[1]} has a link already in {seen[end]}")
            seen[end] = link.where


def is_switch(device: Mapping[str, str]) -> bool:
    """Whether a row of the devices file is a SONiC switch."""
    return device["Type"].lower() == "devsonic"


def parse_vlans(link: Link) -> list[int]:
    """The numbers of VlanID: `2`, `2,5`, `10-12`.

    Raises:
        GraphError: it is something else.
    """
    found: set[int] = set()
    for part in filter(None, (part.strip() for part in link.row["VlanID"].split(","))):
        low, dash, high = part.partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise GraphError(f"{link.where}: VlanID {link.row['VlanID']} is not a list of VLAN numbers "
                             "(2 or 2,5 or 10-12)")
        found.update(range(int(low), int(high or low) + 1))
    return sorted(found)


def vlan_ranges(vlans: Iterable[int]) -> list[str]:
    """VLAN numbers as ranges: [2, 3, 4, 9] gives ["2-4", "9"]."""
    ranges: list[list[int]] = []
    for number in sorted(set(vlans)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [str(low) if low == high else f"{low}-{high}" for low, high in ranges]


def find_graph(folder: str, hosts: Iterable[str]) -> Graph | None:
    """The first group that has all these hosts, None where none has."""
    wanted = set(hosts)
    for group in read_groups(folder):
        graph = read_graph(folder, group)
        if wanted <= set(graph.devices):
            return graph
    return None


def connections(graph: Graph, device: str) -> dict[str, dict[str, Any]]:
    """What is at the other end of each port of a device."""
    found: dict[str, dict[str, Any]] = {}
    for port, peer, peer_port, link in graph.links_of(device):
        found[port] = {"peerdevice": peer, "peerport": peer_port, "speed": link.row["BandWidth"],
                       "fec_disable": link.row.get("FECDisable") or False}
        if link.row.get("AutoNeg"):
            found[port]["autoneg"] = link.row["AutoNeg"]
    return found


def port_vlans(graph: Graph, device: str) -> dict[str, dict[str, Any]]:
    """The fanout's VLANs of each port of a device."""
    return {port: {"mode": link.row["VlanMode"], "vlanids": link.row["VlanID"], "vlanlist": parse_vlans(link)}
            for port, _, _, link in graph.links_of(device)}


def graph_facts(graph: Graph, hosts: Sequence[str], ports_of: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What sonic-mgmt's `conn_graph_facts` returns for these hosts: dictionaries by host, empty ones left out.

    Args:
        graph: the graph.
        hosts: names of devices.
        ports_of: the front-panel ports of a HwSKU, for those that are known.

    Raises:
        GraphError: a host is not in the graph, or has a port that its HwSKU lacks.
    """
    for host in hosts:
        if host not in graph.devices:
            raise GraphError(f"{graph.devices_file} has no device {host} (it has: {', '.join(sorted(graph.devices))})")
    links = {host: connections(graph, host) for host in hosts}
    vlans = {host: port_vlans(graph, host) for host in hosts}
    lists = {host: sorted({number for port in vlans[host].values() for number in port["vlanlist"]}) for host in hosts}
    facts: dict[str, Any] = {
        "device_info": {host: dict(graph.devices[host]) for host in hosts},
        "device_conn": links,
        "device_linked_ports": links,
        "device_port_vlans": vlans,
        "device_vlan_list": lists,
        "device_vlan_range": {host: vlan_ranges(lists[host]) for host in hosts},
        "device_vlan_map_list": {host: _vlan_map(graph, host, lists[host], ports_of) for host in hosts},
        "device_from_l1_links": {}, "device_to_l1_links": {}, "device_l1_cross_connects": {},
        "device_console_info": {}, "device_console_link": {}, "device_pdu_info": {}, "device_pdu_links": {},
    }
    return {name: value for name, value in facts.items() if value}


def _vlan_map(graph: Graph, host: str, vlans: list[int], ports_of: Mapping[str, Sequence[str]]) -> Any:
    """For a SONiC switch {position of the port: VLAN}, for anything else the list of VLANs."""
    device = graph.devices[host]
    if not is_switch(device):
        return vlans
    ports = sorted(ports_of.get(device["HwSku"], USUAL_PORTS), key=natural)
    result: dict[int, int] = {}
    for port, _, _, link in graph.links_of(host):
        if port not in ports:
            raise GraphError(f"{link.where}: {host} ({device['HwSku']}) has no port {port} "
                             f"(it has: {', '.join(ports)})")
        result.update({ports.index(port): number for number in parse_vlans(link)})
    return result
