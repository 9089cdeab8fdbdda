"""OTG devices: emulated hosts behind generator ports, and how they resolve their gateways."""
from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from virtual_testbed.dataplane.model.traffic import GeneratorPort, EmulatedHost
from virtual_testbed.otg.fields import Fields, listed

ANY_MAC = "00:00:00:00:00:00"


class Fabric(Protocol):
    """The switches as the generator ports see them: speeds of the links, and who answers address resolution."""

    @property
    def speeds(self) -> Mapping[str, int]:
        """Speed of the link in Mb/s of every generator port, by location."""

    @property
    def switch_macs(self) -> Collection[str]:
        """MAC addresses of the switches, lower case."""

    def gateway_mac(self, location: str, gateway: str) -> str | None:
        """MAC address with which the switch at a generator port answers for an address; None: nobody answers."""


@dataclass(frozen=True)
class DeviceInterface:
    """An interface of an emulated device: one IP address.

    Attributes:
        name: of the address object; `ethernet`: of its Ethernet; `port`: name of the generator port.
        network: address and prefix length, `192.168.0.2/21`.
        gateway_mac: resolved or configured MAC of the gateway; None: unresolved.
    """

    name: str
    ethernet: str
    port: str
    mac: str
    address: str
    network: str
    gateway: str
    gateway_mac: str | None = None

    @property
    def version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.address).version

    def reaches_directly(self, other: DeviceInterface) -> bool:
        """True when the other address is in this one's own subnet, so that it is resolved itself, not the gateway."""
        if self.version != other.version:
            return False
        return ipaddress.ip_address(other.address) in ipaddress.ip_interface(self.network).network


@dataclass(frozen=True)
class Devices:
    """All devices of a configuration."""

    hosts: tuple[EmulatedHost, ...] = ()
    interfaces: tuple[DeviceInterface, ...] = ()

    def by_name(self) -> dict[str, DeviceInterface]:
        """Interfaces by their own name and, for the first of each, by their Ethernet's."""
        named = {interface.ethernet: interface for interface in reversed(self.interfaces)}
        return named | {interface.name: interface for interface in self.interfaces}


def read_devices(config: Fields, ports: Mapping[str, GeneratorPort]) -> Devices:
    """Reads `devices`. Gateways are still unresolved, except those whose MAC the request gives."""
    hosts: list[EmulatedHost] = []
    interfaces: list[DeviceInterface] = []
    for device in config.items("devices"):
        device.text("name")
        for ethernet in device.items("ethernets"):
            host, found = _read_ethernet(ethernet, ports, len(hosts))
            hosts.append(host)
            interfaces += found
        device.done("ipv4_loopbacks", "ipv6_loopbacks")
    return Devices(tuple(hosts), tuple(interfaces))


def resolve(devices: Devices, ports: Mapping[str, GeneratorPort], fabric: Fabric) -> Devices:
    """The devices with every gateway resolved that answers: another device's address, or the switch's."""
    owners = {interface.address: interface for interface in devices.interfaces}

    def gateway_mac(interface: DeviceInterface) -> str | None:
        owner = owners.get(interface.gateway)
        if owner is not None and owner.port != interface.port:
            return owner.mac
        return fabric.gateway_mac(ports[interface.port].location, interface.gateway)

    return replace(devices, interfaces=tuple(
        interface if interface.gateway_mac else replace(interface, gateway_mac=gateway_mac(interface))
        for interface in devices.interfaces))


def _read_ethernet(ethernet: Fields, ports: Mapping[str, GeneratorPort],
                   index: int) -> tuple[EmulatedHost, list[DeviceInterface]]:
    name = ethernet.text("name")
    port = _read_connection(ethernet.child("connection"), ports)
    mac = ethernet.mac("mac", f"02:00:00:00:{index >> 8 & 0xff:02x}:{index & 0xff:02x}")
    if ethernet.integer("mtu", 1500, 0, 65535) != 1500:
        ethernet.warn("mtu", "ignored, devices send no frames of their own")
    interfaces = [_read_address(address, version, DeviceInterface("", name, port, mac, "", "", ""))
                  for version, field in ((4, "ipv4_addresses"), (6, "ipv6_addresses"))
                  for address in ethernet.items(field)]
    ethernet.done("vlans")
    host = EmulatedHost(name, port, mac, tuple(interface.address for interface in interfaces),
                        tuple(interface.gateway for interface in interfaces))
    return host, interfaces


def _read_connection(connection: Fields, ports: Mapping[str, GeneratorPort]) -> str:
    if not connection.choice(("port_name",), ""):
        return ""
    port = connection.text("port_name")
    connection.done()
    if port and port not in ports:
        connection.error("port_name", f"no port is named {port!r}; ports are {listed(ports)}")
    return port


def _read_address(fields: Fields, version: int, ethernet: DeviceInterface) -> DeviceInterface:
    name = fields.text("name")
    address, gateway = fields.ip("address", version), fields.ip("gateway", version)
    prefix = fields.integer("prefix", 24 if version == 4 else 64, 1, 32 if version == 4 else 128)
    gateway_mac = fields.child("gateway_mac")
    choice = gateway_mac.choice(("auto", "value"), "auto")
    fixed = gateway_mac.mac("value", ANY_MAC) if choice == "value" else None
    gateway_mac.take("auto")
    gateway_mac.done()
    fields.done()
    return replace(ethernet, name=name, address=address, network=f"{address}/{prefix}", gateway=gateway,
                   gateway_mac=fixed)
