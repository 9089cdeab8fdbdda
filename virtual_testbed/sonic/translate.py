"""Translates CONFIG_DB into the data plane's configuration, as orchagent and buffermgrd do it.

A malformed row is named, and counts as it was read last; the others are applied. Rows of tables that have nothing to do
with forwarding or PFC are not read.
"""
from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from virtual_testbed.dataplane.model.configuration import (BufferProfile, PoolConfig, SchedulerConfig, SwitchConfig,
                                                           SwitchPortConfig, VlanConfig, WatchdogConfig)
from virtual_testbed.sonic.databases import Config, Row, merge, natural
from virtual_testbed.sonic.lossless_groups import derived_rows
from virtual_testbed.sonic.port_channels import PortChannel, on_ports, port_channels
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.qos_maps import QosMaps
from virtual_testbed.sonic.rows import (
    Memory, Reader, RowError, known_ports, number_of, number_range, reference, within)

ACTIONS = ("drop", "forward", "alert")
DETECTION_MS = (100, 5000)
RESTORATION_MS = (100, 60000)
"""The shortest and the longest time of a watchdog (sonic-swss `pfcwdorch.cpp`)."""
_DEFAULT_POLL_MS = 100  # orchdaemon.cpp PFC_WD_POLL_MSECS
_WATCHDOG_FIELDS = {"action", "detection_time", "restoration_time", "pfc_stat_history"}
_TAGGING_MODES = ("untagged", "tagged")
PortObjects = dict[str, dict[int, tuple[str, BufferProfile]]]
"""Priority groups or queues: port -> number -> name of its buffer profile, and the profile."""


@dataclass(frozen=True)
class Translation:
    """What comes of a CONFIG_DB.

    Attributes:
        config: for the data plane.
        problems: one sentence a row.
        buffer_pg: BUFFER_PG_TABLE of APPL_DB.
        buffer_queue: BUFFER_QUEUE_TABLE of APPL_DB.
        derived: the rows that buffermgrd adds to CONFIG_DB.
        group_profiles, queue_profiles: port -> number -> name of the buffer profile that is in effect.
        port_channels: the PortChannels.
        parsed: the rows as they were read.
    """

    config: SwitchConfig
    problems: tuple[str, ...]
    buffer_pg: Mapping[str, str]
    buffer_queue: Mapping[str, str]
    derived: Config
    group_profiles: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    queue_profiles: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    port_channels: Mapping[str, PortChannel] = field(default_factory=dict)
    parsed: Memory = field(default_factory=dict)


def translate(
    config: Config, profile: Profile, switch_name: str, mac: str, deriving: Collection[str] | None = None,
    before: Memory | None = None
) -> Translation:
    """Translate a whole CONFIG_DB.

    Args:
        config: as `databases.read_config` returns it.
        profile: the hardware.
        switch_name: the switch's name in the data plane.
        mac: its address when DEVICE_METADATA has none.
        deriving: the ports that buffermgrd looks at now; None: all of them, the switch starts.
        before: rows as they were read last; None: none was.
    """
    derived, problems = derived_rows(config, profile, deriving)
    config = merge(config, derived)
    reader = Reader(config, problems, before or {})
    channels = port_channels(reader, profile)
    reader.config = on_ports(config, channels)
    pools = _pools(reader)
    profiles = reader.rows("BUFFER_PROFILE", lambda key, row: _buffer_profile(row, pools))
    groups = _port_objects(reader, "BUFFER_PG", profiles, profile)
    queues = _port_objects(reader, "BUFFER_QUEUE", profiles, profile)
    maps = QosMaps.read(reader)
    schedulers = _schedulers(reader, profile)
    watchdogs = reader.rows("PFC_WD", lambda key, row: None if key == "GLOBAL" else _watchdog(key, row, profile),
                            keeps=False)  # the agent knows what is registered
    qos = reader.rows("PORT_QOS_MAP", maps.of_port)
    unconfigured = maps.of_port("", {})
    ports = {}
    rows = reader.rows("PORT", lambda key, row: _port_basics(key, row, profile))
    for name, hardware in profile.ports.items():
        speed, admin_up, mtu = rows.get(name, (hardware.speed, False, 9100))
        maps_of_port = qos.get(name, unconfigured)
        ports[name] = SwitchPortConfig(
            name=name, speed_mbps=speed, admin_up=admin_up, pfc_priorities=maps_of_port.pfc,
            watchdog_priorities=maps_of_port.watchdog, dscp_to_tc=maps_of_port.dscp_to_tc,
            tc_to_queue=maps_of_port.tc_to_queue, tc_to_pg=maps_of_port.tc_to_pg,
            pfc_to_queue=maps_of_port.pfc_to_queue,
            priority_groups=_profiles(groups, name), queues=_profiles(queues, name),
            schedulers=schedulers.get(name, {}), watchdog=watchdogs.get(name), mtu=mtu,
            dot1p_to_tc=maps_of_port.dot1p_to_tc, response_ps=profile.pause_response_ps(speed))
    poll_ms, big_red_switch = _watchdog_global(reader)
    switch = SwitchConfig(
        name=switch_name, mac=config.get("DEVICE_METADATA", {}).get("localhost", {}).get("mac", mac),
        asic_type=profile.asic_type, cell_bytes=profile.cell_bytes, ports=ports, pools=pools,
        vlans=_vlans(reader, profile),
        port_addresses=_port_addresses(reader, profile), watchdog_poll_ms=poll_ms, big_red_switch=big_red_switch)
    return Translation(
        switch, tuple(reader.problems), _appl_profiles(config, "BUFFER_PG"), _appl_profiles(config, "BUFFER_QUEUE"),
        derived, _names(groups), _names(queues), channels, reader.parsed)


def _pools(reader: Reader) -> dict[str, PoolConfig]:
    """The pools. The ingress and the egress ones account for the same memory, so where an ingress pool and its shared
    headroom together are more than any egress pool has, the headroom is a part of the pool's size.
    """
    types = reader.rows("BUFFER_POOL", lambda key, row: row.get("type", ""))
    pools = reader.rows("BUFFER_POOL", lambda key, row: PoolConfig(number_of(row, "size"), number_of(row, "xoff", 0)))
    memory = max((pool.size for name, pool in pools.items() if types.get(name) == "egress"), default=0)
    return {name: replace(pool, size=pool.size - pool.xoff) if 0 < memory < pool.size + pool.xoff else pool
            for name, pool in pools.items()}


def _buffer_profile(row: Row, pools: Mapping[str, PoolConfig]) -> BufferProfile:
    pool = reference(str(row.get("pool", "")))
    if pool not in pools:
        raise RowError(f"pool {pool or '(none)'} does not exist")
    dynamic = number_of(row, "dynamic_th") if "dynamic_th" in row else None
    static = number_of(row, "static_th") if "static_th" in row else None
    if dynamic is None and static is None:
        raise RowError("dynamic_th or static_th is missing")
    return BufferProfile(pool, number_of(row, "size"), dynamic, static, number_of(row, "xoff", 0),
                         number_of(row, "xon", 0), number_of(row, "xon_offset", 0))


def _port_objects(reader: Reader, table: str, profiles: Mapping[str, BufferProfile],
                  hardware: Profile) -> PortObjects:
    """BUFFER_PG or BUFFER_QUEUE: port -> number -> name of its profile, and the profile. Of rows for the same number
    that for the fewest holds; in orchagent it is the last one written. A profile `NULL` means: derived."""
    high = 7 if table == "BUFFER_PG" else hardware.queues - 1

    def parse(key: str, row: Row) -> tuple[list[str], range, str, BufferProfile | None]:
        ports, _, numbers = key.partition("|")
        name = reference(str(row.get("profile", "")))
        if name not in profiles and name != "NULL" and not name.startswith("pg_lossless_"):
            raise RowError(f"profile {name or '(none)'} does not exist")
        names = known_ports(ports, hardware)
        return names, number_range(numbers, high), name, profiles.get(name)

    found: PortObjects = {}
    for ports, numbers, name, profile in sorted(reader.rows(table, parse).values(), key=lambda row: -len(row[1])):
        for port in ports:
            found.setdefault(port, {}).update({n: (name, profile) for n in numbers if profile is not None and n < 8})
    return found


def _profiles(objects: PortObjects, port: str) -> dict[int, BufferProfile]:
    return {number: profile for number, (_, profile) in objects.get(port, {}).items()}


def _names(objects: PortObjects) -> dict[str, dict[int, str]]:
    return {port: {number: name for number, (name, _) in rows.items()} for port, rows in objects.items()}


def _schedulers(reader: Reader, profile: Profile) -> dict[str, dict[int, SchedulerConfig]]:
    known = reader.rows("SCHEDULER", lambda key, row: _scheduler(row))

    def parse(key: str, row: Row) -> tuple[list[str], range, SchedulerConfig | None]:
        ports, _, numbers = key.partition("|")
        name = reference(str(row.get("scheduler", "")))
        if name and name not in known:
            raise RowError(f"SCHEDULER|{name} does not exist")
        return known_ports(ports, profile), number_range(numbers, high=profile.queues - 1), known.get(name)

    found: dict[str, dict[int, SchedulerConfig]] = {}
    for ports, numbers, scheduler in reader.rows("QUEUE", parse).values():
        for port in ports:
            found.setdefault(port, {}).update({n: scheduler for n in numbers if scheduler is not None and n < 8})
    return found


def _scheduler(row: Row) -> SchedulerConfig:
    kind = str(row.get("type", ""))
    if kind not in ("DWRR", "STRICT", "WRR"):
        raise RowError(f"type must be DWRR, WRR or STRICT, found {kind!r}")
    return SchedulerConfig("STRICT") if kind == "STRICT" else SchedulerConfig("DWRR", within(row, "weight", 1, 100))


def _watchdog(key: str, row: Row, profile: Profile) -> WatchdogConfig:
    known_ports(key, profile)
    unknown = sorted(set(row) - _WATCHDOG_FIELDS)
    if unknown:
        raise RowError(f"unknown field {unknown[0]}")
    action = str(row.get("action", "drop"))
    if action not in ACTIONS:
        raise RowError(f"action must be {', '.join(ACTIONS)}, found {action!r}")
    restoration = within(row, "restoration_time", *RESTORATION_MS) if "restoration_time" in row else None
    history = str(row.get("pfc_stat_history", "disable"))
    if history not in ("enable", "disable"):
        raise RowError(f"pfc_stat_history must be enable or disable, found {history!r}")
    return WatchdogConfig(action, within(row, "detection_time", *DETECTION_MS), restoration, history == "enable")


def _watchdog_global(reader: Reader) -> tuple[int, bool]:
    row = reader.config.get("PFC_WD", {}).get("GLOBAL", {})
    try:
        poll_ms = within(row, "POLL_INTERVAL", 100, 1000) if "POLL_INTERVAL" in row else _DEFAULT_POLL_MS
    except RowError as error:
        reader.complain(f"PFC_WD|GLOBAL ignored: {error}")
        poll_ms = _DEFAULT_POLL_MS
    return poll_ms, row.get("BIG_RED_SWITCH") == "enable"


def _port_basics(key: str, row: Row, profile: Profile) -> tuple[int, bool, int]:
    known_ports(key, profile)
    hardware = profile.ports[key]
    speed = number_of(row, "speed", hardware.speed)
    if speed not in hardware.speeds:
        raise RowError(f"speed must be one of {', '.join(map(str, hardware.speeds))}, found {speed}")
    return speed, row.get("admin_status") == "up", number_of(row, "mtu", 9100)


def _vlans(reader: Reader, profile: Profile) -> tuple[VlanConfig, ...]:
    members: dict[str, set[str]] = {}
    for vlan, port in reader.rows("VLAN_MEMBER", lambda key, row: _member(key, row, profile)).values():
        members.setdefault(vlan, set()).add(port)
    addresses = _addresses(reader, "VLAN_INTERFACE")
    numbers = reader.rows("VLAN", _vlan_number)
    return tuple(VlanConfig(number, frozenset(members.get(name, ())), addresses.get(name, ()))
                 for name, number in sorted(numbers.items(), key=lambda item: natural(item[0])))


def _member(key: str, row: Row, profile: Profile) -> tuple[str, str]:
    vlan, _, port = key.partition("|")
    known_ports(port, profile)
    if row.get("tagging_mode") not in _TAGGING_MODES:
        raise RowError(f"tagging_mode must be {' or '.join(_TAGGING_MODES)}, found {row.get('tagging_mode')!r}")
    return vlan, port


def _vlan_number(key: str, row: Row) -> int:
    found = re.fullmatch(r"Vlan(\d+)", key)
    if not found or not 1 <= int(found[1]) <= 4094:
        raise RowError("the name must be Vlan1 to Vlan4094")
    return int(found[1])


def _addresses(reader: Reader, table: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for key in reader.rows(table, _address):
        name, _, address = key.partition("|")
        if address:
            found.setdefault(name, []).append(address)
    return {name: tuple(addresses) for name, addresses in found.items()}


def _port_addresses(reader: Reader, profile: Profile) -> dict[str, tuple[str, ...]]:
    """INTERFACE: the addresses of routed ports, IPv4 and IPv6."""
    found = _addresses(reader, "INTERFACE")
    for name in sorted(set(found) - set(profile.ports), key=natural):
        reader.complain(f"INTERFACE|{name} ignored: this switch has no port {name}")
    return {name: addresses for name, addresses in found.items() if name in profile.ports}


def _address(key: str, row: Row) -> str:
    address = key.partition("|")[2]
    try:
        ipaddress.ip_interface(address or "0.0.0.0/0")
    except ValueError as error:
        raise RowError(str(error)) from error
    return address


def _appl_profiles(config: Config, table: str) -> dict[str, str]:
    """BUFFER_PG_TABLE or BUFFER_QUEUE_TABLE of APPL_DB: key `port:range` -> profile."""
    return {key.replace("|", ":", 1): reference(str(row.get("profile", "")))
            for key, row in config.get(table, {}).items() if row.get("profile") != "NULL"}
