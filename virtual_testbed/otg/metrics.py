"""OTG metrics: counters as the data plane counts them, and rates over the last second of simulated time."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfctest.timing import WIRE_OVERHEAD_BYTES
from virtual_testbed.otg.flows import FlowSetup
from virtual_testbed.otg.plane import FlowCountersView, GeneratorCountersView

WINDOW_PS = 10**12
PS_PER_NS = 1000


@dataclass(frozen=True)
class Totals:
    """Frames and bytes, sent and received, up to some instant."""

    frames_tx: int = 0
    frames_rx: int = 0
    bytes_tx: int = 0
    bytes_rx: int = 0


@dataclass(frozen=True)
class Rates:
    """Frames and bytes a second, sent and received."""

    frames_tx: float = 0.0
    frames_rx: float = 0.0
    bytes_tx: float = 0.0
    bytes_rx: float = 0.0


def totals(counters: FlowCountersView | GeneratorCountersView) -> Totals:
    """The four counters that flows and ports have in common."""
    return Totals(counters.frames_tx, counters.frames_rx, counters.bytes_tx, counters.bytes_rx)


class RateMeter:
    """Remembers counters of the last second of simulated time, which is the sampling interval of the rates.

    Whoever advances time calls `sample` at the end of every step and, before a step that is longer than a second, one
    second before its end. When less than a second has passed since the start, the interval is what has passed.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[int, dict[str, Totals]]] = deque()

    def restart(self, time_ps: int, keys: Iterable[str]) -> None:
        """Forgets everything; the counters under these keys are zero now."""
        self._samples.clear()
        self._samples.append((time_ps, dict.fromkeys(keys, Totals())))

    def zero(self, time_ps: int, keys: Sequence[str]) -> None:
        """The counters under these keys were cleared now: their interval starts anew."""
        for _, sample in self._samples:
            for key in keys:
                sample.pop(key, None)
        if not self._samples or self._samples[-1][0] != time_ps:
            self._samples.append((time_ps, {}))
        self._samples[-1][1].update(dict.fromkeys(keys, Totals()))

    def sample(self, time_ps: int, now: Mapping[str, Totals]) -> None:
        """Remembers the counters of this instant, forgets those of more than a second ago."""
        self._samples.append((time_ps, dict(now)))
        while self._samples[0][0] < time_ps - WINDOW_PS:
            self._samples.popleft()

    def rates(self, time_ps: int, key: str, now: Totals) -> Rates:
        """Rates up to this instant; zero when no time has passed since the counters began."""
        since, then = next(((at, sample[key]) for at, sample in self._samples if key in sample), (time_ps, now))
        elapsed = time_ps - since
        if elapsed <= 0:
            return Rates()
        return Rates(*((getattr(now, name) - getattr(then, name)) * 10**12 / elapsed
                       for name in ("frames_tx", "frames_rx", "bytes_tx", "bytes_rx")))


def flow_metric(setup: FlowSetup, counters: FlowCountersView, rates: Rates, columns: Sequence[str]) -> dict[str, Any]:
    """One `FlowMetric`. Loss is a percentage of the frames sent; frames under way or held count as lost so far.
    The average latency is there where it is measured and each frame that was sent has been received."""
    every: dict[str, Any] = {"transmit": counters.transmit, **totals(counters).__dict__}
    every |= {"frames_tx_rate": rates.frames_tx, "frames_rx_rate": rates.frames_rx}
    for side, frames, size in (("tx", rates.frames_tx, rates.bytes_tx), ("rx", rates.frames_rx, rates.bytes_rx)):
        every |= {f"{side}_l1_rate_bps": (size + WIRE_OVERHEAD_BYTES * frames) * 8, f"{side}_rate_bytes": size,
                  f"{side}_rate_bps": size * 8, f"{side}_rate_kbps": size * 8e-3, f"{side}_rate_mbps": size * 8e-6}
    flow = setup.flow
    metric: dict[str, Any] = {"name": flow.name, "port_tx": flow.tx_port, "port_rx": ",".join(flow.rx_ports)}
    metric |= {column: every[column] for column in columns}
    if setup.loss:
        lost = max(0, counters.frames_tx - counters.frames_rx)
        metric["loss"] = lost * 100 / counters.frames_tx if counters.frames_tx else 0.0
    if counters.latency_ps is not None and counters.frames_rx:
        metric["latency"] = {"average_ns": counters.latency_ps / (counters.frames_rx * PS_PER_NS)}
    return metric


@dataclass(frozen=True)
class GeneratorPortState:
    """The state of a generator port; `last_change_ns`: when its link changed last, simulated time."""

    location: str
    capturing: bool
    transmitting: bool
    last_change_ns: int


def port_metric(name: str, state: GeneratorPortState, counters: GeneratorCountersView, rates: Rates,
                columns: Sequence[str]) -> dict[str, Any]:
    """One `PortMetric`; `speed` is in kilobytes a second, as OTG has it."""
    every: dict[str, Any] = {
        "location": state.location, "link": "up" if counters.link_up else "down",
        "capture": "started" if state.capturing else "stopped",
        "transmit": "started" if state.transmitting else "stopped",
        **totals(counters).__dict__,
        "frames_tx_rate": rates.frames_tx, "frames_rx_rate": rates.frames_rx,
        "bytes_tx_rate": rates.bytes_tx, "bytes_rx_rate": rates.bytes_rx,
        "last_change": state.last_change_ns, "speed": counters.speed_mbps * 125}
    return {"name": name, **{column: every[column] for column in columns}}
