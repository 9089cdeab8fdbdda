"""Builds OTG configurations through snappi: ports that honour PFC, a host behind each, and flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .ports import ConnectedPort, PlayedHost, PortPair
from .traffic import FlowPlan, PauseFrame, Traffic

FIRST_UDP_PORT = 5000
ECN_BITS = 2


class TrafficBuilder:
    """Builds the configurations of one switch port under test."""

    def __init__(
        self,
        api: Any,
        pair: PortPair,
        hosts: Mapping[ConnectedPort, PlayedHost],
        router_mac: str,
        dscps: Mapping[int, Sequence[int]],
    ) -> None:
        """Takes what every configuration of the port has in common.

        Args:
            api: snappi API object, used as a factory only.
            pair: the port under test and the tx port.
            hosts: the host behind these two, and behind each other port that data may enter.
            router_mac: the switch's MAC, to which frames between different segments go.
            dscps: priority -> the DSCP values that its flow cycles through.
        """
        self._api = api
        self._pair = pair
        self._hosts = hosts
        self._ports = {port.port: port for port in hosts}
        self._router_mac = router_mac
        self.dscps = dscps

    def named(self, name: str) -> str:
        """A flow's name with its port, so that a flow of a run on another port is never taken for it."""
        return f"{name} {self._pair.rx.device} {self._pair.rx.port}"

    def build(self, flows: Sequence[FlowPlan], captured: Sequence[str] = (), reaction_quanta: int = 0) -> Traffic:
        """A configuration of these flows, with the ports that they need.

        Args:
            flows: no two of one name.
            captured: switch ports at whose generator what arrives is captured.
            reaction_quanta: how long the generator ports go on sending after a pause reached them, in quanta; the
                switch port under test has a generator that reacts at once.
        """
        config = self._api.config()
        config.options.port_options.location_preemption = True
        used = {self._pair.rx.port, self._pair.tx.port}
        used |= {port for flow in flows for port in (flow.enters, flow.leaves) if port}
        for port in (self._ports[name] for name in self._ports if name in used):
            self._add_port(config, port, 0 if port == self._pair.rx else reaction_quanta)
            self._add_host(config, port)
        for flow in flows:
            if flow.pause is not None:
                self._add_pause(config, flow, flow.pause)
            else:
                self._add_data(config, flow)
        if captured:
            names = [self._port_name(port) for port in captured]
            config.captures.capture(name="captured", port_names=names, format="pcap")
        return Traffic(config, {flow.name: flow for flow in flows})

    def _port_name(self, port: str) -> str:
        """Name of the generator port at a switch port; what comes out of the port under test is received."""
        return f"{'rx' if port == self._pair.rx.port else 'tx'} {port}"

    def _add_port(self, config: Any, port: ConnectedPort, reaction_quanta: int) -> None:
        name = self._port_name(port.port)
        config.ports.port(name=name, location=port.location)
        layer1 = config.layer1.layer1(name=f"L1 of {name}", port_names=[name])[-1]
        layer1.speed = f"speed_{port.speed_mbps // 1000}_gbps"
        layer1.ieee_media_defaults = False
        layer1.auto_negotiate = False
        layer1.auto_negotiation.rs_fec = True
        layer1.auto_negotiation.link_training = False
        pfc = layer1.flow_control.ieee_802_1qbb
        pfc.pfc_delay = reaction_quanta
        for priority in range(8):
            setattr(pfc, f"pfc_class_{priority}", priority)

    def _add_host(self, config: Any, port: ConnectedPort) -> None:
        host = self._hosts[port]
        device = config.devices.device(name=host.name)[-1]
        ethernet = device.ethernets.ethernet(name=f"Ethernet of {host.name}", mac=host.mac)[-1]
        ethernet.connection.port_name = self._port_name(port.port)
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

    def _add_data(self, config: Any, plan: FlowPlan) -> None:
        assert plan.priority is not None, f"data flow {plan.name} needs a priority"
        flow = self._flow(config, plan)
        sender, receiver = (self._hosts[self._ports[port]] for port in self._ends(plan))
        kind = "ipv4" if sender.ip_version == 4 else "ipv6"
        ethernet, ip, udp = getattr(flow.packet.ethernet(), kind)().udp()
        ethernet.src.value = sender.mac
        ethernet.dst.value = receiver.mac if sender.segment == receiver.segment else self._router_mac
        ethernet.pfc_queue.value = plan.priority
        ip.src.value = sender.address
        ip.dst.value = receiver.address
        _mark(ip, sender.ip_version, self.dscps[plan.priority])
        udp.src_port.value = FIRST_UDP_PORT + plan.priority
        udp.dst_port.value = FIRST_UDP_PORT + plan.priority

    def _ends(self, plan: FlowPlan) -> tuple[str, str]:
        """The switch ports where a flow comes in and is meant to leave."""
        enters, leaves = self._pair.tx.port, self._pair.rx.port
        if plan.pause is not None:
            enters, leaves = leaves, enters
        return plan.enters or enters, plan.leaves or leaves

    def _flow(self, config: Any, plan: FlowPlan) -> Any:
        flow = config.flows.flow(name=plan.name)[-1]
        enters, leaves = self._ends(plan)
        flow.tx_rx.port.tx_name = self._port_name(enters)
        flow.tx_rx.port.rx_names = [self._port_name(leaves)]
        for size, weight in plan.mix:
            flow.size.weight_pairs.custom.add(size=size, weight=weight)
        if not plan.mix:
            flow.size.fixed = plan.frame_bytes
        if plan.percent is not None:
            flow.rate.percentage = plan.percent
        else:
            flow.rate.pps = plan.fps
        _last(flow, plan)
        flow.metrics.enable = True
        flow.metrics.loss = True
        return flow


def _last(flow: Any, plan: FlowPlan) -> None:
    """How long a flow sends."""
    if plan.frames is not None:
        flow.duration.fixed_packets.packets = plan.frames
        lasting = flow.duration.fixed_packets
    elif plan.seconds is not None:
        flow.duration.fixed_seconds.seconds = plan.seconds
        lasting = flow.duration.fixed_seconds
    else:
        flow.duration.choice = flow.duration.CONTINUOUS
        lasting = flow.duration.continuous
    if plan.delay_ns:
        lasting.delay.nanoseconds = plan.delay_ns


def _mark(ip: Any, ip_version: int, dscps: Sequence[int]) -> None:
    """The frames run through these DSCP values: the six high bits of IPv6's traffic class."""
    if ip_version == 6:
        ip.traffic_class.values = [dscp << ECN_BITS for dscp in dscps]
        return
    ip.priority.choice = ip.priority.DSCP
    ip.priority.dscp.phb.values = list(dscps)
