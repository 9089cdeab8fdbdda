"""What a HwSKU's files in a SONiC image say: ports, chip, default buffers, headroom by speed and cable.

Data lives in `profiles/<HwSKU>.json`; each file names its source.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "profiles"


class ProfileError(Exception):
    """An unknown HwSKU; the text is one sentence."""


@dataclass(frozen=True)
class Port:
    """A front-panel port; `speed` in Mb/s."""

    name: str
    lanes: str
    alias: str
    index: int
    speed: int


@dataclass(frozen=True)
class Profile:
    """One HwSKU. `topologies` maps `t0`/`t1` to default cable, BUFFER_POOL and BUFFER_PROFILE."""

    hwsku: str
    platform: str
    asic_type: str
    platform_asic: str
    cell_bytes: int
    default_topology: str
    unicast_queues: int
    multicast_queues: int
    ports: Mapping[str, Port]
    topologies: Mapping[str, Mapping[str, Any]]
    wred_profile: Mapping[str, str]
    pg_profile_lookup: Mapping[tuple[str, str], Mapping[str, str]]


def load_profile(hwsku: str) -> Profile:
    """Read a HwSKU's profile. Raises ProfileError when there is none."""
    path = FOLDER / f"{hwsku}.json"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.json")))
        raise ProfileError(f"HwSKU {hwsku} is not known, there is {known}")
    data = json.loads(path.read_text(encoding="utf-8"))
    ports = {row["name"]: Port(**row) for row in data["ports"]}
    lookup = {(row["speed"], row["cable"]): row for row in data["pg_profile_lookup"]}
    names = ("platform", "asic_type", "platform_asic", "cell_bytes", "default_topology", "unicast_queues",
             "multicast_queues", "topologies", "wred_profile")
    return Profile(hwsku=hwsku, ports=ports, pg_profile_lookup=lookup, **{name: data[name] for name in names})
