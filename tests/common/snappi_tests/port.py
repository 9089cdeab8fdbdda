"""Ports of traffic generators, in the shape in which sonic-mgmt's fixture `get_snappi_ports` gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.common.errors import LabError

PortFacts = dict[str, Any]
GENERATOR_NAMES = ("snappi", "ixia", "stc")  # sonic-mgmt knows a traffic generator by its hostname


def port_location(chassis_ip: str, port: str) -> dict[str, str]:
    """Where a chassis port is, as OTG wants it.

    Args:
        chassis_ip: address of the chassis.
        port: its port in the links file: `Card1/Port2`, or `Port2`.

    Returns:
        `card_id` (where there are cards), `port_id`, and `location`: `ip;card;port`, or `ip/port`.

    Raises:
        LabError: neither of the two forms.
    """
    match = re.fullmatch(r"(?:Card(\d+)/)?Port(\d+(?:\.\d+)?)", port)
    if match is None:
        raise LabError(
            f"the links file names {port!r} on {chassis_ip}; a traffic generator's port is CardN/PortM or PortM"
        )
    card, number = match.groups()
    if card is None:
        return {"port_id": number, "location": f"{chassis_ip}/{number}"}
    return {"card_id": card, "port_id": number, "location": f"{chassis_ip};{card};{number}"}


def generator_ports(
    duts: Iterable[str], conn_graph: Mapping[str, Any], fanout_graph: Mapping[str, Mapping[str, Any]]
) -> list[PortFacts]:
    """Every port of the switches that has a traffic generator behind it, in the order of the links file.

    Args:
        duts: switches.
        conn_graph: the fixture `conn_graph_facts`.
        fanout_graph: the fixture `fanout_graph_facts_multidut`.
    """
    return [port for dut in duts for port in _ports_of(dut, conn_graph, fanout_graph)]


def _ports_of(
    dut: str, conn_graph: Mapping[str, Any], fanout_graph: Mapping[str, Mapping[str, Any]]
) -> Iterator[PortFacts]:
    for dut_port, link in conn_graph["device_conn"].get(dut, {}).items():
        chassis = link["peerdevice"]
        if not any(part in chassis.lower() for part in GENERATOR_NAMES):
            continue
        info = fanout_graph.get(chassis, {}).get("device_info", {})
        address = str(info.get("mgmtip", "")).split("/")[0]
        if not address:
            raise LabError(f"the devices file gives traffic generator {chassis} no ManagementIp")
        yield {
            **port_location(address, link["peerport"]),
            "ip": address,
            "chassis": chassis,
            "peer_device": dut,
            "peer_port": dut_port,
            "speed": str(link["speed"]),
            "intf_config_changed": False,
        }
