"""The data plane of a testbed: switches, generator ports, cables, traffic, time.

Everything happens at `now_ps`; `advance_to` moves it. Commands take effect at `now_ps`, traffic running or not. What
can be read is the state with every event at or before `now_ps` processed; it is computed when somebody reads it.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set

from virtual_testbed.dataplane import readout
from virtual_testbed.dataplane.cabling import Cabling, CablingError
from virtual_testbed.dataplane.capture import PortCapture, tap
from virtual_testbed.dataplane.fast_forward.advance import Advance
from virtual_testbed.dataplane.load import Demand, demand_of_rest, demand_of_start, first_overload
from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.counters import (
    ALL_PARTS, PAUSED, PRIORITY_GROUPS, QUEUES, STARTED, STOPPED, CapturedFrame, FlowCounters, GeneratorCounters,
    Statistics, SwitchCounters, SwitchStates)
from virtual_testbed.dataplane.model.events import ONSET, EventLoop
from virtual_testbed.dataplane.model.flow import FlowState
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.hooks import Fault, Hooks
from virtual_testbed.dataplane.model.pause_flow import PauseFlowState
from virtual_testbed.dataplane.model.switch import Switch
from virtual_testbed.dataplane.model.traffic import DataFlow, Flow, GeneratorPort, EmulatedHost
from virtual_testbed.dataplane.model.watchdog_decider import Decider
from virtual_testbed.dataplane.paths import Paths

CAPTURE_FRAMES = 16384
"""Frames that a capture holds unless another limit is given."""


class NetworkError(ValueError):
    """A request that the data plane refuses; `str()` is one sentence."""


class Overrun(NetworkError):
    """Time stands before the instant that was asked for: computing up to there takes too long. Everything else is as it
    is then, and goes on."""


class Network:
    """See the module; `faults` apply to every switch in their scope.

    Attributes:
        now_ps: simulated time since the start, picoseconds.
    """

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self.hooks = Hooks(faults)
        self._loop = EventLoop()
        self._target_ps = 0
        self._switches: dict[str, Switch] = {}
        self._cabling = Cabling(self._switches)
        self._paths = Paths(self._switches, self.hooks)
        self._advance = Advance(self._loop, self._cabling.sides, self._switches)
        self._ports: dict[str, GeneratorSide] = {}
        self._hosts: tuple[EmulatedHost, ...] = ()
        self._flows: dict[str, FlowState | PauseFlowState] = {}
        self._data: set[int] = set()
        self._captures: dict[str, PortCapture] = {}
        self._flow_numbers = itertools.count()  # never used twice: events at one instant are ordered by them
        for time_ps in self.hooks.changes_ps:
            self._loop.at(time_ps, self._faults_changed, ONSET)

    @property
    def now_ps(self) -> int:
        """Simulated time since the start, picoseconds."""
        return self._target_ps

    def add_link(self, generator_location: str, switch: str, port: str, speed_mbps: int, cable_m: int) -> None:
        """Plug a cable between a generator port and a switch port (the switch may be configured later).

        Raises:
            NetworkError: one of the two ends has a cable already.
            TimingError: `speed_mbps` is not an Ethernet speed.
        """
        side = GeneratorSide(generator_location, len(self._cabling.sides), speed_mbps, cable_m, self._loop)
        try:
            self._cabling.add_generator(side, (switch, port))
        except CablingError as error:
            raise NetworkError(str(error)) from error
        self._plug()

    def add_switch_link(self, a: tuple[str, str], b: tuple[str, str], speed_mbps: int, cable_m: int) -> None:
        """Plug a cable between two switch ports, each (switch, port); the switches may be configured later.

        Raises:
            NetworkError: one of the two ends has a cable already, or both are one.
            TimingError: `speed_mbps` is not an Ethernet speed.
        """
        try:
            self._cabling.add_switches(a, b, speed_mbps, cable_m)
        except CablingError as error:
            raise NetworkError(str(error)) from error
        self._plug()

    def configure_switch(self, config: SwitchConfig) -> None:
        """Add a switch, or change its configuration now.

        Raises:
            ConfigurationError: a pool that does not exist, or another set of ports than before.
        """
        self._change()
        if config.name not in self._switches:
            first = sum(len(switch.ports) for switch in self._switches.values())
            self._switches[config.name] = Switch(config, self._loop, self.hooks, first)
            self._cabling.plug()
        self._switches[config.name].configure(config, self.now_ps)
        self._refresh()

    def clear_peaks(self, switch: str, parts: Collection[str] = ALL_PARTS) -> None:
        """Let the watermarks of a switch's queues, of its priority groups, or of both begin anew."""
        ports = self._switch(switch).ports.values()
        self._catch_up()
        queues = [queue for port in ports for queue in port.queues] if QUEUES in parts else []
        groups = [group for port in ports for group in port.pgs] if PRIORITY_GROUPS in parts else []
        higher = [share for share in (*groups, *queues) if share.is_below_peak]
        if not higher:
            return
        self._change()
        for share in higher:
            share.clear_peaks()
            self._advance.ledger.forget_bound(share)
        self._settle()

    def decide_watchdog_by(self, switch: str, decider: Decider) -> None:
        """Leave it to somebody else where a storm of a switch's queue begins and ends."""
        self._switch(switch).watchdog.decide_by(decider)

    def set_traffic(self, ports: Sequence[GeneratorPort], hosts: Sequence[EmulatedHost], flows: Sequence[Flow]) -> None:
        """Replace ports, hosts and flows; all flows are stopped, their counters 0.

        Raises:
            NetworkError: an unknown location, port or a name used twice, or a flow without frames or rate.
        """
        self._check_traffic(ports, flows)
        self._change()
        self._forget_traffic()
        self._hosts = tuple(hosts)
        self._ports = {port.name: self._cabling.sides[port.location] for port in ports}
        for port in ports:
            self._ports[port.name].spec = port
        self._create(flows)

    def add_flows(self, flows: Sequence[Flow]) -> None:
        """Add flows to those there are.

        Raises:
            NetworkError: as `set_traffic`.
        """
        self._check_flows(flows, set(self._ports), set(self._flows))
        self._change()
        self._create(flows)

    def remove_flows(self, names: Sequence[str]) -> None:
        """Stop and remove flows; their frames under way are still delivered, but no longer counted for a flow."""
        flows = [self._flow(name) for name in names]
        self._change()
        for flow in flows:
            flow.stop(self.now_ps)
            del self._flows[flow.spec.name]
            if isinstance(flow, PauseFlowState):
                self._ports[flow.spec.tx_port].storms.remove(flow)
            else:
                side = self._ports[flow.spec.tx_port]
                flow.forget()
                self._data.remove(flow.index)
                side.flows.remove(flow)
                side.queue_flows()
        self._refresh()

    def start_flows(self, names: Sequence[str]) -> None:
        """START: each flow begins after its delay; one that runs or is paused stays as it is.

        Raises:
            NetworkError: an unknown flow, or at some instant a port's data would need more than its line carries;
                nothing starts then.
        """
        named = [self._flow(name) for name in names]
        self._change()
        flows = [flow for flow in named if not self._stays_finished(flow)]
        self._check_load({flow for flow in flows if isinstance(flow, FlowState) and flow.state == STOPPED}, set())
        for flow in flows:
            flow.start(self.now_ps)
        self._settle()

    def check_load(self, starting: Sequence[str], resuming: Sequence[str] = ()) -> None:
        """See whether flows can be started, running ones anew, and paused ones go on, all of them now.

        Raises:
            NetworkError: an unknown flow, or at some instant a port's data would need more than its line carries.
        """
        self._catch_up()
        begin = [flow for flow in map(self._flow, starting) if not self._stays_finished(flow)]
        self._check_load({flow for flow in begin if isinstance(flow, FlowState)}, self._paused(resuming))

    def stop_flows(self, names: Sequence[str]) -> None:
        """STOP: no further frames; frames that PFC holds are not sent any more."""
        self._tell(names, lambda flow: flow.stop(self.now_ps))

    def pause_flows(self, names: Sequence[str]) -> None:
        """Hold flows (a command, not PFC); a fixed duration goes on meanwhile."""
        self._tell(names, lambda flow: flow.pause(self.now_ps))

    def resume_flows(self, names: Sequence[str]) -> None:
        """Let held flows go on: a frame that came due meanwhile is due now, what was missed is not made up.

        Raises:
            NetworkError: as `start_flows`; nothing goes on then.
        """
        self._catch_up()
        self._check_load(set(), self._paused(names))
        self._tell(names, lambda flow: flow.resume(self.now_ps))

    def _tell(self, names: Sequence[str], command: Callable[[FlowState | PauseFlowState], None]) -> None:
        flows = [self._flow(name) for name in names]
        self._change()
        for flow in flows:
            command(flow)
        self._settle()

    def clear_flow_counters(self, names: Sequence[str]) -> None:
        """Count the named flows from 0 again."""
        flows = [self._flow(name) for name in names]
        self._change()  # latencies that were given up are measured again
        for flow in flows:
            readout.clear_flow(flow, self._ports, self.now_ps)

    def set_link(self, port: str, up: bool) -> None:
        """Bring the link of a generator port (by name) down or up from the generator's end."""
        side = self._port(port)
        self._change()
        side.admin_up = up
        self._refresh()

    def start_capture(self, port: str, limit_frames: int = CAPTURE_FRAMES) -> None:
        """Capture the first `limit_frames` frames that a generator port receives from now on.

        While a capture is open, every frame is computed one by one.
        """
        side = self._port(port)
        self._change()
        self._captures[side.location] = PortCapture(self.now_ps, limit_frames)
        self._paths.by_dscp = True
        self._refresh()

    def stop_capture(self, port: str) -> None:
        """End a capture; what was captured can still be read."""
        side = self._port(port)
        self._change()
        if side.location in self._captures:
            self._captures[side.location].stop(self.now_ps)
        self._refresh()

    def capture(self, port: str) -> list[CapturedFrame]:
        """What the last capture of a generator port has recorded so far."""
        side = self._port(port)
        self._catch_up()
        if side.location not in self._captures:
            return []
        flows = {flow.index: flow.spec for flow in self._flows.values() if isinstance(flow, FlowState)}
        return self._captures[side.location].frames(self.now_ps, flows)

    def advance_to(self, time_ps: int) -> None:
        """Let simulated time pass up to `time_ps`.

        Raises:
            NetworkError: `time_ps` lies in the past.
        """
        if time_ps < self.now_ps:
            raise NetworkError(f"time {time_ps} ps lies before the present {self.now_ps} ps")
        self._target_ps = time_ps

    def flow_counters(self, name: str) -> FlowCounters:
        """Counters of a flow now."""
        flow = self._flow(name)
        self._catch_up()
        return readout.flow_counters(flow, self._ports, self.now_ps)

    def generator_counters(self, port: str) -> GeneratorCounters:
        """Counters of a generator port (by name) now, since `set_traffic`."""
        side = self._port(port)
        self._catch_up()
        return readout.generator_counters(side, self._data, self._ports.values(), self.now_ps)

    def switch_counters(self, switch: str, parts: Collection[str] = ALL_PARTS) -> SwitchCounters:
        """Counters of a switch now, since it was added; of a large switch only the `parts` that are needed."""
        found = self._switch(switch)
        self._catch_up()
        return readout.switch_counters(found, parts, self.now_ps, self._advance.ledger.bound)

    def switch_states(self, switch: str) -> SwitchStates:
        """States of a switch now."""
        found = self._switch(switch)
        self._catch_up()
        return readout.switch_states(found)

    def progress(self) -> tuple[int, int, int]:
        """Three numbers of which one changes while a computation gets on: up to which instant it goes, which one it has
        reached (picoseconds), and how many events were stepped. Another thread may ask."""
        return self._target_ps, self._loop.now_ps, self._loop.events

    def statistics(self) -> Statistics:
        """How the result was computed so far."""
        self._catch_up()
        return self._advance.statistics()

    def _catch_up(self) -> None:
        """Compute up to now; every command has settled its own instant.

        Raises:
            Overrun: that takes too long; now is an earlier instant.
        """
        stopped = self._advance.run(self._target_ps) if self._loop.now_ps < self._target_ps else ""
        if stopped:
            self._target_ps = self._loop.now_ps
            raise Overrun(stopped)

    def _change(self) -> None:
        """Compute up to now, before something is changed."""
        self._catch_up()
        self._advance.before_change()

    def _plug(self) -> None:
        self._change()
        self._cabling.plug()
        self._refresh()

    def _faults_changed(self, now_ps: int) -> None:
        """A fault begins or ends: its hooks answer differently from now on."""
        self._advance.before_change()
        self.hooks.now_ps = now_ps
        for switch in self._switches.values():
            switch.configure(switch.config, now_ps)
        self._refresh(settle=False)

    def _refresh(self, settle: bool = True) -> None:
        """After a change: links, pauses, captures and paths."""
        now_ps = self._loop.now_ps
        self._cabling.update_links(now_ps)
        cables = [cable.ends for cable in self._cabling.switch_cables]
        self._paths.know(cables, self._ports, self._hosts)
        for side in self._cabling.sides.values():
            side.configure(now_ps)
            tap(side, self._captures.get(side.location), now_ps)
            for flow in side.flows:
                self._paths.resolve(flow, side)
        self._advance.rebuild()
        if settle:
            self._settle()

    def _create(self, flows: Sequence[Flow]) -> None:
        for spec in flows:
            side = self._ports[spec.tx_port]
            if isinstance(spec, DataFlow):
                state = FlowState(spec, next(self._flow_numbers), side, self._loop)
                side.flows.append(state)
                self._flows[spec.name] = state
                self._data.add(state.index)
            else:
                storm = PauseFlowState(spec, next(self._flow_numbers), side.line, self._loop)
                side.storms.append(storm)
                self._flows[spec.name] = storm
        self._refresh()

    def _forget_traffic(self) -> None:
        for flow in self._flows.values():
            flow.stop(self.now_ps)
            if isinstance(flow, FlowState):
                flow.forget()
        self._flows = {}
        self._data = set()
        self._captures = {}
        self._paths.by_dscp = False
        for side in self._cabling.sides.values():
            side.spec = None
            side.flows = []
            side.storms = []
            side.admin_up = True
            side.line.controls.clear()
            side.queue_flows()
            readout.clear_generator(side, self.now_ps)

    def _settle(self) -> None:
        """Process what is due at this very instant, so that a command's effect can be read at once."""
        self._advance.reset()
        self._loop.run(self.now_ps)

    def _check_traffic(self, ports: Sequence[GeneratorPort], flows: Sequence[Flow]) -> None:
        for port in ports:
            if port.location not in self._cabling.sides:
                raise NetworkError(f"port {port.name}: location '{port.location}' does not exist: "
                                   f"expected one of {_list(self._cabling.sides)}")
        for values, what in (([port.name for port in ports], "port name"),
                             ([port.location for port in ports], "location")):
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice:
                raise NetworkError(f"{what} '{twice[0]}' is used twice")
        self._check_flows(flows, {port.name for port in ports}, set())

    def _check_flows(self, flows: Sequence[Flow], ports: set[str], names: set[str]) -> None:
        names = set(names)
        for flow in flows:
            if flow.name in names:
                raise NetworkError(f"flow name '{flow.name}' is used twice")
            names.add(flow.name)
            unknown = sorted({flow.tx_port, *flow.rx_ports} - ports)
            if unknown:
                raise NetworkError(f"flow {flow.name}: port '{unknown[0]}' does not exist: "
                                   f"expected one of {_list(ports)}")
            if flow.rate_fps <= 0:
                raise NetworkError(f"flow {flow.name}: rate {flow.rate_fps} frames/s sends nothing: "
                                   "expected more than 0")
            if isinstance(flow, DataFlow) and not (flow.dscp and flow.sizes):
                raise NetworkError(f"flow {flow.name} has no {'frame size' if flow.dscp else 'DSCP'}: "
                                   "expected at least one")

    def _stays_finished(self, flow: FlowState | PauseFlowState) -> bool:
        """True when a flow has ended by itself, and its generator then ignores START."""
        port = self._ports[flow.spec.tx_port].switch_port
        if not flow.has_finished or port is None:
            return False
        queue = flow.spec.queue if isinstance(flow, FlowState) else None
        return not self.hooks.ask(port.place, queue, True, lambda fault, starts: fault.starts_again(starts))

    def _paused(self, names: Sequence[str]) -> set[FlowState]:
        return {flow for flow in map(self._flow, names) if isinstance(flow, FlowState) and flow.state == PAUSED}

    def _check_load(self, starting: Set[FlowState], resuming: Set[FlowState]) -> None:
        """Refuse what would need more than a line carries when the ones begin, and the others go on, now."""
        for name in sorted({flow.spec.tx_port for flow in starting | resuming}):
            overload = first_overload(self._demands(self._ports[name], starting, resuming))
            if overload is not None:
                raise NetworkError(f"generator port {name}: {overload.describe(self.now_ps, 'now')}: "
                                   "expected at most 100 %")

    def _demands(self, side: GeneratorSide, starting: Set[FlowState], resuming: Set[FlowState]) -> Iterator[Demand]:
        """What the flows of a port ask of its line from now on."""
        for flow in side.flows:
            if flow in starting:
                yield demand_of_start(flow, self.now_ps)
            elif flow.state == STARTED or flow in resuming:
                yield demand_of_rest(flow, self.now_ps)

    def _switch(self, name: str) -> Switch:
        if name not in self._switches:
            raise NetworkError(f"switch '{name}' is unknown: expected one of {_list(self._switches)}")
        return self._switches[name]

    def _flow(self, name: str) -> FlowState | PauseFlowState:
        if name not in self._flows:
            raise NetworkError(f"flow '{name}' does not exist: expected one of {_list(self._flows)}")
        return self._flows[name]

    def _port(self, name: str) -> GeneratorSide:
        if name not in self._ports:
            raise NetworkError(f"generator port '{name}' does not exist: expected one of {_list(self._ports)}")
        return self._ports[name]


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
