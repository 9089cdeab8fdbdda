#!/usr/bin/python
"""Ansible module: what the lab's files say of a testbed."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc.graph import GraphError
from ansible.module_utils.pfc.hwsku import HwSkuError
from ansible.module_utils.pfc.testbed import TestbedError, describe

DOCUMENTATION = r"""
---
module: pfc_testbed_facts
short_description: What the lab's files say of a testbed
description:
  - Reads an entry of the testbed file, its topology and its connection graph, where Ansible runs. No switch is asked.
options:
  name:
    description: The testbed, C(conf-name) or C(name) of its entry.
    type: str
    required: true
  testbed_file:
    description: The testbed file.
    type: path
    required: true
  lab_folder:
    description:
      - Folder with C(files/) and C(vars/), for a testbed file that does not stand beside them. The key C(lab_folder) of
        an entry wins.
    type: path
    required: true
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: Read vtb-t0
  delegate_to: localhost
  pfc_testbed_facts:
    name: vtb-t0
    testbed_file: "{{ playbook_dir }}/testbed.yaml"
    lab_folder: "{{ playbook_dir }}"
"""

RETURN = r"""
testbed:
  description: C(name), C(testbed_file), C(lab_folder), C(inv_name), C(topology), C(duts) and more.
  returned: success
  type: dict
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "testbed_file": {"type": "path", "required": True},
            "lab_folder": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        testbed = describe(params["name"], params["testbed_file"], params["lab_folder"])
        module.exit_json(changed=False, testbed=testbed)
    except (TestbedError, GraphError, HwSkuError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
