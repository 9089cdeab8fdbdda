"""Decides, from what a switch and the lab say, what is going to be measured on it; refuses in one sentence what
cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, Links, choose_pair, hosts_behind, told_apart
from ..model.qos import check_same_classes, read_port_qos, read_shared_buffer
from .clock import Clock
from .counter_polling import PollDelays, read_poll_delays
from .dut import Dut, SwitchState
from .generator import Generator, GeneratorTiming
from .lab import HostOf, Lab, OpenPauses, PauseSource, no_host
from .option import check_keys, first, flows_beside, options, tolerances_of
from .otg_config import TrafficBuilder

StateOf = Callable[[str], SwitchState]


@dataclass(frozen=True)
class PortPlan:
    """A port that can be measured.

    Attributes:
        state: the switch as it was found.
        subject: what is measured on it.
        delays: how old its counters are.
        remarks: what is remarkable.
        on_behalf_of: the device that the switch stands for; None: for itself.
        others: other switches that test cases look at.
        first_host: number of the first host behind its ports, where several ports are measured at once.
        pauses: opens the source of the pauses; None: they come from the traffic generator.
    """

    state: SwitchState
    subject: PortUnderTest
    delays: PollDelays
    remarks: tuple[str, ...] = ()
    on_behalf_of: str | None = None
    others: tuple[str, ...] = ()
    first_host: int = 0
    pauses: OpenPauses | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Every switch that is looked at, the one under test first."""
        return self.state.device, *self.others

    def lab(
        self, dut: Dut, api: Any, clock: Clock, others: Mapping[str, Dut] = MappingProxyType({}),
        host_of: HostOf = no_host, timing: GeneratorTiming | None = None,
    ) -> Lab:
        """What the port is measured with; who looks on at the switch looks on at the traffic too. `others`: the
        switches that the plan calls so; `host_of` reaches the host that pauses come from, where one does; `timing`: how
        late the traffic generators are (None: the preflight measures it).

        Raises:
            QualificationError: the switch's configuration leaves no addresses for hosts behind the ports, or pauses
                cannot come from where they are meant to.
        """
        for option in options():
            option.prepare([self], dut, clock)
        config_db = self.state.config_db
        ports = tuple(self.subject.ports.values())
        hosts = dict(zip(ports, hosts_behind(ports, config_db, self.subject.ip_version, self.first_host), strict=True))
        builder_class = next((option.builder for option in options() if option.builder), TrafficBuilder)
        tolerances = self.subject.tolerances
        generator_class = first(option.generator_class(tolerances) for option in options()) or Generator
        builder = builder_class(
            api, self.subject, hosts, _router_mac(self.state), flows_beside, switch_ports=config_db.get("PORT", {})
        )
        source = self.pauses(host_of, clock) if self.pauses is not None else PauseSource()
        generator = source.driver(generator_class)(api, clock, dut.observers, timing)
        return Lab(
            self.subject, dut, generator, builder, generator.clock, self.delays, others, config_db,
            dut.observers, source,
        )


@dataclass(frozen=True)
class PortRequest:
    """What the user asks to be measured: the port under test (None: the first), the port that data enters (None: chosen
    by `choose_pair`), the IP version of the data; whether the switch's configuration may be changed for that (it is
    put back; a virtual switch's always may); and whether data may enter from the port under test's own traffic
    generator."""

    port_under_test: str | None = None
    tx_port: str | None = None
    ip_version: int = 4
    change_config: bool = False
    same_generator: bool = False


@dataclass(frozen=True)
class LabFacts:
    """What is known of a testbed.

    Attributes:
        testbed: its entry (`tbinfo`).
        state_of: reads a switch of it, by name.
        ports: its switches' ports with a traffic generator behind them.
        links: `device_conn` of `conn_graph_facts`.
    """

    testbed: Mapping[str, Any]
    state_of: StateOf
    ports: Sequence[ConnectedPort]
    links: Links


def measured_device(facts: LabFacts, device: str) -> SwitchState:
    """The switch that is measured for a device under test: as an option chooses, or itself; raises QualificationError
    where there is none that can be."""
    return first(option.measured(facts, device) for option in options()) or facts.state_of(device)


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
    own = told_apart([port for port in ports if port.device == device], asked.same_generator)
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
