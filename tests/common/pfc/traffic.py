"""Traffic of a scenario: which flow has which role, run verbs, typed statistics. Flows are known by role, never by
parts of their names."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .api_reason import api_reason
from .arithmetic import due_frames, mean_bytes
from .errors import QualificationError
from .polling import Clock, wait_for
from .storm_chain import Chain, RunningStorm, StormClock

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
        needed_s: of a storm that is sent until it is stopped, how long that is at most, so that it goes on where a flow
            may not last so long; 0: one flow does, whatever the testbed.
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
    needed_s: float = 0.0

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
    """What the traffic generators counted for one flow since it was started. A storm that is a chain of flows is one
    here: with the frames of all of them, transmitting while any does.

    Attributes:
        parts: frames that each flow of a chain sent, of those that were started.
        gap: why a chain was no storm without a gap; empty: none was seen.
    """

    plan: FlowPlan
    transmitting: bool
    frames_tx: int
    frames_rx: int
    parts: tuple[int, ...] = ()
    gap: str = ""

    @property
    def bytes_tx(self) -> int:
        """Bytes sent, from the frames: some generators report no bytes. Of a mix of sizes that is the mean."""
        return round(self.frames_tx * self.plan.mean_bytes)


@dataclass(frozen=True)
class Traffic:
    """An OTG configuration and the flows in it, by name; of storms that are chains of flows the first one is here, and
    the chain by the same name."""

    config: Any
    flows: Mapping[str, FlowPlan]
    chains: Mapping[str, Chain] = field(default_factory=dict)

    def names(self, *roles: Role) -> list[str]:
        """Names of the flows that have one of `roles`."""
        return [name for name, flow in self.flows.items() if flow.role in roles]


@dataclass(frozen=True)
class _Counted:
    """What was counted for one flow of the configuration."""

    transmitting: bool
    frames_tx: int
    frames_rx: int


class Generator:
    """The traffic generators behind one OTG API server.

    Attributes:
        clock: what to wait on while a storm runs that is a chain of flows: it keeps the storm going.
    """

    def __init__(self, api: Any, clock: Clock) -> None:
        """`api` is a snappi API object, `clock` what to wait on."""
        self._api = api
        self.clock = StormClock(clock, self._keep_storms)
        self._flows: Mapping[str, FlowPlan] = {}
        self._chains: Mapping[str, Chain] = {}
        self._storms: dict[str, RunningStorm] = {}

    def push(self, traffic: Traffic) -> None:
        """Replaces the configuration and waits until every host has resolved its gateway.

        Raises:
            QualificationError: the API refuses it, or an address stays unresolved.
        """
        answer = self._call(self._api.set_config, traffic.config)
        for warning in getattr(answer, "warnings", None) or ():
            logger.warning("the traffic generator's API server: %s", warning)
        self._flows, self._chains, self._storms = traffic.flows, traffic.chains, {}
        state = self._api.control_state()
        state.protocol.all.state = state.protocol.all.START
        self._call(self._api.set_control_state, state)
        owed = _gateways(traffic.config)
        if not wait_for(lambda: owed <= self._resolved(owed), NEIGHBOR_DEADLINE_S, self.clock, 1.0):
            found = ", ".join(sorted(ethernet for ethernet, _ in self._resolved(owed))) or "none"
            raise QualificationError(
                f"after {NEIGHBOR_DEADLINE_S:.0f} s not every tester host has resolved its gateway's address"
                f" (resolved: {found})"
            )

    def start(self, names: Sequence[str]) -> None:
        """Starts flows; their counters begin at 0. Of a chain it is the first."""
        chains = {name: self._chains[name] for name in names if name in self._chains}
        if chains:
            began_s = self.clock.now()
            self._storms |= {name: RunningStorm(chain, began_s) for name, chain in chains.items()}
        self._transmit(names, "START")

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stops flows; no names: all of them, whatever became of the storms."""
        told = [storm for name, storm in self._storms.items() if name in names]
        if told:
            self._look(told, self._read_storms(told))  # the last look: they must not have ended by themselves
        for storm in told if names else self._storms.values():
            storm.stopped = True
        self._transmit([flow for name in names for flow in self._started(name)], "STOP")

    def run_out(self, names: Sequence[str], seconds: float) -> None:
        """Waits until flows of fixed length have ended by themselves, and stops those that have not.

        A generator may count a flow that PFC holds as still transmitting: after the grace time it is told to stop.

        Args:
            names: the flows.
            seconds: how long they run.

        Raises:
            QualificationError: a flow goes on after it was told to stop.
        """
        self.clock.sleep(seconds)
        if not wait_for(lambda: self._all_stopped(names), STOP_GRACE_S, self.clock):
            logger.warning(
                "flows still transmitting %.0f s after their end, stopping them: %s", STOP_GRACE_S, ", ".join(names)
            )
            self.stop(names)
        if not wait_for(lambda: self._all_stopped(names), STOP_GRACE_S, self.clock):
            raise QualificationError(f"the traffic generator did not stop {', '.join(names)}")

    def stats(self, names: Iterable[str]) -> dict[str, FlowStats]:
        """Reads flow statistics.

        Raises:
            QualificationError: the answer lacks a flow or a counter.
        """
        self._keep_storms()
        wanted = list(names)
        counted = self._read([flow for name in wanted for flow in self._started(name)])
        self._look([self._storms[name] for name in wanted if name in self._storms], counted)
        return {name: self._together(name, counted) for name in wanted}

    def look(self) -> None:
        """Asks for the statistics of all flows.

        Raises:
            QualificationError: the traffic generators do not answer.
        """
        self._call(self._api.get_metrics, self._metrics_request([]))

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

    def _read_storms(self, storms: Sequence[RunningStorm]) -> dict[str, _Counted]:
        return self._read([flow for storm in storms for flow in storm.started])

    def _look(self, storms: Sequence[RunningStorm], counted: Mapping[str, _Counted]) -> None:
        """Sees whether storms have had no gap so far; one that was stopped is over."""
        running = [storm for storm in storms if not storm.stopped]
        now_s = self.clock.now() if running else 0.0
        for storm in running:
            transmitting = {flow: counted[flow].transmitting for flow in storm.started}
            storm.look(now_s, transmitting, {flow: counted[flow].frames_tx for flow in storm.started})

    def _together(self, name: str, counted: Mapping[str, _Counted]) -> FlowStats:
        """What was counted for a flow, of a chain for all that were started of it."""
        flows = [counted[flow] for flow in self._started(name)]
        sent = tuple(flow.frames_tx for flow in flows)
        return FlowStats(
            self._flows[name], any(flow.transmitting for flow in flows), sum(sent),
            sum(flow.frames_rx for flow in flows), sent if name in self._storms else (),
            self._storms[name].gap if name in self._storms else "",
        )

    def _read(self, names: Sequence[str]) -> dict[str, _Counted]:
        """What the generators say of flows of the configuration."""
        answer = self._call(self._api.get_metrics, self._metrics_request(names))
        metrics = {metric.name: metric for metric in answer.flow_metrics}
        counted = {}
        for name in names:
            metric = metrics.get(name)
            if metric is None or metric.frames_tx is None or metric.frames_rx is None:
                raise QualificationError(f"the traffic generator reports no statistics for flow {name}")
            counted[name] = _Counted(metric.transmit != "stopped", int(metric.frames_tx), int(metric.frames_rx))
        return counted

    def _metrics_request(self, names: Sequence[str]) -> Any:
        request = self._api.metrics_request()
        request.flow.flow_names = list(names)
        return request

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
