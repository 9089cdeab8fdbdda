"""What flows of a case have come to in all, whatever became of the configurations that they were in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..lab.generator import SETTLE_S, Generator
from ..lab.observer import RunObserver
from ..model.traffic import FlowPlan, FlowStats


class FlowTotals(RunObserver):
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

    def forget(self) -> None:
        """What was counted up to now is in none of the totals."""
        self._uncounted = set()
        self._ended = []
        self._kept = {}

    def flows_started(self, flows: Sequence[FlowPlan], now_s: float) -> None:
        """Keeps what other flows have counted so far."""
        self._kept = self._counted()
        self._uncounted |= {flow.name for flow in flows}

    def traffic_pushed(self, flows: Iterable[FlowPlan], config: Any, now_s: float) -> None:
        """Counts the flows of the configuration before, once what is still on its way has been received."""
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


def totals_from_now_on(generator: Generator) -> FlowTotals:
    """The totals of what a generator counts from now on; a generator has one observer of this kind at most."""
    totals = next((one for one in generator.observers if isinstance(one, FlowTotals)), None)
    if totals is None:
        totals = FlowTotals(generator)
        generator.observed_by(totals)
    totals.forget()
    return totals
