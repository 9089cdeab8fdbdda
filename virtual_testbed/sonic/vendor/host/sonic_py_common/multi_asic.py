"""The ASICs of a switch, of which there is one, in the default namespace.

Facts by sonic-buildimage `src/sonic-py-common/sonic_py_common/multi_asic.py`.
"""
from __future__ import annotations

from typing import Any

from sonic_py_common import device_info
from swsscommon.swsscommon import ConfigDBConnector

ASIC_NAME_PREFIX = "asic"
DEFAULT_NAMESPACE = ""


def get_num_asics() -> int:
    """How many there are."""
    number: int = device_info.get_num_npus()
    return number


def is_multi_asic() -> bool:
    """Whether there are several."""
    return get_num_asics() > 1


def get_asic_presence_list() -> list[int]:
    """The numbers of those that are there."""
    return list(range(get_num_asics()))


def get_namespace_list(namespace: str | None = None) -> list[str]:
    """The namespaces; any that is asked for is the default one."""
    return [DEFAULT_NAMESPACE]


def get_asic_id_from_name(name: str) -> str:
    """`0` of `asic0`. Raises ValueError: it is no such name."""
    if not name.startswith(ASIC_NAME_PREFIX):
        raise ValueError(f"Unknown asic namespace name {name}")
    return name.removeprefix(ASIC_NAME_PREFIX)


def get_port_table(namespace: str | None = None) -> dict[Any, dict[str, Any]]:
    """CONFIG_DB's ports."""
    connector = ConfigDBConnector(namespace=namespace)
    connector.connect()
    ports: dict[Any, dict[str, Any]] = connector.get_table("PORT")
    return ports


def is_port_channel_internal(port_channel: str, namespace: str | None = None) -> bool:
    """Whether it connects ASICs."""
    return False
