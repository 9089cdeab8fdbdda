#!/usr/bin/python
"""Ansible module: sonic-mgmt's facts of a switch, without the Python packages of a SONiC image (`sonic_py_common`)."""
from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: sonic_basic_facts
short_description: facts of a virtual switch, in the shape of sonic-mgmt's module of this name
"""


def facts(tables: Mapping[str, Any], versions: Mapping[str, Any], platform_asic: str,
          platform: Mapping[str, Any]) -> dict[str, Any]:
    """`basic_facts`, `features` and `versions`, as sonic-mgmt's module returns them.

    Args:
        tables: CONFIG_DB; versions: `sonic_version.yml`; platform_asic: the vendor's name of the chip family.
        platform: `platform.json`, which is among the facts.
    """
    metadata = tables["DEVICE_METADATA"]["localhost"]
    basic = {
        "platform": metadata["platform"], "hwsku": metadata["hwsku"], "platform_asic": platform_asic,
        "asic_type": versions["asic_type"], "asic_count": 1, "num_asic": 1, "modular_chassis": False,
        "router_mac": metadata["mac"], "router_type": metadata.get("type", ""), "router_subtype": "",
        "switch_type": "", **platform,
        "mgmt_interface": [key.split("|")[1] for key in tables.get("MGMT_INTERFACE", {}) if "|" in key]}
    return {"basic_facts": basic, "features": tables.get("FEATURE", {}), "versions": dict(versions)}


def main() -> None:
    """Reads CONFIG_DB and the image's files."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    said = subprocess.run(["sonic-cfggen", "-d", "--print-data"], stdout=subprocess.PIPE, text=True, check=True)
    tables = json.loads(said.stdout)
    versions = yaml.safe_load(Path("/etc/sonic/sonic_version.yml").read_text(encoding="utf-8"))
    device = Path("/usr/share/sonic/device", tables["DEVICE_METADATA"]["localhost"]["platform"])
    platform_asic = (device / "platform_asic").read_text(encoding="utf-8").strip()
    platform = json.loads((device / "platform.json").read_text(encoding="utf-8"))
    module.exit_json(changed=False, ansible_facts=facts(tables, versions, platform_asic, platform))


if __name__ == "__main__":
    main()
