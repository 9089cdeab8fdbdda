#!/usr/bin/python
"""Ansible module: the CONFIG_DB tables that a testbed wants on one of its switches."""

from __future__ import annotations

from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc.layout import SwitchFacts, lay_out
from ansible.module_utils.pfc.testbed import TestbedError

DOCUMENTATION = r"""
---
module: pfc_testbed_layout
short_description: The CONFIG_DB tables that a testbed wants on one of its switches
description:
  - Works out what a switch gets, where Ansible runs. No switch is asked, and nothing is changed.
  - Fails with one sentence when the lab's files and the switch do not fit together.
options:
  testbed:
    description: The result C(testbed) of C(pfc_testbed_facts).
    type: dict
    required: true
  switch:
    description: Name of the switch.
    type: str
    required: true
  ports:
    description: The table PORT of the switch.
    type: dict
    required: true
  metadata:
    description: The row DEVICE_METADATA|localhost of the switch.
    type: dict
    required: true
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: Work out the tables
  delegate_to: localhost
  pfc_testbed_layout:
    testbed: "{{ description.testbed }}"
    switch: "{{ inventory_hostname }}"
    ports: "{{ ansible_facts.PORT }}"
    metadata: "{{ ansible_facts.DEVICE_METADATA.localhost }}"
"""

RETURN = r"""
layout:
  description: C(tables), C(merge), C(absent) for C(config_db_tables), and C(ports) under test.
  returned: success
  type: dict
"""


def make_layout(params: Mapping[str, Any]) -> dict[str, Any]:
    """The layout that the arguments ask for."""
    testbed = params["testbed"]
    description = testbed["duts"][params["switch"]]
    return lay_out(testbed, SwitchFacts(params["switch"], description, params["ports"], params["metadata"]))


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "testbed": {"type": "dict", "required": True},
            "switch": {"type": "str", "required": True},
            "ports": {"type": "dict", "required": True},
            "metadata": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, layout=make_layout(module.params))
    except TestbedError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
