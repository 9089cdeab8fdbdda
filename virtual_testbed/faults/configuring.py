"""Faults of what orchagent and buffermgrd bring down to the hardware: a port's QoS maps, buffers and watchdog are other
ones than CONFIG_DB has.

The port named is the one whose configuration is meant. Such a fault begins, and ends, when the switch's configuration
next changes.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from virtual_testbed.dataplane.model.configuration import BufferProfile, SchedulerConfig, SwitchPortConfig
from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.faults.options import NumberedFault, choice, concerns

CLASSES = range(8)
EGRESS_BYTES = 20_800
"""A hundred cells of 208 bytes."""
_MAPS = {"dscp": "dscp_to_tc", "queue": "tc_to_queue", "group": "tc_to_pg", "pfc": "pfc_to_queue"}
_SORTING = {"dscp": "dscp_to_tc", "tag": "dot1p_to_tc"}
_ALL = "all"
_STRICT = "STRICT"
_WEIGHTED = "DWRR"


class MapsUnbound(Fault):
    """A port's QoS map is never bound to it: each DSCP is traffic class 0 (`map=dscp`, unless given; sonic-mgmt#6602),
    or each traffic class has queue 0 (`queue`) or priority group 0 (`group`); or all three, and PFC is enabled for no
    priority (`all`, as when the port's row came before the port did: sonic-swss#3234).

    Raises:
        ValueError: `map` is something else.
    """

    name = "maps-unbound"
    options = ("map",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._map = choice(options, "map", "dscp", "queue", "group", _ALL) or "dscp"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """Without that map."""
        is_all = self._map == _ALL
        return replace(
            config,
            dscp_to_tc=dict.fromkeys(config.dscp_to_tc, 0) if is_all or self._map == "dscp" else config.dscp_to_tc,
            tc_to_queue=dict.fromkeys(CLASSES, 0) if is_all or self._map == "queue" else config.tc_to_queue,
            tc_to_pg=dict.fromkeys(CLASSES, 0) if is_all or self._map == "group" else config.tc_to_pg,
            pfc_priorities=frozenset() if is_all else config.pfc_priorities)


class MapEntryWrong(Fault):
    """One entry of a QoS map leads elsewhere: the traffic class (for `map=pfc` the PFC priority) of the scope to `to`,
    in its map to priority groups (`map=group`, unless given; buildimage#28832), to queues (`queue`) or from PFC
    priorities to queues (`pfc`).

    Raises:
        ValueError: the scope has no priority, `to` is missing or no number from 0 to 7, `map` is something else.
    """

    name = "map-entry-wrong"
    options = ("map", "to")

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._field = _MAPS[choice(options, "map", "group", "queue", "pfc") or "group"]
        if scope.priority is None or options.get("to", "") not in map(str, CLASSES):
            raise ValueError("it needs the options priority and to: expected such as priority=4,to=0")
        self._entry = {scope.priority: int(options["to"])}

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With that entry."""
        found: Mapping[int, int] = getattr(config, self._field)
        changed: dict[str, Any] = {self._field: {**found, **self._entry}}
        return replace(config, **changed)


class MapsKept(Fault):
    """QoS maps that a port has once stay, whatever is configured later (buildimage#29487)."""

    name = "maps-kept"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With the maps before, if there was a map of DSCP values."""
        if before is None or not any(before.dscp_to_tc.values()):
            return config
        return replace(config, dscp_to_tc=before.dscp_to_tc, dot1p_to_tc=before.dot1p_to_tc,
                       tc_to_queue=before.tc_to_queue, tc_to_pg=before.tc_to_pg, pfc_to_queue=before.pfc_to_queue)


class LosslessGroupsMissing(Fault):
    """The priority groups of lossless priorities have the profile of group 0, without headroom (buildimage#23354)."""

    name = "lossless-groups-missing"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With that profile, or none."""
        return _without_headroom(
            config, {config.tc_to_pg[priority] for priority in config.pfc_priorities if concerns(self, priority)})


def _without_headroom(config: SwitchPortConfig, groups: Collection[int]) -> SwitchPortConfig:
    """Of these priority groups those but group 0 have its profile, or where it has none, none."""
    kept = {number: profile for number, profile in config.priority_groups.items() if not number or number not in groups}
    usual = {} if 0 not in kept else dict.fromkeys({*groups} - {0}, kept[0])
    return replace(config, priority_groups={**kept, **usual})


class BufferChangeLost(Fault):
    """A priority group that has a profile with headroom keeps it: another one never reaches it (sonic-swss#1467)."""

    name = "buffer-change-lost"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With the profiles before."""
        old = {} if before is None else before.priority_groups
        kept = {number: profile for number, profile in old.items()
                if profile.xoff and number in config.priority_groups and concerns(self, number)}
        return replace(config, priority_groups={**config.priority_groups, **kept})


class HeadroomDivided(NumberedFault):
    """A port has headroom for `groups` (2) lossless priority groups; more have to share it."""

    name = "headroom-divided"
    options = ("groups",)
    defaults = {"groups": 2}

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With their parts of it."""
        lossless = {number: profile for number, profile in config.priority_groups.items() if profile.xoff}
        if len(lossless) <= self.number("groups"):
            return config
        parts = {number: replace(profile, xoff=profile.xoff * self.number("groups") // len(lossless))
                 for number, profile in lossless.items()}
        return replace(config, priority_groups={**config.priority_groups, **parts})


class _Forgetful(NumberedFault):
    """A port that was up, is shut down and started again lacks something of its configuration."""

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._shut_down: Counter[str] = Counter()

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """As configured, until the port was shut down once."""
        if before is not None and before.admin_up and not config.admin_up:
            self._shut_down[config.name] += 1
        times = self._shut_down[config.name]
        return self._remembered(config, times) if times else config

    def _remembered(self, config: SwitchPortConfig, times: int) -> SwitchPortConfig:
        """What is left of the configuration once the port was shut down so often."""
        raise NotImplementedError


class WeightsForgotten(_Forgetful):
    """A port that was up, is shut down and started again has forgotten its schedulers' weights: queues that have one
    are strict.
    """

    name = "weights-forgotten"

    def _remembered(self, config: SwitchPortConfig, times: int) -> SwitchPortConfig:
        """With strict schedulers."""
        strict = {queue: replace(scheduler, type=_STRICT) for queue, scheduler in config.schedulers.items()}
        return replace(config, schedulers=strict)


class WeightsReset(Fault):
    """When the scheduler of one of a port's queues changes, those of the others are weighted ones of weight 1, until
    theirs change.
    """

    name = "weights-reset"

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._configured: dict[str, Mapping[int, SchedulerConfig]] = {}
        self._reset: dict[str, frozenset[int]] = {}

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With those that were reset."""
        last = self._configured.get(config.name, config.schedulers)
        kept = frozenset(queue for queue, found in config.schedulers.items() if last.get(queue) == found)
        if last != config.schedulers:
            self._reset[config.name] = kept
        self._configured[config.name] = config.schedulers
        reset = dict.fromkeys(self._reset.get(config.name, ()), SchedulerConfig(_WEIGHTED, 1))
        return replace(config, schedulers={**config.schedulers, **reset})


class WeightsKept(Fault):
    """The schedulers that a port's queues have when the switch starts stay, whatever is configured later."""

    name = "weights-kept"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With the schedulers before, if there were some."""
        if before is None or not before.schedulers:
            return config
        return replace(config, schedulers=before.schedulers)


class MapsForgotten(_Forgetful):
    """A port that was up, is shut down and started again has forgotten the map that it sorts frames by: whatever their
    DSCP (`map=dscp`, unless given) or the priority in their tag (`tag`), they are traffic class 0.

    Raises:
        ValueError: `map` is something else.
    """

    name = "maps-forgotten"
    options = words = ("map",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._field = _SORTING[choice(options, "map", *_SORTING) or "dscp"]

    def _remembered(self, config: SwitchPortConfig, times: int) -> SwitchPortConfig:
        """With that map, where there is one, leading to class 0."""
        found: Mapping[int, int] = getattr(config, self._field)
        changed: dict[str, Any] = {self._field: dict.fromkeys(found, 0)}
        return replace(config, **changed)


class HeadroomReclaimed(_Forgetful):
    """What buffers a port's lossless priority groups have is reclaimed when it is shut down, as some platforms do, and
    not given back when it is started (compare sonic-swss#4862); with `bytes` so many of its headroom each time.
    """

    name = "headroom-reclaimed"
    options = ("bytes",)

    def _remembered(self, config: SwitchPortConfig, times: int) -> SwitchPortConfig:
        """With less headroom; or with the profile of group 0, or none, where headroom was."""
        lossless = {number: profile for number, profile in config.priority_groups.items()
                    if profile.xoff and concerns(self, number)}
        if "bytes" not in self.values:
            return _without_headroom(config, lossless)
        less = times * int(self.values["bytes"])
        smaller = {number: replace(profile, xoff=max(0, profile.xoff - less)) for number, profile in lossless.items()}
        return replace(config, priority_groups={**config.priority_groups, **smaller})


class XonLate(Fault):
    """The end of congestion is told when a lossless priority group is all but empty, whatever its profile says; with
    `once_changed=yes` only once the group's profile was changed.

    Raises:
        ValueError: `once_changed` is something else.
    """

    name = "xon-late"
    options = ("once_changed",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._waits_for_change = choice(options, "once_changed", "yes", "no") == "yes"
        self._first: dict[tuple[str, int], BufferProfile] = {}
        self._changed: set[tuple[str, int]] = set()

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """Without levels for XON."""
        late = {}
        for number, profile in config.priority_groups.items():
            if not profile.xoff or not concerns(self, number):
                continue
            group = config.name, number
            if profile != self._first.setdefault(group, profile):
                self._changed.add(group)
            if group in self._changed or not self._waits_for_change:
                late[number] = replace(profile, xon=0, xon_offset=0)
        return replace(config, priority_groups={**config.priority_groups, **late})


class XonEarly(Fault):
    """The end of congestion is told as soon as a lossless priority group is below its threshold, whatever `xon_offset`
    of its profile says.
    """

    name = "xon-early"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With a level a byte below the threshold."""
        early = {number: replace(profile, xon_offset=1) for number, profile in config.priority_groups.items()
                 if profile.xoff and concerns(self, number)}
        return replace(config, priority_groups={**config.priority_groups, **early})


class EgressLimited(NumberedFault):
    """Queues of lossless priorities hold at most `bytes` (20800) and drop what else would leave by them, instead of
    letting it fill the priority group (sonic-mgmt#17149).
    """

    name = "egress-limited"
    options = ("bytes",)
    defaults = {"bytes": EGRESS_BYTES}

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With that limit."""
        limited = {queue: self._limited(config.queues[queue])
                   for queue in (config.tc_to_queue[n] for n in config.pfc_priorities if concerns(self, n))
                   if queue in config.queues}
        return replace(config, queues={**config.queues, **limited})

    def _limited(self, profile: BufferProfile) -> BufferProfile:
        return replace(profile, size=0, dynamic_th=None, static_th=self.number("bytes"))


class WatchdogActionKept(Fault):
    """Another action for a watchdog that runs does not take effect, until it is stopped there and started
    (buildimage#26359).
    """

    name = "watchdog-action-kept"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With the action before."""
        if before is None or before.watchdog is None or config.watchdog is None:
            return config
        return replace(config, watchdog=replace(config.watchdog, action=before.watchdog.action))


class WatchdogSetKept(Fault):
    """While the watchdog runs at a port it watches the queues that were lossless when it was started, whatever PFC is
    enabled for later (sonic-swss#842).
    """

    name = "watchdog-set-kept"

    def takes_effect(self, before: SwitchPortConfig | None, config: SwitchPortConfig) -> SwitchPortConfig:
        """With the queues before."""
        if before is None or before.watchdog is None or config.watchdog is None:
            return config
        return replace(config, watchdog_priorities=before.watchdog_priorities)


FAULTS: tuple[type[Fault], ...] = (
    MapsUnbound, MapEntryWrong, MapsKept, LosslessGroupsMissing, BufferChangeLost, HeadroomDivided, WeightsForgotten,
    WeightsReset, WeightsKept, MapsForgotten, HeadroomReclaimed, XonLate, XonEarly, EgressLimited, WatchdogActionKept,
    WatchdogSetKept)
