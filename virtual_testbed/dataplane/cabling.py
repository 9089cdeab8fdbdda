"""Cables: which ports they join, and whether their links are up."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from virtual_testbed.dataplane.forwarding import PortName
from virtual_testbed.dataplane.model.events import FRAME_RECEIVED
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.port import SwitchPort
from virtual_testbed.dataplane.model.switch import Switch
from virtual_testbed.dataplane.model.units import PS_PER_METRE, ps_per_byte


class CablingError(ValueError):
    """A cable that cannot be plugged in; `str()` is one sentence."""


class SwitchCable(NamedTuple):
    """A cable between two switch ports, each (switch, port)."""

    ends: tuple[PortName, PortName]
    speed_mbps: int
    cable_m: int


class Cabling:
    """All cables of a testbed.

    Attributes:
        sides: generator ports by location.
        switch_cables: cables between switches, in the order in which they were plugged in.
    """

    def __init__(self, switches: Mapping[str, Switch]) -> None:
        self._switches = switches
        self.sides: dict[str, GeneratorSide] = {}
        self.switch_cables: list[SwitchCable] = []
        self._at: dict[PortName, GeneratorSide | SwitchCable] = {}

    def add_generator(self, side: GeneratorSide, end: PortName) -> None:
        """A cable between a generator port and a switch port. Raises CablingError."""
        if side.location in self.sides:
            raise CablingError(f"generator port {side.location} has a cable already")
        self._take(end, side)
        self.sides[side.location] = side

    def add_switches(self, a: PortName, b: PortName, speed_mbps: int, cable_m: int) -> None:
        """A cable between two switch ports. Raises CablingError, TimingError."""
        ps_per_byte(speed_mbps)
        if a == b:
            raise CablingError(f"{a[0]} {a[1]} cannot have a cable to itself")
        cable = SwitchCable((a, b), speed_mbps, cable_m)
        if b in self._at:
            self._take(b, cable)
        self._take(a, cable)
        self._take(b, cable)
        self.switch_cables.append(cable)

    def _take(self, end: PortName, what: GeneratorSide | SwitchCable) -> None:
        if end in self._at:
            raise CablingError(f"{end[0]} {end[1]} has a cable already")
        self._at[end] = what

    def plug(self) -> None:
        """Join the ports of cables whose switches are there by now."""
        for end, what in self._at.items():
            port = self._port(end)
            if port is None or port.peer is not None:
                continue
            if isinstance(what, GeneratorSide):
                what.connect(port)
                continue
            others = [self._port(other) for other in what.ends if other != end]
            if others[0] is not None:
                _join(port, others[0], what)

    def _port(self, end: PortName) -> SwitchPort | None:
        switch = self._switches.get(end[0])
        return switch.ports.get(end[1]) if switch else None

    def update_links(self, now_ps: int) -> None:
        """Bring links up and down as their ends' configuration says."""
        for side in self.sides.values():
            if side.switch_port is not None:
                _update_generator_link(side, side.switch_port, now_ps)
        for a, b, speed_mbps in self._joined():
            speeds = {a.config.speed_mbps, b.config.speed_mbps, speed_mbps}
            is_up = a.config.admin_up and b.config.admin_up and len(speeds) == 1
            changed = [port for port in (a, b) if port.is_up != is_up]
            for port in changed:
                _set_link(port, is_up, now_ps)
            for port in changed:
                if is_up:
                    port.resend_xoff(now_ps)

    def _joined(self) -> Iterator[tuple[SwitchPort, SwitchPort, int]]:
        for cable in self.switch_cables:
            a, b = (self._port(end) for end in cable.ends)
            if a is not None and b is not None:
                yield a, b, cable.speed_mbps


def _join(a: SwitchPort, b: SwitchPort, cable: SwitchCable) -> None:
    for port, other in ((a, b), (b, a)):
        port.connect(cable.speed_mbps, cable.cable_m * PS_PER_METRE, other)
        port.line.lead_to(other.receiver, FRAME_RECEIVED, other.index)


def _set_link(end: SwitchPort | GeneratorSide, is_up: bool, now_ps: int) -> None:
    if is_up:
        end.link_came_up(now_ps)
    else:
        end.link_went_down(now_ps)


def _update_generator_link(side: GeneratorSide, port: SwitchPort, now_ps: int) -> None:
    speeds = {side.speed_mbps, port.config.speed_mbps} | (
        {side.spec.speed_mbps} if side.spec and side.spec.speed_mbps else set())
    is_up = side.admin_up and port.config.admin_up and len(speeds) == 1
    if is_up == side.is_up:
        return
    _set_link(side, is_up, now_ps)
    _set_link(port, is_up, now_ps)
    if is_up:
        port.resend_xoff(now_ps)
