"""Decides, from what a switch and the lab say, what is going to be measured on it, and with what; refuses in one
sentence what cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, choose_pair, hosts_behind, with_generators
from ..model.qos import check_same_classes, read_port_qos, read_shared_buffer
from .clock import Clock
from .counter_polling import read_poll_delays
from .dut import Dut, SwitchState
from .generator import Generator, GeneratorTiming
from .lab import HostOf, Lab, PauseSource, no_host
from .option import check_keys, first, flows_beside, options, tolerances_of
from .otg_config import TrafficBuilder
from .port_plan import LabFacts, PortPlan, PortRequest


def measured_device(facts: LabFacts, device: str) -> SwitchState:
    """The switch that is measured for a device under test: as an option chooses, or itself; raises QualificationError
    where there is none that can be."""
    return first(option.measured(facts, device) for option in options()) or facts.state_of(device)


def measurable_first(facts: LabFacts, devices: Sequence[str]) -> list[str]:
    """A testbed's switches, those first that have a traffic generator behind them, or that an option measures another
    one for; raises QualificationError where there are none."""
    known = {port.device for port in facts.ports}.union(*(option.replaced(facts.testbed) for option in options()))
    if known.isdisjoint(devices):
        raise QualificationError(f"the links file connects no port of {', '.join(devices)} to a traffic generator")
    return sorted(devices, key=lambda device: device not in known)


def plan_device(facts: LabFacts, device: str, asked: PortRequest) -> PortPlan:
    """Plans what is measured for a device under test; raises QualificationError where nothing can be."""
    check_keys(facts.testbed)
    if facts.testbed.get("virtual"):
        asked = replace(asked, change_config=True)
    if asked.port_under_test is None:
        asked = replace(asked, port_under_test=first(option.first_port(facts.testbed) for option in options()))
    plan = plan_measured(measured_device(facts, device), facts.ports, asked)
    subject = replace(plan.subject, tolerances=tolerances_of(facts.testbed))
    plan = replace(plan, subject=subject, on_behalf_of=device if plan.state.device != device else None)
    for option in options():
        plan = option.extend(plan, facts)
    return plan


def plan_measured(state: SwitchState, ports: Sequence[ConnectedPort], asked: PortRequest) -> PortPlan:
    """Plans a port of the switch that is measured; raises QualificationError where it cannot be."""
    device = state.device
    own = with_generators([port for port in ports if port.device == device], asked.same_generator)
    pair = choose_pair(own, asked.port_under_test, asked.tx_port, state.interfaces)
    for option in options():
        state = option.prepared(state, pair, own, asked)
    config_db = state.config_db
    qos = read_port_qos(config_db, device, pair.rx.port)
    check_same_classes(qos, read_port_qos(config_db, device, pair.tx.port))
    if not qos.lossless:
        raise QualificationError(
            f"{device} {pair.rx.port} has no lossless priority: PORT_QOS_MAP|{pair.rx.port} has no pfc_enable"
        )
    hosts_behind((pair.rx, pair.tx), config_db, asked.ip_version)
    _router_mac(state)
    buffer = read_shared_buffer(config_db, device, state.asic)
    subject = PortUnderTest(pair, qos, buffer, state.asic, asked.ip_version, changeable=asked.change_config)
    plan = PortPlan(state, subject, read_poll_delays(config_db, device))
    for option in options():
        plan = option.planned(plan, own, asked)
    return plan


def open_lab(
    plan: PortPlan, dut: Dut, api: Any, clock: Clock, others: Mapping[str, Dut] = MappingProxyType({}),
    host_of: HostOf = no_host, timing: GeneratorTiming | None = None,
) -> Lab:
    """What a port is measured with; who looks on at the switch looks on at the traffic too. `others`: the switches that
    the plan calls so; `host_of` reaches the host that pauses come from, where one does; `timing`: how late the traffic
    generators are (None: the preflight measures it).

    Raises:
        QualificationError: the switch's configuration leaves no addresses for hosts behind the ports, or pauses cannot
            come from where they are meant to.
    """
    for option in options():
        option.prepare([plan], dut, clock)
    config_db = plan.state.config_db
    ports = tuple(plan.subject.ports.values())
    hosts = dict(zip(ports, hosts_behind(ports, config_db, plan.subject.ip_version, plan.first_host), strict=True))
    builder_class = next((option.builder for option in options() if option.builder), TrafficBuilder)
    tolerances = plan.subject.tolerances
    generator_class = first(option.generator_class(tolerances) for option in options()) or Generator
    builder = builder_class(
        api, plan.subject, hosts, _router_mac(plan.state), flows_beside, switch_ports=config_db.get("PORT", {})
    )
    source = plan.pauses(host_of, clock) if plan.pauses is not None else PauseSource()
    generator = source.driver(generator_class)(api, clock, dut.observers, timing)
    return Lab(
        plan.subject, dut, generator, builder, generator.clock, plan.delays, others, config_db, dut.observers, source
    )


def _router_mac(state: SwitchState) -> str:
    mac = state.config_db.get("DEVICE_METADATA", {}).get("localhost", {}).get("mac")
    if not mac:
        raise QualificationError(f"{state.device}: CONFIG_DB has no mac in DEVICE_METADATA|localhost: deploy it first")
    return str(mac)


def connected_port(facts: Mapping[str, Any]) -> ConnectedPort:
    """A port as sonic-mgmt's fixture `get_snappi_ports` describes it."""
    return ConnectedPort(
        device=str(facts["peer_device"]),
        port=str(facts["peer_port"]),
        generator=str(facts.get("chassis") or facts["ip"]),
        location=str(facts["location"]),
        speed_mbps=int(facts["speed"]),
    )
