"""The rows that buffermgrd writes into CONFIG_DB for PFC-enabled priorities: a profile with the headroom of the port's
speed and cable, and which priority groups have it (sonic-swss `buffermgr.cpp`). It removes none of them.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable

from virtual_testbed.sonic.databases import Config
from virtual_testbed.sonic.dynamic_buffers import is_dynamic
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.rows import priorities_of, reference

POOL = "ingress_lossless_pool"
Reasons = tuple[object, ...]


def reasons(config: Config) -> dict[str, Reasons]:
    """What buffermgrd goes by, for each port that has PFC: it acts when that changes. None while there is no pool."""
    if not _derives(config):
        return {}
    cables = _cables(config)
    return {port: (row["pfc_enable"], cables[port], config.get("PORT", {}).get(port))
            for port, row in config.get("PORT_QOS_MAP", {}).items() if row.get("pfc_enable") and port in cables}


def derived_rows(config: Config, profile: Profile, ports: Collection[str] | None = None) -> tuple[Config, list[str]]:
    """The rows that are not there as buffermgrd makes them, and one sentence for each port that it has no headroom for.
    A profile that is there is used as it is.

    Args:
        config: CONFIG_DB.
        profile: the hardware.
        ports: those that it looks at; None: all of them.
    """
    rows: Config = {}
    problems = []
    for port, (listed, cable, _) in reasons(config).items():
        if port not in profile.ports or ports is not None and port not in ports or cable == "0m":
            continue
        speed = str(config.get("PORT", {}).get(port, {}).get("speed", profile.ports[port].speed))
        found = profile.pg_profile_lookup.get((speed, str(cable)))
        if found is None:
            problems.append(f"{port}: pg_profile_lookup.ini has no headroom for speed {speed} and cable {cable}")
            continue
        name = f"pg_lossless_{speed}_{cable}_profile"
        if name not in config.get("BUFFER_PROFILE", {}):
            rows.setdefault("BUFFER_PROFILE", {})[name] = {
                "pool": POOL, "xon": found["xon"], "xon_offset": found["xon_offset"], "xoff": found["xoff"],
                "size": found["size"], "dynamic_th": found["threshold"]}
        for key in _keys(port, priorities_of(str(listed), strict=False)):
            if reference(str(config.get("BUFFER_PG", {}).get(key, {}).get("profile", ""))) != name:
                rows.setdefault("BUFFER_PG", {})[key] = {"profile": name}
    return rows, problems


def _derives(config: Config) -> bool:
    """With dynamic buffers it goes by BUFFER_PG, and writes nothing."""
    return POOL in config.get("BUFFER_POOL", {}) and not is_dynamic(config)


def _cables(config: Config) -> dict[str, object]:
    return {port: length for row in config.get("CABLE_LENGTH", {}).values() for port, length in row.items()}


def _keys(port: str, priorities: Iterable[int]) -> list[str]:
    """`Ethernet0|3-4`: neighbours as one range."""
    runs: list[list[int]] = []
    for number in sorted(priorities):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"{port}|{run[0]}" if len(run) == 1 else f"{port}|{run[0]}-{run[-1]}" for run in runs]
