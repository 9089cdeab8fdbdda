"""Builds OTG configurations through snappi: ports that honour PFC, a host behind each, and flows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, PlayedHost
from ..model.traffic import FlowPlan, PauseFrame, Role
from .generator import Traffic

FIRST_UDP_PORT = 5000
ECN = {Role.TEST: 3, Role.BACKGROUND: 1, Role.CLEAN: 2, Role.BYSTANDER: 2}  # CE, ECT(1), ECT(0): WRED may drop none
ECN_BITS = 2
TAG_ABOVE = 1  # a tag's number is not its class's, so that a switch shows that takes one for the other
RS_FEC_FROM_MBPS = 50_000  # what a port most likely has whose `fec` is missing or `auto`; at lower speeds none
# Cards with four queues for PFC: sonic-mgmt gives 3 and 4 queues of their own and shares the others (variables.py)
PFC_QUEUES_OF_FOUR = (0, 1, 0, 3, 2, 0, 1, 0)


@dataclass
class TrafficBuilder:
    """Builds the configurations of one switch port under test.

    Attributes:
        api: snappi API object, used as a factory only.
        subject: what is measured, and what has to be allowed for.
        hosts: the host behind the port under test and the tx port, and behind each other port that data may enter.
        router_mac: the switch's MAC, to which frames between different segments go.
        beside: the flows between other ports that are sent beside those of a configuration; None: there are none.
        vlan_id: of the tag that says the class of data frames, by `TAG_ABOVE`; None: there is none.
        switch_ports: the rows of the switch's ports in CONFIG_DB, by name; the generator's ends of the links are set as
            they are: `fec`, `autoneg` and `link_training` (off).
    """

    api: Any
    subject: PortUnderTest
    hosts: Mapping[ConnectedPort, PlayedHost]
    router_mac: str
    beside: Callable[[PortUnderTest, Sequence[FlowPlan]], Sequence[FlowPlan]] | None = None
    vlan_id: int | None = None
    switch_ports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pair = self.subject.pair
        self._sends_pauses = not self.subject.pauses_from  # else another source does (`lab.PauseSource`)
        self._ports = {port.port: port for port in self.hosts}

    def flow_name(self, name: str) -> str:
        """A flow's name with its port, so that a flow of a run on another port is never taken for it. It has letters,
        digits, spaces, `_` and `-` only: IxNetwork's statistics do not find flows by names with a comma or a dot, which
        a switch's name may have."""
        return re.sub(r"[^A-Za-z0-9 _-]", "_", f"{name} {self._pair.rx.device} {self._pair.rx.port}")

    def mac(self, port: str) -> str:
        """The MAC address of the host behind a switch port."""
        return self.hosts[self._ports[port]].mac

    def build(self, flows: Sequence[FlowPlan]) -> Traffic:
        """A configuration of these flows, no two of one name, with the ports that they need. Loads are parts of what
        the testbed has for a full line; the flows of the answer have what is really sent."""
        beside = self.beside(self.subject, flows) if self.beside else ()
        whole = self.build_into(self.empty(), [*flows, *beside])
        apart = {flow.name: whole.flows[flow.name] for flow in beside}
        own = {name: flow for name, flow in whole.flows.items() if name not in apart}
        return Traffic(whole.config, own, apart)

    def empty(self) -> Any:
        """A configuration that has nothing yet."""
        config = self.api.config()
        config.options.port_options.location_preemption = True
        return config

    def build_into(self, config: Any, flows: Sequence[FlowPlan]) -> Traffic:
        """The same as a part of a configuration that has other ports' flows too."""
        flows = [self._on_this_testbed(flow) for flow in flows]
        used = self._used(flows)
        for port in (self._ports[name] for name in self._ports if name in used):
            self._add_port(config, port)
            self._add_host(config, port)
        for flow in flows:
            if flow.pause is None:
                self._add_data(config, flow)
            elif self._sends_pauses:
                for name in self.storm_flows(flow):
                    self._add_pause(config, replace(flow, name=name), flow.pause)
        return Traffic(config, {flow.name: flow for flow in flows})

    def _used(self, flows: Iterable[FlowPlan]) -> set[str]:
        """The ports that a configuration of these flows needs: the pair's in any case."""
        named = {port for flow in flows for port in (flow.enters, flow.leaves) if port}
        return {self._pair.rx.port, self._pair.tx.port, *named}

    def _ends_by_itself(self, flow: FlowPlan) -> bool:
        """Whether a flow is a storm that is needed until it is stopped and does not last for ever."""
        unlimited = flow.frames is None and flow.seconds is None and flow.needed_s > 0
        return unlimited and flow.pause is not None and self._sends_pauses and self.subject.tolerances.storm_limit_s > 0

    def storm_flows(self, storm: FlowPlan) -> tuple[str, ...]:
        """The names of the flows that a storm is made of: one. Raises QualificationError where it may be needed for
        longer than that lasts."""
        if 0 < storm.limit_s < storm.needed_s:
            raise QualificationError(
                f"{storm.name}: a storm of {ceil(storm.needed_s)} s is needed, and each ends by itself after"
                f" {storm.limit_s} s: the testbed's pfc_conditions need a storm_limit_s of {ceil(storm.needed_s)} or"
                " more"
            )
        return (storm.name,)

    def _pfc_queue(self, priority: int) -> int:
        """The queue of a generator port that a pause of `priority` holds."""
        return priority if self.subject.tolerances.pfc_queues == 8 else PFC_QUEUES_OF_FOUR[priority]

    def _on_this_testbed(self, flow: FlowPlan) -> FlowPlan:
        """A flow with the load that a full line allows, and a duration that the generator takes."""
        if self._ends_by_itself(flow):
            flow = replace(flow, limit_s=self.subject.tolerances.storm_limit_s)
        if self.subject.tolerances.whole_seconds and flow.seconds is not None:
            flow = replace(flow, seconds=ceil(flow.seconds))
        if flow.percent is None or self.subject.tolerances.line_percent == 100:
            return flow
        return replace(flow, percent=flow.percent * self.subject.tolerances.line_percent / 100)

    def port_name(self, port: str) -> str:
        """Name of the generator port at a switch port; what comes out of the port under test is received."""
        return f"{'rx' if port == self._pair.rx.port else 'tx'} {port}"

    def _add_port(self, config: Any, port: ConnectedPort) -> None:
        name = self.port_name(port.port)
        config.ports.port(name=name, location=port.location)
        layer1 = config.layer1.layer1(name=f"L1 of {name}", port_names=[name])[-1]
        layer1.speed = f"speed_{port.speed_mbps // 1000}_gbps"
        layer1.ieee_media_defaults = False
        switch_port = self.switch_ports.get(port.port, {})
        layer1.auto_negotiate = switch_port.get("autoneg") == "on"
        usual = "rs" if port.speed_mbps >= RS_FEC_FROM_MBPS else "none"
        layer1.auto_negotiation.rs_fec = switch_port.get("fec", "auto").replace("auto", usual) == "rs"
        layer1.auto_negotiation.link_training = switch_port.get("link_training") == "on"
        pfc = layer1.flow_control.ieee_802_1qbb
        pfc.pfc_delay = 0
        for priority in range(8):
            setattr(pfc, f"pfc_class_{priority}", self._pfc_queue(priority))

    def _add_host(self, config: Any, port: ConnectedPort) -> None:
        host = self.hosts[port]
        device = config.devices.device(name=host.name)[-1]
        ethernet = device.ethernets.ethernet(name=f"Ethernet of {host.name}", mac=host.mac)[-1]
        ethernet.connection.port_name = self.port_name(port.port)
        addresses = ethernet.ipv4_addresses if host.ip_version == 4 else ethernet.ipv6_addresses
        addresses.add(
            name=f"IPv{host.ip_version} of {host.name}",
            address=host.address,
            gateway=host.gateway,
            prefix=host.prefix_bits,
        )

    def _add_pause(self, config: Any, plan: FlowPlan, frame: PauseFrame) -> None:
        flow = self._flow(config, plan)
        if frame.is_global:
            pause = flow.packet.ethernetpause()[-1]
            pause.time.value = frame.quanta[0]
        else:
            pause = flow.packet.pfcpause()[-1]
            pause.class_enable_vector.value = sum(1 << priority for priority in frame.enabled)
            for priority, quanta in enumerate(frame.quanta):
                getattr(pause, f"pause_class_{priority}").value = quanta
        pause.src.value = frame.source
        pause.dst.value = frame.destination
        if frame.operation_code is not None:
            pause.control_op_code.value = frame.operation_code
        if frame.ether_type is not None:
            pause.ether_type.value = frame.ether_type

    def _add_data(self, config: Any, plan: FlowPlan) -> None:
        assert plan.priority is not None, f"data flow {plan.name} needs a priority"
        flow = self._flow(config, plan)
        sender, receiver = (self.hosts[self._ports[port]] for port in self._ends(plan))
        kind = "ipv4" if sender.ip_version == 4 else "ipv6"
        ethernet = flow.packet.ethernet()[-1]
        if self.vlan_id is not None:
            tag = flow.packet.vlan()[-1]
            tag.id.value = self.vlan_id
            tag.priority.value = (plan.priority + TAG_ABOVE) % 8
        ip = getattr(flow.packet, kind)()[-1]
        udp = flow.packet.udp()[-1]
        ethernet.src.value = sender.mac
        ethernet.dst.value = receiver.mac if sender.segment == receiver.segment else self.router_mac
        ethernet.pfc_queue.value = self._pfc_queue(plan.priority)
        ip.src.value = sender.address
        ip.dst.value = receiver.address
        _mark(ip, sender.ip_version, self.subject.qos.dscps[plan.priority], ECN[plan.role])
        udp.src_port.value = FIRST_UDP_PORT + plan.priority
        udp.dst_port.value = FIRST_UDP_PORT + plan.priority

    def _ends(self, plan: FlowPlan) -> tuple[str, str]:
        """The switch ports where a flow comes in and is meant to leave."""
        enters = self._pair.tx.port
        leaves = self._pair.rx.port
        if plan.pause is not None:
            enters, leaves = leaves, enters
        return plan.enters or enters, plan.leaves or leaves

    def _flow(self, config: Any, plan: FlowPlan) -> Any:
        flow = config.flows.flow(name=plan.name)[-1]
        enters, leaves = self._ends(plan)
        flow.tx_rx.port.tx_name = self.port_name(enters)
        flow.tx_rx.port.rx_names = [self.port_name(leaves)]
        for size, weight in plan.mix:
            flow.size.weight_pairs.custom.add(size=size, weight=weight)
        if not plan.mix:
            flow.size.fixed = plan.frame_bytes
        if plan.percent is not None:
            flow.rate.percentage = plan.percent
        else:
            flow.rate.pps = plan.fps
        _last(flow, plan, self.subject.tolerances.storm_limit_s)
        flow.metrics.enable = True
        flow.metrics.loss = True
        return flow


def _last(flow: Any, plan: FlowPlan, limit_s: int) -> None:
    """How long a flow sends; one that goes on until it is stopped at most `limit_s` (0: for ever)."""
    if plan.frames is not None:
        flow.duration.fixed_packets.packets = plan.frames
        lasting = flow.duration.fixed_packets
    elif plan.seconds is not None or limit_s:
        flow.duration.fixed_seconds.seconds = plan.seconds if plan.seconds is not None else limit_s
        lasting = flow.duration.fixed_seconds
    else:
        flow.duration.choice = flow.duration.CONTINUOUS
        lasting = flow.duration.continuous
    if plan.delay_ns:
        lasting.delay.nanoseconds = plan.delay_ns


def _mark(ip: Any, ip_version: int, dscps: Sequence[int], ecn: int) -> None:
    """The frames run through these DSCP values: the six high bits of IPv6's traffic class; the two low ones are ECN."""
    if ip_version == 6:
        ip.traffic_class.values = [dscp << ECN_BITS | ecn for dscp in dscps]
        return
    ip.priority.choice = ip.priority.DSCP
    ip.priority.dscp.phb.values = list(dscps)
    ip.priority.dscp.ecn.value = ecn
