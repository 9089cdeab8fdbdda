"""The CONFIG_DB of a switch under test, from the description of its testbed, but for what its own templates make of it.

Sources: sonic-buildimage `minigraph.py` for ports and addresses, `buffers_config.j2` for the length of cables; the
numbering of routed ports is that of SONiC's T1 topologies (10.0.0.0/31, 10.0.0.2/31, ...).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from ansible.module_utils.pfc.config_db import Tables, as_strings, natural
from ansible.module_utils.pfc.testbed import TestbedError

MAP = "AZURE"  # the name that SONiC's templates give to CABLE_LENGTH's row
MTU = "9100"
# Role of the switch -> (its tier, the cable length that SONiC's templates assume for its host ports)
ROLES = {"ToRRouter": ("t0", "5m"), "BackEndToRRouter": ("t0", "5m"),
         "LeafRouter": ("t1", "40m"), "BackEndLeafRouter": ("t1", "40m")}
# Between two switches: what the templates assume between a T0 and a T1
SWITCH_CABLE = "40m"
FIRST_IPV4 = ipaddress.IPv4Address("10.0.0.0")
FIRST_IPV6 = ipaddress.IPv6Address("fc00::1")


@dataclass(frozen=True)
class SwitchFacts:
    """What the files and the switch itself say of a switch; `ports` and `metadata` are of its own CONFIG_DB."""

    name: str
    description: Mapping[str, Any]
    ports: Mapping[str, Mapping[str, Any]]
    metadata: Mapping[str, Any]


def lay_out(testbed: Mapping[str, Any], switch: SwitchFacts) -> dict[str, Any]:
    """What `config_db_tables` shall bring a switch to.

    Args:
        testbed: from `testbed.describe`.
        switch: the switch.

    Returns:
        tables, merge, absent (arguments of `config_db_tables`) and ports (those under test).

    Raises:
        TestbedError: the files do not fit the switch; the sentence names file, row and object.
    """
    links = check_links(switch)
    role = _role(switch.description)
    positions = sorted(switch.ports, key=natural)
    tested = sorted(links, key=natural)
    roles_of_ports = _Addresses(testbed, switch.name, positions)
    cables = {port: SWITCH_CABLE if links.get(port, {}).get("peer_is_switch") else ROLES[role][1] for port in positions}
    tables: Tables = {
        "DEVICE_METADATA": {"localhost": {"type": role, "default_pfcwd_status": "enable"}},
        "PORT": {port: {"admin_status": "up", "speed": link["speed"], "mtu": MTU} for port, link in links.items()},
        "DEVICE_NEIGHBOR": {port: {"name": link["peer"], "port": link["peer_port"]} for port, link in links.items()},
        "CABLE_LENGTH": {MAP: cables},
        **roles_of_ports.tables(),
    }
    return {"tables": as_strings(tables), "merge": ["DEVICE_METADATA", "PORT", "CABLE_LENGTH"],
            "absent": _absent({*tested, *roles_of_ports.used}, tables), "ports": tested}


def check_links(switch: SwitchFacts) -> dict[str, Mapping[str, Any]]:
    """The links of a switch by port, all of them to ports that it has.

    Raises:
        TestbedError: a port does not exist, there is no link, or the switch is of another HwSKU.
    """
    found = switch.metadata.get("hwsku")
    described = switch.description["hwsku"]
    if found != described:
        raise TestbedError(f"{switch.description['hwsku_where']}: {switch.name} is described as HwSku {described}, but "
                           f"the switch says it is {found}")
    links = {link["port"]: link for link in switch.description["links"]}
    if not links:
        raise TestbedError(f"{switch.description['hwsku_where']}: {switch.name} has no link in the links file")
    for port, link in links.items():
        if port not in switch.ports:
            existing = ", ".join(sorted(switch.ports, key=natural)) or "none"
            raise TestbedError(f"{link['where']}: {switch.name} has no port {port} "
                               f"(its {len(switch.ports)} ports: {existing})")
    return links


def _role(description: Mapping[str, Any]) -> str:
    """A switch's role, from its topology."""
    common = (description["topology"].get("configuration_properties") or {}).get("common") or {}
    role = str(common.get("dut_type", "ToRRouter"))
    if role not in ROLES:
        raise TestbedError(f"{description['topology_file']}: dut_type {role} is not one that can be deployed "
                           f"(one of {', '.join(ROLES)})")
    return role


class Tiers:
    """Addresses of routed ports, numbered as SONiC's T1 topologies do, over all switches of a testbed.

    Args:
        testbed: from `testbed.describe`.
        found: ports of switches as they say themselves, in their order; of the others those that their HwSKU has.
    """

    def __init__(self, testbed: Mapping[str, Any], found: Mapping[str, list[str]]) -> None:
        self._duts: Mapping[str, Any] = testbed["duts"]
        self._names: list[str] = testbed["dut_names"]
        self._found = found

    def near_end(self, switch: str, port: str) -> list[str]:
        """Addresses of a port; each switch goes on where the one before ended."""
        return self._pair(switch, port, 0)

    def between(self, switch: str, link: Mapping[str, Any], file: str) -> list[str]:
        """Addresses of a port towards another switch: a T1's port has its number, a T0's the other one of the pair. Of
        two switches of one tier the first in the testbed's order stands for the T1.

        Raises:
            TestbedError: the other end is not routed, or the upper switch has not its HwSKU's ports.
        """
        peer = link["peer"]
        port = link["port"]
        upper = self._upper(switch, peer)
        upper_port = port if upper == switch else link["peer_port"]
        known = self._duts[upper]["known_ports"]
        if known is None or upper_port not in known or self._ports(upper) != sorted(known, key=natural):
            raise TestbedError(f"{link['where']}: the addresses of {switch} {port} follow from the position of "
                               f"{upper} {upper_port} among the ports of HwSku {self._duts[upper]['hwsku']}, so "
                               f"vars/hwsku/{self._duts[upper]['hwsku']}.yml must have exactly the ports of {upper}")
        if not _is_routed(self._duts[peer], link["peer_port"]):
            raise TestbedError(f"{file}: {port} of {switch} is routed and leads to {peer} {link['peer_port']}, which "
                               f"is no routed port in {self._duts[peer]['topology_file']}")
        return self._pair(upper, upper_port, 0 if upper == switch else 1)

    def _upper(self, switch: str, peer: str) -> str:
        """Which of two switches numbers the cable between them."""
        tiers = {name: ROLES[_role(self._duts[name])][0] for name in (switch, peer)}
        if tiers[switch] == tiers[peer]:
            return min(switch, peer, key=self._names.index)
        return switch if tiers[switch] == "t1" else peer

    def _pair(self, switch: str, port: str, end: int) -> list[str]:
        """One end of the numbers that belong to a port: 10.0.0.(2n)/31 and fc00::(4n+1)/126, or the next addresses."""
        ports = self._ports(switch)
        before = self._names[:self._names.index(switch)]
        # a switch of a HwSKU that nothing is known of counts as if it had as many ports as this one
        number = ports.index(port) + sum(len(self._duts[name]["known_ports"] or ports) for name in before)
        return [f"{FIRST_IPV4 + 2 * number + end}/31", f"{FIRST_IPV6 + 4 * number + end}/126"]

    def _ports(self, switch: str) -> list[str]:
        """The ports of a switch in their order."""
        return sorted(self._found.get(switch) or self._duts[switch]["known_ports"], key=natural)


def _is_routed(description: Mapping[str, Any], port: str) -> bool:
    """Whether a topology makes a port of a switch routed; where nothing is known of its ports it is taken to be so."""
    ports = description["known_ports"]
    topology = description["topology"]["topology"]
    if ports is None or port not in ports:
        return True
    position = sorted(ports, key=natural).index(port)
    configs = (topology.get("DUT") or {}).get("vlan_configs") or {}
    vlans = configs.get(configs.get("default_vlan_config")) or {}
    switched = any(position in (vlan.get("intfs") or []) for vlan in vlans.values())
    return position in (topology.get("host_interfaces") or []) and not switched


class _Addresses:
    """VLANs and addresses: which port is what, by the topology's positions.

    Lists of addresses in a topology are those of the switches that have this topology, in the testbed's order.
    """

    def __init__(self, testbed: Mapping[str, Any], switch: str, ports: list[str]) -> None:
        own = testbed["duts"][switch]
        self._file = own["topology_file"]
        self._ports = ports
        self._switch = switch
        self._duts = [name for name in testbed["dut_names"]
                      if testbed["duts"][name]["topology_name"] == own["topology_name"]]
        self._links = {link["port"]: link for link in own["links"] if link["peer"] in testbed["dut_names"]}
        self._tiers = Tiers(testbed, {switch: ports})
        self._topology: Mapping[str, Any] = own["topology"]["topology"]
        self._data: Mapping[str, Any] = own["topology"]
        self._vlans = self._find_vlans()
        switched = {port for vlan in self._vlans.values() for port in vlan["ports"]}
        routed = [self._port(index) for index in self._topology.get("host_interfaces") or []]
        neighbours = self._neighbours()
        for port in sorted(set(neighbours) & set(self._links), key=natural):
            raise TestbedError(f"{self._file}: {port} of {switch} leads to a VM, but in {self._links[port]['where']} "
                               f"to {self._links[port]['peer']}, a switch of this testbed; take the VM out")
        self._routed = {port: self._addresses_of(port) for port in routed if port not in switched} | neighbours
        self.used = switched | set(self._routed)

    def tables(self) -> Tables:
        """VLAN, VLAN_MEMBER, VLAN_INTERFACE, INTERFACE and LOOPBACK_INTERFACE, those with rows."""
        members = {f"{name}|{port}": {"tagging_mode": "untagged"}
                   for name, vlan in self._vlans.items() for port in vlan["ports"]}
        tables: Tables = {
            "VLAN": {name: {"vlanid": vlan["id"]} for name, vlan in self._vlans.items()},
            "VLAN_MEMBER": members,
            "VLAN_INTERFACE": _interfaces({name: vlan["addresses"] for name, vlan in self._vlans.items()}),
            "INTERFACE": _interfaces(self._routed),
            "LOOPBACK_INTERFACE": _interfaces({"Loopback0": self._loopback()} if self._loopback() else {}),
        }
        return {name: rows for name, rows in tables.items() if rows}

    def _port(self, index: Any) -> str:
        """The port at a position."""
        if not isinstance(index, int) or not 0 <= index < len(self._ports):
            raise TestbedError(f"{self._file}: interface {index} is not a position among the switch's "
                               f"{len(self._ports)} ports (0 to {len(self._ports) - 1})")
        return self._ports[index]

    def _find_vlans(self) -> dict[str, dict[str, Any]]:
        """The VLANs of the default VLAN configuration: {name: {id, ports, addresses}}."""
        configs = (self._topology.get("DUT") or {}).get("vlan_configs") or {}
        chosen = configs.get("default_vlan_config")
        if chosen is None:
            return {}
        if chosen not in configs:
            raise TestbedError(f"{self._file}: default_vlan_config {chosen} is not one of vlan_configs "
                               f"({', '.join(name for name in configs if name != 'default_vlan_config')})")
        return {name: {"id": vlan["id"], "ports": [self._port(index) for index in vlan["intfs"]],
                       "addresses": [self._own(vlan[key], f"{key} of {name}") for key in ("prefix", "prefix_v6")
                                     if vlan.get(key)]}
                for name, vlan in configs[chosen].items()}

    def _own(self, addresses: Any, what: str) -> str:
        """This switch's address: a list has one for each switch of the testbed, a single one is that of them all."""
        count = len(self._duts)
        if isinstance(addresses, list):
            if len(addresses) != count or len(set(addresses)) != count:
                raise TestbedError(f"{self._file}: {what} must be {count} different addresses, one for each of "
                                   f"{', '.join(self._duts)}; found {', '.join(map(str, addresses))}")
            return str(addresses[self._duts.index(self._switch)]).lower()
        for port, link in self._links.items():
            if link["peer"] in self._duts:
                raise TestbedError(f"{self._file}: {what} would be {addresses} on {self._switch} and on {link['peer']},"
                                   f" which its {port} leads to; it must be a list of {count} addresses, one for each "
                                   "switch")
        return str(addresses).lower()

    def _loopback(self) -> list[str]:
        """Addresses of Loopback0."""
        loopback = (self._topology.get("DUT") or {}).get("loopback") or {}
        families = [loopback[family] for family in ("ipv4", "ipv6") if loopback.get(family)]
        if len(self._duts) > 1:
            return [self._own(addresses, "loopback") for addresses in families]
        return [str(address).lower() for addresses in families for address in addresses]

    def _addresses_of(self, port: str) -> list[str]:
        """Addresses of a routed port that the topology does not number."""
        link = self._links.get(port)
        if link is None:
            return self._tiers.near_end(self._switch, port)
        return self._tiers.between(self._switch, link, self._file)

    def _neighbours(self) -> dict[str, list[str]]:
        """Addresses of the ports towards the topology's VMs: the switch's ends of their BGP sessions."""
        common = (self._data.get("configuration_properties") or {}).get("common") or {}
        found: dict[str, list[str]] = {}
        for name, machine in (self._topology.get("VMs") or {}).items():
            config = (self._data.get("configuration") or {}).get(name) or {}
            uplinks = {key: row for key, row in (config.get("interfaces") or {}).items()
                       if not key.startswith("Loopback") and ("ipv4" in row or "ipv6" in row)}
            if len(machine.get("vlans") or []) != 1 or any(key.startswith("Port-Channel") for key in uplinks):
                raise TestbedError(f"{self._file}: {name} is behind a LAG, which is not deployed; "
                                   "give it one routed port")
            peers = ((config.get("bgp") or {}).get("peers") or {}).get(common.get("dut_asn")) or []
            found[self._port(machine["vlans"][0])] = self._near_ends(name, peers, uplinks.values())
        return found

    def _near_ends(self, name: str, peers: Iterable[Any], uplinks: Iterable[Mapping[str, Any]]) -> list[str]:
        """The switch's addresses, with the prefix lengths of the neighbour's."""
        far = [ipaddress.ip_interface(str(row[family]))
               for row in uplinks for family in ("ipv4", "ipv6") if family in row]
        near = [ipaddress.ip_address(str(peer).lower()) for peer in peers]
        pairs = [f"{address}/{interface.network.prefixlen}" for address in near for interface in far
                 if address in interface.network]
        if len(pairs) != len(far):
            raise TestbedError(f"{self._file}: the addresses of {name} do not match those of its BGP peer, the switch")
        return pairs


def _interfaces(addresses: Mapping[str, Iterable[str]]) -> dict[str, dict[str, Any]]:
    """Rows of an INTERFACE table: one for the interface, one for each address."""
    rows: dict[str, dict[str, Any]] = {}
    for name, values in addresses.items():
        rows[name] = {}
        rows.update({f"{name}|{value}": {} for value in values})
    return rows


def _absent(ports: Iterable[str], tables: Tables) -> dict[str, list[str]]:
    """Rows that contradict the layout: other VLANs, LAGs and addresses of its ports."""
    names = sorted(ports, key=natural)
    vlans = [f"{name}|*" for name in tables.get("VLAN", {})]
    loopbacks = ["Loopback0|*"] if "LOOPBACK_INTERFACE" in tables else []
    absent = {
        "VLAN_MEMBER": [f"*|{port}" for port in names],
        "PORTCHANNEL_MEMBER": [f"*|{port}" for port in names],
        "INTERFACE": [pattern for port in names for pattern in (port, f"{port}|*")],
        "VLAN_INTERFACE": vlans,
        "LOOPBACK_INTERFACE": loopbacks,
    }
    return {table: patterns for table, patterns in absent.items() if patterns}
