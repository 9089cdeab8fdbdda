"""What orchagent tells the hardware, as ASIC_DB has it: WRED profiles, buffer profiles, and the priority groups and
queues that have one (sonic-swss `qosorch.cpp`, `bufferorch.cpp`; attributes of SAI). Other objects of a real ASIC_DB
are not there.
"""
from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.sonic.counters import Hash, ObjectIds
from virtual_testbed.sonic.databases import Config, Row

WRED = "ASIC_STATE:SAI_OBJECT_TYPE_WRED:"
BUFFER_PROFILE = "ASIC_STATE:SAI_OBJECT_TYPE_BUFFER_PROFILE:"
PRIORITY_GROUP = "ASIC_STATE:SAI_OBJECT_TYPE_INGRESS_PRIORITY_GROUP:"
QUEUE = "ASIC_STATE:SAI_OBJECT_TYPE_QUEUE:"
_OIDS = {WRED: 0x13000000000000, BUFFER_PROFILE: 0x19000000000000}
_COLOURS = ("green", "yellow", "red")
_WRED_FIELDS = {
    **{f"wred_{colour}_enable": f"SAI_WRED_ATTR_{colour.upper()}_ENABLE" for colour in _COLOURS},
    **{f"{colour}_{field}": f"SAI_WRED_ATTR_{colour.upper()}_{field.upper()}" for colour in _COLOURS
       for field in ("min_threshold", "max_threshold", "drop_probability")}}
_PROFILE_FIELDS = {
    "size": "SAI_BUFFER_PROFILE_ATTR_RESERVED_BUFFER_SIZE", "xon": "SAI_BUFFER_PROFILE_ATTR_XON_TH",
    "xon_offset": "SAI_BUFFER_PROFILE_ATTR_XON_OFFSET_TH", "xoff": "SAI_BUFFER_PROFILE_ATTR_XOFF_TH"}
_MODE = "SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE"
_PROFILE_OF_GROUP = "SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"
_PROFILE_OF_QUEUE = "SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def object_rows(config: Config, switch: SwitchConfig, ids: ObjectIds, groups: Mapping[str, str],
                queues: Mapping[str, str]) -> dict[str, dict[str, Hash]]:
    """Objects of WRED profiles, buffer profiles, priority groups and queues.

    Args:
        config: CONFIG_DB's, with what buffermgrd derives.
        switch: what the hardware understands of it.
        ids: of the switch's objects.
        groups: BUFFER_PG_TABLE of APPL_DB, `port:range` -> profile.
        queues: BUFFER_QUEUE_TABLE, likewise.
    Returns:
        For each of `WRED`, `BUFFER_PROFILE`, `PRIORITY_GROUP` and `QUEUE` its hashes by key.
    """
    pools = ids.pools(config.get("BUFFER_POOL", {}))
    known_groups = {name: port.priority_groups for name, port in switch.ports.items()}
    known_queues = {name: port.queues for name, port in switch.ports.items()}
    found: dict[str, dict[str, Hash]] = {
        WRED: {_oid(WRED, name): _wred(row) for name, row in config.get("WRED_PROFILE", {}).items()},
        BUFFER_PROFILE: {_oid(BUFFER_PROFILE, name): _profile(row, pools)
                         for name, row in config.get("BUFFER_PROFILE", {}).items()},
        PRIORITY_GROUP: {ids.priority_group(port, group): {_PROFILE_OF_GROUP: _oid(BUFFER_PROFILE, name)}
                         for port, group, name in _each(groups, known_groups)},
        QUEUE: {ids.queue(port, queue): {_PROFILE_OF_QUEUE: _oid(BUFFER_PROFILE, name)}
                for port, queue, name in _each(queues, known_queues)}}
    return {prefix: {f"{prefix}{oid}": fields for oid, fields in rows.items()} for prefix, rows in found.items()}


def _each(ranges: Mapping[str, str], known: Mapping[str, Collection[int]]) -> Iterator[tuple[str, int, str]]:
    """(port, number, profile) of rows of ranges of priority groups or queues, as far as they are known."""
    for key, profile in ranges.items():
        ports, _, numbers = key.partition(":")
        found = _RANGE.fullmatch(numbers)
        if found is not None:
            first, last = int(found[1]), int(found[2] or found[1])
            yield from ((port, number, profile) for port in ports.split(",") for number in known.get(port, ())
                        if first <= number <= last)


def _oid(prefix: str, name: str) -> str:
    """Of a profile: the same as long as it has its name."""
    return f"oid:{_OIDS[prefix] + zlib.crc32(name.encode()):#x}"


def _wred(row: Row) -> Hash:
    marks = str(row.get("ecn", "ecn_none")).removeprefix("ecn_").upper()
    return {"SAI_WRED_ATTR_WEIGHT": "0", "SAI_WRED_ATTR_ECN_MARK_MODE": f"SAI_ECN_MARK_MODE_{marks}",
            **{attribute: str(row[field]) for field, attribute in _WRED_FIELDS.items() if field in row}}


def _profile(row: Row, pools: Mapping[str, str]) -> Hash:
    fields = {attribute: str(row[field]) for field, attribute in _PROFILE_FIELDS.items() if field in row}
    for kind in ("dynamic", "static"):
        if f"{kind}_th" in row:
            fields[_MODE] = f"SAI_BUFFER_PROFILE_THRESHOLD_MODE_{kind.upper()}"
            fields[f"SAI_BUFFER_PROFILE_ATTR_SHARED_{kind.upper()}_TH"] = str(row[f"{kind}_th"])
    pool = pools.get(str(row.get("pool", "")))
    return fields if pool is None else {"SAI_BUFFER_PROFILE_ATTR_POOL_ID": pool, **fields}
