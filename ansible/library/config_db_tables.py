#!/usr/bin/python
"""Ansible module: bring tables of CONFIG_DB into a state, and back into the one that was found."""

from __future__ import annotations

from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc import config_db
from ansible.module_utils.pfc.config_db import ConfigDbError, Run, Tables, Wanted
from ansible.module_utils.pfc.qos_templates import (
    QOS_TABLES, made_by_templates, only_qos, replace_qos, without_derived)

DOCUMENTATION = r"""
---
module: config_db_tables
short_description: Bring tables of CONFIG_DB into a state
description:
  - Compares the running configuration with what is wanted, and brings about the difference in the ways that SONiC has
    for it. Speeds of ports by C(config interface speed). QoS and buffer tables by clearing all of them and writing all
    of them, as C(config qos reload) does. The rest as one JSON patch (RFC 6902) through C(config apply-patch), which
    SONiC takes whole or not at all, and whose steps it orders.
  - Reads the configuration again afterwards and fails when it is not as wanted. Rows that buffermgrd adds to
    BUFFER_PROFILE and BUFFER_PG by itself are left alone.
  - Check mode and diff show the rows that differ.
options:
  state:
    description:
      - C(present) brings the tables into the state that the other options describe.
      - C(restored) brings the tables saved in I(backup) back to what they were, rows and tables that were not there
        included. Without the file nothing is done.
    type: str
    choices: [present, restored]
    default: present
  tables:
    description: Rows that shall be there, as C({table - {key - {field - value}}}). A row gets exactly these fields.
    type: dict
    default: {}
  merge:
    description: Tables whose rows keep the fields that I(tables) does not name.
    type: list
    elements: str
    default: []
  templates:
    description:
      - Bring the QoS and buffer tables into the state that the switch's own templates make of the configuration that
        results, and lay what I(tables) says of them over that.
    type: bool
    default: false
  absent:
    description:
      - Rows that shall not be there unless I(tables) names them, as C({table - [pattern of keys]}).
      - C(*) and C(?) in a pattern stand for any characters.
    type: dict
    default: {}
  backup:
    description:
      - Absolute path of a file on the switch. Before the first change, the tables that may change are saved there as
        they are. Tables that the file holds already are left as they were saved.
    type: path
  backup_also:
    description: Further tables to save in I(backup), and to leave alone when I(state=restored).
    type: list
    elements: str
    default: []
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: One VLAN with one port in it, nothing else for that port
  config_db_tables:
    tables:
      VLAN:
        Vlan1000: {vlanid: 1000}
      VLAN_MEMBER:
        Vlan1000|Ethernet0: {tagging_mode: untagged}
    absent:
      VLAN_MEMBER: ["*|Ethernet0"]
      INTERFACE: ["Ethernet0", "Ethernet0|*"]
    backup: /etc/sonic/found.json

- name: As it was
  config_db_tables:
    state: restored
    backup: /etc/sonic/found.json
"""

RETURN = r"""
patch:
  description: The steps of the patch; speeds of ports, QoS and buffer tables are not among them.
  returned: success
  type: list
tables:
  description: Names of the tables that are managed.
  returned: success
  type: list
wanted:
  description: These tables as they shall be, C({table - {key - {field - value}}}).
  returned: success
  type: dict
backed_up:
  description: Tables that were added to the backup.
  returned: success
  type: list
"""


def wanted_by(params: Mapping[str, Any], saved: Mapping[str, Any] | None) -> Wanted:
    """What the module's arguments ask for; `saved` is the content of the backup."""
    if params["state"] == "restored":
        skipped = set(params["backup_also"])
        return Wanted(exact={table: rows for table, rows in (saved or {}).items() if table not in skipped})
    return Wanted(
        tables=config_db.as_strings(params["tables"]),
        merge=frozenset(params["merge"]),
        absent=params["absent"],
    )


def new_backup(params: Mapping[str, Any], running: Mapping[str, Any], saved: Mapping[str, Any] | None,
               names: list[str]) -> dict[str, Any] | None:
    """What the backup shall hold, None when it holds that already or none is asked for."""
    if params["state"] == "restored" or not params["backup"]:
        return None
    backup = config_db.to_back_up(running, saved, [*names, *params["backup_also"]])
    return None if backup == saved else backup


def run_module(module: Any) -> dict[str, Any]:
    """Do what the arguments ask for; the module's result.

    Raises:
        ConfigDbError: it could not be done.
    """
    params = module.params
    running = config_db.read_running(module.run_command)
    saved = config_db.read_backup(params["backup"]) if params["backup"] else None
    wanted = wanted_by(params, saved)
    target = config_db.apply_wanted(running, wanted)
    names = wanted.names
    if params["templates"]:
        target = with_templates(module.run_command, running, target, wanted)
        names = sorted({*names, *QOS_TABLES})
    before, after = config_db.changed_rows(without_derived(running, target), target, names)
    backup = new_backup(params, running, saved, names)
    if not module.check_mode:
        if backup is not None:
            config_db.write_backup(params["backup"], backup)
        if before or after:
            bring_about(module.run_command, running, target, names)
    new = sorted(set(backup or {}) - set(saved or {}))
    return {
        "changed": bool(before or after) or backup is not None,
        "patch": patch_of(running, target, names),
        "tables": names,
        "wanted": target,
        "backed_up": new,
        "diff": [{"before_header": "CONFIG_DB", "after_header": "CONFIG_DB", "before": before, "after": after},
                 *_backup_diff(params["backup"], saved, backup)],
    }


def with_templates(run: Run, running: Tables, target: Tables, wanted: Wanted) -> Tables:
    """`target`, with QoS and buffer tables as the switch's templates make them of it, and what is wanted of them."""
    rest = {table: rows for table, rows in running.items() if table not in wanted.names}
    made = made_by_templates(run, {**rest, **target})
    named = config_db.apply_wanted({**running, **dict.fromkeys(QOS_TABLES, {}), **made}, wanted)
    return {**target, **made, **only_qos(named)}


def patch_of(running: Tables, target: Tables, names: list[str]) -> list[dict[str, Any]]:
    """The patch for what is neither a port's speed nor a table of QoS and buffers."""
    ports = target.get("PORT", {})
    fast = {port: {**row, "speed": ports[port]["speed"]} if "speed" in row and "speed" in ports.get(port, {}) else row
            for port, row in running.get("PORT", {}).items()}
    found = {**running, "PORT": fast} if fast else running
    return config_db.make_patch(found, target, [name for name in names if name not in QOS_TABLES])


def bring_about(run: Run, running: Tables, target: Tables, names: list[str]) -> None:
    """Change the switch's tables `names` into those of `target`.

    Raises:
        ConfigDbError: it could not be done, or is not so afterwards.
    """
    config_db.set_speeds(run, running, target)
    patch = patch_of(running, target, names)
    if patch:
        config_db.apply_patch(run, patch)
    seen = without_derived(running, target)
    qos = {table: target.get(table, {}) if table in names else seen.get(table, {}) for table in QOS_TABLES}
    if only_qos(qos) != only_qos(seen):
        replace_qos(run, only_qos(running), only_qos(qos))
    wrong = config_db.unlike(without_derived(config_db.read_running(run), target), target, names)
    if wrong:
        raise ConfigDbError(f"the switch's commands ended well, but {wrong}")


def _backup_diff(path: str | None, saved: Mapping[str, Any] | None,
                 backup: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Which tables a backup gets; their rows are the `before` of the first part."""
    if backup is None:
        return []
    old = "".join(f"{table}\n" for table in sorted(saved or {}))
    new = "".join(f"{table}\n" for table in sorted(backup))
    title = f"tables saved in {path}"
    return [{"before_header": title, "after_header": title, "before": old, "after": new}]


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "restored"], "default": "present"},
            "tables": {"type": "dict", "default": {}},
            "merge": {"type": "list", "elements": "str", "default": []},
            "templates": {"type": "bool", "default": False},
            "absent": {"type": "dict", "default": {}},
            "backup": {"type": "path"},
            "backup_also": {"type": "list", "elements": "str", "default": []},
        },
        required_if=[("state", "restored", ["backup"])],
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run_module(module))
    except ConfigDbError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
