"""What orchagent tells the hardware, as ASIC_DB has it: WRED profiles, buffer profiles, and the priority groups and
queues that have one (sonic-swss `qosorch.cpp`, `bufferorch.cpp`; attributes of SAI). Other objects of a real ASIC_DB
are not there.
"""
from __future__ import annotations

import zlib
from collections.abc import Mapping

from virtual_testbed.sonic.counters import Hash, ObjectIds
from virtual_testbed.sonic.databases import Config, Row
from virtual_testbed.sonic.rows import reference

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
_ECN = ("ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red",
        "ecn_all")
ProfileNames = Mapping[str, Mapping[int, str]]
"""Port -> priority group or queue -> name of its buffer profile."""


def object_rows(config: Config, ids: ObjectIds, groups: ProfileNames, queues: ProfileNames
                ) -> dict[str, dict[str, Hash]]:
    """Objects of WRED profiles, buffer profiles, priority groups and queues.

    Args:
        config: CONFIG_DB's, with what buffermgrd derives.
        ids: of the switch's objects.
        groups, queues: the buffer profiles in effect.
    Returns:
        For each of `WRED`, `BUFFER_PROFILE`, `PRIORITY_GROUP` and `QUEUE` its hashes by key.
    """
    pools = ids.pools(config.get("BUFFER_POOL", {}))
    wred = {name: _wred(row) for name, row in config.get("WRED_PROFILE", {}).items()}
    profiles = {name: _profile(row, pools) for name, row in config.get("BUFFER_PROFILE", {}).items()}
    found: dict[str, dict[str, Hash]] = {
        WRED: {_oid(WRED, name): fields for name, fields in wred.items() if fields},
        BUFFER_PROFILE: {_oid(BUFFER_PROFILE, name): fields for name, fields in profiles.items() if fields},
        PRIORITY_GROUP: {ids.priority_group(port, group): {_PROFILE_OF_GROUP: _oid(BUFFER_PROFILE, name)}
                         for port, rows in groups.items() for group, name in rows.items()},
        QUEUE: {ids.queue(port, queue): {_PROFILE_OF_QUEUE: _oid(BUFFER_PROFILE, name)}
                for port, rows in queues.items() for queue, name in rows.items()}}
    return {prefix: {f"{prefix}{oid}": fields for oid, fields in rows.items()} for prefix, rows in found.items()}


def _oid(prefix: str, name: str) -> str:
    """Of a profile: the same as long as it has its name."""
    return f"oid:{_OIDS[prefix] + zlib.crc32(name.encode(errors='surrogateescape')):#x}"


def _wred(row: Row) -> Hash:
    """Of a WRED profile; empty: orchagent refuses it."""
    marks = str(row.get("ecn", "ecn_none"))
    if marks not in _ECN:
        return {}
    probabilities = {f"SAI_WRED_ATTR_{colour.upper()}_DROP_PROBABILITY": "100" for colour in _COLOURS}
    return {"SAI_WRED_ATTR_WEIGHT": "0", **probabilities,
            "SAI_WRED_ATTR_ECN_MARK_MODE": f"SAI_ECN_MARK_MODE_{marks.removeprefix('ecn_').upper()}",
            **{attribute: str(row[field]) for field, attribute in _WRED_FIELDS.items() if field in row}}


def _profile(row: Row, pools: Mapping[str, str]) -> Hash:
    """Of a buffer profile; empty: its pool does not exist."""
    pool = pools.get(reference(str(row.get("pool", ""))))
    if pool is None:
        return {}
    fields = {attribute: str(row[field]) for field, attribute in _PROFILE_FIELDS.items() if field in row}
    for kind in ("dynamic", "static"):
        if f"{kind}_th" in row:
            fields[_MODE] = f"SAI_BUFFER_PROFILE_THRESHOLD_MODE_{kind.upper()}"
            fields[f"SAI_BUFFER_PROFILE_ATTR_SHARED_{kind.upper()}_TH"] = str(row[f"{kind}_th"])
    return {"SAI_BUFFER_PROFILE_ATTR_POOL_ID": pool, **fields}
