"""Builds and drives storms that are chains of flows. Everywhere else such a storm is one flow: it has the name and the
statistics of one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..lab.clock import Clock
from ..lab.generator import Counted, Generator, GeneratorTiming, Traffic
from ..lab.observer import RunObserver
from ..lab.otg_config import TrafficBuilder
from ..model.errors import QualificationError
from ..model.traffic import FlowPlan, FlowStats
from .chain import RunningStorm, StormClock, chain_of

logger = logging.getLogger(__name__)


class ChainBuilder(TrafficBuilder):
    """Builds configurations with all flows of which a storm may be made."""

    def storm_flows(self, storm: FlowPlan) -> tuple[str, ...]:
        """The names of a storm's chain."""
        if not self.subject.tolerances.starts_beside:  # the next flow could not start before the one before has ended
            return super().storm_flows(storm)
        return chain_of(storm).flows if storm.limit_s else (storm.name,)


class ChainGenerator(Generator):
    """The traffic generators; a storm's next flow is started by whoever waits on `clock`."""

    def __init__(
        self, api: Any, clock: Clock, observers: Sequence[RunObserver] = (), timing: GeneratorTiming | None = None
    ) -> None:
        """Nothing is sent yet; arguments as of `Generator`."""
        super().__init__(api, StormClock(clock, self._keep_storms), observers, timing)
        self._storms: dict[str, RunningStorm] = {}

    def push(self, traffic: Traffic) -> None:
        """As of `Generator`; storms of the configuration before do not go on."""
        for storm in self._storms.values():
            storm.stopped = True
        super().push(traffic)
        self._storms = {}

    def _start(self, names: Sequence[str]) -> None:
        limited = [name for name in names if name in self._flows and self._flows[name].limit_s]
        if limited:
            began_s = self.clock.now()
            self._storms |= {name: RunningStorm(chain_of(self._flows[name]), began_s) for name in limited}
        self._transmit(names, "START")

    def _stop(self, names: Sequence[str]) -> None:
        told = [storm for name, storm in self._storms.items() if name in names]
        if told:
            self._look(told, self._read_storms(told))  # the last look: they must not have ended by themselves
        for storm in told if names else self._storms.values():
            storm.stopped = True
        self._transmit([flow for name in names for flow in self._started(name)], "STOP")

    def _statistics(self, names: Sequence[str]) -> dict[str, FlowStats]:
        self._keep_storms()
        counted = self._read([flow for name in names for flow in self._started(name)])
        self._look([self._storms[name] for name in names if name in self._storms], counted)
        return {name: self._together(name, counted) for name in names}

    def _started(self, name: str) -> tuple[str, ...]:
        """The flows that stand for one: of a chain those that were started, the first in any case."""
        return self._storms[name].started if name in self._storms else (name,)

    def _keep_storms(self) -> float | None:
        """Starts what is due of storms that are chains, on several ports in one call; when the next flow is due, None:
        never.

        Raises:
            QualificationError: they could not be started.
        """
        if all(storm.due_s is None for storm in self._storms.values()):
            return None
        began_s = self.clock.now()
        due = [storm for storm in self._storms.values() if storm.due_s is not None and storm.due_s <= began_s]
        if due:
            self._relieve(due, began_s)
        return min((storm.due_s for storm in self._storms.values() if storm.due_s is not None), default=None)

    def _relieve(self, storms: Sequence[RunningStorm], began_s: float) -> None:
        """Starts the next flow of each of these storms."""
        flows = [storm.successor for storm in storms if storm.successor is not None]
        logger.info("the storm goes on: %s", ", ".join(flows))
        try:
            self._transmit(flows, "START")
        except QualificationError as error:
            raise QualificationError(
                f"expected the storm running on, got no start of {', '.join(flows)}: {error}"
            ) from error
        now_s = self.clock.now()
        for storm in storms:
            storm.follow(began_s, now_s)
        self._look(storms, self._read_storms(storms))

    def _read_storms(self, storms: Sequence[RunningStorm]) -> dict[str, Counted]:
        return self._read([flow for storm in storms for flow in storm.started])

    def _look(self, storms: Sequence[RunningStorm], counted: Mapping[str, Counted]) -> None:
        """Sees whether storms have had no gap so far; one that was stopped is over."""
        running = [storm for storm in storms if not storm.stopped]
        now_s = self.clock.now() if running else 0.0
        for storm in running:
            transmitting = {flow: counted[flow].transmitting for flow in storm.started}
            storm.look(now_s, transmitting, {flow: counted[flow].frames_tx for flow in storm.started})

    def _together(self, name: str, counted: Mapping[str, Counted]) -> FlowStats:
        """What was counted for a flow, of a chain for all that were started of it."""
        flows = [counted[flow] for flow in self._started(name)]
        sent = tuple(flow.frames_tx for flow in flows)
        return FlowStats(
            self._flows[name], any(flow.transmitting for flow in flows), sum(sent),
            sum(flow.frames_rx for flow in flows), sent if name in self._storms else (),
            self._storms[name].gap if name in self._storms else "",
        )
