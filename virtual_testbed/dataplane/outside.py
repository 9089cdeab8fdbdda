"""Pause frames from and to what is not simulated: a generator port's cable that something real is plugged into as well.

What is heard there acts on the switch port as if it had just come out of the cable; data and frames of the traffic
generator go on sharing that cable. Simulated time must follow the outside's.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.model.port import SwitchPort
from virtual_testbed.dataplane.network import Network, NetworkError


class Heard(Protocol):
    """Equal frames from outside; see `OpenNetwork.hear`."""

    @property
    def time_ps(self) -> int:
        """When the first acts."""

    @property
    def location(self) -> str:
        """The generator port's."""

    @property
    def frame(self) -> MacControlFrame:
        """What they are."""

    @property
    def frames(self) -> int:
        """How many."""

    @property
    def span_ps(self) -> int:
        """From the first to the last."""


class Outside(Protocol):
    """What is not simulated."""

    def hear(self, until_ps: int) -> Iterable[Heard]:
        """What acts at or before that instant and was not told before, in order of time."""


class OpenNetwork(Network):
    """A data plane whose cables also carry what comes from outside.

    Attributes:
        outside: asked whenever time passes; None: there is nothing.
    """

    outside: Outside | None = None

    def advance_to(self, time_ps: int) -> None:
        """See Network; what has come from outside meanwhile acts at its own instant, or now if that is over."""
        for heard in self.outside.hear(time_ps) if self.outside is not None else ():
            super().advance_to(max(self.now_ps, heard.time_ps))
            self.hear(heard.location, heard.frame, heard.frames, heard.span_ps)
        super().advance_to(time_ps)

    def hear(self, location: str, frame: MacControlFrame, frames: int, span_ps: int) -> None:
        """Pause frames come out of the cable of a generator port now.

        Args:
            location: the generator port's.
            frame: what all of them are.
            frames: how many there are; all are counted now.
            span_ps: from the first, which acts now, to the last; each comes while the pause of the one before lasts.

        Raises:
            NetworkError: there is no such location.
        """
        port = self._switch_port(location)
        self._change()
        if port is not None and port.is_up:
            port.receiver.hear(frame, frames, span_ps, self.now_ps)
            self._advance.rebuild()
        self._settle()

    def response_ps(self, location: str) -> int:
        """How long after its last bit a pause frame acts on the switch port."""
        port = self._switch_port(location)
        return port.receiver.response_ps if port is not None else 0

    def told(self, location: str) -> dict[bytes, int]:
        """Pause frames that the switch port has put on the cable of a generator port by now: kinds (before the FCS),
        and how many there were of each; XOFF of the classes that it holds now comes last.
        """
        port = self._switch_port(location)
        self._catch_up()
        if port is None:
            return {}
        counts: dict[bytes, int] = {}
        for item in port.line.items:
            if item.frame.data:
                counts[item.frame.data] = counts.get(item.frame.data, 0) + port.line.sent(item, self.now_ps)
        sender = port.sender
        held = {sender.xoff_items[priority].frame.data for priority in range(8) if sender.sending >> priority & 1}
        return dict(sorted(counts.items(), key=lambda kind: kind[0] in held))

    def _switch_port(self, location: str) -> SwitchPort | None:
        """The switch port at the other end of a generator port's cable; None before the switch is there."""
        if location not in self._cabling.sides:
            raise NetworkError(f"location '{location}' does not exist: expected one of "
                               f"{', '.join(sorted(self._cabling.sides)) or 'none'}")
        return self._cabling.sides[location].switch_port
