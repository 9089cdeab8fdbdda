"""The average latency of the data flows of a measurement, class by class: of the metrics that it needs anyway."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..lab.observer import RunObserver
from ..model.traffic import FlowPlan, Role

DATA = (Role.TEST, Role.BACKGROUND)
LATENCY = "latency_ns"


@dataclass(frozen=True)
class FlowLatency:
    """A flow of one configuration: frames received, and the average of their latencies; None: it is not known."""

    frames: int
    average_ns: float | None


class LatencyReadings(RunObserver):
    """Keeps what the generators say of the latency of flows, each of which is started once in a configuration. A class
    has one where all frames of each of its flows have been received, and the generators know it."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._plans: dict[str, FlowPlan] = {}
        self._now: dict[str, FlowLatency] = {}
        self._earlier: list[tuple[str, FlowLatency]] = []

    def measurement_started(self, name: str, for_all: bool = False) -> None:
        """What was known is of another measurement."""
        self._plans = {}
        self._now = {}
        self._earlier = []

    def traffic_pushed(self, flows: Iterable[FlowPlan], config: Any, now_s: float) -> None:
        """Another configuration takes the place of the one before."""
        self._earlier += self._now.items()
        self._now = {}
        self._plans |= {plan.name: plan for plan in flows if plan.role in DATA}

    @property
    def names(self) -> Collection[str]:
        """The data flows that are measured."""
        return self._plans

    def read(self, metrics: Iterable[Any]) -> None:
        """Metrics of flows were read, as OTG has them."""
        for metric in metrics:
            if metric.name in self._plans and metric.frames_tx:
                self._now[metric.name] = FlowLatency(int(metric.frames_rx or 0), metric.latency.average_ns)

    def evidence(self, flows_of: str = "") -> Mapping[str, Any]:
        """Class -> nanoseconds, `priority 3 (test)`; nothing where no class has one."""
        found: dict[str, list[FlowLatency]] = {}
        for name, measured in sorted([*self._earlier, *self._now.items()], key=lambda one: self._order(one[0])):
            if name.endswith(flows_of):
                plan = self._plans[name]
                found.setdefault(f"priority {plan.priority} ({plan.role.value})", []).append(measured)
        averages = {label: average for label, flows in found.items() if (average := average_ns(flows)) is not None}
        return {LATENCY: averages} if averages else {}

    def _order(self, name: str) -> tuple[bool, int]:
        plan = self._plans[name]
        return plan.role is not Role.TEST, plan.priority or 0


def average_ns(flows: Iterable[FlowLatency]) -> float | None:
    """Of all frames of these flows; None: of some it is not known."""
    known = [(flow.frames, flow.average_ns) for flow in flows]
    frames = sum(number for number, _ in known)
    if not frames or any(average is None for _, average in known):
        return None
    return round(sum(number * (average or 0) for number, average in known) / frames, 3)
