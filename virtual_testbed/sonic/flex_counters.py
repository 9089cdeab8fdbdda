"""FLEX_COUNTER_DB of a switch: which counters of which objects are polled, and how often.

Names of groups and lists, and how they are read: sonic-swss `portsorch.cpp` and `pfcwdsworch.cpp`, sonic-sairedis
`Syncd.cpp` (which writes the rows).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.counters import EIGHT_ZEROS, PgCounters, PortCounters, QueueCounters
from virtual_testbed.sonic.counters import (
    PAUSE_STATUS, Hash, ObjectIds, group_fields, group_watermark_fields, port_fields, queue_fields,
    queue_watermark_fields, watchdog_lists)
from virtual_testbed.sonic.polling import DEFAULT_MS, WATCHDOG, Intervals

GROUP_TABLE = "FLEX_COUNTER_GROUP_TABLE"
TABLE = "FLEX_COUNTER_TABLE"
_PORTS, _QUEUES, _GROUPS = "PORT_COUNTER_ID_LIST", "QUEUE_COUNTER_ID_LIST", "PG_COUNTER_ID_LIST"
_ATTRIBUTES = "QUEUE_ATTR_ID_LIST"
_READ, _READ_AND_CLEAR = "STATS_MODE_READ", "STATS_MODE_READ_AND_CLEAR"
_PS_PER_MS = 10**9
_IDLE = PortCounters(0, 0, 0, 0, 0, 0, 0, 0, EIGHT_ZEROS, EIGHT_ZEROS, 0)


@dataclass(frozen=True)
class CounterGroup:
    """Counters that are polled together.

    Attributes:
        name: what FLEX_COUNTER_DB calls it.
        ids: field that lists the counters of an object; `counters`: what it lists.
        mode: how they are read.
    """

    name: str
    ids: str
    counters: tuple[str, ...]
    mode: str = _READ


def _polled(fields: Hash) -> tuple[str, ...]:
    return tuple(name for name in fields if name != PAUSE_STATUS)


COUNTER_GROUPS: Mapping[str, CounterGroup] = {
    "PORT": CounterGroup("PORT_STAT_COUNTER", _PORTS, _polled(port_fields(_IDLE))),
    "QUEUE": CounterGroup("QUEUE_STAT_COUNTER", _QUEUES, _polled(queue_fields(QueueCounters()))),
    "PG_DROP": CounterGroup("PG_DROP_STAT_COUNTER", _GROUPS, _polled(group_fields(PgCounters()))),
    "QUEUE_WATERMARK": CounterGroup(
        "QUEUE_WATERMARK_STAT_COUNTER", _QUEUES, _polled(queue_watermark_fields(QueueCounters())), _READ_AND_CLEAR),
    "PG_WATERMARK": CounterGroup(
        "PG_WATERMARK_STAT_COUNTER", _GROUPS, _polled(group_watermark_fields(PgCounters())), _READ_AND_CLEAR),
}
"""By the name that CONFIG_DB has for each."""


def rows(
    ids: ObjectIds, intervals: Intervals, config: SwitchConfig, maps: Mapping[str, Hash], watchdog_ms: int
) -> dict[str, Hash]:
    """All rows of FLEX_COUNTER_DB.

    Args:
        ids: of the switch's objects.
        intervals: how often each group is polled; a group without one is disabled.
        config: what the switch has in effect.
        maps: COUNTERS_DB's name maps: which queues and priority groups are counted.
        watchdog_ms: how often the watchdog's group is polled, if it is.
    """
    objects = {_PORTS: maps["COUNTERS_PORT_NAME_MAP"], _QUEUES: maps["COUNTERS_QUEUE_NAME_MAP"],
               _GROUPS: maps["COUNTERS_PG_NAME_MAP"]}
    found: dict[str, Hash] = {}
    for key, group in COUNTER_GROUPS.items():
        found[f"{GROUP_TABLE}:{group.name}"] = _group_row(intervals.by_group.get(key), DEFAULT_MS[key], group.mode)
        if key in intervals.by_group:
            for oid in objects[group.ids].values():
                found[f"{TABLE}:{group.name}:{oid}"] = {group.ids: ",".join(group.counters)}
    found[f"{GROUP_TABLE}:{WATCHDOG}"] = _group_row(
        intervals.by_group.get(WATCHDOG), watchdog_ms, _READ)
    found.update((f"{TABLE}:{WATCHDOG}:{oid}", row) for oid, row in _watched(ids, config))
    return found


def _group_row(interval_ps: int | None, default_ms: int, mode: str) -> Hash:
    interval_ms = default_ms if interval_ps is None else interval_ps // _PS_PER_MS
    status = "disable" if interval_ps is None else "enable"
    return {"POLL_INTERVAL": str(interval_ms), "STATS_MODE": mode, "FLEX_COUNTER_STATUS": status}


def _watched(ids: ObjectIds, config: SwitchConfig) -> Iterator[tuple[str, Hash]]:
    """What the watchdog's group has of each watched port and queue."""
    for name, port in config.ports.items():
        if port.watchdog is None or not port.watchdog_priorities:
            continue
        of_port, of_queue = watchdog_lists(config.asic_type, port.watchdog_priorities)
        yield ids.port(name), {_PORTS: ",".join(of_port)}
        row = {_QUEUES: ",".join(one for one in of_queue if one != PAUSE_STATUS)}
        if PAUSE_STATUS in of_queue:
            row[_ATTRIBUTES] = PAUSE_STATUS
        for queue in sorted(port.watchdog_priorities):
            yield ids.queue(name, queue), row
