#!/usr/bin/python
"""Ansible module: what sonic-mgmt reads in a switch's minigraph, from CONFIG_DB, as a virtual switch may have none."""
from __future__ import annotations

import ipaddress
import json
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: minigraph_facts
short_description: ports, VLANs and addresses of a virtual switch, in the shape of sonic-mgmt's module of this name
"""
EMPTY: dict[str, Any] = {
    "minigraph_bgp": [], "minigraph_bgp_asn": None, "minigraph_bgp_peers_with_range": [], "minigraph_acls": {},
    "minigraph_portchannels": {}, "minigraph_portchannel_interfaces": [], "minigraph_console": {}, "minigraph_mgmt": {},
    "minigraph_underlay_devices": None, "minigraph_underlay_neighbors": None, "syslog_servers": [], "ntp_servers": [],
    "forced_mgmt_routes": [], "deployment_id": None}
"""What a virtual switch does not have."""


def _parts(keys: Iterable[str]) -> list[tuple[str, Any]]:
    """Name and address of each `NAME|ADDRESS/LENGTH`."""
    pairs = [key.split("|") for key in keys if "|" in key]
    return [(name, ipaddress.ip_interface(text)) for name, text in pairs]


def _mask(own: Any) -> str:
    return str(own.netmask) if own.version == 4 else str(own.network.prefixlen)


def _peer(own: Any) -> str:
    """The other end of a network of two hosts, else the next address."""
    host_bits = own.max_prefixlen - own.network.prefixlen
    is_first = int(own.ip) % 4 == 1 if host_bits == 2 else int(own.ip) % 2 == 0
    return str(own.ip + 1 if is_first or host_bits not in (1, 2) else own.ip - 1)


def addresses(keys: Iterable[str]) -> list[dict[str, Any]]:
    """One row for each address of a port or a VLAN."""
    rows = [{"attachto": name, "addr": str(own.ip), "prefixlen": own.network.prefixlen, "mask": _mask(own),
             "subnet": str(own.network), "peer_addr": _peer(own)} for name, own in _parts(keys)]
    return sorted(rows, key=lambda row: (row["attachto"], row["addr"]))


def loopbacks(keys: Iterable[str]) -> list[dict[str, Any]]:
    """One row for each address of a loopback."""
    return [{"name": name, "addr": str(own.ip), "prefixlen": own.network.prefixlen, "mask": _mask(own)}
            for name, own in _parts(keys)]


def management(keys: Iterable[str]) -> dict[str, Any] | None:
    """The address of the management port, IPv4 before IPv6; a minigraph has no gateway, so it is the first host."""
    for name, own in sorted(_parts(keys), key=lambda pair: int(pair[1].version)):
        return {"alias": name, "addr": str(own.ip), "prefixlen": str(own.network.prefixlen), "mask": _mask(own),
                "gwaddr": str(own.network.network_address + 1)}
    return None


def vlans(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The VLANs with their members."""
    pairs = [key.split("|") for key in tables.get("VLAN_MEMBER", {}) if "|" in key]
    return {name: {"name": name, "vlanid": row.get("vlanid", name[len("Vlan"):]),
                   "members": [port for vlan, port in pairs if vlan == name]}
            for name, row in tables.get("VLAN", {}).items()}


def facts(tables: Mapping[str, Any], host: str) -> dict[str, Any]:
    """The facts of a switch; `tables` is its CONFIG_DB."""
    metadata = tables["DEVICE_METADATA"]["localhost"]
    aliases = {name: row.get("alias", name) for name, row in tables.get("PORT", {}).items()}
    in_order = sorted(aliases, key=lambda name: int(name[len("Ethernet"):]))
    own_vlans = vlans(tables)
    used = {name for name, _ in _parts(tables.get("INTERFACE", {}))}
    used |= {port for vlan in own_vlans.values() for port in vlan["members"]}
    own_address = management(tables.get("MGMT_INTERFACE", {}))
    device = {"hwsku": metadata["hwsku"], "lo_addr": None, "mgmt_addr": own_address["addr"] if own_address else None,
              "type": metadata.get("type")}
    relays = [""] if own_vlans else []
    return {
        **EMPTY, "minigraph_interfaces": addresses(tables.get("INTERFACE", {})),
        "minigraph_vlan_interfaces": addresses(tables.get("VLAN_INTERFACE", {})),
        "minigraph_lo_interfaces": loopbacks(tables.get("LOOPBACK_INTERFACE", {})),
        "minigraph_as_xml": "/etc/sonic/minigraph.xml", "minigraph_hwsku": metadata["hwsku"],
        "minigraph_hostname": host, "inventory_hostname": host, "minigraph_devices": {host: device},
        "minigraph_device_metadata": {"bgp_asn": None, "deployment_id": None, "device_type": metadata.get("type"),
                                      "hostname": host, "hwsku": metadata["hwsku"]},
        "minigraph_ports": {name: {"name": name, "alias": aliases[name]} for name in aliases if name in used},
        "minigraph_vlans": own_vlans, "minigraph_mgmt_interface": own_address,
        "minigraph_neighbors": {port: {"name": row["name"], "port": row.get("port", ""), "namespace": ""}
                                for port, row in tables.get("DEVICE_NEIGHBOR", {}).items()},
        "minigraph_port_indices": {name: number for number, name in enumerate(in_order)},
        "minigraph_port_name_to_alias_map": aliases,
        "minigraph_port_alias_to_name_map": {alias: name for name, alias in aliases.items()},
        "dhcp_servers": relays, "dhcpv6_servers": list(relays)}


def main() -> None:
    """Reads CONFIG_DB; a `filename` and a `namespace` make no difference here."""
    arguments: dict[str, Any] = {"host": {"required": True}, "filename": {}, "namespace": {}}
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    said = subprocess.run(["sonic-cfggen", "-d", "--print-data"], stdout=subprocess.PIPE, text=True, check=True)
    module.exit_json(changed=False, ansible_facts=facts(json.loads(said.stdout), module.params["host"]))


if __name__ == "__main__":
    main()
