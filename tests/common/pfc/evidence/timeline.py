"""What each class sent and received over the time of a measurement, and when a pause storm ran: made of the readings of
flow statistics that the measurement needs anyway.

A reading counts when it tells of every data flow that may be on its way. Of one that nobody asks for any more, because
it has ended and nothing of it moved, the last count holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model.traffic import PAUSE_ADDRESS, FlowPlan, FlowStats, PauseFrame, Role
from ..record.case import priorities_text

MOST_READINGS = 64
"""Of one measurement. Where there are more, every other one is left out: a plot has no room for more, and each record
of the measurement carries them."""
CLASSES = 8
DATA = (Role.TEST, Role.BACKGROUND)


@dataclass
class _Flow:
    """What is known of a data flow: frames of earlier starts, and of the last one as they were read."""

    plan: FlowPlan
    earlier: tuple[int, int] = (0, 0)
    now: tuple[int, int] = (0, 0)
    on_its_way: bool = False

    @property
    def sent_and_received(self) -> tuple[int, int]:
        """Frames, of all starts together."""
        return self.earlier[0] + self.now[0], self.earlier[1] + self.now[1]

    def restart(self) -> None:
        """Its counters begin at 0 again."""
        self.earlier = self.sent_and_received
        self.now = (0, 0)

    def read(self, stats: FlowStats) -> None:
        """Its counters were read; it is over when it sends no more, and all has arrived or nothing moves."""
        counted = stats.frames_tx, stats.frames_rx
        self.on_its_way = stats.transmitting or (stats.frames_rx < stats.frames_tx and counted != self.now)
        self.now = counted


@dataclass
class _Storm:
    """A pause storm; `end_s` is None while nothing ended it."""

    plan: FlowPlan
    begin_s: float
    end_s: float | None = None

    def stop(self, now_s: float) -> None:
        """It was told to stop, or has ended by itself before."""
        if self.end_s is None:
            by_itself_s = self.begin_s + self._lasts_s()
            self.end_s = max(self.begin_s, min(now_s, by_itself_s))

    def _lasts_s(self) -> float:
        if self.plan.seconds is not None:
            return self.plan.seconds
        return self.plan.frames / self.plan.fps if self.plan.frames is not None and self.plan.fps else float("inf")


@dataclass
class Timeline:
    """Records one measurement: what happened, with the time of the testbed's clock (seconds)."""

    _flows: dict[str, _Flow] = field(default_factory=dict)
    _readings: list[tuple[float, dict[str, tuple[int, int]]]] = field(default_factory=list)
    _storms: list[_Storm] = field(default_factory=list)

    def pushed(self, flows: Iterable[FlowPlan], now_s: float) -> None:
        """A configuration takes the place of the one before, whose traffic ends."""
        self.stopped((), now_s)
        for flow in self._flows.values():
            flow.restart()
            flow.on_its_way = False
        for plan in flows:
            if plan.role in DATA:
                self._flows.setdefault(plan.name, _Flow(plan))

    def started(self, flows: Sequence[FlowPlan], now_s: float) -> None:
        """Flows are started. With those of another phase the earlier ones are over. Where none was on its way, what all
        have sent and received so far is known, until the first of them begins to send."""
        data = [plan for plan in flows if plan.name in self._flows]
        for flow in self._flows.values():
            flow.on_its_way = flow.on_its_way and (not data or flow.plan.phase == data[0].phase)
        if flows and not any(flow.on_its_way for flow in self._flows.values()):
            self._note(now_s)
            delay_ns = min((plan.delay_ns for plan in data), default=0)
            if delay_ns:
                self._note(now_s + delay_ns / 1e9)
        for plan in flows:
            if plan.role is Role.STORM:
                self._storms.append(_Storm(plan, now_s + plan.delay_ns / 1e9))
            elif plan.name in self._flows:
                self._flows[plan.name].restart()
                self._flows[plan.name].on_its_way = True

    def stopped(self, names: Sequence[str], now_s: float) -> None:
        """Flows were told to stop; no names: all. What a storm held comes out now."""
        told = [storm for storm in self._storms if not names or storm.plan.name in names]
        for storm in told:
            storm.stop(now_s)
        for flow in self._flows.values() if told else ():
            flow.on_its_way = flow.on_its_way or flow.now[1] < flow.now[0]

    def counted(self, stats: Mapping[str, FlowStats], now_s: float) -> None:
        """Statistics were read."""
        complete = all(name in stats for name, flow in self._flows.items() if flow.on_its_way)
        for name, flow in self._flows.items():
            if name in stats:
                flow.read(stats[name])
        if complete:
            self._note(now_s)

    @property
    def first_s(self) -> float:
        """The time of the first reading; 0 where there is none."""
        return self._readings[0][0] if self._readings else 0.0

    def evidence(self, flows_of: str = "") -> dict[str, Any]:
        """As the record has it (docs/reporting.md); empty where nothing was read.

        Args:
            flows_of: how the names of the flows end that it is about; empty: of all.
        """
        if len(self._readings) < 2:
            return {}
        first_s = self.first_s
        storms = [storm for storm in self._storms if storm.plan.name.endswith(flows_of)]
        return {
            "readings_s": [round(at_s - first_s, 6) for at_s, _ in self._readings],
            "frames_rx": self._by_class(flows_of, lambda counted: counted[1]),
            "frames_tx": self._by_class(flows_of, lambda counted: counted[0]),
            "storms": [self._storm(storm, first_s) for storm in storms],
        }

    def _note(self, now_s: float) -> None:
        counted = {name: flow.sent_and_received for name, flow in self._flows.items()}
        if self._readings and now_s <= self._readings[-1][0]:
            self._readings[-1] = (self._readings[-1][0], counted)
            return
        self._readings.append((now_s, counted))
        if len(self._readings) > MOST_READINGS:
            self._readings = [*self._readings[:-1:2], self._readings[-1]]

    def _by_class(self, flows_of: str, pick: Callable[[tuple[int, int]], int]) -> dict[str, list[int]]:
        """Class -> frames at each reading, of its flows together."""
        own = [flow for name, flow in self._flows.items() if name.endswith(flows_of)]
        names: dict[str, list[str]] = {}
        for plan in sorted((flow.plan for flow in own), key=_order):
            names.setdefault(f"priority {plan.priority} ({plan.role.value})", []).append(plan.name)
        return {
            label: [sum(pick(counted.get(name, (0, 0))) for name in flows) for _, counted in self._readings]
            for label, flows in names.items()
        }

    def _storm(self, storm: _Storm, first_s: float) -> dict[str, Any]:
        end_s = storm.end_s if storm.end_s is not None else max(storm.begin_s, self._readings[-1][0])
        frame = storm.plan.pause
        label = storm_label(frame) if frame is not None else storm.plan.role.value
        elsewhere = storm.plan.enters and not storm.plan.name.endswith(f" {storm.plan.enters}")
        return {
            "label": f"{label} at {storm.plan.enters}" if elsewhere else label,
            "priorities": paused(frame) if frame is not None else [],
            "begin_s": round(storm.begin_s - first_s, 6),
            "end_s": round(end_s - first_s, 6),
        }


def _order(plan: FlowPlan) -> tuple[bool, int]:
    return plan.role is not Role.TEST, plan.priority or 0


def storm_label(frame: PauseFrame) -> str:
    """What a storm consists of, in a few words: `PFC on priority 3`."""
    what = "802.3x pause" if frame.is_global else "PFC"
    enabled = paused(frame)
    if enabled:
        what += f" on {priorities_text(enabled)}"
    odd = frame.operation_code is not None or frame.ether_type is not None or frame.destination != PAUSE_ADDRESS
    return f"{what}, not valid" if odd or len(enabled) < len(frame.enabled) else what


def paused(frame: PauseFrame) -> list[int]:
    """The priorities that a frame enables; the other bits of its vector mean none."""
    return [priority for priority in frame.enabled if priority < CLASSES]
