"""`show platform npu`: as much of Cisco's debug shell as sees and sets the watchdog of virtual output queues."""
from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.databases import read_hash
from virtual_testbed.sonic.vendor_sdk import FILE, REFUSES, SDK, VOQ_WATCHDOG

_PROPERTY = "la_device_property_e_VOQ_WATCHDOG_ENABLED"
_NOT_RUNNING = "debug shell server for asic 0 is not running"


def _registers(switch: SwitchContext) -> dict[str, str]:
    """What the SDK knows; ends where this is no switch of that vendor's, or its shell does not answer."""
    if switch.asic_type != "cisco-8000":
        sys.exit("Error: No such command \"npu\".")
    registers = read_hash(switch.connect("ASIC_DB"), SDK)
    if REFUSES in registers:
        print(_NOT_RUNNING)
        sys.exit(0)
    return registers


def show_global(switch: SwitchContext) -> None:
    """Print what holds for the whole chip."""
    print(f"{VOQ_WATCHDOG} : {_registers(switch).get(VOQ_WATCHDOG, 'True')}")


def run_script(switch: SwitchContext, name: str) -> None:
    """Run a file of the container `syncd`."""
    registers = _registers(switch)
    if f"{FILE}/{name}" not in registers:
        sys.exit(f"{name}: No such file or directory")

    def set_bool_property(which: str, value: bool) -> None:
        if which == _PROPERTY:
            switch.connect("ASIC_DB").call("HSET", SDK, VOQ_WATCHDOG, str(value))

    modules: dict[str, Any] = {"common": SimpleNamespace(d0=SimpleNamespace(set_bool_property=set_bool_property))}
    sys.modules.update(modules)
    exec(registers[f"{FILE}/{name}"], {"sdk": SimpleNamespace(**{_PROPERTY: _PROPERTY})})
