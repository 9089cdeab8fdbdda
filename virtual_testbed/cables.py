"""The cables of a virtual testbed, as its description finds them and its engine plugs them in."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeneratorLink:
    """A cable between a traffic generator's port and a switch port; `location` is how OTG names the former."""

    location: str
    switch: str
    switch_port: str
    speed_mbps: int
    cable_m: int


@dataclass(frozen=True)
class SwitchLink:
    """A cable between two switches of the testbed; ends are (switch, port)."""

    a: tuple[str, str]
    b: tuple[str, str]
    speed_mbps: int
    cable_m: int
