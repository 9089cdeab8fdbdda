"""What intfmgrd hands on of CONFIG_DB's router interfaces: `INTF_TABLE` of APPL_DB (sonic-swss `intfmgr.cpp`)."""
from __future__ import annotations

import ipaddress

from virtual_testbed.sonic.counters import Hash
from virtual_testbed.sonic.databases import Config, hash_from_row

TABLES = ("INTERFACE", "LOOPBACK_INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE")
PREFIX = "INTF_TABLE:"


def interface_rows(config: Config) -> dict[str, Hash]:
    """The rows of all router interfaces and of their addresses, link-local ones left out; one that is malformed has
    none, as intfmgrd logs and leaves it."""
    rows: dict[str, Hash] = {}
    for table in TABLES:
        found = config.get(table, {})
        for key, row in found.items():
            name, _, address = key.partition("|")
            if not address:
                rows[f"{PREFIX}{name}"] = {**hash_from_row(row), "mac_addr": "00:00:00:00:00:00"}
            elif name in found and (version := _global_version(address)):
                rows[f"{PREFIX}{name}:{address}"] = {"scope": "global", "family": f"IPv{version}"}
    return rows


def _global_version(address: str) -> int:
    """The IP version of an address; 0 for one that stays in CONFIG_DB."""
    try:
        found = ipaddress.ip_interface(address)
    except ValueError:
        return 0
    return 0 if found.ip.is_link_local else found.version
