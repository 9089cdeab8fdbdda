"""The cables of a virtual testbed, as its description finds them and its engine plugs them in."""
from __future__ import annotations

from collections.abc import Sequence
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


class WireError(Exception):
    """A wire port that cannot be; `str()` is one sentence."""


@dataclass(frozen=True)
class WireLink:
    """A generator port's cable that an Ethernet interface of this machine is plugged into as well.

    Attributes:
        location: the generator port's. `speed_mbps`: of its link.
        interface: the interface's name.
    """

    location: str
    speed_mbps: int
    interface: str


def wire_link(spec: str, links: Sequence[GeneratorLink]) -> WireLink:
    """The wire port that `[SWITCH:]PORT=INTERFACE` names, in a testbed with these cables.

    Raises:
        WireError: it is written differently, or no generator port is cabled to that switch port.
    """
    place, equals, interface = spec.partition("=")
    switch, _, port = place.rpartition(":")
    if not (equals and port and interface):
        raise WireError(f"wire port '{spec}' is not understood: expected [SWITCH:]PORT=INTERFACE")
    found = [link for link in links if link.switch_port == port and switch in ("", link.switch)]
    if len(found) != 1:
        known = ", ".join(f"{link.switch}:{link.switch_port}" for link in found or links)
        count = "more than one" if found else "no"
        raise WireError(f"wire port '{spec}': {count} generator port is cabled to {place}: expected one of "
                        f"{known or 'none'}")
    return WireLink(found[0].location, found[0].speed_mbps, interface)
