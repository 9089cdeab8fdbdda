#!/usr/bin/python
"""Ansible module: the devices of a lab and the cables between them."""

from __future__ import annotations

import os
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc import graph, hwsku
from ansible.module_utils.pfc.graph import GraphError

DOCUMENTATION = r"""
---
module: conn_graph_facts
short_description: The devices of a lab and the cables between them
description:
  - Reads C(sonic_<group>_devices.csv) and C(sonic_<group>_links.csv), in sonic-mgmt's format, where Ansible runs.
  - With I(host) or I(hosts) the facts of these devices are returned, with I(anchor) those of the whole graph that has
    the devices named.
options:
  host:
    description: One device.
    type: str
  hosts:
    description: Devices.
    type: list
    elements: str
  anchor:
    description: Devices that the graph must have; all of it is returned.
    type: list
    elements: str
  filepath:
    description: Folder of the files. C(files/) if absent.
    type: path
  filename:
    description: Path of the group's links file or devices file; says folder and group in one.
    type: path
  group:
    description: Graph group, a name in C(graph_groups.yml). If absent, the first group that has all hosts.
    type: str
  ignore_errors:
    description: Leave out devices that the graph does not have.
    type: bool
    default: false
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: The cables of a switch
  delegate_to: localhost
  conn_graph_facts:
    filepath: "{{ playbook_dir }}/files"
    group: vtb
    hosts: [vtb-t0-01]
"""

RETURN = r"""
ansible_facts:
  description:
    - C(device_info), C(device_conn), C(device_linked_ports), C(device_port_vlans), C(device_vlan_list),
      C(device_vlan_range) and C(device_vlan_map_list), each a dictionary by host.
  returned: success
  type: dict
"""

DEFAULT_FOLDER = "files/"


def find_place(params: Mapping[str, Any]) -> tuple[str, str | None]:
    """Folder and group that the arguments name; the group is None when it is to be found by its hosts.

    Raises:
        GraphError: `filename` is not the name of a graph file.
    """
    if not params["filename"]:
        return params["filepath"] or DEFAULT_FOLDER, params["group"]
    folder, name = os.path.split(params["filename"])
    folder = os.path.join(params["filepath"], folder) if params["filepath"] else folder
    for suffix in ("_links.csv", "_devices.csv"):
        if name.startswith("sonic_") and name.endswith(suffix):
            return folder or ".", params["group"] or name[len("sonic_"):-len(suffix)]
    raise GraphError(f"{params['filename']} is not a graph file (sonic_GROUP_links.csv or sonic_GROUP_devices.csv)")


def read_facts(params: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that the arguments ask for.

    Raises:
        GraphError: a file or an argument is wrong.
    """
    folder, group = find_place(params)
    hosts = params["hosts"] or ([params["host"]] if params["host"] else [])
    found = graph.read_graph(folder, group) if group else graph.find_graph(folder, hosts or params["anchor"] or [])
    if found is None:
        return {"device_info": {}, "device_conn": {}, "device_port_vlans": {}}
    if not hosts:
        return {"device_info": {name: dict(row) for name, row in found.devices.items()},
                "device_conn": {name: graph.connections(found, name) for name in found.devices},
                "device_port_vlans": {name: graph.port_vlans(found, name) for name in found.devices}}
    if params["ignore_errors"]:
        hosts = [host for host in hosts if host in found.devices]
    return graph.graph_facts(found, hosts, hwsku.known_ports(os.path.join(folder, os.pardir, "vars", "hwsku")))


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str"},
            "hosts": {"type": "list", "elements": "str"},
            "anchor": {"type": "list", "elements": "str"},
            "filepath": {"type": "path"},
            "filename": {"type": "path"},
            "group": {"type": "str"},
            "ignore_errors": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("host", "hosts", "anchor")],
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, ansible_facts=read_facts(module.params))
    except (GraphError, hwsku.HwSkuError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
