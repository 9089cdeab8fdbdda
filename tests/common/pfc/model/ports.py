"""Which two tester ports measure a switch port, and the hosts that the generators play behind them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from .errors import QualificationError
from .qos import ConfigDb

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


Links = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Cables as `conn_graph_facts` has them: switch -> port -> `peerdevice`, `peerport`, `speed`."""


@dataclass(frozen=True)
class ConnectedPort:
    """A switch port with a traffic generator port behind it.

    Attributes:
        device, port: the switch and its port.
        generator: the traffic generator (chassis) behind it.
        location: the generator port as OTG wants it, e.g. `127.1.0.1;1;1`.
        speed_mbps: the speed that the links file gives.
    """

    device: str
    port: str
    generator: str
    location: str
    speed_mbps: int


@dataclass(frozen=True)
class PortPair:
    """`rx`: the port under test and the generator port that receives the data and sends the pause; `tx`: where data
    enters."""

    rx: ConnectedPort
    tx: ConnectedPort

    @property
    def speed_mbps(self) -> int:
        """The speed that both ports have."""
        return self.rx.speed_mbps


@dataclass(frozen=True)
class PlayedHost:
    """The host that a generator plays: its addresses, and the MAC to which the peer's frames must go to reach it.

    `segment` is the VLAN or routed port where it sits: hosts of one segment reach each other without the router.
    """

    name: str
    mac: str
    address: str
    prefix_bits: int
    gateway: str
    segment: str

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.address).version


@dataclass(frozen=True)
class PortState:
    """A row of `show interfaces status`."""

    oper_up: bool
    admin_up: bool
    speed_mbps: int


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Sort key: Ethernet4 before Ethernet40."""
    return tuple((text, int(number or -1)) for text, number in re.findall(r"(\D+)(\d*)", name))


def choose_pair(
    ports: Sequence[ConnectedPort], port_under_test: str | None, tx_port: str | None, states: Mapping[str, PortState]
) -> PortPair:
    """Chooses the port pair of one switch: on two traffic generators, as the plan has it, unless the user allows one.

    Args:
        ports: every port of the switch that the links file connects to a traffic generator.
        port_under_test: the rx side; None: the first connected port.
        tx_port: the tx side; None: the first port that is up, on another traffic generator, with the same speed.
        states: `show interfaces status` of the switch.

    Raises:
        QualificationError: no such pair; the sentence names what was found.
    """
    if not ports:
        raise QualificationError("the links file connects no port of the switch to a traffic generator")
    by_name = {port.port: port for port in sorted(ports, key=lambda port: natural(port.port))}
    device = ports[0].device
    for port in by_name.values():
        check_known(port, states)
    rx = _named(by_name, port_under_test or next(iter(by_name)), device)
    check_port(rx, states[rx.port])
    among = list(by_name.values()) if tx_port is None else [_named(by_name, tx_port, device)]
    return PortPair(rx, _find_tx(rx, among, states))


def with_generators(ports: Sequence[ConnectedPort], same_generator: bool = False) -> list[ConnectedPort]:
    """Ports with the traffic generator that each counts as: both ports of a pair have to be on different ones. Where
    one chassis has all ports, that is the card (`10.0.0.5;2` of the location `10.0.0.5;2;1`), if there are several;
    with `same_generator` it is the port itself."""
    cards = [port.location if same_generator else re.sub("[;/]?[^;/]*$", "", port.location) for port in ports]
    if not same_generator and (len({port.generator for port in ports}) > 1 or len(set(cards)) == 1):
        return list(ports)
    return [replace(port, generator=card) for port, card in zip(ports, cards, strict=True)]


def hosts_behind(
    ports: Sequence[ConnectedPort], config_db: ConfigDb, ip_version: int = 4, first: int = 0
) -> tuple[PlayedHost, ...]:
    """The host behind each port, with the addresses that the switch's configuration leaves it; their MAC addresses are
    numbered from `first` on. Raises QualificationError where a port is in no VLAN with an address of that IP version
    and has none of its own."""
    members = _members(config_db)
    segments = [members.get(port.port) or _Segment("INTERFACE", port.port, 0) for port in ports]
    return tuple(
        _host(port, number, segment, _address(config_db, segment, port, ip_version))
        for number, (port, segment) in enumerate(zip(ports, segments, strict=True), first)
    )


def _named(by_name: Mapping[str, ConnectedPort], port: str, device: str) -> ConnectedPort:
    if port not in by_name:
        raise QualificationError(
            f"{device} has no port {port} behind a traffic generator; connected are {summary(list(by_name))}"
        )
    return by_name[port]


def check_port(port: ConnectedPort, state: PortState) -> None:
    """Raises QualificationError where a port is not up at the speed that the links file gives."""
    if not state.oper_up:
        admin = "up" if state.admin_up else "down"
        raise QualificationError(
            f"{port.device} {port.port} is down (admin {admin}, oper down): it cannot be measured before its link"
            " is up"
        )
    if state.speed_mbps != port.speed_mbps:
        raise QualificationError(
            f"{port.device} {port.port} runs at {state.speed_mbps} Mb/s but the links file says {port.speed_mbps} Mb/s"
        )


def check_known(port: ConnectedPort, states: Mapping[str, PortState]) -> None:
    """Raises QualificationError where a switch has no such port."""
    if port.port not in states:
        raise QualificationError(
            f"{port.device}: the links file connects {port.generator} to {port.port}, a port that the switch does not "
            f"have (it has {summary(list(states))})"
        )


def is_usable(port: ConnectedPort, states: Mapping[str, PortState]) -> bool:
    """Whether a port is up at the speed that the links file gives."""
    state = states.get(port.port)
    return state is not None and state.oper_up and state.speed_mbps == port.speed_mbps


def _find_tx(rx: ConnectedPort, ports: Sequence[ConnectedPort], states: Mapping[str, PortState]) -> ConnectedPort:
    """The first of these ports that can send to the rx side."""
    elsewhere = [port for port in ports if port.generator != rx.generator]
    if not elsewhere:
        raise QualificationError(
            f"{rx.device}: of {summary([port.port for port in ports])} none is on another traffic generator than"
            f" {rx.port}'s, {rx.generator}; the tx port has to be, or be allowed on the same (--pfc-same-generator)"
        )
    equal = [port for port in elsewhere if port.speed_mbps == rx.speed_mbps]
    if not equal:
        speeds = sorted({port.speed_mbps for port in elsewhere})
        raise QualificationError(
            f"{rx.device}: {rx.port} has {rx.speed_mbps} Mb/s, and {summary([port.port for port in elsewhere])}"
            f" {', '.join(map(str, speeds))} Mb/s; both ports of a pair need the same speed"
        )
    for port in equal:
        if is_usable(port, states):
            return port
    if len(equal) == 1:
        check_port(equal[0], states[equal[0].port])
    raise QualificationError(
        f"{rx.device}: of the ports on another traffic generator than {rx.port}'s with {rx.speed_mbps} Mb/s none is up"
        f" at that speed ({summary([port.port for port in equal])})"
    )


@dataclass(frozen=True)
class _Segment:
    """Where a port's host sits: a VLAN, or the routed port itself; and the number of the host in it."""

    table: str
    name: str
    index: int


def _members(config_db: ConfigDb) -> dict[str, _Segment]:
    """The port of every untagged VLAN member -> its place in the first VLAN that has it: hosts send no tags."""
    places: dict[str, _Segment] = {}
    rows = config_db.get("VLAN_MEMBER", {})
    members = [key.partition("|") for key in sorted(rows, key=natural) if rows[key].get("tagging_mode") != "tagged"]
    for vlan in sorted(config_db.get("VLAN", {}), key=natural):
        for index, port in enumerate(port for name, _, port in members if name == vlan):
            places.setdefault(port, _Segment("VLAN_INTERFACE", vlan, index))
    return places


def host_mac(number: int) -> str:
    """The MAC address of played host `number`: a unicast one, and another for each number from 0 to 65279; raises
    QualificationError for any other."""
    if not 0 <= number < 256 * 255:
        raise QualificationError(f"played host {number} has no MAC address: expected a number from 0 to 65279")
    return f"00:{number % 256:02x}:22:33:44:{1 + number // 256:02x}"


def _host(port: ConnectedPort, number: int, segment: _Segment, gateway: Interface) -> PlayedHost:
    address = _free_address(gateway, segment.index, port)
    bits = gateway.network.prefixlen
    return PlayedHost(f"Host {port.port}", host_mac(number), address, bits, str(gateway.ip), segment.name)


def _address(config_db: ConfigDb, segment: _Segment, port: ConnectedPort, ip_version: int) -> Interface:
    where = f"{port.device} {port.port}: CONFIG_DB"
    for key in config_db.get(segment.table, {}):
        if not key.startswith(f"{segment.name}|"):
            continue
        try:
            found = ipaddress.ip_interface(key.split("|")[1])
        except ValueError as error:
            raise QualificationError(f"{where} has {segment.table}|{key}: {error}") from error
        if found.version == ip_version:
            return found
    alone = "" if segment.table == "VLAN_INTERFACE" else ", and no VLAN has it untagged"
    raise QualificationError(
        f"{where} gives {segment.name} no IPv{ip_version} address"
        f" ({segment.table}|{segment.name}|...){alone}, so no host can sit behind the port"
    )


def _free_address(gateway: Interface, index: int, port: ConnectedPort) -> str:
    """The address number `index` of the gateway's network, the gateway's own left out."""
    first = list(islice(gateway.network.hosts(), index + 2))
    free = [address for address in first if address != gateway.ip]
    if index >= len(free):
        raise QualificationError(
            f"{port.device} {port.port}: {gateway.network} has no address left for a host behind the port"
        )
    return str(free[index])


def summary(names: Sequence[str]) -> str:
    """Ports for a message; of many the first ones, the last one and how many there are."""
    ordered = sorted(names, key=natural)
    short = f"{', '.join(ordered[:3])}, ... {ordered[-1]} ({len(ordered)} ports)"
    return ", ".join(ordered) if len(ordered) <= 6 else short
