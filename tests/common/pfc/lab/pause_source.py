"""A source of pauses other than the traffic generator: what the core asks of it.

An option brings the source (`option.Option.pause_source`); without one, or where a testbed names none, pauses are flows
of the traffic generator, which counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement
from ..record.verdict import Check
from .clock import Clock
from .dut import Host
from .generator import PauseSender

if TYPE_CHECKING:
    from .lab import Lab


class PauseSource(Protocol):
    """A source of pauses that is ready to send: did a storm run, and how many pauses of it were counted?"""

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

    def is_shown(self, run: Measurement) -> bool:
        """Whether the run itself shows that its storm arrived and lasted; else `arrived` is asked after it."""

    def storm_ran(self, run: Measurement) -> Iterator[Check]:
        """Whether the storm ran, as far as it can be known: ERROR where not."""

    def every_pause_counted(self, run: Measurement, priority: int) -> Check:
        """Whether the switch counted the storm's pauses for a priority: FAIL where not."""

    def none_forwarded(self, run: Measurement) -> Iterator[Check]:
        """Whether a pause came out of another port: FAIL where one did."""


HostOf = Callable[[str], Host]
"""Makes the host object of a host of the inventory."""
OpenPauses = Callable[[HostOf, Clock], PauseSource]
"""Opens the source of the pauses for one port under test; raises QualificationError where it cannot send."""


def no_host(name: str) -> Host:
    """Where there is no inventory; raises QualificationError."""
    raise QualificationError(f"{name}: pauses are to come from there, and no way to reach it was given")
