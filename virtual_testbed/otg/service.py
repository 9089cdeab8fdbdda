"""The OTG operations, without transport: JSON data in, JSON data out, one `OtgError` for whatever is wrong.

No operation takes simulated time: each acts at the data plane's present instant. The caller makes sure that one
operation runs at a time and that the data plane is where it should be in time.
"""
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from virtual_testbed.otg.capture_file import capture_file
from virtual_testbed.otg.devices import Fabric
from virtual_testbed.otg.errors import NOT_IMPLEMENTED, OtgError
from virtual_testbed.otg.flows import FlowSetup
from virtual_testbed.otg.metrics import GeneratorPortState, RateMeter, flow_metric, port_metric, totals
from virtual_testbed.otg.model import (CAPTURED_FRAMES, Model, object_names, read_config,
                                       read_flows)
from virtual_testbed.otg.plane import DataPlane, GeneratorCountersView
from virtual_testbed.otg.stations import unreachable_warnings
from virtual_testbed.otg.requests import (ControlState, MetricsQuery, read_append, read_capture, read_control,
                                          read_delete, read_metrics, read_states, read_update, refuse_unknown)

API_VERSIONS = "^1.40"  # the client compares its own version with this range
APP_VERSION = "0.1.0"
LOG = logging.getLogger(__name__)


class OtgService:
    """One traffic generator with all ports of a testbed.

    Args:
        plane: the data plane.
        fabric: what the testbed has: generator ports, and who answers address resolution.
    """

    def __init__(self, plane: DataPlane, fabric: Fabric) -> None:
        self._plane = plane
        self._fabric = fabric
        self._body: dict[str, Any] = {}
        self._model = Model()
        self._protocols_started = True
        self._capturing: set[str] = set()
        self._captured: set[str] = set()  # ports on which a capture was started since the configuration was set
        self._links: dict[str, tuple[bool, int]] = {}
        self._meter = RateMeter()

    def set_config(self, body: Any) -> dict[str, Any]:
        """Replaces the whole configuration: everything stops, all counters are zero. An empty one clears all."""
        model = read_config(body, self._fabric)
        self._stop_captures(sorted(self._capturing))
        self._captured = set()
        hosts = (*model.stations, *model.devices.hosts)
        self._plane.set_traffic(model.ports, hosts, [setup.flow for setup in model.flows])
        self._body = body
        self._model = model
        self._protocols_started = model.auto_start
        self._links = {}
        self._note_links()
        self._meter.restart(self._plane.now_ps, self._keys())
        return _warning(model.warnings)

    def get_config(self) -> dict[str, Any]:
        """The configuration as it was sent, with later changes."""
        return self._body

    def append_config(self, body: Any) -> dict[str, Any]:
        """Adds flows, stopped; the others go on as they are."""
        raw = read_append(body)
        setups, warnings = read_flows(raw, "flows", self._model.endpoints(self._fabric))
        self._refuse_taken_names(raw)
        self._plane.add_flows([setup.flow for setup in setups])
        self._take_over([*self._model.flows, *setups], [*self._body.get("flows", ()), *raw])
        self._meter.zero(self._plane.now_ps, [_flow_key(setup.flow.name) for setup in setups])
        lost = unreachable_warnings(setups, (*self._model.stations, *self._model.devices.hosts), self._fabric)
        return _warning([*warnings, *lost])

    def delete_config(self, body: Any) -> dict[str, Any]:
        """Takes flows away, running or not."""
        names = read_delete(body)
        refuse_unknown(names, self._flow_names(), "flow", "config_delete_list")
        self._plane.remove_flows(names)
        self._take_over([setup for setup in self._model.flows if setup.flow.name not in names],
                        [flow for flow in self._body.get("flows", ()) if flow["name"] not in names])
        return _warning(())

    def update_config(self, body: Any) -> dict[str, Any]:
        """Changes rate or size of flows that are stopped; their counters are zero then.

        Raises:
            OtgError: an unknown flow or property, or a flow that is not stopped.
        """
        updates, properties = read_update(body)
        refuse_unknown([str(flow.get("name")) for flow in updates], self._flow_names(), "flow", "flows.flows")
        changes = {flow["name"]: {name: flow[name] for name in properties if name in flow} for flow in updates}
        raw = [{**flow, **changes.get(flow["name"], {})} for flow in self._body.get("flows", ())]
        setups, _ = read_flows(raw, "flows", self._model.endpoints(self._fabric))
        running = [name for name in changes if self._plane.flow_counters(name).transmit != "stopped"]
        if running:
            raise OtgError([f"flow {name}: changing its rate or size while it runs is not modelled; stop it first"
                            for name in running])
        self._plane.remove_flows(list(changes))
        self._plane.add_flows([setup.flow for setup in setups if setup.flow.name in changes])
        self._take_over(setups, raw)
        self._meter.zero(self._plane.now_ps, [_flow_key(name) for name in changes])
        return _warning(())

    def set_control_state(self, body: Any) -> dict[str, Any]:
        """Starts and stops flows, captures, links and the devices' address resolution."""
        control = read_control(body)
        actions: dict[str, Callable[[ControlState], None]] = {
            "transmit": self._transmit, "capture": self._control_captures, "link": self._control_links,
            "protocol": self._control_protocols}
        actions[control.kind](control)
        return _warning(())

    def set_control_action(self, body: Any) -> dict[str, Any]:
        """Pings and reboots are not modelled.

        Raises:
            OtgError: always, status 501.
        """
        choice = body.get("choice") if isinstance(body, dict) else None
        raise OtgError([f"{choice or 'control action'}: not modelled; no control action is"], NOT_IMPLEMENTED)

    def get_metrics(self, body: Any) -> dict[str, Any]:
        """Counters and rates of ports, or of the flows that have `metrics.enable`."""
        query = read_metrics(body)
        if query.kind == "flow":
            return {"choice": "flow_metrics", "flow_metrics": self._flow_metrics(query)}
        return {"choice": "port_metrics", "port_metrics": self._port_metrics(query)}

    def get_states(self, body: Any) -> dict[str, Any]:
        """The devices' gateways and, where somebody answers, their MAC addresses; resolved as of now."""
        version, wanted = read_states(body)
        interfaces = self._model.interfaces(self._fabric).interfaces
        refuse_unknown(wanted, dict.fromkeys(interface.ethernet for interface in interfaces), "ethernet",
                       "ethernet_names")
        states = []
        for interface in interfaces:
            if interface.version == version and (not wanted or interface.ethernet in wanted):
                state = {"ethernet_name": interface.ethernet, f"ipv{version}_address": interface.gateway}
                if interface.gateway_mac and self._protocols_started:
                    state["link_layer_address"] = interface.gateway_mac
                states.append(state)
        return {"choice": f"ipv{version}_neighbors", f"ipv{version}_neighbors": states}

    def get_capture(self, body: Any) -> bytes:
        """Stops the capture of a port and returns what it holds as a pcap or pcapng file, valid also without frames."""
        query = read_capture(body)
        refuse_unknown([query.port], self._port_names(), "port", "port_name")
        setup = next((setup for setup in self._model.captures if query.port in setup.ports), None)
        if setup is None:
            raise OtgError([f"port_name: no capture is configured for port {query.port!r}"])
        self._stop_captures([query.port] if query.port in self._capturing else [])
        frames = self._plane.capture(query.port) if query.port in self._captured else []
        end = None if query.count is None else query.start + query.count
        return capture_file(frames[query.start:end], setup.format, setup.snap_bytes, _remark(query.port, len(frames)))

    def get_version(self) -> dict[str, Any]:
        """The range of OTG versions that clients may have."""
        return {"api_spec_version": API_VERSIONS, "sdk_version": API_VERSIONS, "app_version": APP_VERSION}

    def sample(self) -> None:
        """Notes the counters as of now, for the rates; called at the end of every step of time.

        Reads each counter that somebody can ask a rate of once; flows without metrics are left out.
        """
        now = {_port_key(name): totals(counters) for name, counters in self._note_links().items()}
        now |= {_flow_key(setup.flow.name): totals(self._plane.flow_counters(setup.flow.name))
                for setup in self._model.flows if setup.metrics}
        self._meter.sample(self._plane.now_ps, now)

    def _transmit(self, control: ControlState) -> None:
        refuse_unknown(control.names, self._flow_names(), "flow", "traffic.flow_transmit.flow_names")
        names = list(control.names) or self._flow_names()
        if control.state in ("start", "resume"):
            self._refuse_unresolved(names)
        if control.state == "start":
            self._plane.check_load(names, ())
            self._plane.stop_flows([name for name in names if self._plane.flow_counters(name).transmit != "stopped"])
            self._plane.clear_flow_counters(names)
            self._meter.zero(self._plane.now_ps, [_flow_key(name) for name in names])
            self._plane.start_flows(names)
        elif control.state == "stop":
            self._plane.stop_flows(names)
        elif control.state == "pause":
            self._plane.pause_flows(names)
        else:
            self._resume(names)

    def _resume(self, names: list[str]) -> None:
        """Paused flows go on where they were, stopped ones begin anew, or none does; no counter is cleared."""
        states = {name: self._plane.flow_counters(name).transmit for name in names}
        paused = [name for name in names if states[name] == "paused"]
        stopped = [name for name in names if states[name] == "stopped"]
        self._plane.check_load(stopped, paused)
        self._plane.resume_flows(paused)
        self._plane.start_flows(stopped)

    def _refuse_unresolved(self, names: Iterable[str]) -> None:
        wanted = set(names)
        problems = [f"flow {setup.flow.name}: {setup.problem}; set the configuration again once it is"
                    for setup in self._model.flows if setup.problem and setup.flow.name in wanted]
        if problems:
            raise OtgError(problems)

    def _control_captures(self, control: ControlState) -> None:
        refuse_unknown(control.names, self._port_names(), "port", "port.capture.port_names")
        configured = [name for setup in self._model.captures for name in setup.ports]
        missing = [name for name in control.names if name not in configured]
        if missing:
            raise OtgError([f"port.capture.port_names: no capture is configured for port {name!r}" for name in missing])
        names = list(control.names) or configured
        if control.state == "stop":
            self._stop_captures([name for name in names if name in self._capturing])
            return
        for name in names:
            self._plane.start_capture(name, limit_frames=CAPTURED_FRAMES)
            self._capturing.add(name)
            self._captured.add(name)

    def _stop_captures(self, names: Iterable[str]) -> None:
        for name in names:
            self._plane.stop_capture(name)
            self._capturing.discard(name)

    def _control_links(self, control: ControlState) -> None:
        refuse_unknown(control.names, self._port_names(), "port", "port.link.port_names")
        for name in control.names or self._port_names():
            self._plane.set_link(name, control.state == "up")
        self._note_links()

    def _control_protocols(self, control: ControlState) -> None:
        self._protocols_started = control.state == "start"

    def _flow_metrics(self, query: MetricsQuery) -> list[dict[str, Any]]:
        refuse_unknown(query.names, self._flow_names(), "flow", "flow.flow_names")
        found = []
        for setup in self._model.flows:
            name = setup.flow.name
            if setup.metrics and (not query.names or name in query.names):
                counters = self._plane.flow_counters(name)
                rates = self._meter.rates(self._plane.now_ps, _flow_key(name), totals(counters))
                found.append(flow_metric(setup, counters, rates, query.columns))
        return found

    def _port_metrics(self, query: MetricsQuery) -> list[dict[str, Any]]:
        refuse_unknown(query.names, self._port_names(), "port", "port.port_names")
        wanted = [port for port in self._model.ports if not query.names or port.name in query.names]
        sending = self._sending({port.name for port in wanted}) if "transmit" in query.columns else set()
        found = []
        for port in wanted:
            counters = self._plane.generator_counters(port.name)
            rates = self._meter.rates(self._plane.now_ps, _port_key(port.name), totals(counters))
            state = GeneratorPortState(port.location, port.name in self._capturing, port.name in sending,
                                       self._links[port.name][1] // 1000)
            found.append(port_metric(port.name, state, counters, rates, query.columns))
        return found

    def _sending(self, ports: set[str]) -> set[str]:
        """Those of the ports that have a started flow."""
        return {setup.flow.tx_port for setup in self._model.flows if setup.flow.tx_port in ports
                and self._plane.flow_counters(setup.flow.name).transmit == "started"}

    def _note_links(self) -> dict[str, GeneratorCountersView]:
        """Remembers when each link was last seen to change (at the end of a step of time, or by a request).

        Returns:
            The ports' counters now, which were read for that.
        """
        found = {name: self._plane.generator_counters(name) for name in self._port_names()}
        for name, counters in found.items():
            if name not in self._links or self._links[name][0] != counters.link_up:
                self._links[name] = (counters.link_up, self._plane.now_ps)
        return found

    def _refuse_taken_names(self, raw: list[dict[str, Any]]) -> None:
        taken = {name for _, name in object_names(self._body)}
        errors = []
        for index, flow in enumerate(raw):
            if flow["name"] in taken:
                errors.append(f"flows[{index}].name: {flow['name']!r} is already the name of another object")
            taken.add(flow["name"])
        if errors:
            raise OtgError(errors)

    def _take_over(self, setups: Iterable[FlowSetup], raw: list[dict[str, Any]]) -> None:
        self._model = replace(self._model, flows=tuple(setups))
        self._body = {**self._body, "flows": raw}

    def _flow_names(self) -> list[str]:
        return [setup.flow.name for setup in self._model.flows]

    def _port_names(self) -> list[str]:
        return [port.name for port in self._model.ports]

    def _keys(self) -> list[str]:
        return [*map(_flow_key, self._flow_names()), *map(_port_key, self._port_names())]


def _flow_key(name: str) -> str:
    return f"flow {name}"


def _port_key(name: str) -> str:
    return f"port {name}"


def _remark(port: str, frames: int) -> str:
    """What a reader of a capture must know: nothing, or that it ended early."""
    if frames < CAPTURED_FRAMES:
        return ""
    LOG.warning("the capture of port %s is full: it holds the first %d frames", port, frames)
    return f"full: these are the first {frames} frames, later ones were not captured"


def _warning(warnings: Iterable[str]) -> dict[str, Any]:
    return {"warnings": list(warnings)}
