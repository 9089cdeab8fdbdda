"""Which queues the watchdog watches, and what it does to them: what orchagent has registered when a row of PFC_WD was
written, not what the rows of CONFIG_DB say now (sonic-swss `pfcwdorch.cpp`, `pfcwdsworch.cpp`).
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig, WatchdogConfig

TABLE = "PFC_WD"


@dataclass(frozen=True)
class Registration:
    """The watchdog of a port: its row as it was taken last, the queues that are watched, and what is done to them."""

    row: WatchdogConfig
    queues: frozenset[int]
    action: str


Registrations = Mapping[str, Registration]


def registered(before: Registrations, config: SwitchConfig, rows: Collection[str], removed: Collection[str]
               ) -> dict[str, Registration]:
    """The watchdogs after rows were written.

    A row that comes takes the queues of `pfcwd_sw_enable` as these are then; without one it waits for them. One that is
    written while it is there adds queues and changes times, and leaves the action; an invalid one changes nothing.

    Args:
        before: what was registered.
        config: the switch, by what CONFIG_DB has now.
        rows: the ports that have a row, be it an invalid one.
        removed: the rows (`PFC_WD|Ethernet0`) that were removed meanwhile, whether they are there again or not.
    """
    found = {}
    for name, port in config.ports.items():
        was = None if f"{TABLE}|{name}" in removed else before.get(name)
        new = _registered(was, port) if port.watchdog is not None else was if name in rows else None
        if new is not None:
            found[name] = new
    return found


def _registered(was: Registration | None, port: SwitchPortConfig) -> Registration | None:
    row = port.watchdog
    queues = port.watchdog_priorities
    if row is None or not queues or was is not None and row == was.row:
        return was
    return Registration(row, queues, row.action) if was is None else Registration(row, was.queues | queues, was.action)


def as_registered(config: SwitchConfig, found: Registrations) -> SwitchConfig:
    """The switch as its watchdog has it."""
    return replace(config, ports={name: _port(port, found.get(name)) for name, port in config.ports.items()})


def _port(port: SwitchPortConfig, found: Registration | None) -> SwitchPortConfig:
    if found is None:
        return replace(port, watchdog=None)
    return replace(port, watchdog=replace(found.row, action=found.action), watchdog_priorities=found.queues)
