"""Builds OTG configurations through snappi: two ports that honour PFC, a host behind each, and flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .arithmetic import PAUSE_FRAME_BYTES, share_percent
from .ports import PortPair, PlayedHost
from .scenario import Scenario, Storm
from .traffic import FlowPlan, Role, Traffic

PAUSE_ADDRESS = "01:80:C2:00:00:01"  # of PFC and 802.3x pause alike
PAUSE_SOURCE = "00:00:fa:ce:fa:ce"
FIRST_UDP_PORT = 5000
ECN_BITS = 2


class TrafficBuilder:
    """Builds the configurations of one port pair."""

    def __init__(
        self,
        api: Any,
        pair: PortPair,
        hosts: tuple[PlayedHost, PlayedHost],
        router_mac: str,
        dscps: Mapping[int, Sequence[int]],
    ) -> None:
        """Takes what every configuration of the pair has in common.

        Args:
            api: snappi API object, used as a factory only.
            pair: the ports.
            hosts: the hosts behind the rx and the tx port.
            router_mac: the switch's MAC, to which frames between different segments go.
            dscps: priority -> the DSCP values that its flow cycles through.
        """
        self._api = api
        self._pair = pair
        self._rx_host, self._tx_host = hosts
        self._router_mac = router_mac
        self._dscps = dscps
        self._rx_name, self._tx_name = f"rx {pair.rx.port}", f"tx {pair.tx.port}"

    def scenario(self, scenario: Scenario) -> Traffic:
        """Storm, test and background flows of a scenario."""
        fps, size, seconds = scenario.storm_fps(self._pair.speed_mbps), scenario.frame_bytes, scenario.data_s
        storm = FlowPlan(self._named("Pause Storm"), Role.STORM, None, PAUSE_FRAME_BYTES, fps=fps)
        names = {priority: self._named(f"Test Flow Prio {priority}") for priority in scenario.tested}
        test = [
            FlowPlan(name, Role.TEST, priority, size, scenario.test_share(priority), seconds=seconds)
            for priority, name in names.items()
        ]
        names = {priority: self._named(f"Background Flow Prio {priority}") for priority in scenario.background}
        background = [
            FlowPlan(name, Role.BACKGROUND, priority, size, scenario.background_share(), seconds=seconds)
            for priority, name in names.items()
        ]
        config = self._base()
        self._add_storm(config, storm, scenario)
        for flow in test + background:
            self._add_data(config, flow)
        return Traffic(config, {flow.name: flow for flow in [storm, *test, *background]})

    def clean(self, frames: int, percent: int, frame_bytes: int) -> Traffic:
        """One short flow for every priority that a DSCP value reaches, together `percent` of the line, and no storm."""
        share = share_percent(percent, len(self._dscps))
        flows = [
            FlowPlan(
                self._named(f"Clean Flow Prio {priority}"), Role.CLEAN, priority, frame_bytes, share, frames=frames
            )
            for priority in sorted(self._dscps)
        ]
        config = self._base()
        for flow in flows:
            self._add_data(config, flow)
        return Traffic(config, {flow.name: flow for flow in flows})

    def _named(self, name: str) -> str:
        """A flow's name with its port, so that a flow of a run on another port is never taken for it."""
        return f"{name} {self._pair.rx.device} {self._pair.rx.port}"

    def _base(self) -> Any:
        config = self._api.config()
        config.options.port_options.location_preemption = True
        for name, port in ((self._rx_name, self._pair.rx), (self._tx_name, self._pair.tx)):
            config.ports.port(name=name, location=port.location)
        layer1 = config.layer1.layer1(name="L1 config", port_names=[self._rx_name, self._tx_name])[-1]
        layer1.speed = f"speed_{self._pair.speed_mbps // 1000}_gbps"
        layer1.ieee_media_defaults = False
        layer1.auto_negotiate = False
        layer1.auto_negotiation.rs_fec = True
        layer1.auto_negotiation.link_training = False
        pfc = layer1.flow_control.ieee_802_1qbb
        pfc.pfc_delay = 0
        for priority in range(8):
            setattr(pfc, f"pfc_class_{priority}", priority)
        for port_name, host in ((self._rx_name, self._rx_host), (self._tx_name, self._tx_host)):
            device = config.devices.device(name=host.name)[-1]
            ethernet = device.ethernets.ethernet(name=f"Ethernet of {host.name}", mac=host.mac)[-1]
            ethernet.connection.port_name = port_name
            addresses = ethernet.ipv4_addresses if host.ip_version == 4 else ethernet.ipv6_addresses
            addresses.add(
                name=f"IPv{host.ip_version} of {host.name}",
                address=host.address,
                gateway=host.gateway,
                prefix=host.prefix_bits,
            )
        return config

    def _add_storm(self, config: Any, plan: FlowPlan, scenario: Scenario) -> None:
        flow = self._flow(config, plan, self._rx_name, self._tx_name)
        if scenario.storm is Storm.GLOBAL:
            pause = flow.packet.ethernetpause()[-1]
            pause.time.value = scenario.pause_quanta
        else:
            pause = flow.packet.pfcpause()[-1]
            self._enable(pause, scenario)
        pause.src.value = PAUSE_SOURCE
        pause.dst.value = PAUSE_ADDRESS
        flow.duration.choice = flow.duration.CONTINUOUS

    def _enable(self, pause: Any, scenario: Scenario) -> None:
        """The class-enable vector and the eight times of a PFC frame."""
        pause.class_enable_vector.value = sum(1 << priority for priority in scenario.paused)
        for priority in range(8):
            quanta = scenario.pause_quanta if priority in scenario.paused else 0
            getattr(pause, f"pause_class_{priority}").value = quanta

    def _add_data(self, config: Any, plan: FlowPlan) -> None:
        assert plan.priority is not None, f"data flow {plan.name} needs a priority"
        flow = self._flow(config, plan, self._tx_name, self._rx_name)
        kind = "ipv4" if self._tx_host.ip_version == 4 else "ipv6"
        ethernet, ip, udp = getattr(flow.packet.ethernet(), kind)().udp()
        bridged = self._tx_host.segment == self._rx_host.segment
        ethernet.src.value = self._tx_host.mac
        ethernet.dst.value = self._rx_host.mac if bridged else self._router_mac
        ethernet.pfc_queue.value = plan.priority
        ip.src.value = self._tx_host.address
        ip.dst.value = self._rx_host.address
        self._mark(ip, self._dscps[plan.priority])
        udp.src_port.value = FIRST_UDP_PORT + plan.priority
        udp.dst_port.value = FIRST_UDP_PORT + plan.priority
        if plan.frames is not None:
            flow.duration.fixed_packets.packets = plan.frames
        else:
            flow.duration.fixed_seconds.seconds = plan.seconds

    def _mark(self, ip: Any, dscps: Sequence[int]) -> None:
        """The frames run through these DSCP values: the six high bits of IPv6's traffic class."""
        if self._tx_host.ip_version == 6:
            ip.traffic_class.values = [dscp << ECN_BITS for dscp in dscps]
            return
        ip.priority.choice = ip.priority.DSCP
        ip.priority.dscp.phb.values = list(dscps)

    def _flow(self, config: Any, plan: FlowPlan, tx_name: str, rx_name: str) -> Any:
        flow = config.flows.flow(name=plan.name)[-1]
        flow.tx_rx.port.tx_name = tx_name
        flow.tx_rx.port.rx_names = [rx_name]
        flow.size.fixed = plan.frame_bytes
        if plan.percent is not None:
            flow.rate.percentage = plan.percent
        else:
            flow.rate.pps = plan.fps
        flow.metrics.enable = True
        flow.metrics.loss = True
        return flow
