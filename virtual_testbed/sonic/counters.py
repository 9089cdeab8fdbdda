"""The data plane's counters under SONiC's names: which hash of COUNTERS_DB holds which field, and which group of
counters (`polling`) it is polled with.

Names: sonic-swss `portsorch.cpp`, `pfcactionhandler.cpp`. Object ids only need to be unique and stable; they look
like SAI's.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from virtual_testbed.dataplane.model.configuration import SwitchConfig, WatchdogConfig
from virtual_testbed.dataplane.model.counters import (PORTS, PRIORITY_GROUPS, QUEUES, PgCounters, PortCounters,
                                                      QueueCounters, SwitchCounters, SwitchStates, WatchdogState)
from virtual_testbed.dataplane.model.units import PS_PER_US
from virtual_testbed.dataplane.model.watchdog_decider import PolledQueue
from virtual_testbed.sonic.databases import natural
from virtual_testbed.sonic.polling import WATCHDOG
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.telemetry_timer import GROUPS as WATERMARK_GROUPS

Hash = dict[str, str]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_COUNTERS = ("COUNTERS",)
PERIODIC = "PERIODIC_WATERMARKS"
KEPT_WATERMARKS = ("USER_WATERMARKS", "PERSISTENT_WATERMARKS", PERIODIC)
"""Where the highest value of all polls is, until it is cleared; `PERIODIC` by a timer."""
_WATERMARKS = ("COUNTERS", *KEPT_WATERMARKS)
WATCHDOG_FIELDS = ("PFC_WD_STATUS", "PFC_WD_DETECTION_TIME", "PFC_WD_RESTORATION_TIME", "PFC_WD_ACTION")
BIG_RED_SWITCH = "BIG_RED_SWITCH_MODE"
"""Field of a watched queue while the big red switch is on (sonic-swss `pfcwdsworch.cpp`)."""
TIME_STAMP = "TIME_STAMP"
"""The hash of COUNTERS with the instants of the watchdog's polls (sonic-sairedis `FlexCounter.cpp`)."""
PAUSE_STATUS = "SAI_QUEUE_ATTR_PAUSE_STATUS"
POOL_NAME_MAP = "COUNTERS_BUFFER_POOL_NAME_MAP"
_PORT_OID, _QUEUE_OID, _PG_OID, _POOL_OID = 0x1000000000000, 0x15000000000000, 0x1A000000000000, 0x18000000000000


class ObjectIds:
    """The object ids of a switch's ports, queues and priority groups."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._index = {name: number for number, name in enumerate(sorted(profile.ports, key=natural), start=1)}

    def port(self, name: str) -> str:
        """Of a port."""
        return f"oid:{_PORT_OID + self._index[name]:#x}"

    def queue(self, port: str, queue: int) -> str:
        """Of an egress queue."""
        return f"oid:{_QUEUE_OID + self._index[port] * 64 + queue:#x}"

    def priority_group(self, port: str, group: int) -> str:
        """Of an ingress priority group."""
        return f"oid:{_PG_OID + self._index[port] * 64 + group:#x}"

    def maps(self, buffers_of: SwitchConfig | None = None) -> dict[str, Hash]:
        """COUNTERS_DB's name maps.

        Args:
            buffers_of: only queues and priority groups that have a buffer there are counted; None: all of them.
        """
        maps: dict[str, Hash] = {name: {} for name in (
            "COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP", "COUNTERS_QUEUE_PORT_MAP", "COUNTERS_QUEUE_INDEX_MAP",
            "COUNTERS_QUEUE_TYPE_MAP", "COUNTERS_PG_NAME_MAP", "COUNTERS_PG_PORT_MAP", "COUNTERS_PG_INDEX_MAP")}
        for port in self._index:
            maps["COUNTERS_PORT_NAME_MAP"][port] = self.port(port)
            has = None if buffers_of is None else buffers_of.ports[port]
            for queue in range(self._profile.unicast_queues + self._profile.multicast_queues):
                if has is not None and queue not in has.queues:
                    continue
                kind = "UNICAST" if queue < self._profile.unicast_queues else "MULTICAST"
                oid = self.queue(port, queue)
                maps["COUNTERS_QUEUE_NAME_MAP"][f"{port}:{queue}"] = oid
                maps["COUNTERS_QUEUE_PORT_MAP"][oid] = self.port(port)
                maps["COUNTERS_QUEUE_INDEX_MAP"][oid] = str(queue)
                maps["COUNTERS_QUEUE_TYPE_MAP"][oid] = f"SAI_QUEUE_TYPE_{kind}"
            for group in range(8) if has is None else sorted(has.priority_groups):
                oid = self.priority_group(port, group)
                maps["COUNTERS_PG_NAME_MAP"][f"{port}:{group}"] = oid
                maps["COUNTERS_PG_PORT_MAP"][oid] = self.port(port)
                maps["COUNTERS_PG_INDEX_MAP"][oid] = str(group)
        return maps

    def pools(self, names: Iterable[str]) -> Hash:
        """Of buffer pools, by name."""
        return {name: f"oid:{_POOL_OID + number:#x}" for number, name in enumerate(sorted(names), start=1)}

    def queues(self) -> Iterable[tuple[str, int]]:
        """All (port, queue), multicast queues included."""
        count = self._profile.unicast_queues + self._profile.multicast_queues
        return ((port, queue) for port in self._index for queue in range(count))


@dataclass(frozen=True)
class Reading:
    """What one poll reads of one object: a port, or its queue or priority group `number`. `tables` are those of
    COUNTERS_DB that it goes to; `shown` the fields that do (None: all).
    """

    port: str
    number: int | None
    oid: str
    fields: Hash
    tables: tuple[str, ...] = _COUNTERS
    shown: frozenset[str] | None = None

    @property
    def name(self) -> str:
        """In SONiC's words: `Ethernet0`, or `Ethernet0:3`."""
        return self.port if self.number is None else f"{self.port}:{self.number}"


def port_fields(counters: PortCounters) -> Hash:
    """One port's hash. MAC control frames are in the fields of pauses, and in that of frames of 64 bytes."""
    values = {
        "SAI_PORT_STAT_IF_IN_UCAST_PKTS": counters.rx_packets, "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS": 0,
        "SAI_PORT_STAT_IF_IN_MULTICAST_PKTS": 0, "SAI_PORT_STAT_IF_IN_BROADCAST_PKTS": 0,
        "SAI_PORT_STAT_IF_IN_OCTETS": counters.rx_bytes, "SAI_PORT_STAT_IF_IN_ERRORS": counters.rx_errors,
        "SAI_PORT_STAT_IF_IN_DISCARDS": counters.rx_drops, "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS": 0,
        "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": counters.tx_packets, "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS": 0,
        "SAI_PORT_STAT_IF_OUT_MULTICAST_PKTS": 0, "SAI_PORT_STAT_IF_OUT_BROADCAST_PKTS": 0,
        "SAI_PORT_STAT_IF_OUT_OCTETS": counters.tx_bytes, "SAI_PORT_STAT_IF_OUT_ERRORS": counters.tx_errors,
        "SAI_PORT_STAT_IF_OUT_DISCARDS": counters.tx_drops, "SAI_PORT_STAT_ETHER_TX_OVERSIZE_PKTS": 0,
        "SAI_PORT_STAT_PAUSE_RX_PKTS": counters.pause_rx,
        "SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS": counters.rx_smallest,
    }
    for priority in range(8):
        values[f"SAI_PORT_STAT_PFC_{priority}_RX_PKTS"] = counters.pfc_rx[priority]
        values[f"SAI_PORT_STAT_PFC_{priority}_TX_PKTS"] = counters.pfc_tx[priority]
        values[f"SAI_PORT_STAT_PFC_{priority}_ON2OFF_RX_PKTS"] = counters.pfc_on2off[priority]
        values[f"SAI_PORT_STAT_PFC_{priority}_RX_PAUSE_DURATION_US"] = counters.pause_duration_us[priority]
        values[f"SAI_PORT_STAT_PFC_{priority}_RX_PAUSE_DURATION"] = counters.pause_duration_us[priority]
    return {name: str(value) for name, value in values.items()}


def queue_fields(counters: QueueCounters) -> Hash:
    """One queue's hash, without watermark and the watchdog's fields."""
    return {
        "SAI_QUEUE_STAT_PACKETS": str(counters.packets), "SAI_QUEUE_STAT_BYTES": str(counters.bytes),
        "SAI_QUEUE_STAT_DROPPED_PACKETS": str(counters.dropped_packets),
        "SAI_QUEUE_STAT_DROPPED_BYTES": str(counters.dropped_bytes),
        "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": str(counters.occupancy_bytes),
        PAUSE_STATUS: _truth(counters.is_paused),
    }


def _truth(value: bool) -> str:
    return "true" if value else "false"


def queue_watermark_fields(counters: QueueCounters) -> Hash:
    """One queue's watermark: the highest value since the last poll."""
    return {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": str(counters.watermark_bytes)}


def watchdog_fields(state: WatchdogState, config: WatchdogConfig | None) -> Hash:
    """What the watchdog adds to a queue's hash; only the statistics when it is stopped there (`config` None).

    Times in microseconds; an empty restoration time: never.
    """
    names = {"DEADLOCK_DETECTED": state.detected, "DEADLOCK_RESTORED": state.restored, "TX_PACKETS": state.tx_packets,
             "TX_DROPPED_PACKETS": state.tx_dropped, "RX_PACKETS": state.rx_packets,
             "RX_DROPPED_PACKETS": state.rx_dropped,
             "TX_PACKETS_LAST": state.tx_packets_last, "TX_DROPPED_PACKETS_LAST": state.tx_dropped_last,
             "RX_PACKETS_LAST": state.rx_packets_last, "RX_DROPPED_PACKETS_LAST": state.rx_dropped_last}
    fields = {f"PFC_WD_QUEUE_STATS_{name}": str(value) for name, value in names.items()}
    return fields if config is None else {**fields, **registration_fields(state.status, config)}


def registration_fields(status: str, config: WatchdogConfig) -> Hash:
    """How a queue is watched, and its state (sonic-swss `pfcwdsworch.cpp`, `registerInWdDb`)."""
    return {
        "PFC_WD_STATUS": status, "PFC_WD_DETECTION_TIME": str(config.detection_ms * 1000),
        "PFC_WD_RESTORATION_TIME": "" if config.restoration_ms is None else str(config.restoration_ms * 1000),
        "PFC_WD_ACTION": config.action, "PFC_STAT_HISTORY": "enable" if config.keeps_history else "disable"}


def time_stamps(now_ps: int) -> Hash:
    """The instant of a poll of the watchdog's group, nanoseconds."""
    return {f"{WATCHDOG}_{what}_Counter_time_stamp": str(now_ps // 1000) for what in ("Port", "Queue")}


def group_fields(counters: PgCounters) -> Hash:
    """One priority group's hash, without watermarks."""
    return {
        "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS": str(counters.packets),
        "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES": str(counters.bytes),
        "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": str(counters.dropped_packets),
        "SAI_INGRESS_PRIORITY_GROUP_STAT_CURR_OCCUPANCY_BYTES": str(counters.occupancy_bytes),
    }


def group_watermark_fields(counters: PgCounters) -> Hash:
    """One priority group's watermarks: the highest values since the last poll."""
    return {
        "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": str(counters.shared_watermark_bytes),
        "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": str(counters.headroom_watermark_bytes),
    }


def parts_of(groups: Iterable[str]) -> frozenset[str]:
    """Parts of the data plane's counters that a poll of these groups needs."""
    parts = {_READERS[group][0] for group in groups if group != WATCHDOG}
    return frozenset(parts | ({PORTS, QUEUES} if WATCHDOG in groups else set()))


def watermark_parts(groups: Iterable[str]) -> frozenset[str]:
    """Parts of the data plane whose watermarks a poll of these groups reads, and lets begin anew."""
    return parts_of(set(WATERMARK_GROUPS).intersection(groups))


def changes(ids: ObjectIds, now: SwitchCounters, before: SwitchCounters | None) -> SwitchCounters:
    """What of the counters has changed; all of them, those of multicast queues too, where there are none `before`."""
    if before is None:  # the data plane has no multicast: its queues never change
        idle = dict.fromkeys(ids.queues(), QueueCounters()) if now.queues else {}
        return replace(now, queues={**idle, **now.queues})
    return SwitchCounters(_changed(now.ports, before.ports), _changed(now.queues, before.queues),
                          _changed(now.priority_groups, before.priority_groups))


def with_levels(changed: SwitchCounters, now: SwitchCounters) -> SwitchCounters:
    """What has changed, and all that has a watermark: what is kept of one may have been cleared since it was read."""
    queues = {key: queue for key, queue in now.queues.items() if queue.watermark_bytes}
    groups = {key: group for key, group in now.priority_groups.items()
              if group.shared_watermark_bytes or group.headroom_watermark_bytes}
    return replace(changed, queues={**changed.queues, **queues}, priority_groups={**changed.priority_groups, **groups})


def cleared_fields(queues: Iterable[str], groups: Iterable[str]) -> dict[str, Hash]:
    """Watermarks of 0 of queues and priority groups, each by its object id."""
    return {**{oid: queue_watermark_fields(QueueCounters()) for oid in queues},
            **{oid: group_watermark_fields(PgCounters()) for oid in groups}}


def _changed(now: Mapping[_Key, _Value], before: Mapping[_Key, _Value]) -> dict[_Key, _Value]:
    return {key: value for key, value in now.items() if before.get(key) != value}


def readings(group: str, ids: ObjectIds, counters: SwitchCounters) -> Iterator[Reading]:
    """What a poll of a group of counters (a key of `polling.DEFAULT_MS`) reads, object by object; of the watchdog's
    group see `watchdog_group_readings`.
    """
    return _READERS[group][1](ids, counters)


def _ports(ids: ObjectIds, counters: SwitchCounters) -> Iterator[Reading]:
    for name, port in counters.ports.items():
        yield Reading(name, None, ids.port(name), port_fields(port))


def _queues(ids: ObjectIds, counters: SwitchCounters) -> Iterator[Reading]:
    for (port, queue), found in counters.queues.items():
        yield Reading(port, queue, ids.queue(port, queue), queue_fields(found))


def _queue_watermarks(ids: ObjectIds, counters: SwitchCounters) -> Iterator[Reading]:
    for (port, queue), found in counters.queues.items():
        yield Reading(port, queue, ids.queue(port, queue), queue_watermark_fields(found), _WATERMARKS)


def _groups(ids: ObjectIds, counters: SwitchCounters) -> Iterator[Reading]:
    for (port, group), found in counters.priority_groups.items():
        yield Reading(port, group, ids.priority_group(port, group), group_fields(found))


def _group_watermarks(ids: ObjectIds, counters: SwitchCounters) -> Iterator[Reading]:
    for (port, group), found in counters.priority_groups.items():
        yield Reading(port, group, ids.priority_group(port, group), group_watermark_fields(found), _WATERMARKS)


_READERS: Mapping[str, tuple[str, Callable[[ObjectIds, SwitchCounters], Iterator[Reading]]]] = {
    "PORT": (PORTS, _ports), "QUEUE": (QUEUES, _queues), "PG_DROP": (PRIORITY_GROUPS, _groups),
    "QUEUE_WATERMARK": (QUEUES, _queue_watermarks), "PG_WATERMARK": (PRIORITY_GROUPS, _group_watermarks)}


def watchdog_readings(ids: ObjectIds, states: SwitchStates, config: SwitchConfig) -> Iterator[Reading]:
    """What the watchdog says of each queue that it watches."""
    for (port, queue), state in states.watchdog.items():
        yield Reading(port, queue, ids.queue(port, queue), watchdog_fields(state, config.ports[port].watchdog))


_PFC_OF_GENERIC = ("RX_PAUSE_DURATION_US", "RX_PKTS")
_PFC_OF_OTHERS = ("RX_PAUSE_DURATION", "RX_PKTS")
_PFC_OF_WATCHDOG = {
    "broadcom": ("RX_PKTS", "ON2OFF_RX_PKTS"), "cisco-8000": ("RX_PKTS", "TX_PKTS"), **dict.fromkeys(
        ("marvell-teralynx", "marvell-prestera", "clounix", "barefoot", "nephos"), _PFC_OF_OTHERS)}
_QUEUE_OF_GENERIC = ("SAI_QUEUE_STAT_PACKETS", "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES")
_QUEUE_OF_WATCHDOG = {
    "broadcom": (*_QUEUE_OF_GENERIC, PAUSE_STATUS), "cisco-8000": ("SAI_QUEUE_STAT_PACKETS", PAUSE_STATUS)}
"""What the watchdog's group has of a watched port, and of its watched queues, by ASIC (sonic-swss `orchdaemon.cpp`)."""


def watchdog_group_readings(ids: ObjectIds, counters: SwitchCounters, config: SwitchConfig) -> Iterator[Reading]:
    """What a poll of the watchdog's group reads. Everything is read, of each port and queue that is watched some fields
    are shown.
    """
    kinds, of_queue = _shown_of(config.asic_type)
    for reading in (*_ports(ids, counters), *_queues(ids, counters)):
        port = config.ports[reading.port]
        watched = frozenset[int]() if port.watchdog is None else port.watchdog_priorities
        if reading.number is None:
            shown = frozenset(f"SAI_PORT_STAT_PFC_{priority}_{kind}" for priority in watched for kind in kinds)
        else:
            shown = of_queue if reading.number in watched else frozenset()
        yield replace(reading, shown=shown)


def watchdog_lists(asic_type: str, priorities: Iterable[int]) -> tuple[list[str], list[str]]:
    """The counters that the watchdog's group has of a port whose priorities are watched, and of each such queue."""
    kinds, of_queue = _shown_of(asic_type)
    of_port = [f"SAI_PORT_STAT_PFC_{priority}_{kind}" for priority in sorted(priorities) for kind in kinds]
    return of_port, sorted(of_queue)


def _shown_of(asic_type: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """What the watchdog's group has of a port's priority, and of a queue."""
    return (_PFC_OF_WATCHDOG.get(asic_type, _PFC_OF_GENERIC),
            frozenset(_QUEUE_OF_WATCHDOG.get(asic_type, _QUEUE_OF_GENERIC)))


def polled_readings(ids: ObjectIds, polled: Iterable[PolledQueue], asic_type: str) -> Iterator[Reading]:
    """What a poll of the watchdog has read, under the names that its group has on an ASIC."""
    kinds, of_queue = _shown_of(asic_type)
    for queue in polled:
        sample = queue.sample
        paused_us = sample.paused_ps // PS_PER_US
        of_port = {"RX_PKTS": sample.pfc_rx, "ON2OFF_RX_PKTS": sample.on2off, "RX_PAUSE_DURATION_US": paused_us,
                   "RX_PAUSE_DURATION": paused_us}
        fields = {f"SAI_PORT_STAT_PFC_{queue.number}_{kind}": str(value) for kind, value in of_port.items()
                  if kind in kinds}
        yield Reading(queue.port, None, ids.port(queue.port), fields)
        fields = {"SAI_QUEUE_STAT_PACKETS": str(sample.packets), PAUSE_STATUS: _truth(sample.paused),
                  "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": str(sample.occupancy)}
        yield Reading(queue.port, queue.number, ids.queue(queue.port, queue.number), fields, shown=of_queue)


def rate_readings(ids: ObjectIds, before: Mapping[str, PortCounters], now: Mapping[str, PortCounters],
                  seconds: float) -> Iterator[Reading]:
    """RATES of each port: bytes and packets per second over an interval (SONiC smooths them, this does not)."""
    for name, port in now.items():
        old = before.get(name)
        if old is not None:
            rates = {"RX_BPS": port.rx_bytes - old.rx_bytes, "RX_PPS": port.rx_packets - old.rx_packets,
                     "TX_BPS": port.tx_bytes - old.tx_bytes, "TX_PPS": port.tx_packets - old.tx_packets}
            fields = {rate: f"{value / seconds:.6f}" for rate, value in rates.items()}
            yield Reading(name, None, ids.port(name), fields, ("RATES",))
