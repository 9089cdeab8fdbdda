#!/usr/bin/python
"""Ansible module: sonic-mgmt's basic facts of a switch, without the Python packages of a SONiC image."""
from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: dut_basic_facts
short_description: basic facts of a virtual switch, in the shape of sonic-mgmt's module of this name
"""
NOT_THIS_ONE = ("is_multi_asic", "is_supervisor", "is_chassis", "is_chassis_config_absent", "is_smartswitch", "is_dpu",
                "eth_mgmt_ctrl_available", "is_mgmt_ipv6_only")
"""What a virtual switch is not, and does not have."""


def facts(tables: Mapping[str, Any], versions: Mapping[str, Any]) -> dict[str, Any]:
    """The facts. `tables`: CONFIG_DB; `versions`: of `sonic_version.yml`."""
    metadata = tables["DEVICE_METADATA"]["localhost"]
    features = {name: row.get("state", "") for name, row in tables.get("FEATURE", {}).items()}
    return {**versions, "platform": metadata["platform"], "hwsku": metadata["hwsku"], "num_asic": 1,
            **dict.fromkeys(NOT_THIS_ONE, False), "kernel_version": versions["kernel_version"].split("-")[0],
            "release": versions["branch"], "feature_status": features}


def main() -> None:
    """Reads CONFIG_DB and the image's file."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    said = subprocess.run(["sonic-cfggen", "-d", "--print-data"], stdout=subprocess.PIPE, text=True, check=True)
    versions = yaml.safe_load(Path("/etc/sonic/sonic_version.yml").read_text(encoding="utf-8"))
    module.exit_json(changed=False, ansible_facts={"dut_basic_facts": facts(json.loads(said.stdout), versions)})


if __name__ == "__main__":
    main()
