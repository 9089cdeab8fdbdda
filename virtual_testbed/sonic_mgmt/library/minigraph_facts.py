#!/usr/bin/python
"""Ansible module: what sonic-mgmt reads in a switch's minigraph, from CONFIG_DB; a virtual switch has no minigraph."""
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
    "minigraph_portchannels": {}, "minigraph_portchannel_interfaces": [], "minigraph_devices": {},
    "syslog_servers": [], "dhcp_servers": [], "dhcpv6_servers": [], "ntp_servers": [], "forced_mgmt_routes": [],
    "deployment_id": None}
"""What a virtual switch does not have."""


def addresses(keys: Iterable[str]) -> list[dict[str, Any]]:
    """One row for each `NAME|ADDRESS/LENGTH`; the peer is the first other host of the network."""
    rows = []
    for key in keys:
        name, bar, text = key.partition("|")
        if bar:
            own = ipaddress.ip_interface(text)
            hosts = own.network.hosts() if own.network.num_addresses > 1 else iter([own.ip])
            peer = next((host for host in hosts if host != own.ip), own.ip)
            mask = str(own.netmask) if own.version == 4 else str(own.network.prefixlen)
            rows.append({"attachto": name, "addr": str(own.ip), "prefixlen": own.network.prefixlen, "mask": mask,
                         "subnet": str(own.network), "peer_addr": str(peer)})
    return sorted(rows, key=lambda row: (row["attachto"], row["addr"]))


def vlans(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The VLANs with their members."""
    pairs = [key.split("|") for key in tables.get("VLAN_MEMBER", {}) if "|" in key]
    return {name: {"name": name, "vlanid": row.get("vlanid", name[len("Vlan"):]),
                   "members": [port for vlan, port in pairs if vlan == name]}
            for name, row in tables.get("VLAN", {}).items()}


def facts(tables: Mapping[str, Any], host: str) -> dict[str, Any]:
    """The facts of a switch; `tables` is its CONFIG_DB."""
    metadata = tables["DEVICE_METADATA"]["localhost"]
    ports = {name: {"name": name, "alias": row.get("alias", name), "speed": row.get("speed")}
             for name, row in tables.get("PORT", {}).items()}
    indices = {name: number for number, name in enumerate(sorted(ports, key=lambda name: int(name[len("Ethernet"):])))}
    found = {"minigraph_interfaces": "INTERFACE", "minigraph_vlan_interfaces": "VLAN_INTERFACE",
             "minigraph_lo_interfaces": "LOOPBACK_INTERFACE"}
    management = addresses(tables.get("MGMT_INTERFACE", {}))
    return {
        **EMPTY, **{name: addresses(tables.get(table, {})) for name, table in found.items()},
        "minigraph_hwsku": metadata["hwsku"], "minigraph_hostname": host, "inventory_hostname": host,
        "minigraph_device_metadata": {"type": metadata.get("type"), "bgp_asn": None},
        "minigraph_ports": ports, "minigraph_vlans": vlans(tables),
        "minigraph_mgmt_interface": management[0] if management else {},
        "minigraph_neighbors": {port: {"name": row["name"], "port": row.get("port", "")}
                                for port, row in tables.get("DEVICE_NEIGHBOR", {}).items()},
        "minigraph_port_indices": indices, "minigraph_ptf_indices": indices,
        "minigraph_port_name_to_alias_map": {name: port["alias"] for name, port in ports.items()},
        "minigraph_port_alias_to_name_map": {port["alias"]: name for name, port in ports.items()}}


def main() -> None:
    """Reads CONFIG_DB; a `filename` and a `namespace` make no difference here."""
    arguments: dict[str, Any] = {"host": {"required": True}, "filename": {}, "namespace": {}}
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    said = subprocess.run(["sonic-cfggen", "-d", "--print-data"], stdout=subprocess.PIPE, text=True, check=True)
    module.exit_json(changed=False, ansible_facts=facts(json.loads(said.stdout), module.params["host"]))


if __name__ == "__main__":
    main()
