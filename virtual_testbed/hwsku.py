"""The front-panel ports that a HwSKU has, which cables must fit: from the profiles in `virtual_testbed/sonic/profiles`.

`virtual_testbed.sonic.profile` reads all of a profile, for the switch itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROFILES = Path(__file__).parent / "sonic" / "profiles"


class HwSkuError(Exception):
    """A HwSKU that is not known or whose profile cannot be used; the text is one sentence."""


@dataclass(frozen=True)
class SwitchPort:
    """A front-panel port as SONiC's `port_config.ini` has it."""

    name: str
    speed_mbps: int


@dataclass(frozen=True)
class HwSku:
    """A HwSKU: `ports` by name in panel order."""

    name: str
    ports: Mapping[str, SwitchPort]


def known_hwskus(profiles: Path = PROFILES) -> list[str]:
    """Names of the HwSKUs that a virtual switch can be."""
    return sorted(path.stem for path in profiles.glob("*.json"))


def load_hwsku(name: str, profiles: Path = PROFILES) -> HwSku:
    """Read the profile of a HwSKU.

    Raises:
        HwSkuError: there is no such profile, or it lacks something.
    """
    if name not in known_hwskus(profiles):
        known = ", ".join(known_hwskus(profiles)) or "none"
        raise HwSkuError(f"HwSku {name or '(empty)'} is not one that a virtual switch can be (known: {known})")
    path = profiles / f"{name}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        ports = [_port(row) for row in data["ports"]]
        return HwSku(name, {port.name: port for port in ports})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HwSkuError(f"{path}: not a HwSKU profile ({type(error).__name__}: {error})") from error


def _port(row: Mapping[str, object]) -> SwitchPort:
    """One port of a profile; the speed may be written as a JSON string, as SONiC's own tables do."""
    return SwitchPort(str(row["name"]), int(str(row["speed"])))
