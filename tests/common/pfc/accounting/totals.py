"""What flows of a case have come to in all, whatever became of the configurations that they were in."""

from __future__ import annotations

from collections.abc import Sequence

from ..lab.generator import SETTLE_S, Generator
from ..model.traffic import FlowStats


class FlowTotals:
    """What was counted for each flow since the last time that it was asked, also of configurations before the present
    one.

    Attributes:
        generator: what sends and counts.
    """

    def __init__(self, generator: Generator) -> None:
        """What was counted up to now is in none of the totals."""
        self.generator = generator
        self._uncounted: set[str] = set()  # flows of the configuration that are not in the totals yet
        self._ended: list[FlowStats] = []  # the totals of configurations before it
        self._kept: dict[str, FlowStats] = {}  # what flows had counted when others were started: that may clear it

    def flows_begin(self, names: Sequence[str]) -> None:
        """Keeps what other flows have counted so far."""
        self._kept = self._counted()
        self._uncounted |= set(names)

    def configuration_ends(self) -> None:
        """Counts its flows, once what is still on its way has been received."""
        if self._uncounted:
            self.generator.clock.sleep(SETTLE_S)
            self._ended += self._count()

    def take(self) -> list[FlowStats]:
        """The totals of the flows that were started since the last call.

        Raises:
            QualificationError: as of `Generator.stats`.
        """
        totals = [*self._ended, *self._count()]
        self._ended = []
        return totals

    def _count(self) -> list[FlowStats]:
        """The statistics of the configuration's flows that were started and not counted so far."""
        found = self._counted()
        self._uncounted = set()
        self._kept = {}
        return list(found.values())

    def _counted(self) -> dict[str, FlowStats]:
        """The larger of what is counted now and what was kept, for each of these flows: a start may have cleared it."""
        found = self.generator.counted(sorted(self._uncounted)) if self._uncounted else {}
        return {name: max(flow, self._kept.get(name, flow), key=lambda one: one.frames_tx)
                for name, flow in found.items()}
