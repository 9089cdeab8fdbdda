"""Who is behind a generator port although no device was configured there.

A switch sends frames to an address that it has not learned to every port of the VLAN; this one sends them nowhere. A
flow between ports says who shall receive it, so its destination is taken to be there, as if the switch had learned it.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from virtual_testbed.dataplane.model.traffic import DataFlow, EmulatedHost
from virtual_testbed.otg.devices import ANY_MAC, Fabric
from virtual_testbed.otg.flows import FlowSetup

GROUP_BIT = 0x01  # of the first byte: an address of many


def learned_stations(
        setups: Iterable[FlowSetup], hosts: Iterable[EmulatedHost], fabric: Fabric) -> tuple[EmulatedHost, ...]:
    """One host for each unicast destination that nobody has and that all flows to it send to the same one receiver.

    A flow's own sender among its receivers does not count: it receives nothing of it.
    """
    receivers: dict[str, set[tuple[str, ...]]] = {}
    for flow in _unknown(setups, hosts, fabric):
        others = tuple(port for port in flow.rx_ports if port != flow.tx_port)
        if others or not flow.rx_ports:
            receivers.setdefault(flow.destination_mac.lower(), set()).add(others)
    return tuple(EmulatedHost(f"station {mac}", ports[0], mac, ()) for mac, ways in receivers.items()
                 for ports in ways if len(ways) == len(ports) == 1)


def station_warnings(stations: Iterable[EmulatedHost]) -> list[str]:
    """One sentence for each."""
    return [f"port {host.port}: no device has the MAC address {host.mac}; it is taken to be behind this port, where "
            "flows to it are received" for host in stations]


def unreachable_warnings(setups: Iterable[FlowSetup], hosts: Iterable[EmulatedHost], fabric: Fabric) -> list[str]:
    """One sentence for each flow to a MAC address that nobody has; `hosts`: all there are, stations included."""
    return [f"flow {flow.name}: nobody has its destination MAC address {flow.destination_mac}, so the switch drops it"
            for flow in _unknown(setups, hosts, fabric)]


def _unknown(setups: Iterable[FlowSetup], hosts: Iterable[EmulatedHost], fabric: Fabric) -> Iterator[DataFlow]:
    """Flows to a unicast address that neither a host nor a switch has."""
    known = {host.mac.lower() for host in hosts} | set(fabric.switch_macs) | {ANY_MAC}
    for setup in setups:
        flow = setup.flow
        if isinstance(flow, DataFlow) and flow.destination_mac.lower() not in known and not setup.problem:
            if not int(flow.destination_mac[:2], 16) & GROUP_BIT:
                yield flow
