#!/usr/bin/python
"""Ansible module: `config save` when the saved configuration is not the running one."""

from __future__ import annotations

from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc import config_db
from ansible.module_utils.pfc.config_db import ConfigDbError

DOCUMENTATION = r"""
---
module: config_db_save
short_description: Save the running configuration of a SONiC switch
description:
  - Runs C(config save) when one of the tables named differs between CONFIG_DB and C(/etc/sonic/config_db.json), so
    that the switch keeps them over a restart.
options:
  tables:
    description: Tables to compare.
    type: list
    elements: str
    required: true
  pending:
    description: An earlier task changed, or in check mode would have changed, one of these tables.
    type: bool
    default: false
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: Keep the VLANs over a restart
  config_db_save:
    tables: [VLAN, VLAN_MEMBER]
"""

RETURN = r"""
unsaved:
  description: Tables that were not saved.
  returned: success
  type: list
"""


def differing(running: Mapping[str, Any], saved: Mapping[str, Any], names: list[str]) -> list[str]:
    """Which of the tables differ; no table and a table without rows are the same."""
    return [name for name in names if (running.get(name) or {}) != (saved.get(name) or {})]


def read_saved(path: str) -> Mapping[str, Any]:
    """The saved configuration; none is an empty one."""
    try:
        with open(path, encoding="utf-8") as file:
            return config_db.parse_tables(file.read(), path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigDbError(f"{path} cannot be read ({error.strerror})") from error


def run_module(module: Any) -> dict[str, Any]:
    """Save if need be; the module's result."""
    running = config_db.read_running(module.run_command)
    unsaved = differing(running, read_saved(config_db.PERSISTENT_CONFIG), module.params["tables"])
    changed = bool(unsaved) or (module.check_mode and module.params["pending"])
    if unsaved and not module.check_mode:
        status, out, err = module.run_command(["config", "save", "-y"])
        if status != 0:
            raise ConfigDbError(f"`config save -y` ended with status {status}: {config_db.last_line(err or out)}")
    return {"changed": changed, "unsaved": unsaved}


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "tables": {"type": "list", "elements": "str", "required": True},
            "pending": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run_module(module))
    except ConfigDbError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
