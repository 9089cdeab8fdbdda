"""What a switch is: HwSKU and platform by CONFIG_DB, its image by `/etc/sonic/sonic_version.yml`.

Facts by sonic-buildimage `src/sonic-py-common/sonic_py_common/device_info.py`; of a switch that has neither
`/host/machine.conf` nor `asic.conf`, `platform_env.conf` or `chassisdb.conf` of a platform.
"""
from __future__ import annotations

import json
import os
from typing import Any

import yaml
from swsscommon.swsscommon import ConfigDBConnector

SONIC_VERSION_YAML_PATH = "/etc/sonic/sonic_version.yml"
HOST_DEVICE_PATH = "/usr/share/sonic/device"
PLATFORM_JSON_FILE = "platform.json"
ASICS = 1
_PACKET_CHASSIS = "chassis-packet"
_VIRTUAL_CHASSIS = ("dummy-sup", "voq", _PACKET_CHASSIS)
"""Values of `switch_type`; the latter make a virtual switch (`vs`) one of a chassis."""


def get_localhost_info(field: str, config_db: ConfigDBConnector | None = None) -> Any:
    """A field of `DEVICE_METADATA|localhost`; None: it is not there."""
    if config_db is None:
        config_db = ConfigDBConnector()
        config_db.connect()
    return config_db.get_entry("DEVICE_METADATA", "localhost").get(field)


def get_platform() -> str | None:
    """The platform, for instance `x86_64-mlnx_msn2700-r0`."""
    platform: str | None = get_localhost_info("platform")
    return platform


def get_hwsku() -> str | None:
    """The HwSKU."""
    hwsku: str | None = get_localhost_info("hwsku")
    return hwsku


def get_platform_and_hwsku() -> tuple[str | None, str | None]:
    """Both."""
    return get_platform(), get_hwsku()


def get_path_to_platform_dir() -> str:
    """The folder of the platform. Raises OSError: there is none."""
    folder = os.path.join(HOST_DEVICE_PATH, get_platform() or "none")
    if not os.path.isdir(folder):
        raise OSError("Failed to locate platform directory")
    return folder


def get_paths_to_platform_and_hwsku_dirs() -> tuple[str, str]:
    """The folders of the platform and of the HwSKU. Raises OSError: there is none."""
    folder = get_path_to_platform_dir()
    return folder, os.path.join(folder, get_hwsku() or "none")


def get_platform_json_data() -> Any:
    """What the platform's `platform.json` says; None: there is none."""
    try:
        with open(os.path.join(get_path_to_platform_dir(), PLATFORM_JSON_FILE), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def get_sonic_version_info() -> Any:
    """What the image says of itself; None: it does not."""
    if not os.path.isfile(SONIC_VERSION_YAML_PATH):
        return None
    with open(SONIC_VERSION_YAML_PATH, encoding="utf-8") as file:
        return yaml.safe_load(file)


def get_platform_info() -> dict[str, Any]:
    """Platform, HwSKU, the vendor of the ASIC, how many ASICs there are, and `switch_type` where one is configured."""
    found = {"platform": get_platform(), "hwsku": get_hwsku(),
             "asic_type": (get_sonic_version_info() or {}).get("asic_type"), "asic_count": ASICS}
    switch_type = get_localhost_info("switch_type")
    return {**found, "switch_type": switch_type} if switch_type else found


def get_num_npus() -> int:
    """How many ASICs there are."""
    return ASICS


def is_multi_npu() -> bool:
    """Whether there are several."""
    return get_num_npus() > 1


def is_chassis() -> bool:
    """Whether it is a card of a chassis."""
    switch_type = get_localhost_info("switch_type")
    is_virtual = get_platform_info()["asic_type"] == "vs"
    return switch_type == _PACKET_CHASSIS or is_virtual and switch_type in _VIRTUAL_CHASSIS


def is_chassis_config_absent() -> bool:
    """Whether there is no `chassisdb.conf`."""
    return True


def is_supervisor() -> bool:
    """Whether it is the supervisor card of a chassis."""
    return False


def is_smartswitch() -> bool:
    """Whether it has DPUs."""
    return "DPUS" in (get_platform_json_data() or {})


def is_dpu() -> bool:
    """Whether it is a DPU."""
    return "DPU" in (get_platform_json_data() or {})
