#!/usr/bin/python
"""Ansible module: sonic-mgmt's facts of interfaces. Its own module starts /usr/bin/python, which an image has and the
machine of a virtual testbed need not have."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: interface_facts
short_description: links of a virtual switch's ports, in the shape of sonic-mgmt's module of this name
"""
FOLDER = Path("/sys/class/net")
FIELDS = {"address": "macaddress", "mtu": "mtu", "speed": "speed"}


def facts(folder: Path, up_ports: Iterable[str]) -> dict[str, Any]:
    """The facts.

    Args:
        folder: the kernel's of network devices.
        up_ports: those that are to have a link.
    """
    interfaces: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("Ethernet*")):
        found = {name: (path / file).read_text(encoding="ascii").strip() for file, name in FIELDS.items()}
        is_up = (path / "operstate").read_text(encoding="ascii").strip() == "up"
        interfaces[path.name] = {"device": path.name, "link": is_up, "active": is_up, **found}
    return {"ansible_interface_facts": interfaces,
            "ansible_interface_ips": {"all_ipv4_addresses": [], "all_ipv6_addresses": []},
            "ansible_interface_link_down_ports": [port for port in up_ports
                                                  if not interfaces.get(port, {}).get("link", False)]}


def main() -> None:
    """Reads the kernel's files."""
    module = AnsibleModule(argument_spec={"up_ports": {"type": "raw", "default": []}, "namespace": {}})
    module.exit_json(changed=False, ansible_facts=facts(FOLDER, module.params["up_ports"] or []))


if __name__ == "__main__":
    main()
