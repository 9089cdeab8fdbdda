"""Drives traffic generators through their OTG API: run verbs, and typed statistics by flow."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..model.errors import QualificationError
from ..model.traffic import FlowPlan, FlowStats, Role
from .api_reason import api_reason
from .clock import Clock, wait_for
from .observer import RunObserver

logger = logging.getLogger(__name__)

NEIGHBOR_DEADLINE_S = 60.0
STOP_GRACE_S = 10.0
SETTLE_S = 1.0
"""After which frames that were still on their way have been received, and counted."""
CHANGES = 4  # of statistics, which are waited for; the longest of three times between counts
POLL_S = 0.2
LONGEST_REFRESH_S = 30.0


@dataclass(frozen=True)
class Traffic:
    """An OTG configuration, the flows of a case in it by name, and those beside it that begin with its first ones and
    end with its last."""

    config: Any
    flows: Mapping[str, FlowPlan]
    beside: Mapping[str, FlowPlan] = field(default_factory=dict)

    def names(self, *roles: Role, phase: str = "") -> list[str]:
        """Names of the flows of a phase that have one of `roles`; no role: of all of the phase."""
        return [name for name, flow in self.flows.items() if flow.phase == phase and (not roles or flow.role in roles)]


@dataclass(frozen=True)
class Counted:
    """What was counted for one flow of the configuration."""

    transmitting: bool
    frames_tx: int
    frames_rx: int

    def since(self, baseline: Counted | None) -> Counted:
        """What came after an earlier count; where that was cleared in between, all of it."""
        if baseline is None or self.frames_tx < baseline.frames_tx or self.frames_rx < baseline.frames_rx:
            return self
        sent = self.frames_tx - baseline.frames_tx
        return Counted(self.transmitting, sent, self.frames_rx - baseline.frames_rx)


@dataclass(frozen=True)
class GeneratorTiming:
    """How late generators are, in seconds.

    Attributes:
        start_s, stop_s: how long a call takes that starts or stops a flow; frames begin and end within it.
        refresh_s: how old statistics are at most.
    """

    start_s: float
    stop_s: float
    refresh_s: float


AT_ONCE = GeneratorTiming(0.0, 0.0, 0.0)


class Generator:
    """The traffic generators behind one OTG API server; flows are known by name. An option may send some of them
    otherwise (`_start`, `_stop`, `_statistics`).

    Attributes:
        api: snappi's API object; what it raises becomes a sentence in `call`.
        clock: what to wait on while traffic runs.
        observers: who looks on at what is sent and counted.
    """

    def __init__(
        self, api: Any, clock: Clock, observers: Sequence[RunObserver] = (), timing: GeneratorTiming | None = None
    ) -> None:
        """Nothing is sent yet; arguments as of the attributes, and `timing`: how late the generators are; None: that is
        not known."""
        self.api = api
        self.observers = observers
        self.clock = clock
        self._flows: Mapping[str, FlowPlan] = {}
        self._gaps: dict[str, str] = {}  # storm -> why it was none without a gap
        self._baseline: Mapping[str, Counted] = {}  # of a pushed configuration, before anything was started
        self._beside: list[str] = []  # flows beside a case that were not started yet
        self._timing = timing

    @property
    def timing(self) -> GeneratorTiming:
        """How late the generators are, as far as that was measured."""
        return self._timing or AT_ONCE

    @property
    def is_timed(self) -> bool:
        """Whether it is known how late the generators are."""
        return self._timing is not None or self.clock.exact

    def learn_timing(self, flow: str) -> GeneratorTiming:
        """Sends a flow, which goes on until it is stopped, for as long as it takes to see how late everything is; from
        now on what is waited for is waited for so much longer. Raises QualificationError where its statistics do not
        change."""
        began_s = self.clock.now()
        self.start([flow])
        start_s = self.clock.now() - began_s
        refresh_s = self._longest_between_changes(flow)
        began_s = self.clock.now()
        self.stop([flow])
        self._timing = GeneratorTiming(start_s, self.clock.now() - began_s, refresh_s)
        logger.info(
            "the traffic generator takes %.1f s to start flows, %.1f s to stop them; its statistics are up to %.1f s"
            " old", start_s, self._timing.stop_s, refresh_s,
        )
        return self._timing

    def observed_by(self, observer: RunObserver) -> None:
        """From now on `observer` looks on too, before the others do."""
        self.observers = [observer, *self.observers]

    def push(self, traffic: Traffic) -> None:
        """Replaces the configuration and waits until every host has resolved its gateway; raises QualificationError
        where the API refuses it, or an address stays unresolved."""
        for observer in self.observers:
            observer.traffic_pushed(traffic.flows.values(), traffic.config, self.clock.moment())
        answer = self.call(self.api.set_config, traffic.config)
        for warning in getattr(answer, "warnings", None) or ():
            logger.warning("the traffic generator's API server: %s", warning)
        self._flows = {**traffic.flows, **traffic.beside}
        self._beside = list(traffic.beside)
        self._gaps = {}
        self._baseline = {}
        state = self.api.control_state()
        state.protocol.all.state = state.protocol.all.START
        self.call(self.api.set_control_state, state)
        owed = _gateways(traffic.config)
        if not wait_for(lambda: owed <= self._resolved(owed), NEIGHBOR_DEADLINE_S, self.clock, 1.0):
            left = ", ".join(sorted({ethernet for ethernet, _ in owed - self._resolved(owed)}))
            raise QualificationError(
                f"after {NEIGHBOR_DEADLINE_S:.0f} s not every tester host has resolved its gateway's address:"
                f" not {left}"
            )
        try:
            self._baseline = self._metrics([flow.name for flow in traffic.config.flows])
        except QualificationError as error:  # some generators have no statistics before the first start
            logger.warning("frames of the new configuration are counted from 0 on, not from what was there: %s", error)

    def start(self, names: Sequence[str]) -> None:
        """Starts flows; their counters begin at 0. Raises QualificationError where one could not be started."""
        flows = [self._flows[name] for name in [*(names or self._flows), *self._beside] if name in self._flows]
        for observer in self.observers:
            observer.flows_started(flows, self.clock.moment())
        self._start([*names, *self._beside] if names else ())
        self._beside = []

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stops flows; no names: all of them. Raises QualificationError where one could not be stopped."""
        self._stop(names)
        for observer in self.observers:
            observer.flows_stopped(names, self.clock.moment())

    def _longest_between_changes(self, flow: str) -> float:
        changes: list[float] = []
        counts: list[int] = []

        def seen_often() -> bool:
            now_s = self.clock.now()
            sent = self.stats([flow])[flow].frames_tx
            if not counts or sent != counts[-1]:
                counts.append(sent)
                changes.append(now_s)
            return len(changes) > CHANGES

        if not wait_for(seen_often, CHANGES * LONGEST_REFRESH_S, self.clock, POLL_S):
            raise QualificationError(
                f"expected the statistics of {flow} to change every {LONGEST_REFRESH_S:.0f} s or sooner while it is"
                f" sent, got {len(changes) - 1} changes in {CHANGES * LONGEST_REFRESH_S:.0f} s"
            )
        return max(later - earlier for earlier, later in pairwise(changes[1:]))

    def _start(self, names: Sequence[str]) -> None:
        self._transmit(names, "START")

    def _stop(self, names: Sequence[str]) -> None:
        """Stops flows; a storm that was sent until it is stopped must not have ended by itself."""
        limited = [name for name in names if name in self._flows and self._flows[name].limit_s]
        for name, counted in self._read(limited).items() if limited else ():
            if not counted.transmitting and name not in self._gaps:
                self._gaps[name] = f"{name} not transmitting when it was stopped"
        self._transmit(names, "STOP")

    def run_out(self, names: Sequence[str], seconds: float) -> None:
        """Waits `seconds`, then until the generator reports these flows as stopped, and stops them itself if it does
        not. A flow held by PFC may be reported either way, and may go on once released, so it is always stopped. Flows
        that never sent a frame may go on being reported as running, which is logged; raises QualificationError where
        another one goes on after it was told to stop."""
        self.clock.sleep(seconds)
        grace_s = STOP_GRACE_S + self.timing.refresh_s
        ended = wait_for(lambda: self._all_stopped(names), grace_s, self.clock)
        if not ended:
            logger.warning(
                "flows still transmitting %.0f s after their end, stopping them: %s", grace_s, ", ".join(names)
            )
        if not (ended and self.clock.exact):
            self.stop(names)
        if not wait_for(lambda: self._all_stopped(names), grace_s, self.clock):
            left = {name: flow.frames_tx for name, flow in self.stats(names).items() if flow.transmitting}
            if any(left.values()):
                raise QualificationError(f"the traffic generator did not stop {', '.join(filter(left.get, left))}")
            logger.warning("flows that have sent nothing count as stopped, as they were told to: %s", ", ".join(left))

    def stats(self, names: Iterable[str]) -> dict[str, FlowStats]:
        """Reads flow statistics, all that was counted up to now in them; raises QualificationError where the answer
        lacks a flow or a counter."""
        stats = self.counted(names)
        for observer in self.observers:
            observer.statistics_read(stats, self.clock.moment())
        return stats

    def counted(self, names: Iterable[str]) -> dict[str, FlowStats]:
        """As `stats`, without telling observers."""
        wanted = list(names)
        self.clock.sleep(self.timing.refresh_s)
        return self._statistics(wanted) if wanted else {}

    def _statistics(self, names: Sequence[str]) -> dict[str, FlowStats]:
        return {
            name: FlowStats(
                self._flows[name], one.transmitting, one.frames_tx, one.frames_rx, gap=self._gaps.get(name, "")
            )
            for name, one in self._read(names).items()
        }

    def _all_stopped(self, names: Sequence[str]) -> bool:
        return not any(flow.transmitting for flow in self.stats(names).values())

    def _read(self, names: Sequence[str]) -> dict[str, Counted]:
        """What the generators have counted for flows of the configuration since it was pushed."""
        metrics = self._metrics(names)
        missing = next((name for name in names if name not in metrics), None)
        if missing is not None:
            raise QualificationError(f"the traffic generator reports no statistics for flow {missing}")
        return {name: metrics[name].since(self._baseline.get(name)) for name in names}

    def _metrics(self, names: Sequence[str]) -> dict[str, Counted]:
        """What the generators say of flows, no names: of all; those without counts are absent."""
        request = self.api.metrics_request()
        request.flow.flow_names = list(names)
        answer = self.call(self.api.get_metrics, request)
        return {
            metric.name: Counted(metric.transmit != "stopped", int(metric.frames_tx), int(metric.frames_rx))
            for metric in answer.flow_metrics
            if metric.frames_tx is not None and metric.frames_rx is not None
        }

    def _transmit(self, names: Sequence[str], verb: str) -> None:
        state = self.api.control_state()
        if names:
            state.traffic.flow_transmit.flow_names = list(names)
        state.traffic.flow_transmit.state = getattr(state.traffic.flow_transmit, verb)
        self.call(self.api.set_control_state, state)

    def _resolved(self, owed: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """The ethernets that know their gateway, with the OTG kind of the neighbour, out of those in `owed`."""
        found = set()
        for kind in sorted({kind for _, kind in owed}):
            request = self.api.states_request()
            request.choice = kind
            neighbors = getattr(self.call(self.api.get_states, request), kind)
            found |= {(neighbor.ethernet_name, kind) for neighbor in neighbors if neighbor.link_layer_address}
        return found

    def call(self, method: Callable[[Any], Any], argument: Any) -> Any:
        """What the API server answers; raises QualificationError where it refuses, or does not answer."""
        try:
            return method(argument)
        except Exception as error:  # snappi raises plain Exception, and its transports their own
            raise QualificationError(f"the traffic generator's API server: {api_reason(self.api, error)}") from error


def _gateways(config: Any) -> set[tuple[str, str]]:
    """The ethernets of a configuration that have addresses, each with OTG's kind of neighbours for them."""
    ethernets = [ethernet for device in config.devices for ethernet in device.ethernets]
    return {(one.name, "ipv4_neighbors") for one in ethernets if len(one.ipv4_addresses)} | {
        (one.name, "ipv6_neighbors") for one in ethernets if len(one.ipv6_addresses)
    }
