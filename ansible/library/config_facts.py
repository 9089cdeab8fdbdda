#!/usr/bin/python
"""Ansible module: the configuration of a SONiC switch as facts."""

from __future__ import annotations

from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc.config_db import PERSISTENT_CONFIG, ConfigDbError, natural, parse_tables, read_running

DOCUMENTATION = r"""
---
module: config_facts
short_description: The configuration of a SONiC switch as facts
description:
  - Reads CONFIG_DB (C(running)) or C(/etc/sonic/config_db.json) (C(persistent)).
  - Each table becomes a fact. A key of two or more parts is split at the first C(|), so that
    C(VLAN_MEMBER["Vlan1000|Ethernet0"]) is found at C(VLAN_MEMBER.Vlan1000.Ethernet0).
  - Adds C(port_name_to_alias_map), C(port_alias_to_name_map), C(port_index_map) (counted from 0) and the C(members) of
    each PORTCHANNEL.
options:
  host:
    description: Name of the switch; not used, there for callers that give it.
    type: str
    required: true
  source:
    description: Which configuration.
    type: str
    choices: [running, persistent]
    required: true
  filename:
    description: Another file for C(persistent).
    type: path
  namespace:
    description: Namespace of one ASIC (C(asic0)) on a switch with several.
    type: str
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: Read the running configuration
  config_facts:
    host: "{{ inventory_hostname }}"
    source: running
"""

RETURN = r"""
ansible_facts:
  description: The tables, and the maps made from them.
  returned: success
  type: dict
"""


def split_keys(rows: Mapping[str, Any]) -> dict[str, Any]:
    """A table with its keys split at the first `|`; where a key is also the first part of others, all is merged."""
    result: dict[str, Any] = {}
    for key, row in rows.items():
        first, bar, rest = key.partition("|")
        if bar:
            result.setdefault(first, {})[rest] = row
        else:
            result[first] = {**row, **result.get(first, {})}
    return result


def make_port_maps(ports: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Names, aliases and panel positions (from 0) of the table PORT."""
    aliases = {name: row.get("alias", "") for name, row in ports.items()}
    indexes = {name: int(row["index"]) - 1 for name, row in ports.items() if "index" in row}
    return {
        "port_name_to_alias_map": aliases,
        "port_alias_to_name_map": {alias: name for name, alias in aliases.items()},
        "port_index_map": indexes or {name: at for at, name in enumerate(sorted(ports, key=natural))},
    }


def make_facts(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a configuration."""
    facts: dict[str, Any] = {table: split_keys(rows) for table, rows in tables.items()}
    members = facts.get("PORTCHANNEL_MEMBER", {})
    if "PORTCHANNEL" in facts:
        facts["PORTCHANNEL"] = {
            name: {**row, **({"members": sorted(members[name], key=natural)} if name in members else {})}
            for name, row in facts["PORTCHANNEL"].items()}
    return {**facts, **make_port_maps(tables.get("PORT", {}))}


def persistent_path(filename: str | None, namespace: str | None) -> str:
    """The file of the saved configuration; each ASIC of several has its own (`config_db0.json`)."""
    if filename:
        return filename
    number = namespace.replace("asic", "") if namespace else ""
    return PERSISTENT_CONFIG.replace(".json", f"{number}.json")


def read_tables(module: Any) -> Mapping[str, Any]:
    """The configuration that the arguments ask for."""
    namespace = module.params["namespace"]
    if module.params["source"] == "running":
        suffix = ["-n", namespace] if namespace else []
        return read_running(lambda command: module.run_command([*command, *suffix]))
    path = persistent_path(module.params["filename"], namespace)
    try:
        with open(path, encoding="utf-8") as file:
            return parse_tables(file.read(), path)
    except OSError as error:
        raise ConfigDbError(f"{path} cannot be read ({error.strerror})") from error


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "source": {"type": "str", "required": True, "choices": ["running", "persistent"]},
            "filename": {"type": "path"},
            "namespace": {"type": "str"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, ansible_facts=make_facts(read_tables(module)))
    except ConfigDbError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
