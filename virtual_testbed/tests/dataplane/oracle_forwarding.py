"""The oracle's way of a frame: a switch or a host by MAC, or a host by address, then the fewest cables, then the one
plugged in first.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.traffic import EmulatedHost

UNKNOWN_MAC, NO_HOST = "unknown destination MAC", "no host has the destination address"
OTHER_VLAN = "destination is not in the VLAN of the ingress port"
SAME_PORT, OVERSIZE, PORT_DOWN = "destination is behind the ingress port", "longer than the MTU", "egress port is down"
PortName = tuple[str, str]


@dataclass(frozen=True)
class Decision:
    """Where a frame leaves (None: nowhere), why it is dropped ("": it is not), and its next destination MAC."""

    port: str | None
    reason: str
    next_mac: str


class Ways:
    """Hosts and cables as they are plugged."""

    def __init__(self, switch_links: Sequence[tuple[PortName, PortName]]) -> None:
        self.cables = list(switch_links)
        self.hosts: list[tuple[EmulatedHost, PortName]] = []
        self.configs: dict[str, SwitchConfig] = {}
        self.is_up: Callable[[PortName], bool] = lambda port: True
        self._known: dict[tuple[str, str, str, str], Decision] = {}

    def changed(self) -> None:
        """Hosts or configurations are others now."""
        self._known = {}

    def decide(self, in_port: PortName, size: int, mac: str, address: str) -> Decision:
        """What a switch does with a frame of `size` bytes to `mac` and `address`."""
        if size > self.configs[in_port[0]].ports[in_port[1]].mtu + 22:
            return Decision(None, OVERSIZE, mac)
        key = (*in_port, mac, address)
        if key not in self._known:
            self._known[key] = self._decide(in_port, mac, address)
        return self._known[key]

    def _decide(self, in_port: PortName, mac: str, address: str) -> Decision:
        routed = mac == self.configs[in_port[0]].mac.lower()
        gateways = [name for name, other in self.configs.items() if other.mac.lower() == mac]
        if gateways and not routed:
            return self._bridge(in_port, self._towards(in_port[0], (gateways[-1], "")), mac)
        found = [(host, place) for host, place in self.hosts
                 if (_has_address(host, address) if routed else host.mac.lower() == mac)]
        out = self._towards(in_port[0], found[-1][1]) if found else None
        if not routed:
            return self._bridge(in_port, out, mac)
        if out is None:
            return Decision(None, NO_HOST, mac)
        if out == in_port[1] and not self._other_end(in_port):
            return Decision(None, SAME_PORT, mac)
        return Decision(out, "", self._next_mac((in_port[0], out), found[-1][0]))

    def _bridge(self, in_port: PortName, out: str | None, mac: str) -> Decision:
        if out is None:
            return Decision(None, UNKNOWN_MAC, mac)
        if out == in_port[1]:
            return Decision(None, SAME_PORT, mac)
        if not any({in_port[1], out} <= vlan.members for vlan in self.configs[in_port[0]].vlans):
            return Decision(None, OTHER_VLAN, mac)
        return Decision(out, "", mac)

    def _next_mac(self, out: PortName, host: EmulatedHost) -> str:
        other = self._other_end(out)
        return (self.configs[other[0]].mac if other else host.mac).lower()

    def _other_end(self, port: PortName) -> PortName | None:
        for a, b in self.cables:
            if port in (a, b):
                return b if port == a else a
        return None

    def _towards(self, switch: str, place: PortName) -> str | None:
        """The port by which a switch reaches another switch's port: over links that are up if there is such a way."""
        if switch == place[0]:
            return place[1]
        working = [ends for ends in self.cables if self.is_up(ends[0])]
        return self._first_port(switch, place, working) or self._first_port(switch, place, self.cables)

    def _first_port(self, switch: str, place: PortName, cables: Sequence[tuple[PortName, PortName]]) -> str | None:
        distance = self._cables_to(place[0], cables)
        for ends in cables:
            for here, there in (ends, ends[::-1]):
                if here[0] == switch and switch in distance and distance.get(there[0]) == distance[switch] - 1:
                    return here[1]
        return None

    def _cables_to(self, switch: str, cables: Sequence[tuple[PortName, PortName]]) -> dict[str, int]:
        """Fewest cables from each switch to `switch`."""
        distance = {switch: 0}
        for _ in self.configs:
            for ends in cables:
                for (a, _), (b, _) in (ends, ends[::-1]):
                    if a in distance:
                        distance[b] = min(distance.get(b, len(self.configs)), distance[a] + 1)
        return distance


def _has_address(host: EmulatedHost, address: str) -> bool:
    wanted = ip_address(address.partition("/")[0])
    return any(ip_address(own.partition("/")[0]) == wanted for own in host.addresses)
