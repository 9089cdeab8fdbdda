"""Faults that swallow what is written to CONFIG_DB, or told by a vendor's command: the hardware stays as it is, or
takes something else.
"""
from __future__ import annotations

from dataclasses import replace

from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig
from virtual_testbed.dataplane.model.hooks import Hooks, PortPlace
from virtual_testbed.sonic.profile import Profile


def can_switch_aging(hooks: Hooks, switch: str, profile: Profile) -> bool:
    """Whether the vendor's command that switches the aging of held frames off works: a fault of any port is enough."""
    places = [PortPlace(switch, port.name, port.speed) for port in profile.ports.values()]
    return all(hooks.ask(place, None, True, lambda fault, can: fault.aging_can_be_switched(can)) for place in places)


def withhold_removals(old: SwitchConfig, new: SwitchConfig, hooks: Hooks) -> SwitchConfig:
    """The new configuration, with what it removes from the old one and a fault does not let through."""
    if not hooks.faults:
        return new
    ports = {name: _pfc_kept(_watchdog_kept(port, old.ports[name], new.name, hooks), old.ports[name], new.name, hooks)
             for name, port in new.ports.items()}
    return replace(new, ports=ports)


def taking_effect(before: SwitchConfig | None, config: SwitchConfig, hooks: Hooks) -> SwitchConfig:
    """What of a configuration takes effect; `before`: what was in effect up to now (None: the switch starts)."""
    if not hooks.faults:
        return config
    return replace(config, ports={name: _in_effect(before, port, config.name, hooks)
                                  for name, port in config.ports.items()})


def _in_effect(before: SwitchConfig | None, port: SwitchPortConfig, switch: str, hooks: Hooks) -> SwitchPortConfig:
    was = None if before is None else before.ports[port.name]
    return hooks.ask(PortPlace(switch, port.name, port.speed_mbps), None, port,
                     lambda fault, found: fault.takes_effect(was, found))


def _watchdog_kept(new: SwitchPortConfig, old: SwitchPortConfig, switch: str, hooks: Hooks) -> SwitchPortConfig:
    if old.watchdog is None or new.watchdog is not None:
        return new
    reaches = hooks.ask(PortPlace(switch, new.name, new.speed_mbps), None, True,
                        lambda fault, answer: fault.watchdog_removal_reaches_hardware(answer))
    return new if reaches else replace(new, watchdog=old.watchdog)


def _pfc_kept(new: SwitchPortConfig, old: SwitchPortConfig, switch: str, hooks: Hooks) -> SwitchPortConfig:
    """A priority that stays lossless keeps the priority group that was derived for it, too."""
    place = PortPlace(switch, new.name, new.speed_mbps)
    kept = {priority for priority in old.pfc_priorities - new.pfc_priorities if not hooks.ask(
        place, priority, True, lambda fault, answer: fault.pfc_removal_reaches_hardware(answer))}
    if not kept:
        return new
    groups = {group: profile for group, profile in old.priority_groups.items() if group in kept}
    return replace(new, pfc_priorities=new.pfc_priorities | kept, priority_groups={**groups, **new.priority_groups})
