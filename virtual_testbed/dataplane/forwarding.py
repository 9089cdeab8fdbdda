"""Where a frame goes: from an ingress port over one or several switches to a generator port.

Destination MAC addresses are known from the hosts (what ARP, neighbour discovery and learning would have told the
switches). A frame to a switch's own MAC is routed to the host that has the destination address, any other is bridged
inside a VLAN: to the host, or to the switch further on, that has the MAC. Between switches it takes the fewest cables
that are up; of equal ways each switch takes the cable that was plugged in first. Without a way that is up it goes as
far as the link that is down. What cannot be delivered is dropped and counted under one of the `DROP_*` reasons;
nothing is flooded.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.traffic import DataFlow, EmulatedHost

DROP_UNKNOWN_MAC = "unknown destination MAC"
DROP_NO_ROUTE = "no host has the destination address"
DROP_OTHER_VLAN = "destination is not in the VLAN of the ingress port"
DROP_SAME_PORT = "destination is behind the ingress port"
DROP_PORT_DOWN = "egress port is down"
DROP_OVERSIZE = "longer than the MTU"
ETHERNET_BYTES = 22
"""Header with a VLAN tag, and FCS: what a frame may be longer than the MTU."""

PortName = tuple[str, str]
"""A switch port: name of the switch, name of the port."""
Goal = tuple[str, str | None]
"""Where a frame is going: name of the switch, name of its port (None: the switch itself)."""
Configs = Mapping[str, SwitchConfig]
IsUp = Callable[[str, str], bool]


@dataclass(frozen=True)
class SwitchHop:
    """A frame's way through one switch, and the MAC addresses it has behind it.

    `blocked` is the reason to drop it here (None: it leaves by `out_port`); `out_port` is then the port it would have
    left by, None when there is none. A routed frame carries the switch's MAC as its source.
    """

    switch: str
    in_port: str
    out_port: str | None
    blocked: str | None
    routed: bool
    source_mac: str
    destination_mac: str


@dataclass(frozen=True)
class _Frame:
    """What of a frame decides where it goes."""

    size: int
    source_mac: str
    destination_mac: str
    destination_address: str


class Topology:
    """What is connected to what.

    Args:
        cables: cables between switches, (one end, other end), in the order in which they were plugged in.
        attachments: switch port by name of the generator port on it.
        hosts: all hosts of the testbed; of two with the same MAC or address the last counts. A switch's MAC is the
            switch's, whatever hosts have it.
    """

    def __init__(self, cables: Iterable[tuple[PortName, PortName]], attachments: Mapping[str, PortName],
                 hosts: Iterable[EmulatedHost]) -> None:
        self._cables = [way for a, b in cables for way in ((a, b), (b, a))]
        self._other_end = dict(self._cables)
        self._attachments = dict(attachments)
        attached = [host for host in hosts if host.port in attachments]
        self._by_mac = {host.mac.lower(): host for host in attached}
        self._by_address = {ip_address(address.partition("/")[0]): host
                            for host in attached for address in host.addresses}

    def route(self, configs: Configs, flow: DataFlow, frame_bytes: int, ingress: PortName,
              is_up: IsUp) -> tuple[SwitchHop, ...]:
        """The way of a frame of a flow, from the switch port where it comes in.

        Args:
            configs: all switches, by name; cables and generator ports on anything else are not seen.
            flow: its addresses decide.
            frame_bytes: size of this frame with FCS.
            ingress: where the frame comes in, a port in `configs`.
            is_up: whether the link of a switch port (switch, port) is up, now.

        Returns:
            At least one hop; the last leads to a generator port or is blocked. At most two for each switch: a frame
            is bridged to the switch that routes it, perhaps back the way it came.
        """
        frame = _Frame(frame_bytes, flow.source_mac, flow.destination_mac, flow.destination_address)
        hops: list[SwitchHop] = []
        place: PortName | None = ingress
        # Every hop is one cable nearer to the switch that routes, and from there to the host, so that the bound is
        # never what ends the way.
        for _ in range(2 * len(configs)):
            if place is None:
                break
            hops.append(self._hop(configs, frame, place, is_up))
            frame = _Frame(frame.size, hops[-1].source_mac, hops[-1].destination_mac, frame.destination_address)
            place = self._next(hops[-1])
        return tuple(hops)

    def _next(self, hop: SwitchHop) -> PortName | None:
        """Where a hop's frame comes in next, None at a generator port or when it is dropped."""
        if hop.blocked is not None or hop.out_port is None:
            return None
        return self._other_end.get((hop.switch, hop.out_port))

    def _hop(self, configs: Configs, frame: _Frame, ingress: PortName, is_up: IsUp) -> SwitchHop:
        """What the switch at `ingress` does with a frame."""
        switch, in_port = ingress
        config = configs[switch]
        routed = frame.destination_mac.lower() == config.mac.lower()
        if frame.size > config.ports[in_port].mtu + ETHERNET_BYTES:
            return SwitchHop(switch, in_port, None, DROP_OVERSIZE, routed, frame.source_mac, frame.destination_mac)
        host = self._host(frame, routed)
        out = self._way_out(configs, switch, self._goal(configs, frame, host, routed), is_up)
        turns_back = routed and out == in_port and (switch, out) in self._other_end
        blocked = None if turns_back else _obstacle(config, in_port, out, routed)
        if blocked is None and out is not None and not self._works((switch, out), is_up):
            blocked = DROP_PORT_DOWN
        if not routed or blocked is not None or host is None or out is None:
            return SwitchHop(switch, in_port, out, blocked, routed, frame.source_mac, frame.destination_mac)
        after = self._other_end.get((switch, out))
        return SwitchHop(switch, in_port, out, None, True, config.mac, configs[after[0]].mac if after else host.mac)

    def _host(self, frame: _Frame, routed: bool) -> EmulatedHost | None:
        if routed:
            return self._by_address.get(ip_address(frame.destination_address.partition("/")[0]))
        return self._by_mac.get(frame.destination_mac.lower())

    def _goal(self, configs: Configs, frame: _Frame, host: EmulatedHost | None, routed: bool) -> Goal | None:
        """The host's port, or the other switch that a frame to be bridged is addressed to."""
        switches = [] if routed else [name for name, config in configs.items()
                                      if config.mac.lower() == frame.destination_mac.lower()]
        if switches:
            return switches[-1], None
        return self._attachments[host.port] if host is not None else None

    def _works(self, place: PortName, is_up: IsUp) -> bool:
        """Whether a link is up, between switches at both its ends."""
        other = self._other_end.get(place)
        return is_up(*place) and (other is None or is_up(*other))

    def _way_out(self, configs: Configs, switch: str, goal: Goal | None, is_up: IsUp) -> str | None:
        """Port of `switch` towards a goal: over links that are up, else the one that would be taken were all up."""
        if goal is None:
            return None
        target, port = goal
        if target not in configs or port not in (None, *configs[target].ports):
            return None
        if target == switch:
            return port
        present = [(a, b) for a, b in self._cables if _exists(configs, a) and _exists(configs, b)]
        working = [(a, b) for a, b in present if self._works(a, is_up)]
        way = _first_cable(working, switch, target)
        return way if way is not None else _first_cable(present, switch, target)


def _exists(configs: Configs, place: PortName) -> bool:
    return place[0] in configs and place[1] in configs[place[0]].ports


def _obstacle(config: SwitchConfig, in_port: str, out: str | None, routed: bool) -> str | None:
    """Why a switch does not let a frame pass from one port to the other, links apart."""
    if out is None:
        return DROP_NO_ROUTE if routed else DROP_UNKNOWN_MAC
    if out == in_port:
        return DROP_SAME_PORT
    if not routed and not any(in_port in vlan.members and out in vlan.members for vlan in config.vlans):
        return DROP_OTHER_VLAN
    return None


def _first_cable(cables: list[tuple[PortName, PortName]], switch: str, target: str) -> str | None:
    """Port of the first cable on a shortest way between two switches; None when there is no way.

    Args:
        cables: both directions of each, in the order in which they were plugged in.
        switch: where the way begins.
        target: another switch, where it ends.
    """
    reached = {target}
    while True:
        nearer = [near for near, far in cables if far[0] in reached and near[0] not in reached]
        for near in nearer:
            if near[0] == switch:
                return near[1]
        if not nearer:
            return None
        reached.update(near[0] for near in nearer)
