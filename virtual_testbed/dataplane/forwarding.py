"""Where a frame goes: from an ingress port and its header to priority group, egress port and queue.

Destination MAC addresses are known from the hosts (what ARP, neighbour discovery and learning would have told the
switch). A frame to the switch's own MAC is routed to the host that has the destination address, any other is bridged
inside a VLAN. What cannot be delivered is dropped and counted under one of the `DROP_*` reasons; nothing is flooded.
"""
from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING

from virtual_testbed.dataplane.configuration import SwitchConfig
from virtual_testbed.dataplane.traffic import DataFlow, Host

if TYPE_CHECKING:
    from virtual_testbed.dataplane.buffer import EgressQueue, PriorityGroup
    from virtual_testbed.dataplane.switch import SwitchPort

DROP_UNKNOWN_MAC = "unknown destination MAC"
DROP_NO_ROUTE = "no host has the destination address"
DROP_OTHER_VLAN = "destination is not in the VLAN of the ingress port"
DROP_SAME_PORT = "destination is behind the ingress port"
DROP_PORT_DOWN = "egress port is down"
DROP_OVERSIZE = "longer than the MTU"
ETHERNET_BYTES = 22
"""Header with a VLAN tag, and FCS: what a frame may be longer than the MTU."""


class Path:
    """One kind of frame through a switch, with its counts.

    Attributes:
        flow: index of the flow; `frame_bytes` its size with FCS, `size` the same in whole cells.
        pg, out, queue: where it is accounted and leaves; `out` and `queue` are None when `blocked` says why it is
            dropped.
        drop_one_in, drop_phase: a fault drops every n-th frame.
        rx .. lost: frames received, sent, dropped by reason, lost on the wire after being sent.
    """

    COUNTED = ("rx", "tx", "blocked_drops", "tail_drops", "pg_drops", "watchdog_tx_drops", "watchdog_rx_drops",
               "fault_drops")
    __slots__ = ("flow", "frame_bytes", "size", "tx_time_ps", "pg", "out", "queue", "in_port", "blocked", "drop_one_in",
                 "drop_phase", "flushed", "lost", *COUNTED)

    def __init__(self, flow: int, frame_bytes: int, in_port: SwitchPort, blocked: str | None) -> None:
        self.flow, self.frame_bytes, self.in_port, self.blocked = flow, frame_bytes, in_port, blocked
        self.size = frame_bytes
        self.pg: PriorityGroup = in_port.pgs[0]
        self.out: SwitchPort | None = None
        self.queue: EgressQueue | None = None
        self.tx_time_ps = self.drop_one_in = self.drop_phase = self.flushed = self.lost = 0
        self.rx = self.tx = self.blocked_drops = self.tail_drops = self.pg_drops = self.fault_drops = 0
        self.watchdog_tx_drops = self.watchdog_rx_drops = 0

    @property
    def tx_side_drops(self) -> int:
        """Frames counted as drops of the egress queue."""
        return self.tail_drops + self.watchdog_tx_drops + self.fault_drops + self.flushed

    @property
    def rx_side_drops(self) -> int:
        """Frames counted as drops of the ingress port."""
        return self.blocked_drops + self.pg_drops + self.watchdog_rx_drops

    @property
    def inside(self) -> int:
        """Frames in the switch now."""
        return self.rx - self.tx - self.tx_side_drops - self.rx_side_drops


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
