"""COUNTERS_DB of one switch: what is polled, what shows at once, and what faults make of it."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.counters import PortCounters, SwitchCounters, SwitchStates
from virtual_testbed.dataplane.model.hooks import Fault, Hooks, PortPlace
from virtual_testbed.dataplane.model.watchdog_decider import PolledQueue
from virtual_testbed.sonic.counters import (
    BIG_RED_SWITCH, KEPT_WATERMARKS, PERIODIC, TIME_STAMP, WATCHDOG_FIELDS, Hash, ObjectIds, Reading, changes,
    cleared_fields, polled_readings, rate_readings, readings, registration_fields, time_stamps,
    watchdog_group_readings, watchdog_readings, with_levels)
from virtual_testbed.sonic.polling import WATCHDOG
from virtual_testbed.sonic.publisher import Publisher
from virtual_testbed.sonic.telemetry_timer import GROUPS as WATERMARK_GROUPS

_PS_PER_SECOND = 10**12


class CountersDb:
    """See the module.

    Args:
        switch: the switch's name in the data plane.
        publisher: writes the database; its owner closes it.
        ids: of the switch's objects.
        hooks: the faults, and the present instant.

    Attributes:
        is_falsified: whether a fault has a say in what is shown, which then may change by itself.
    """

    def __init__(self, switch: str, publisher: Publisher, ids: ObjectIds, hooks: Hooks) -> None:
        self._switch = switch
        self._publisher = publisher
        self._ids = ids
        self._hooks = hooks
        self._polled: dict[str, SwitchCounters] = {}
        self._rated: tuple[int, Mapping[str, PortCounters]] | None = None
        self._moving: set[str] = set()
        self._watermarks: Mapping[str, Hash] = {}  # of 0, by object
        self.is_falsified = any(map(_falsifies, hooks.faults))

    def publish_maps(self, maps: Mapping[str, Hash]) -> None:
        """Write which objects are counted, and their names. Raises DatabaseError."""
        for name, hash_ in maps.items():
            self._publisher.replace(name, {name: hash_})
        self._watermarks = cleared_fields(maps["COUNTERS_QUEUE_TYPE_MAP"], maps["COUNTERS_PG_INDEX_MAP"])

    def begin_period(self) -> None:
        """Set the periodic watermarks to 0. Raises DatabaseError."""
        self._publisher.overwrite({f"{PERIODIC}:{oid}": fields for oid, fields in self._watermarks.items()})

    def poll(self, groups: Collection[str], counters: SwitchCounters, config: SwitchConfig) -> None:
        """Write the counters of these groups, what has changed of them. Raises DatabaseError."""
        before = {} if self.is_falsified else self._polled  # what a fault shows may change by itself
        found: list[Reading] = []
        for group in groups:
            if group == WATCHDOG:
                continue
            shown = changes(self._ids, counters, before.get(group))
            if group in WATERMARK_GROUPS:
                shown = with_levels(shown, counters)
            found += readings(group, self._ids, shown)
        if WATCHDOG in groups:
            read = watchdog_group_readings(self._ids, counters, config)
            found += [reading for reading in read if reading.shown or self.is_falsified]
            self._publisher.publish({f"COUNTERS:{TIME_STAMP}": time_stamps(self._hooks.now_ps)})
        if "PORT" in groups:
            found += self._rates(counters)
        self._publish(found, config)
        self._polled.update(dict.fromkeys(groups, counters))

    def publish_watchdog(self, states: SwitchStates, config: SwitchConfig) -> None:
        """Write what the watchdog, which polls by itself, knows of each queue. Raises DatabaseError."""
        self._publish(watchdog_readings(self._ids, states, config), config)
        for port, queue in self._ids.queues():
            key = f"COUNTERS:{self._ids.queue(port, queue)}"
            is_watched = config.ports[port].watchdog is not None and (port, queue) in states.watchdog
            if not is_watched:
                self._publisher.drop_fields(key, WATCHDOG_FIELDS)
            self._mark_big_red(key, is_watched and config.big_red_switch)

    def _mark_big_red(self, key: str, is_on: bool) -> None:
        """The field says `enable` or is missing."""
        if is_on:
            self._publisher.publish({key: {BIG_RED_SWITCH: "enable"}})
        else:
            self._publisher.drop_fields(key, (BIG_RED_SWITCH,))

    def publish_polled(self, polled: Sequence[PolledQueue], config: SwitchConfig, now_ps: int) -> None:
        """Write what a poll of the watchdog has read, as faults let it be seen, and how its queues are watched. Raises
        DatabaseError.
        """
        self._hooks.now_ps = now_ps
        self._publish(polled_readings(self._ids, polled, config.asic_type), config)
        hashes = {f"COUNTERS:{self._ids.queue(*queue.key)}": registration_fields(queue.status, queue.config)
                  for queue in polled}
        self._publisher.publish({**hashes, f"COUNTERS:{TIME_STAMP}": time_stamps(now_ps)})
        for queue in polled:
            self._mark_big_red(f"COUNTERS:{self._ids.queue(*queue.key)}", queue.is_big_red)

    def _publish(self, found: Iterable[Reading], config: SwitchConfig) -> None:
        hashes: dict[str, Hash] = {}
        kept: dict[str, Hash] = {}
        read = list(found)
        switch: dict[str, Hash] = {}
        for reading in read if self.is_falsified else ():
            switch.setdefault(reading.name, {}).update(reading.fields)
        for reading in read:
            fields = self._seen(reading, config, switch)
            if reading.shown is not None:
                fields = {name: value for name, value in fields.items() if name in reading.shown}
            for table in reading.tables:
                of = kept if table in KEPT_WATERMARKS else hashes
                of.setdefault(f"{table}:{reading.oid}", {}).update(fields)
        self._publisher.publish(hashes)
        self._publisher.publish_highest(kept)

    def _seen(self, reading: Reading, config: SwitchConfig, switch: Mapping[str, Hash]) -> Mapping[str, str]:
        """The fields as the faults let them be seen; `switch`: all that was read."""
        if not self.is_falsified:
            return reading.fields
        place = PortPlace(self._switch, reading.port, config.ports[reading.port].speed_mbps)
        answer: Mapping[str, str] = reading.fields
        own = self._hooks.ask(place, reading.number, answer, lambda fault, fields: fault.published(
            reading.name, fields))
        return self._hooks.ask(place, reading.number, own, lambda fault, fields: fault.published_among(
            reading.name, fields, switch))

    def _rates(self, counters: SwitchCounters) -> list[Reading]:
        """Since the last poll of the ports, of those whose rate is not 0, or was not then; none at the first one."""
        then = self._rated
        now = self._hooks.now_ps
        if then is None:
            self._rated = (now, counters.ports)
            self._moving = set(counters.ports)
        if then is None or now <= then[0]:
            return []
        self._rated = now, counters.ports
        moved = {name for name, port in counters.ports.items() if port != then[1].get(name)}
        shown = counters.ports if self.is_falsified else {
            name: counters.ports[name] for name in sorted(moved | self._moving)}
        self._moving = moved
        return list(rate_readings(self._ids, then[1], shown, (now - then[0]) / _PS_PER_SECOND))


def _falsifies(fault: Fault) -> bool:
    """Whether a fault changes what COUNTERS_DB shows of what was counted."""
    kind = type(fault)
    return kind.published is not Fault.published or kind.published_among is not Fault.published_among
