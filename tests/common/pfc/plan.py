"""Decides, from what a switch and the lab say, what is going to be measured on it; refuses in one sentence what
cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .dut import Dut, SwitchState
from .errors import QualificationError
from .measurement import Subject
from .otg import TrafficBuilder
from .polling import Clock
from .ports import ConnectedPort, choose_pair, hosts_behind
from .preflight import Lab
from .qos import check_same_classes, read_port_qos, read_shared_buffer, remarks
from .staleness import CounterAges, read_counter_ages
from .traffic import Generator


@dataclass(frozen=True)
class PortPlan:
    """A port that can be measured: the switch as it was found, what is measured on it, how old its counters are, and
    what is remarkable about its configuration."""

    state: SwitchState
    subject: Subject
    ages: CounterAges
    remarks: tuple[str, ...] = ()

    def lab(self, dut: Dut, api: Any, clock: Clock) -> Lab:
        """What the port is measured with.

        Args:
            dut: the switch.
            api: snappi API object of the traffic generators.
            clock: what to wait on.

        Raises:
            QualificationError: the switch's configuration leaves no addresses for hosts behind the ports.
        """
        pair, config_db = self.subject.pair, self.state.config_db
        hosts = hosts_behind(pair, config_db, self.subject.ip_version)
        builder = TrafficBuilder(api, pair, hosts, _router_mac(self.state), self.subject.qos.dscps)
        return Lab(self.subject, dut, Generator(api, clock), builder, clock, self.ages)


def plan_port(
    dut: Dut, ports: Sequence[ConnectedPort], port_under_test: str | None, tx_port: str | None, ip_version: int = 4
) -> PortPlan:
    """Plans the measurement of one port.

    Args:
        dut: the switch; it is asked for its configuration and its ports' state.
        ports: its ports with a traffic generator behind them.
        port_under_test: None: the first of them.
        tx_port: None: chosen by `choose_pair`.
        ip_version: of the data, 4 or 6.

    Raises:
        QualificationError: the port cannot be measured; the sentence says why.
    """
    state = dut.state()
    own = [port for port in ports if port.device == dut.name]
    pair = choose_pair(own, port_under_test, tx_port, state.interfaces)
    qos = read_port_qos(state.config_db, dut.name, pair.rx.port)
    check_same_classes(qos, read_port_qos(state.config_db, dut.name, pair.tx.port))
    if not qos.lossless:
        raise QualificationError(
            f"{dut.name} {pair.rx.port} has no lossless priority: PORT_QOS_MAP|{pair.rx.port} has no pfc_enable"
        )
    hosts_behind(pair, state.config_db, ip_version)
    _router_mac(state)
    subject = Subject(pair, qos, read_shared_buffer(state.config_db, dut.name, state.asic), state.asic, ip_version)
    ages = read_counter_ages(state.config_db, dut.name)
    return PortPlan(state, subject, ages, tuple(remarks(state.config_db, qos)))


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
