"""A source of pauses other than the traffic generator: what the core asks of it.

An option brings the source (`option.Option.pause_source`); without one, or where a testbed names none, pauses are flows
of the traffic generator, which counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ..model.counters import DutCounters
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


class NamedPauseSource(Protocol):
    """A source of pauses as a testbed's entry names it, for one port under test."""

    @property
    def host(self) -> str:
        """The name of its host in the inventory."""

    @property
    def where(self) -> str:
        """`fanout-01 Ethernet48`, for messages."""

    def open(self, host: Host, speed_mbps: int, clock: Clock) -> PauseSource:
        """The source, once it is known that it can send.

        Args:
            host: an Ansible host object.
            speed_mbps: the speed of the port under test.
            clock: what to wait on.

        Raises:
            QualificationError: it cannot; the sentence says what is missing.
        """
