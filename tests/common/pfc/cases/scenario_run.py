"""A scenario of which more was seen than its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.counters import DutCounters
from ..model.measurement import Measurement, PortUnderTest


@dataclass(frozen=True)
class ScenarioRun:
    """A measured scenario. A subclass adds what else was seen of it.

    Attributes:
        run: what was measured.
    """

    run: Measurement

    @property
    def subject(self) -> PortUnderTest:
        """The port under test."""
        return self.run.subject

    @property
    def settled(self) -> DutCounters | None:
        """The switch's last counters."""
        return self.run.after

    def details(self) -> dict[str, Any]:
        """What the record holds beside the measurement."""
        return {}

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {**self.run.evidence(), **self.details()}
