"""Buffers that a switch sizes by itself, where DEVICE_METADATA has `buffer_model` `dynamic` (sonic-swss
`cfgmgr/buffermgrdyn.cpp`, `buffer_pool_*.lua`): CONFIG_DB says of a priority group only that it is lossless (profile
`NULL`, or one with `headroom_type` `dynamic`), and of a pool only that it is there.

Simpler than there: a headroom is the one that `pg_profile_lookup.ini` has for the port's speed and cable, at any MTU,
not a vendor's formula; pools share what is left of the memory when every group and queue has what is reserved for it,
with nothing set aside for management and mirrors; another model takes effect at once, not at the next start.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil

from virtual_testbed.sonic.databases import Config, Row
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.rows import RowError, number_of, number_range, reference

MODEL = "buffer_model"
_LOSSLESS_POOL = "ingress_lossless_pool"
_PARAMETERS = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
_NULL = "NULL"


@dataclass(frozen=True)
class BuffersInEffect:
    """`config` as the model has it: no group without a profile, no profile without a headroom, no pool without a size;
    `problems`: one sentence a row that was left out.
    """

    config: Config
    problems: tuple[str, ...] = ()


@dataclass
class _Sizing:
    """Profiles that are derived, groups by their keys, and what was found wrong."""

    profiles: dict[str, Row] = field(default_factory=dict)
    groups: dict[str, Row] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def is_dynamic(config: Config) -> bool:
    """Whether a configuration is one of this model."""
    return config.get("DEVICE_METADATA", {}).get("localhost", {}).get(MODEL) == "dynamic"


def memory_bytes(profile: Profile) -> int:
    """The bytes of a switch's packet memory: those of the largest pool that its HwSKU has by default."""
    pools = (row for topology in profile.topologies.values() for row in topology["BUFFER_POOL"].values())
    return max(int(row["size"]) for row in pools)


def in_effect(config: Config, profile: Profile) -> BuffersInEffect:
    """What a configuration of the dynamic model comes to; any other one as it is."""
    if not is_dynamic(config):
        return BuffersInEffect(config)
    own = config.get("BUFFER_PROFILE", {})
    sizing = _derive_groups(config, profile)
    fixed = {name: row for name, row in own.items() if not _is_calculated(row)}
    sized = {**config, "BUFFER_PROFILE": {**fixed, **sizing.profiles}, "BUFFER_PG": sizing.groups}
    try:
        pools = _pools(sized, profile, sizing.problems)
    except RowError as error:  # such as a size that is no number: pools without a size are named where they are used
        sizing.problems.append(f"BUFFER_POOL: the sizes of pools cannot be computed: {error}")
        pools = config.get("BUFFER_POOL", {})
    return BuffersInEffect({**sized, "BUFFER_POOL": pools}, tuple(sizing.problems))


def _derive_groups(config: Config, profile: Profile) -> _Sizing:
    """The groups of BUFFER_PG with profiles that have a headroom; those of ports that are down have none."""
    sizing = _Sizing()
    own = config.get("BUFFER_PROFILE", {})
    usual = next((str(row["default_dynamic_th"]) for row in config.get(_PARAMETERS, {}).values()
                  if "default_dynamic_th" in row), "0")
    for key, row in config.get("BUFFER_PG", {}).items():
        name = reference(str(row.get("profile", "")))
        if name != _NULL and not _is_calculated(own.get(name, {})):
            sizing.groups[key] = row
            continue
        for port in key.partition("|")[0].split(","):
            found = _derived(config, profile, port, str(own.get(name, {}).get("dynamic_th", usual)), usual)
            if found is None:
                sizing.problems.append(f"BUFFER_PG|{key} ignored: pg_profile_lookup.ini has no headroom for the speed "
                                       f"and the cable of {port}")
            else:
                sizing.profiles |= found
                sizing.groups[f"{port}|{key.partition('|')[2]}"] = {"profile": next(iter(found))}
    return sizing


def _derived(
    config: Config, profile: Profile, port: str, threshold: str, usual: str
) -> Mapping[str, Row] | None:
    """Name and fields of the profile that a lossless group of a port gets; None: its headroom is not known."""
    cables = {name: length for row in config.get("CABLE_LENGTH", {}).values() for name, length in row.items()}
    speed = str(config.get("PORT", {}).get(port, {}).get("speed", ""))
    cable = str(cables.get(port, ""))
    lookup = profile.pg_profile_lookup.get((speed, cable))
    if lookup is None:
        return None
    other = "" if threshold == usual else f"_th{threshold}"
    return {f"pg_lossless_{speed}_{cable}{other}_profile": {
        "xon": lookup["xon"], "xon_offset": lookup["xon_offset"], "xoff": lookup["xoff"], "size": lookup["size"],
        "pool": _LOSSLESS_POOL, "dynamic_th": threshold}}


def _is_calculated(row: Mapping[str, object]) -> bool:
    """Whether the headroom of a profile is left to the switch."""
    return row.get("headroom_type") == "dynamic"


def _pools(config: Config, profile: Profile, problems: list[str]) -> dict[str, Row]:
    """The pools, those without a size with what is left of the memory. The groups share a headroom when the lossless
    pool has one (`xoff`), or with an `over_subscribe_ratio`: then it is that part of what they would have of their own.
    """
    pools = config.get("BUFFER_POOL", {})
    profiles = config["BUFFER_PROFILE"]
    ratio = next((number_of(row, "over_subscribe_ratio", 0) for row in config.get(_PARAMETERS, {}).values()), 0)
    reserved = headroom = 0
    for table in ("BUFFER_PG", "BUFFER_QUEUE"):
        for used, number in _uses(config.get(table, {}), profiles):
            reserved += number_of(used, "size", 0) * number
            headroom += number_of(used, "xoff", 0) * number
    configured = number_of(pools.get(_LOSSLESS_POOL, {}), "xoff", 0)
    shared = configured or (ceil(headroom / ratio) if ratio else 0)
    left = memory_bytes(profile) - reserved - (shared or headroom)
    if left < 0 and any("size" not in row for row in pools.values()):
        problems.append(f"BUFFER_POOL: nothing is left for pools: groups and queues reserve {-left} bytes more than the"
                        " switch has")
    found = {}
    for name, row in pools.items():
        sized = {**row, "size": row.get("size", str(max(left, 0)))}
        found[name] = {**sized, "xoff": str(shared)} if shared and name == _LOSSLESS_POOL else sized
    return found


def _uses(rows: Mapping[str, Row], profiles: Mapping[str, Row]) -> Iterable[tuple[Row, int]]:
    """Each row's profile, and how many groups or queues have it."""
    for key, row in rows.items():
        ports, _, numbers = key.partition("|")
        name = reference(str(row.get("profile", "")))
        try:
            count = len(number_range(numbers, high=63)) * len(ports.split(","))
        except RowError:  # named where it is translated
            continue
        if name in profiles:
            yield profiles[name], count
