"""CONFIG_DB -> what the data plane is told, as orchagent and buffermgrd do it.

A malformed row is left out and named, the others are applied. Not modelled and left out by name: tagged VLAN members.
Rows of tables that have nothing to do with forwarding or PFC are not read.
"""
from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from virtual_testbed.dataplane.configuration import (
    BufferProfile, PoolConfig, SchedulerConfig, SwitchConfig, SwitchPortConfig, VlanConfig, WatchdogConfig)
from virtual_testbed.sonic.databases import Config, Row, natural
from virtual_testbed.sonic.profile import Profile

ACTIONS = ("drop", "forward", "alert")
_DEFAULT_POLL_MS = 100  # orchdaemon.cpp PFC_WD_POLL_MSECS
_WATCHDOG_FIELDS = {"action", "detection_time", "restoration_time", "pfc_stat_history"}
_LOSSLESS_POOL = "ingress_lossless_pool"
_ALL_TO_ZERO = {number: 0 for number in range(8)}
Parsed = TypeVar("Parsed")


class RowError(Exception):
    """A row that cannot be applied; the text says what is wrong with it."""


@dataclass(frozen=True)
class Translation:
    """`config` for the data plane, `problems` (one sentence a row), and the APPL_DB rows that buffermgrd derives."""

    config: SwitchConfig
    problems: tuple[str, ...]
    buffer_pg: Mapping[str, str]
    buffer_profiles: Mapping[str, Row]


@dataclass
class _Reader:
    """The configuration and what was found wrong with it so far."""

    config: Config
    problems: list[str] = field(default_factory=list)

    def rows(self, table: str, parse: Callable[[str, Row], Parsed]) -> dict[str, Parsed]:
        """Each row of a table through `parse`; those that raise RowError are left out and named."""
        parsed = {}
        for key, row in self.config.get(table, {}).items():
            try:
                parsed[key] = parse(key, row)
            except RowError as error:
                self.problems.append(f"{table}|{key} ignored: {error}")
            except (AttributeError, TypeError, ValueError):  # such as a list where a text belongs
                self.problems.append(f"{table}|{key} ignored: a field has the wrong form")
        return parsed

    def complain(self, text: str) -> None:
        """Note a problem that is not a row's own."""
        self.problems.append(text)


def translate(config: Config, profile: Profile, switch_name: str, mac: str) -> Translation:
    """Translate a whole CONFIG_DB.

    Args:
        config: as `databases.read_config` returns it.
        profile: the hardware.
        switch_name: the switch's name in the data plane.
        mac: its address when DEVICE_METADATA has none.
    """
    reader = _Reader(config)
    pools = reader.rows("BUFFER_POOL", lambda key, row: PoolConfig(_number(row, "size"), _number(row, "xoff", 0)))
    profiles = reader.rows("BUFFER_PROFILE", lambda key, row: _buffer_profile(row, pools))
    derived = _lossless_groups(reader, profile, pools)
    groups = _port_objects(reader, "BUFFER_PG", profiles, profile)
    for (port, group), found in derived.groups.items():
        groups.setdefault(port, {}).setdefault(group, found)
    queues = _port_objects(reader, "BUFFER_QUEUE", profiles, profile)
    maps = _Maps.read(reader)
    schedulers = _schedulers(reader, profile)
    watchdogs = reader.rows("PFC_WD", lambda key, row: None if key == "GLOBAL" else _watchdog(key, row, profile))
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
            pfc_to_queue=maps_of_port.pfc_to_queue, priority_groups=groups.get(name, {}), queues=queues.get(name, {}),
            schedulers=schedulers.get(name, {}),
            watchdog=watchdogs.get(name), mtu=mtu)
    poll_ms, big_red_switch = _watchdog_global(reader)
    switch = SwitchConfig(
        name=switch_name, mac=config.get("DEVICE_METADATA", {}).get("localhost", {}).get("mac", mac),
        asic_type=profile.asic_type, cell_bytes=profile.cell_bytes, ports=ports, pools=pools,
        vlans=_vlans(reader, profile),
        port_addresses=_addresses(reader, "INTERFACE"), watchdog_poll_ms=poll_ms, big_red_switch=big_red_switch)
    return Translation(switch, tuple(reader.problems), _appl_groups(config, derived), derived.rows)


def _number(row: Row, name: str, default: int | None = None) -> int:
    text = row.get(name)
    if text is None:
        if default is None:
            raise RowError(f"{name} is missing")
        return default
    if not re.fullmatch(r"-?\d+", str(text)):
        raise RowError(f"{name} must be a whole number, found {text!r}")
    return int(text)


def _within(row: Row, name: str, low: int, high: int) -> int:
    value = _number(row, name)
    if not low <= value <= high:
        raise RowError(f"{name} must be {low}..{high}, found {value}")
    return value


def _reference(text: str) -> str:
    """A referenced row's name; older images write `[TABLE|name]`."""
    return text.strip("[]").split("|")[-1]


def _range(text: str, high: int = 7) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if not found:
        raise RowError(f"expected a number or a range such as 3-4, found {text!r}")
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last <= high:
        raise RowError(f"expected numbers 0..{high}, found {text!r}")
    return range(first, last + 1)


def _buffer_profile(row: Row, pools: Mapping[str, PoolConfig]) -> BufferProfile:
    pool = _reference(str(row.get("pool", "")))
    if pool not in pools:
        raise RowError(f"pool {pool or '(none)'} does not exist")
    dynamic = _number(row, "dynamic_th") if "dynamic_th" in row else None
    static = _number(row, "static_th") if "static_th" in row else None
    if dynamic is None and static is None:
        raise RowError("dynamic_th or static_th is missing")
    return BufferProfile(pool, _number(row, "size"), dynamic, static, _number(row, "xoff", 0), _number(row, "xon", 0),
                         _number(row, "xon_offset", 0))


@dataclass(frozen=True)
class _Derived:
    groups: dict[tuple[str, int], BufferProfile]
    names: dict[tuple[str, int], str]
    rows: dict[str, Row]


def _lossless_groups(reader: _Reader, profile: Profile, pools: Mapping[str, PoolConfig]) -> _Derived:
    """Headroom as buffermgrd gives it: for PFC-enabled priorities, by the port's speed and cable length."""
    derived = _Derived({}, {}, {})
    cables = {port: length for row in reader.config.get("CABLE_LENGTH", {}).values() for port, length in row.items()}
    for port, row in reader.config.get("PORT_QOS_MAP", {}).items():
        cable = cables.get(port)
        lossless = port in profile.ports and row.get("pfc_enable") and _LOSSLESS_POOL in pools
        if not lossless or cable in (None, "0m"):
            continue
        speed = str(reader.config.get("PORT", {}).get(port, {}).get("speed", profile.ports[port].speed))
        found = profile.pg_profile_lookup.get((speed, str(cable)))
        if found is None:
            reader.complain(f"{port}: pg_profile_lookup.ini has no headroom for speed {speed} and cable {cable}")
            continue
        name = f"pg_lossless_{speed}_{cable}_profile"
        values = {"pool": _LOSSLESS_POOL, "xon": found["xon"], "xon_offset": found["xon_offset"], "xoff": found["xoff"],
                  "size": found["size"], "dynamic_th": found["threshold"]}
        derived.rows[name] = values
        for priority in _priorities(row.get("pfc_enable", ""), strict=False):
            derived.groups[port, priority] = _buffer_profile(values, pools)
            derived.names[port, priority] = name
    return derived


def _priorities(text: str, strict: bool = True) -> frozenset[int]:
    parts = [part.strip() for part in str(text).split(",") if part.strip()]
    bad = [part for part in parts if part not in "01234567" or len(part) != 1]
    if bad and strict:
        raise RowError(f"priorities must be numbers 0..7 separated by commas, found {text!r}")
    return frozenset(int(part) for part in parts if part not in bad)


def _port_objects(reader: _Reader, table: str, profiles: Mapping[str, BufferProfile],
                  hardware: Profile) -> dict[str, dict[int, BufferProfile]]:
    """BUFFER_PG or BUFFER_QUEUE: port -> number -> profile. A profile `NULL` means: derived."""
    def parse(key: str, row: Row) -> tuple[list[str], range, BufferProfile | None]:
        ports, _, numbers = key.partition("|")
        name = _reference(str(row.get("profile", "")))
        if name not in profiles and name != "NULL" and not name.startswith("pg_lossless_"):
            raise RowError(f"profile {name or '(none)'} does not exist")
        names = _known_ports(ports, hardware)
        return names, _range(numbers, high=hardware.unicast_queues - 1), profiles.get(name)

    found: dict[str, dict[int, BufferProfile]] = {}
    for ports, numbers, profile in reader.rows(table, parse).values():
        for port in ports:
            found.setdefault(port, {}).update({n: profile for n in numbers if profile is not None and n < 8})
    return found


def _known_ports(text: str, hardware: Profile) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in hardware.ports]
    if unknown:
        raise RowError(f"this switch has no port {unknown[0] or '(empty)'}")
    return names


@dataclass(frozen=True)
class _PortQos:
    pfc: frozenset[int]
    watchdog: frozenset[int]
    dscp_to_tc: Mapping[int, int]
    tc_to_queue: Mapping[int, int]
    tc_to_pg: Mapping[int, int]
    pfc_to_queue: Mapping[int, int]


@dataclass(frozen=True)
class _Maps:
    """QoS maps by name. Without one the hardware has: DSCP to TC 0, TC to queue 0 and PG 0, PFC to queue one to one."""

    tables: Mapping[str, Mapping[str, Mapping[int, int]]]
    global_dscp: str | None

    @classmethod
    def read(cls, reader: _Reader) -> _Maps:
        tables = {name: reader.rows(name, _eight_to_eight) for name in (
            "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")}
        tables["DSCP_TO_TC_MAP"] = reader.rows("DSCP_TO_TC_MAP", lambda key, row: _map(row, 64))
        name = reader.config.get("PORT_QOS_MAP", {}).get("global", {}).get("dscp_to_tc_map")
        if name is not None and _reference(str(name)) not in tables["DSCP_TO_TC_MAP"]:
            reader.complain(f"PORT_QOS_MAP|global ignored: DSCP_TO_TC_MAP|{_reference(str(name))} does not exist")
            name = None
        return cls(tables, name)

    def of_port(self, key: str, row: Row) -> _PortQos:
        """The maps of one PORT_QOS_MAP row."""
        pfc = _priorities(row.get("pfc_enable", ""))
        watchdog = _priorities(row["pfcwd_sw_enable"]) if "pfcwd_sw_enable" in row else pfc
        zero = {number: 0 for number in range(64)}
        identity = {number: number for number in range(8)}
        return _PortQos(
            pfc, watchdog, self._named("DSCP_TO_TC_MAP", row.get("dscp_to_tc_map", self.global_dscp), zero),
            self._named("TC_TO_QUEUE_MAP", row.get("tc_to_queue_map"), _ALL_TO_ZERO),
            self._named("TC_TO_PRIORITY_GROUP_MAP", row.get("tc_to_pg_map"), _ALL_TO_ZERO),
            self._named("MAP_PFC_PRIORITY_TO_QUEUE", row.get("pfc_to_queue_map"), identity))

    def _named(self, table: str, name: str | None, default: Mapping[int, int]) -> Mapping[int, int]:
        if name is None:
            return default
        found = self.tables[table].get(_reference(name))
        if found is None:
            raise RowError(f"{table}|{_reference(name)} does not exist")
        return {**default, **found}


def _eight_to_eight(key: str, row: Row) -> dict[int, int]:
    return _map(row, 8)


def _map(row: Row, size: int) -> dict[int, int]:
    found = {}
    for key, value in row.items():
        if not (key.isdigit() and int(key) < size and str(value).isdigit() and int(value) < 8):
            raise RowError(f"expected 0..{size - 1} -> 0..7, found {key!r} -> {value!r}")
        found[int(key)] = int(value)
    return found


def _schedulers(reader: _Reader, profile: Profile) -> dict[str, dict[int, SchedulerConfig]]:
    known = reader.rows("SCHEDULER", lambda key, row: _scheduler(row))

    def parse(key: str, row: Row) -> tuple[list[str], range, SchedulerConfig | None]:
        ports, _, numbers = key.partition("|")
        name = _reference(str(row.get("scheduler", "")))
        if name and name not in known:
            raise RowError(f"SCHEDULER|{name} does not exist")
        return _known_ports(ports, profile), _range(numbers, high=profile.unicast_queues - 1), known.get(name)

    found: dict[str, dict[int, SchedulerConfig]] = {}
    for ports, numbers, scheduler in reader.rows("QUEUE", parse).values():
        for port in ports:
            found.setdefault(port, {}).update({n: scheduler for n in numbers if scheduler is not None and n < 8})
    return found


def _scheduler(row: Row) -> SchedulerConfig:
    kind = str(row.get("type", ""))
    if kind not in ("DWRR", "STRICT", "WRR"):
        raise RowError(f"type must be DWRR, WRR or STRICT, found {kind!r}")
    return SchedulerConfig("STRICT") if kind == "STRICT" else SchedulerConfig("DWRR", _within(row, "weight", 1, 100))


def _watchdog(key: str, row: Row, profile: Profile) -> WatchdogConfig:
    _known_ports(key, profile)
    unknown = sorted(set(row) - _WATCHDOG_FIELDS)
    if unknown:
        raise RowError(f"unknown field {unknown[0]}")
    action = str(row.get("action", "drop"))
    if action not in ACTIONS:
        raise RowError(f"action must be {', '.join(ACTIONS)}, found {action!r}")
    restoration = _number(row, "restoration_time", 0)
    if restoration:
        _within(row, "restoration_time", 100, 60000)
    return WatchdogConfig(action, _within(row, "detection_time", 100, 5000), restoration or None)


def _watchdog_global(reader: _Reader) -> tuple[int, bool]:
    row = reader.config.get("PFC_WD", {}).get("GLOBAL", {})
    try:
        poll_ms = _within(row, "POLL_INTERVAL", 100, 1000) if "POLL_INTERVAL" in row else _DEFAULT_POLL_MS
    except RowError as error:
        reader.complain(f"PFC_WD|GLOBAL ignored: {error}")
        poll_ms = _DEFAULT_POLL_MS
    return poll_ms, row.get("BIG_RED_SWITCH") == "enable"


def _port_basics(key: str, row: Row, profile: Profile) -> tuple[int, bool, int]:
    _known_ports(key, profile)
    speed = _within(row, "speed", 10, 800000) if "speed" in row else profile.ports[key].speed
    return speed, row.get("admin_status") == "up", _number(row, "mtu", 9100)


def _vlans(reader: _Reader, profile: Profile) -> tuple[VlanConfig, ...]:
    members: dict[str, set[str]] = {}
    for vlan, port in reader.rows("VLAN_MEMBER", lambda key, row: _member(key, row, profile)).values():
        members.setdefault(vlan, set()).add(port)
    addresses = _addresses(reader, "VLAN_INTERFACE")
    numbers = reader.rows("VLAN", _vlan_number)
    return tuple(VlanConfig(number, frozenset(members.get(name, ())), addresses.get(name, ()))
                 for name, number in sorted(numbers.items(), key=lambda item: natural(item[0])))


def _member(key: str, row: Row, profile: Profile) -> tuple[str, str]:
    vlan, _, port = key.partition("|")
    _known_ports(port, profile)
    if row.get("tagging_mode") != "untagged":
        raise RowError("only untagged members are modelled")
    return vlan, port


def _vlan_number(key: str, row: Row) -> int:
    found = re.fullmatch(r"Vlan(\d+)", key)
    if not found or not 1 <= int(found[1]) <= 4094:
        raise RowError("the name must be Vlan1 to Vlan4094")
    return int(found[1])


def _addresses(reader: _Reader, table: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for key in reader.rows(table, _address):
        name, _, address = key.partition("|")
        if address:
            found.setdefault(name, []).append(address)
    return {name: tuple(addresses) for name, addresses in found.items()}


def _address(key: str, row: Row) -> str:
    address = key.partition("|")[2]
    try:
        ipaddress.ip_interface(address or "0.0.0.0/0")
    except ValueError as error:
        raise RowError(str(error)) from error
    return address


def _appl_groups(config: Config, derived: _Derived) -> dict[str, str]:
    """BUFFER_PG_TABLE of APPL_DB: key `port:range` -> profile, neighbouring derived groups as one range."""
    rows = {key.replace("|", ":", 1): _reference(str(row.get("profile", "")))
            for key, row in config.get("BUFFER_PG", {}).items() if row.get("profile") != "NULL"}
    by_port: dict[str, list[int]] = {}
    for port, priority in sorted(derived.names):
        by_port.setdefault(port, []).append(priority)
    for port, priorities in by_port.items():
        for first, last in _runs(priorities):
            rows.setdefault(f"{port}:{first}-{last}" if last > first else f"{port}:{first}", derived.names[port, first])
    return rows


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
