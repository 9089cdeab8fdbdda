"""The data plane of a testbed: switches, generator ports, cables, traffic, time.

Everything happens at `now_ps`; `advance_to` moves it. Commands take effect at `now_ps`, traffic running or not. What
can be read is the state with every event at or before `now_ps` processed.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from virtual_testbed.dataplane import readout
from virtual_testbed.dataplane.configuration import SwitchConfig
from virtual_testbed.dataplane.counters import (STARTED, CapturedFrame, FlowCounters, GeneratorCounters, Statistics,
                                                SwitchCounters)
from virtual_testbed.dataplane.events import EventLoop
from virtual_testbed.dataplane.forwarding import DROP_PORT_DOWN, ForwardingTable
from virtual_testbed.dataplane.generator import FlowState, GeneratorSide, Lane
from virtual_testbed.dataplane.hooks import Fault, Hooks
from virtual_testbed.dataplane.recurrence import Recurrence
from virtual_testbed.dataplane.storm import Storm
from virtual_testbed.dataplane.switch import Path, Switch, SwitchPort
from virtual_testbed.dataplane.traffic import DataFlow, Flow, GeneratorPort, Host
from virtual_testbed.dataplane.units import PS_PER_SECOND, frame_time_ps


class NetworkError(ValueError):
    """A request that the data plane refuses; `str()` is one sentence."""


class Network:
    """See the module; `faults` apply to every switch in their scope.

    Attributes:
        now_ps: simulated time since the start, picoseconds.
    """

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self.hooks = Hooks(faults)
        self._loop = EventLoop()
        self._recurrence = Recurrence(self._loop)
        self._sides: dict[str, GeneratorSide] = {}
        self._cables: dict[tuple[str, str], GeneratorSide] = {}
        self._switches: dict[str, Switch] = {}
        self._ports: dict[str, GeneratorSide] = {}
        self._hosts: tuple[Host, ...] = ()
        self._flows: dict[str, FlowState | Storm] = {}
        self._flow_numbers = itertools.count()  # never used twice: events at one instant are ordered by them

    @property
    def now_ps(self) -> int:
        """Simulated time since the start, picoseconds."""
        return self._loop.now_ps

    def add_link(self, generator_location: str, switch: str, port: str, speed_mbps: int, cable_m: int) -> None:
        """Plug a cable between a generator port and a switch port (the switch may be configured later).

        Raises:
            NetworkError: one of the two ends has a cable already.
            TimingError: `speed_mbps` is not an Ethernet speed.
        """
        if generator_location in self._sides:
            raise NetworkError(f"generator port {generator_location} has a cable already")
        if (switch, port) in self._cables:
            raise NetworkError(f"{switch} {port} has a cable already")
        side = GeneratorSide(generator_location, len(self._sides), speed_mbps, cable_m, self._loop)
        self._sides[generator_location] = self._cables[switch, port] = side
        if switch in self._switches:
            self._plug(self._switches[switch])
            self._refresh()

    def add_switch_link(self, a: tuple[str, str], b: tuple[str, str], speed_mbps: int, cable_m: int) -> None:
        """Refused: links between switches are not modelled.

        Raises:
            NetworkError: always.
        """
        raise NetworkError(f"link {a[0]} {a[1]} - {b[0]} {b[1]}: links between switches are not modelled")

    def configure_switch(self, config: SwitchConfig) -> None:
        """Add a switch, or change its configuration now.

        Raises:
            ConfigurationError: a pool that does not exist, or another set of ports than before.
        """
        if config.name not in self._switches:
            first = sum(len(switch.ports) for switch in self._switches.values())
            switch = Switch(config, self._loop, self.hooks, first)
            self._switches[config.name] = switch
            self._plug(switch)
        self._switches[config.name].configure(config, self.now_ps)
        self._refresh()

    def set_traffic(self, ports: Sequence[GeneratorPort], hosts: Sequence[Host], flows: Sequence[Flow]) -> None:
        """Replace ports, hosts and flows; all flows are stopped, their counters 0.

        Raises:
            NetworkError: an unknown location, port or a name used twice, or a flow without frames or rate.
        """
        self._check_traffic(ports, flows)
        self._forget_traffic()
        self._hosts = tuple(hosts)
        self._ports = {port.name: self._sides[port.location] for port in ports}
        for port in ports:
            self._sides[port.location].spec = port
        self._create(flows)

    def add_flows(self, flows: Sequence[Flow]) -> None:
        """Add flows to those there are.

        Raises:
            NetworkError: as `set_traffic`.
        """
        self._check_flows(flows, set(self._ports), set(self._flows))
        self._create(flows)

    def remove_flows(self, names: Sequence[str]) -> None:
        """Stop and remove flows; their frames under way are still delivered, but no longer counted for a flow."""
        for flow in [self._flow(name) for name in names]:
            flow.stop(self.now_ps)
            del self._flows[flow.spec.name]
            if isinstance(flow, Storm):
                self._ports[flow.spec.tx_port].storms.remove(flow)
            else:
                flow.side.forget_waiting(flow)
                flow.side.flows.remove(flow)
        self._refresh()

    def start_flows(self, names: Sequence[str]) -> None:
        """START: each flow begins after its delay.

        Raises:
            NetworkError: an unknown flow, or a port would have to send more than its line carries; nothing starts then.
        """
        flows = [self._flow(name) for name in names]
        self._check_load(flows)
        for flow in flows:
            flow.start(self.now_ps)
        self._settle()

    def stop_flows(self, names: Sequence[str]) -> None:
        """STOP: no further frames; frames that PFC holds are not sent any more."""
        for flow in [self._flow(name) for name in names]:
            flow.stop(self.now_ps)
        self._settle()

    def pause_flows(self, names: Sequence[str]) -> None:
        """Hold flows (a command, not PFC); a fixed duration goes on meanwhile."""
        for flow in [self._flow(name) for name in names]:
            flow.pause(self.now_ps)
        self._settle()

    def resume_flows(self, names: Sequence[str]) -> None:
        """Let held flows go on; the next frame is due now, what was missed is not made up."""
        for flow in [self._flow(name) for name in names]:
            flow.resume(self.now_ps)
        self._settle()

    def clear_flow_counters(self, names: Sequence[str]) -> None:
        """Count the named flows from 0 again."""
        for flow in [self._flow(name) for name in names]:
            readout.clear_flow(flow, self._ports, self.now_ps)

    def set_link(self, port: str, up: bool) -> None:
        """Bring the link of a generator port (by name) down or up from the generator's end."""
        self._port(port).admin_up = up
        self._refresh()

    def start_capture(self, port: str) -> None:
        """Capture what a generator port receives from now on.

        Raises:
            NetworkError: capture is not modelled.
        """
        raise NetworkError(f"generator port {port}: capture is not modelled")

    def stop_capture(self, port: str) -> None:
        """End a capture (there is none)."""
        self._port(port)

    def capture(self, port: str) -> list[CapturedFrame]:
        """The captured frames (none)."""
        self._port(port)
        return []

    def advance_to(self, time_ps: int) -> None:
        """Let simulated time pass up to `time_ps`.

        Raises:
            NetworkError: `time_ps` lies in the past.
        """
        if time_ps < self.now_ps:
            raise NetworkError(f"time {time_ps} ps lies before the present {self.now_ps} ps")
        self._loop.run(time_ps)

    def flow_counters(self, name: str) -> FlowCounters:
        """Counters of a flow now."""
        return readout.flow_counters(self._flow(name), self._ports, self.now_ps)

    def generator_counters(self, port: str) -> GeneratorCounters:
        """Counters of a generator port (by name) now, since `set_traffic`."""
        return readout.generator_counters(self._port(port), self._flows.values(), self._ports, self.now_ps)

    def switch_counters(self, switch: str) -> SwitchCounters:
        """Counters of a switch now, since it was added."""
        if switch not in self._switches:
            raise NetworkError(f"switch '{switch}' is unknown: expected one of {_list(self._switches)}")
        return readout.switch_counters(self._switches[switch], self.now_ps)

    def statistics(self) -> Statistics:
        """How the result was computed so far."""
        found = self._recurrence
        return Statistics(self._loop.instants, found.jumps, found.cycles, found.skipped_ps, dict(found.reasons))

    def _plug(self, switch: Switch) -> None:
        for (name, port), side in self._cables.items():
            if name == switch.name and port in switch.ports and side.switch_port is None:
                side.switch_port = switch.ports[port]
                switch.ports[port].connect(side, side.speed_mbps, side.propagation_ps)

    def _refresh(self) -> None:
        """After a change: links, paths, pauses, and what takes part in a cycle."""
        for side in self._sides.values():
            self._update_link(side)
        for side in self._sides.values():
            port = side.switch_port
            for storm in side.storms:
                storm.leave_level(self.now_ps)
                if port is not None:
                    storm.resolve(port.receiver, port.switch.config.mac)
            if port is not None:
                port.receiver.storms = side.storms
            side.update_pauses(self.now_ps)
            for flow in side.flows:
                for lane in flow.lanes:
                    self._resolve(lane, side)
        used = [side for side in self._sides.values() if side.switch_port is not None]
        self._recurrence.watch(used, [side.switch_port for side in used if side.switch_port is not None])
        self._settle()

    def _update_link(self, side: GeneratorSide) -> None:
        port = side.switch_port
        speeds = {side.speed_mbps} | ({side.spec.speed_mbps} if side.spec and side.spec.speed_mbps else set())
        is_up = side.admin_up and port is not None and port.config.admin_up and speeds == {port.config.speed_mbps}
        if port is None:
            side.is_up = False
            return
        if port.is_up and not is_up:
            side.settle_storms(self.now_ps)
            side.is_up = port.is_up = False
            for flow in side.flows:
                for lane in flow.lanes:
                    flow.lost += sum(1 for event in self._loop.heap if event[3] == lane.arrive)
                    self._loop.cancel(lane.arrive)
            port.link_went_down(self.now_ps)
            side.link_went_down(self.now_ps)
        elif is_up and not port.is_up:
            side.is_up = port.is_up = True
            port.link_came_up(self.now_ps)

    def _resolve(self, lane: Lane, side: GeneratorSide) -> None:
        """Find the path of a lane's frames through its switch."""
        port, flow = side.switch_port, lane.flow
        lane.path = None
        if port is None or not side.is_up:
            return
        switch = port.switch
        names = {name: other.switch_port.name for name, other in self._ports.items()
                 if other.switch_port is not None and other.switch_port.switch is switch}
        out_name, blocked = ForwardingTable(self._hosts, names).decide(switch.config, port.name, flow.spec)
        out = switch.ports[out_name] if out_name else None
        if out is not None and not out.is_up:
            blocked = DROP_PORT_DOWN
        lane.path = self._path(flow, port, out, blocked, lane.dscp)

    def _path(self, flow: FlowState, port: SwitchPort, out: SwitchPort | None, blocked: str | None, dscp: int) -> Path:
        """The flow's path with these properties, made if it is new."""
        switch = port.switch
        traffic_class = port.config.dscp_to_tc[dscp]
        group = port.pgs[port.config.tc_to_pg[traffic_class]]
        queue = out.queues[out.config.tc_to_queue[traffic_class]] if out is not None else None
        for path in flow.paths:
            if (path.in_port, path.out, path.blocked, path.pg, path.queue) == (port, out, blocked, group, queue):
                return path
        path = Path(flow.index, flow.spec.frame_bytes, port, blocked)
        path.pg, path.out, path.queue = group, out, queue
        path.size = -(-flow.spec.frame_bytes // switch.config.cell_bytes) * switch.config.cell_bytes
        if blocked is None and out is not None and queue is not None:
            path.tx_time_ps = frame_time_ps(flow.spec.frame_bytes, out.config.speed_mbps)
            lossless = bool(group.headroom_size)
            path.drop_one_in = self.hooks.drop_one_in(out.place, queue.number, lossless)
        flow.paths.append(path)
        switch.paths.append(path)
        return path

    def _create(self, flows: Sequence[Flow]) -> None:
        for spec in flows:
            side = self._ports[spec.tx_port]
            if isinstance(spec, DataFlow):
                state = FlowState(spec, next(self._flow_numbers), side, self._loop)
                side.flows.append(state)
                self._flows[spec.name] = state
            else:
                storm = Storm(spec, next(self._flow_numbers), side, self._loop)
                side.storms.append(storm)
                self._flows[spec.name] = storm
        self._refresh()

    def _forget_traffic(self) -> None:
        for flow in self._flows.values():
            flow.stop(self.now_ps)
            if isinstance(flow, Storm):
                self._loop.cancel(flow.receive)
            else:
                flow.side.forget_waiting(flow)
        self._flows = {}
        for side in self._sides.values():
            side.spec, side.flows, side.storms = None, [], []
            side.admin_up = True
            readout.clear_generator(side, self.now_ps)

    def _settle(self) -> None:
        """Process what is due at this very instant, so that a command's effect can be read at once."""
        self._recurrence.reset()
        self._loop.run(self.now_ps)

    def _check_traffic(self, ports: Sequence[GeneratorPort], flows: Sequence[Flow]) -> None:
        for port in ports:
            if port.location not in self._sides:
                raise NetworkError(f"port {port.name}: location '{port.location}' does not exist: "
                                   f"expected one of {_list(self._sides)}")
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
            if isinstance(flow, DataFlow) and not flow.dscp:
                raise NetworkError(f"flow {flow.name} has no DSCP: expected at least one")

    def _check_load(self, starting: Iterable[FlowState | Storm]) -> None:
        for side in {self._ports[flow.spec.tx_port] for flow in starting}:
            running = {flow for flow in side.flows if flow.state == STARTED} | {
                flow for flow in starting if isinstance(flow, FlowState) and flow.side is side}
            load = sum(flow.spec.rate_fps * flow.tx_time_ps for flow in running) / PS_PER_SECOND
            if load > 1:
                raise NetworkError(f"generator port {side.spec.name if side.spec else side.location}: flows "
                                   f"{_list(flow.spec.name for flow in running)} need {float(load) * 100:.6g} % "
                                   "of the line: expected at most 100 %")

    def _flow(self, name: str) -> FlowState | Storm:
        if name not in self._flows:
            raise NetworkError(f"flow '{name}' does not exist: expected one of {_list(self._flows)}")
        return self._flows[name]

    def _port(self, name: str) -> GeneratorSide:
        if name not in self._ports:
            raise NetworkError(f"generator port '{name}' does not exist: expected one of {_list(self._ports)}")
        return self._ports[name]


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
