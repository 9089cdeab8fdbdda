"""What is known of a HwSKU: `vars/hwsku/<HwSKU>.yml`. Runs where Ansible runs."""

from __future__ import annotations

import os
from typing import Any

import yaml


class HwSkuError(Exception):
    """A HwSKU's file cannot be used; the text is one sentence."""


def load(folder: str, name: str) -> dict[str, Any] | None:
    """The data of a HwSKU, None where there is no file for it.

    Raises:
        HwSkuError: the file is not what it should be.
    """
    path = os.path.join(folder, f"{name}.yml")
    if not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            data = yaml.safe_load(file)
    except OSError as error:
        raise HwSkuError(f"{path} cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise HwSkuError(f"{path} is not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(data, dict):
        raise HwSkuError(f"{path} must be a dictionary, found {type(data).__name__}")
    if "ports" not in data:
        raise HwSkuError(f"{path} has no key ports")
    return data


def known_ports(folder: str) -> dict[str, list[str]]:
    """Front-panel ports by HwSKU."""
    names = [name[:-len(".yml")] for name in sorted(os.listdir(folder)) if name.endswith(".yml")] \
        if os.path.isdir(folder) else []
    loaded = {name: load(folder, name) for name in names}
    return {name: list(data["ports"]) for name, data in loaded.items() if data is not None}
