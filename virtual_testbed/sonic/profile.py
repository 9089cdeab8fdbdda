"""What a HwSKU's files in a SONiC image say: ports, chip, default buffers, headroom by speed and cable.

Data lives in `profiles/<HwSKU>.json`; each file names its source. Its ports are also what a testbed's cables must fit.
"""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfctest.timing import response_allowance_ps

FOLDER = Path(__file__).parent / "profiles"
_AS_THEY_ARE = ("platform", "asic_type", "platform_asic", "cell_bytes", "default_topology", "unicast_queues",
                "multicast_queues", "topologies", "wred_profile")
_ALL_OF_THE_ALLOWANCE = 100


class ProfileError(Exception):
    """A HwSKU that is not known, or a profile that cannot be used; the text is one sentence."""


@dataclass(frozen=True)
class Port:
    """A front-panel port; `speed` in Mb/s is its own. `speeds` are those that it can have, whole or as the first part
    of a split, which keeps its name: a virtual switch takes either without being told to split it.
    """

    name: str
    lanes: str
    alias: str
    index: int
    speed: int
    speeds: tuple[int, ...]


@dataclass(frozen=True)
class Profile:
    """One HwSKU.

    `topologies` maps `t0`/`t1` to default cable, BUFFER_POOL and BUFFER_PROFILE. `breakouts` are the modes of
    platform.json for the ports of a speed. `pause_response_percent` is how much of the time that IEEE 802.3 allows a
    receiver for stopping after a pause frame the chip takes.
    """

    hwsku: str
    platform: str
    asic_type: str
    platform_asic: str
    cell_bytes: int
    default_topology: str
    unicast_queues: int
    multicast_queues: int
    ports: Mapping[str, Port]
    breakouts: Mapping[int, tuple[str, ...]]
    topologies: Mapping[str, Mapping[str, Any]]
    wred_profile: Mapping[str, str]
    pg_profile_lookup: Mapping[tuple[str, str], Mapping[str, str]]
    pause_response_percent: int

    @property
    def queues(self) -> int:
        """Queues of a port, multicast queues included; these have the highest numbers."""
        return self.unicast_queues + self.multicast_queues

    def pause_response_ps(self, speed_mbps: int) -> int:
        """Time from a pause frame's last bit to its effect on a port of this speed, in picoseconds."""
        return response_allowance_ps(speed_mbps) * self.pause_response_percent // 100


def known_hwskus(folder: Path = FOLDER) -> list[str]:
    """Names of the HwSKUs that a virtual switch can be."""
    return sorted(path.stem for path in folder.glob("*.json"))


def load_profile(hwsku: str, folder: Path = FOLDER) -> Profile:
    """Read a HwSKU's profile.

    Raises:
        ProfileError: there is none of this name, or it lacks something.
    """
    if hwsku not in known_hwskus(folder):
        raise ProfileError(f"HwSku {hwsku or '(empty)'} is not one that a virtual switch can be "
                           f"(known: {', '.join(known_hwskus(folder)) or 'none'})")
    path = folder / f"{hwsku}.json"
    try:
        return _profile(hwsku, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProfileError(f"{path}: not a HwSKU profile ({type(error).__name__}: {error})") from error


def _profile(hwsku: str, data: Mapping[str, Any]) -> Profile:
    """A profile from its file's content."""
    breakouts = {int(speed): tuple(modes) for speed, modes in data["breakouts"].items()}
    ports = {row["name"]: Port(**row, speeds=_speeds(breakouts[row["speed"]])) for row in data["ports"]}
    lookup = {(row["speed"], row["cable"]): row for row in data["pg_profile_lookup"]}
    return Profile(hwsku=hwsku, ports=ports, breakouts=breakouts, pg_profile_lookup=lookup,
                   pause_response_percent=data.get("pause_response_percent", _ALL_OF_THE_ALLOWANCE),
                   **{name: data[name] for name in _AS_THEY_ARE})


def _speeds(modes: tuple[str, ...]) -> tuple[int, ...]:
    """Speeds in Mb/s of modes, the fastest first: 400000, 200000 and 100000 of `1x400G` and `2x200G[100G]`."""
    return tuple(sorted({int(number) * 1000 for mode in modes for number in re.findall(r"(\d+)G", mode)}, reverse=True))
