"""A source of pauses other than the traffic generator: what the core asks of it.

An option brings the source (`option.Option.pause_source`); without one, or where a testbed names none, pauses are flows
of the traffic generator, which counts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import StormSource
from .clock import Clock
from .dut import Host
from .generator import PauseSender

if TYPE_CHECKING:
    from .lab import Lab


class PauseSource(StormSource, Protocol):
    """A source of pauses that is ready to send."""

    @property
    def sender(self) -> PauseSender | None:
        """What starts and stops the storms; None: the traffic generator, by whose flows they are made."""

    def arrived(self, lab: Lab, before: DutCounters) -> DutCounters:
        """Shows that pauses from here arrive at the port under test.

        Args:
            lab: what is measured with.
            before: the switch's counters, with everything in them that came before.

        Returns:
            The counters with everything in them.

        Raises:
            QualificationError: they do not arrive.
        """


HostOf = Callable[[str], Host]
"""Makes the host object of a host of the inventory."""
OpenPauses = Callable[[HostOf, Clock], PauseSource]
"""Opens the source of the pauses for one port under test; raises QualificationError where it cannot send."""


def no_host(name: str) -> Host:
    """Where there is no inventory; raises QualificationError."""
    raise QualificationError(f"{name}: pauses are to come from there, and no way to reach it was given")
