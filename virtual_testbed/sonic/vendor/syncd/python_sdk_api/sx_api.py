"""As much of NVIDIA's Python module of this name as reads and sets how long frames may wait.

Pointers of the real one are lists of one element here, arrays are lists. There are no LAGs.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[5]))

from virtual_testbed.sonic import vendor_sdk as sdk  # noqa: E402  (the path has to be there first)
from virtual_testbed.sonic.commands.context import this_switch  # noqa: E402
from virtual_testbed.sonic.databases import read_hash  # noqa: E402

SX_STATUS_SUCCESS = 0
SX_STATUS_ERROR = 1
SX_ACCESS_CMD_GET = 17
SX_ACCESS_CMD_GET_FIRST = 18


@dataclass
class sx_port_attributes_t:
    """What is known of a port."""

    log_port: int = 0


def _pointer() -> list[int]:
    return [0]


def _value(pointer: list[int]) -> int:
    return pointer[0]


def _assign(pointer: list[int], value: int) -> None:
    pointer[0] = value


new_uint32_t_p = new_uint64_t_p = _pointer
uint32_t_p_value = uint64_t_p_value = _value
uint32_t_p_assign = _assign


def new_sx_port_log_id_t_arr(count: int) -> list[int]:
    """An array of so many port numbers."""
    return [0] * count


def new_sx_port_attributes_t_arr(count: int) -> list[sx_port_attributes_t]:
    """An array for so many ports."""
    return [sx_port_attributes_t() for _ in range(count)]


def sx_port_log_id_t_arr_getitem(array: list[int], number: int) -> int:
    """An element."""
    return array[number]


def sx_port_attributes_t_arr_getitem(array: list[sx_port_attributes_t], number: int) -> sx_port_attributes_t:
    """An element."""
    return array[number]


def sx_api_open(callback: object) -> tuple[int, int]:
    """Only an image of this vendor's has the SDK."""
    is_there = this_switch().asic_type == "mellanox"
    return (SX_STATUS_SUCCESS if is_there else SX_STATUS_ERROR), 1


def sx_api_lag_port_group_iter_get(
    handle: int, command: int, swid: int, key: int, filtered: object, ids: list[int] | None, count: list[int]
) -> int:
    """How many LAGs there are."""
    count[0] = 0
    return SX_STATUS_SUCCESS


def sx_api_lag_port_group_get(handle: int, swid: int, lag: int, ports: list[int], count: list[int]) -> int:
    """There is no such LAG."""
    return SX_STATUS_ERROR


def sx_api_port_device_get(
    handle: int, device: int, swid: int, ports: list[sx_port_attributes_t], count: list[int]
) -> int:
    """How many ports there are; as many of them as the array has room for."""
    numbers = sdk.log_ports(this_switch().profile)
    for attributes, number in zip(ports, numbers):
        attributes.log_port = number
    count[0] = len(numbers)
    return SX_STATUS_SUCCESS


def _read() -> dict[str, str]:
    return read_hash(this_switch().connect("ASIC_DB"), sdk.SDK)


def _write(field: str, value: str) -> int:
    if sdk.REFUSES in _read():
        return SX_STATUS_ERROR
    this_switch().connect("ASIC_DB").call("HSET", sdk.SDK, field, value)
    return SX_STATUS_SUCCESS


def sx_api_port_sll_set(handle: int, time_us: int) -> int:
    """The switch's lifetime."""
    return _write(sdk.SWITCH_LIFETIME, str(time_us))


def sx_api_port_sll_get(handle: int, time_us: list[int]) -> int:
    """The switch's lifetime."""
    time_us[0] = int(_read().get(sdk.SWITCH_LIFETIME, sdk.DEFAULT_SWITCH_US))
    return SX_STATUS_SUCCESS


def sx_api_port_hll_set(handle: int, port: int, time_us: int, stall: int) -> int:
    """A port's lifetime."""
    return _write(f"{sdk.PORT_LIFETIME}{port}", f"{time_us} {stall}")


def sx_api_port_hll_get(handle: int, port: int, time_us: list[int], stall: list[int]) -> int:
    """A port's lifetime."""
    default = f"{sdk.DEFAULT_PORT_US} {sdk.DEFAULT_PORT_STALL}"
    time_us[0], stall[0] = map(int, _read().get(f"{sdk.PORT_LIFETIME}{port}", default).split())
    return SX_STATUS_SUCCESS
