"""What snappi_ixnetwork imports into a session, as far as these tests need it."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from virtual_testbed.ixnetwork.tree import Node

Packet = Mapping[str, Mapping[str, Any]]
LOCATIONS = {"10.0.0.9;1;1": 100_000, "10.0.0.9;1;2": 100_000}
NAMES = ("rx", "tx")
MACS = ("02:00:00:00:01:02", "02:00:00:00:01:03")
DATA: Packet = {"ethernet": {"destinationAddress": MACS[0], "sourceAddress": MACS[1], "pfcQueue": 3},
                "ipv4": {"srcIp": "192.168.0.3", "dstIp": "192.168.0.2", "assuredForwardingPHB": [3]},
                "udp": {"srcPort": 5003, "dstPort": 5003}}
STORM: Packet = {"pfcPause": {"dstAddress": "01:80:C2:00:00:01", "srcAddress": "00:00:fa:ce:fa:ce", "ethertype": "8808",
                              "controlOpcode": "101", "priorityEnableVector": "18",
                              **{f"pfcQueue{number}": "ffff" if number in (3, 4) else "0" for number in range(8)}}}


def ports() -> list[Node]:
    """Two ports with a location each."""
    return [{"xpath": f"/vport[{number}]", "name": name, "location": location}
            for number, (name, location) in enumerate(zip(NAMES, LOCATIONS, strict=True), 1)]


def honouring(number: int, card: str = "novusHundredGigLan", **fcoe: Any) -> list[Node]:
    """Layer 1 of a port that honours PFC."""
    base = f"/vport[{number}]/l1Config"
    return [{"xpath": base, "currentType": f"{card}Fcoe"},
            {"xpath": f"{base}/{card}/fcoe", "pfcPriorityGroups": list(range(8)), **fcoe}]


def multivalue(source: str, value: Any) -> Node:
    """A value of a host."""
    xpath = f"/multivalue[@source = '{source}']"
    return {"xpath": xpath, "singleValue": {"xpath": f"{xpath}/singleValue", "value": value}}


def host(number: int, version: str = "ipv4", address: str = "192.168.0.2", gateway: str = "192.168.0.1") -> Node:
    """A topology with one host, behind the port of that number."""
    base = f"/topology[{number}]"
    group = f"{base}/deviceGroup[1]"
    ethernet = f"{group}/ethernet[1]"
    given = {"address": address, "gatewayIp": gateway, "prefix": 21}
    network = {"xpath": f"{ethernet}/{version}[1]", "name": f"address {number}",
               **{name: multivalue(f"{ethernet}/{version}[1] {name}", value) for name, value in given.items()}}
    return {"xpath": base, "name": f"topology {number}", "ports": [f"/vport[{number}]"], "deviceGroup": [
        {"xpath": group, "name": f"host {number}", "ethernet": [
            {"xpath": ethernet, "name": f"ethernet {number}", "mac": multivalue(f"{ethernet} mac", MACS[number - 1]),
             "mtu": multivalue(f"{ethernet} mtu", 1500), version: [network]}]}]}


def field(base: str, name: str, number: int, value: Any) -> Node:
    """A field of a header; None: one that IxNetwork fills in by itself."""
    node: Node = {"xpath": f"{base}/field[@alias = '{name}-{number}']"}
    if value is None:
        return {**node, "valueType": "auto"}
    kind = "valueList" if isinstance(value, list) else "singleValue"
    return {**node, "valueType": kind, kind: value}


def item(number: int, name: str, packet: Packet = DATA, sends: int = 2, **changes: Node) -> Node:
    """A traffic item, from the port of number `sends` to the other one.

    Args:
        number: of the item.
        name: its name.
        packet: header -> field -> value, in order.
        sends: number of the port that sends.
        changes: `frameSize`, `frameRate`, `transmissionControl`, instead of these here.
    """
    base = f"/traffic/trafficItem[{number}]"
    element = f"{base}/configElement[1]"
    stack = []
    for place, (header, fields) in enumerate(packet.items(), 1):
        xpath = f"{element}/stack[@alias = '{header}-{place}']"
        stack.append({"xpath": xpath, "field": [
            field(xpath, f"{header}.header.{key}", at, value) for at, (key, value) in enumerate(fields.items(), 1)]})
    parts = {"frameSize": {"type": "fixed", "fixedSize": 1024}, "frameRate": {"type": "percentLineRate", "rate": 50.0},
             "transmissionControl": {"type": "fixedDuration", "duration": 5}, **changes}
    ends = {"sources": [f"/vport[{sends}]/protocols"], "destinations": [f"/vport[{3 - sends}]/protocols"]}
    return {"xpath": base, "name": name, "trafficType": "raw",
            "endpointSet": [{"xpath": f"{base}/endpointSet[1]", **ends}],
            "configElement": [{"xpath": element, "stack": stack,
                               **{key: {"xpath": f"{element}/{key}", **part} for key, part in parts.items()}}]}


def configuration(items: Sequence[Node], hosts: Sequence[Node] = ()) -> list[Node]:
    """An import of two ports, hosts and traffic items."""
    return [{"xpath": "/", "vport": ports()}, {"xpath": "/", "topology": list(hosts)},
            {"xpath": "/", "traffic": {"xpath": "/traffic", "trafficItem": list(items)}}]
