"""Traffic of a scenario: which flow has which role, run verbs, typed statistics. Flows are known by role, never by
parts of their names."""

from __future__ import annotations

import enum
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .arithmetic import due_frames, mean_bytes
from .errors import QualificationError
from .polling import Clock, wait_for

logger = logging.getLogger(__name__)

NEIGHBOR_DEADLINE_S = 60.0
STOP_GRACE_S = 10.0
PAUSE_ADDRESS = "01:80:C2:00:00:01"  # of PFC and 802.3x pause alike
PAUSE_SOURCE = "00:00:fa:ce:fa:ce"


class Role(enum.Enum):
    """What a flow is for."""

    STORM = "pause storm"
    TEST = "test"
    BACKGROUND = "background"
    CLEAN = "clean"


@dataclass(frozen=True)
class PauseFrame:
    """What the frames of a pause flow say.

    Attributes:
        quanta: the eight pause times of a PFC frame, or the one of an 802.3x pause frame.
        enabled: the priorities whose enable bits are set; 802.3x has none.
        source, destination: MAC addresses.
        operation_code, ether_type: None: the right one.
    """

    quanta: tuple[int, ...]
    enabled: tuple[int, ...] = ()
    source: str = PAUSE_SOURCE
    destination: str = PAUSE_ADDRESS
    operation_code: int | None = None
    ether_type: int | None = None

    @property
    def is_global(self) -> bool:
        """Whether it is an 802.3x pause frame."""
        return len(self.quanta) == 1


def pfc_frame(priorities: Iterable[int], quanta: int) -> PauseFrame:
    """A PFC frame that pauses these priorities and names no time for others."""
    paused = tuple(sorted(priorities))
    return PauseFrame(tuple(quanta if priority in paused else 0 for priority in range(8)), paused)


def global_pause_frame(quanta: int) -> PauseFrame:
    """An 802.3x pause frame."""
    return PauseFrame((quanta,))


@dataclass(frozen=True)
class FlowPlan:
    """One flow.

    Attributes:
        name: its name in the OTG configuration.
        role: what it is for.
        priority: the priority of its frames; None: pause frames, which have none.
        frame_bytes: size of its frames with FCS.
        percent, fps: its rate, as a share of the line rate or as frames a second.
        seconds, frames: how long it sends, or how much; neither: until it is stopped.
        delay_ns: time from its start to its first frame.
        pause: what its pause frames say; None: it is data.
        enters, leaves: the switch ports where its frames come in and are meant to leave by; empty: data goes from the
            pair's tx port to the port under test, pause frames the other way.
        mix: sizes of its frames with FCS and their weights, instead of `frame_bytes`.
    """

    name: str
    role: Role
    priority: int | None
    frame_bytes: int
    percent: float | None = None
    fps: int | None = None
    seconds: float | None = None
    frames: int | None = None
    delay_ns: int = 0
    pause: PauseFrame | None = None
    enters: str = ""
    leaves: str = ""
    mix: tuple[tuple[int, int], ...] = ()

    @property
    def mean_bytes(self) -> Fraction:
        """Mean size of its frames with FCS."""
        return mean_bytes(self.mix) if self.mix else Fraction(self.frame_bytes)

    def due(self, speed_mbps: int) -> int:
        """Frames that it sends into a link of `speed_mbps` when nothing holds it; 0 where it goes on until stopped."""
        if self.frames is not None or self.seconds is None:
            return self.frames or 0
        if self.percent is None:
            return int(Fraction(self.seconds) * (self.fps or 0))
        return due_frames(self.percent, self.mean_bytes, speed_mbps, self.seconds)


@dataclass(frozen=True)
class FlowStats:
    """What the traffic generators counted for one flow since it was started."""

    plan: FlowPlan
    transmitting: bool
    frames_tx: int
    frames_rx: int

    @property
    def bytes_tx(self) -> int:
        """Bytes sent, from the frames: some generators report no bytes. Of a mix of sizes that is the mean."""
        return round(self.frames_tx * self.plan.mean_bytes)


@dataclass(frozen=True)
class Traffic:
    """An OTG configuration and the flows in it, by name."""

    config: Any
    flows: Mapping[str, FlowPlan]

    def names(self, *roles: Role) -> list[str]:
        """Names of the flows that have one of `roles`."""
        return [name for name, flow in self.flows.items() if flow.role in roles]


class Generator:
    """The traffic generators behind one OTG API server."""

    def __init__(self, api: Any, clock: Clock) -> None:
        """`api` is a snappi API object, `clock` what to wait on."""
        self._api = api
        self._clock = clock
        self._flows: Mapping[str, FlowPlan] = {}

    def push(self, traffic: Traffic) -> None:
        """Replaces the configuration and waits until every host has resolved its gateway.

        Raises:
            QualificationError: the API refuses it, or an address stays unresolved.
        """
        answer = self._call(self._api.set_config, traffic.config)
        for warning in getattr(answer, "warnings", None) or ():
            logger.warning("the traffic generator's API server: %s", warning)
        self._flows = traffic.flows
        state = self._api.control_state()
        state.protocol.all.state = state.protocol.all.START
        self._call(self._api.set_control_state, state)
        owed = _gateways(traffic.config)
        if not wait_for(lambda: owed <= self._resolved(owed), NEIGHBOR_DEADLINE_S, self._clock, 1.0):
            found = ", ".join(sorted(ethernet for ethernet, _ in self._resolved(owed))) or "none"
            raise QualificationError(
                f"after {NEIGHBOR_DEADLINE_S:.0f} s not every tester host has resolved its gateway's address"
                f" (resolved: {found})"
            )

    def start(self, names: Sequence[str]) -> None:
        """Starts flows; their counters begin at 0."""
        self._transmit(names, "START")

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stops flows; no names: all of them."""
        self._transmit(names, "STOP")

    def run_out(self, names: Sequence[str], seconds: float) -> None:
        """Waits until flows of fixed length have ended by themselves, and stops those that have not.

        A generator may count a flow that PFC holds as still transmitting: after the grace time it is told to stop.

        Args:
            names: the flows.
            seconds: how long they run.

        Raises:
            QualificationError: a flow goes on after it was told to stop.
        """
        self._clock.sleep(seconds)
        if not wait_for(lambda: self._all_stopped(names), STOP_GRACE_S, self._clock):
            logger.warning(
                "flows still transmitting %.0f s after their end, stopping them: %s", STOP_GRACE_S, ", ".join(names)
            )
            self.stop(names)
        if not wait_for(lambda: self._all_stopped(names), STOP_GRACE_S, self._clock):
            raise QualificationError(f"the traffic generator did not stop {', '.join(names)}")

    def stats(self, names: Iterable[str]) -> dict[str, FlowStats]:
        """Reads flow statistics.

        Raises:
            QualificationError: the answer lacks a flow or a counter.
        """
        wanted = list(names)
        request = self._api.metrics_request()
        request.flow.flow_names = wanted
        metrics = {metric.name: metric for metric in self._call(self._api.get_metrics, request).flow_metrics}
        stats = {}
        for name in wanted:
            metric = metrics.get(name)
            if metric is None or metric.frames_tx is None or metric.frames_rx is None:
                raise QualificationError(f"the traffic generator reports no statistics for flow {name}")
            stats[name] = FlowStats(
                self._flows[name], metric.transmit != "stopped", int(metric.frames_tx), int(metric.frames_rx)
            )
        return stats

    def capture(self, port_names: Sequence[str]) -> None:
        """Begins to capture what arrives at generator ports that the configuration names for it."""
        self._control_capture(port_names, "START")

    def captured(self, port_name: str) -> bytes:
        """Ends the capture of a generator port and returns it: a pcap or pcapng file."""
        self._control_capture([port_name], "STOP")
        request = self._api.capture_request()
        request.port_name = port_name
        answer = self._call(self._api.get_capture, request)
        return bytes(answer.read() if hasattr(answer, "read") else answer)

    def set_links(self, port_names: Sequence[str], up: bool) -> None:
        """Takes the links of generator ports up or down."""
        state = self._api.control_state()
        state.port.link.port_names = list(port_names)
        state.port.link.state = state.port.link.UP if up else state.port.link.DOWN
        self._call(self._api.set_control_state, state)

    def _control_capture(self, port_names: Sequence[str], verb: str) -> None:
        state = self._api.control_state()
        state.port.capture.port_names = list(port_names)
        state.port.capture.state = getattr(state.port.capture, verb)
        self._call(self._api.set_control_state, state)

    def _all_stopped(self, names: Sequence[str]) -> bool:
        return not any(flow.transmitting for flow in self.stats(names).values())

    def _transmit(self, names: Sequence[str], verb: str) -> None:
        state = self._api.control_state()
        if names:
            state.traffic.flow_transmit.flow_names = list(names)
        state.traffic.flow_transmit.state = getattr(state.traffic.flow_transmit, verb)
        self._call(self._api.set_control_state, state)

    def _resolved(self, owed: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Of the ethernets and OTG kinds of neighbours that a configuration has, those that know their gateway."""
        found = set()
        for kind in sorted({kind for _, kind in owed}):
            request = self._api.states_request()
            request.choice = kind
            neighbors = getattr(self._call(self._api.get_states, request), kind)
            found |= {(neighbor.ethernet_name, kind) for neighbor in neighbors if neighbor.link_layer_address}
        return found

    def _call(self, method: Callable[[Any], Any], argument: Any) -> Any:
        try:
            return method(argument)
        except Exception as error:  # snappi raises plain Exception, and its transports their own
            raise QualificationError(f"the traffic generator's API server: {api_reason(self._api, error)}") from error


def _gateways(config: Any) -> set[tuple[str, str]]:
    """The ethernets of a configuration that have addresses, each with OTG's kind of neighbours for them."""
    ethernets = [ethernet for device in config.devices for ethernet in device.ethernets]
    return {(one.name, "ipv4_neighbors") for one in ethernets if len(one.ipv4_addresses)} | {
        (one.name, "ipv6_neighbors") for one in ethernets if len(one.ipv6_addresses)
    }


def api_reason(api: Any, error: Exception) -> str:
    """One sentence from what snappi raised: OTG's own errors where there are some; of a call stack (the IxNetwork
    extension puts one into its errors) what stands at its end."""
    details = None
    if hasattr(api, "from_exception"):
        details = api.from_exception(error)
    if details is not None and details.errors:
        return "; ".join(_after_the_stack(one) for one in details.errors)
    text = _after_the_stack(str(error)) or type(error).__name__
    system_error = re.search(r"\[Errno \d+\] ([\w ]+)", text)  # what a chain of HTTP libraries wrapped
    return system_error[1] if system_error else text


def _after_the_stack(text: str) -> str:
    """On one line, without the call stack that it may begin with: place, source and perhaps a line of carets each."""
    return " ".join(re.split(r'\n  File "[^\n]*\n[^\n]*(?:\n[ ~^]*\^[ ~^]*)?(?=\n)', text)[-1].split())
