"""Where a frame goes: from an ingress port and its header to the egress port.

Destination MAC addresses are known from the hosts (what ARP, neighbour discovery and learning would have told the
switch). A frame to the switch's own MAC is routed to the host that has the destination address, any other is bridged
inside a VLAN. What cannot be delivered is dropped and counted under one of the `DROP_*` reasons; nothing is flooded.
"""
from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from virtual_testbed.dataplane.configuration import SwitchConfig
from virtual_testbed.dataplane.traffic import DataFlow, Host

DROP_UNKNOWN_MAC = "unknown destination MAC"
DROP_NO_ROUTE = "no host has the destination address"
DROP_OTHER_VLAN = "destination is not in the VLAN of the ingress port"
DROP_SAME_PORT = "destination is behind the ingress port"
DROP_PORT_DOWN = "egress port is down"
DROP_OVERSIZE = "longer than the MTU"
ETHERNET_BYTES = 22
"""Header with a VLAN tag, and FCS: what a frame may be longer than the MTU."""


class ForwardingTable:
    """Hosts as a switch knows them: port by MAC and by address.

    Args:
        hosts: all hosts of the testbed.
        ports: switch port name by generator port name, for this switch only.
    """

    def __init__(self, hosts: tuple[Host, ...], ports: Mapping[str, str]) -> None:
        here = [host for host in hosts if host.port in ports]
        self._by_mac = {host.mac.lower(): ports[host.port] for host in here}
        self._by_address = {ip_address(address.partition("/")[0]): ports[host.port]
                            for host in here for address in host.addresses}

    def decide(self, config: SwitchConfig, in_port: str, flow: DataFlow) -> tuple[str | None, str | None]:
        """Egress port and None, or (None or the port it would leave by) and the reason to drop."""
        if flow.frame_bytes > config.ports[in_port].mtu + ETHERNET_BYTES:
            return None, DROP_OVERSIZE
        routed = flow.destination_mac.lower() == config.mac.lower()
        if routed:
            out = self._by_address.get(ip_address(flow.destination_address.partition("/")[0]))
        else:
            out = self._by_mac.get(flow.destination_mac.lower())
        if out is None:
            return None, DROP_NO_ROUTE if routed else DROP_UNKNOWN_MAC
        if out == in_port:
            return None, DROP_SAME_PORT
        if not routed and not any(in_port in vlan.members and out in vlan.members for vlan in config.vlans):
            return None, DROP_OTHER_VLAN
        return out, None
