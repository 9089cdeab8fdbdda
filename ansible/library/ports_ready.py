#!/usr/bin/python
"""Ansible module: wait until ports have a link, and buffers for their lossless priorities."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc import config_db, readiness
from ansible.module_utils.pfc.config_db import ConfigDbError

DOCUMENTATION = r"""
---
module: ports_ready
short_description: Wait until ports have a link, and buffers for their lossless priorities
description:
  - Looks at what the switch has made of its configuration. BUFFER_PG_TABLE of APPL_DB must have the priority group of
    each priority in C(pfc_enable), and C(oper_status) in PORT_TABLE there should be C(up).
  - Fails when a port has no such group in time. Of ports without a link it warns, the others can be used.
options:
  ports:
    description: Names of the ports.
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds to wait.
    type: int
    default: 60
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: Wait for the links
  ports_ready:
    ports: [Ethernet0, Ethernet4]
"""

RETURN = r"""
without_link:
  description: Names of the ports that have no link.
  returned: success
  type: list
"""

POLL_S = 1.0


def run_module(module: Any) -> dict[str, Any]:
    """Wait; the module's result.

    Raises:
        ConfigDbError: a port is not ready in time, or has no PFC at all.
    """
    tables = config_db.read_running(module.run_command)
    groups = {port: readiness.lossless_groups(tables, port) for port in module.params["ports"]}
    timeout = module.params["timeout"]
    deadline = time.monotonic() + timeout
    while True:
        down = readiness.without_link(module.run_command, groups)
        missing = readiness.without_buffers(module.run_command, groups)
        if not (down or missing) or time.monotonic() >= deadline:
            break
        time.sleep(POLL_S)
    if missing:
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ConfigDbError(f"after {timeout} s {missing[0]}{others}")
    if down:
        module.warn(f"after {timeout} s no link at {', '.join(down)}")
    return {"changed": False, "without_link": down}


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "ports": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=False,
    )
    try:
        module.exit_json(**run_module(module))
    except ConfigDbError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
