"""One OTG flow: who sends, which frames, how fast, how long; translated into the data plane's terms."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from pfctest.timing import WIRE_OVERHEAD_BYTES
from virtual_testbed.dataplane.model.traffic import FIRST_BIT, LAST_BIT, DataFlow, Flow, GeneratorPort, PauseFlow
from virtual_testbed.otg.content import FCS_BYTES
from virtual_testbed.otg.devices import ANY_MAC, DeviceInterface
from virtual_testbed.otg.durations import FlowTiming, read_duration
from virtual_testbed.otg.fields import Fields, listed
from virtual_testbed.otg.headers import DataHeaders, PauseHeaders, read_headers
from virtual_testbed.otg.sizes import mean_size, read_sizes

LONGEST_CYCLE = 65536  # frames after which DSCP and size together must repeat
BITS_OF_UNIT = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9}
DEFAULT_RATE = {"pps": 1000, "bps": 10**9, "kbps": 10**6, "mbps": 1000, "gbps": 1, "percentage": 100}
SMALLEST_RATE = {"bps": 672, "percentage": 0}
LATENCY_FROM = {"store_forward": LAST_BIT, "cut_through": FIRST_BIT}


@dataclass(frozen=True)
class FlowEndpoints:
    """Ports and device interfaces that a flow may refer to, by their names.

    Attributes:
        ports: generator ports of the configuration by name.
        speeds: line rate of those ports, Mb/s.
        interfaces: device interfaces by every name that stands for them.
    """

    ports: Mapping[str, GeneratorPort]
    speeds: Mapping[str, int]
    interfaces: Mapping[str, DeviceInterface]


@dataclass(frozen=True)
class Rate:
    """OTG's rate: a unit and an exact number."""

    unit: str
    value: Fraction

    def frames_per_second(self, mean_bytes: Fraction, speed_mbps: int) -> Fraction:
        """Frames a second: a percentage is of the line rate, preamble and gap included; bit rates are of frames."""
        if self.unit == "pps":
            return self.value
        if self.unit == "percentage":
            return self.value / 100 * speed_mbps * 10**6 / ((mean_bytes + WIRE_OVERHEAD_BYTES) * 8)
        return self.value * BITS_OF_UNIT[self.unit] / (mean_bytes * 8)


@dataclass(frozen=True)
class FlowSetup:
    """A flow as the data plane runs it, and what OTG wants to know of it.

    Attributes:
        flow: the data plane's flow.
        metrics: flow metrics exist for it; `loss`: with that column.
        problem: why it cannot be started (a gateway without address resolution), or "".
    """

    flow: Flow
    metrics: bool
    loss: bool
    problem: str = ""


def read_flow(flow: Fields, endpoints: FlowEndpoints) -> FlowSetup | None:
    """Reads one flow; None when it has errors, which are then noted."""
    before = len(flow.report.errors)
    name = flow.text("name")
    ends = _read_ends(flow.child("tx_rx"), endpoints) if flow.require("tx_rx") is not None else _Ends()
    headers = read_headers(flow)
    timing = _read_timing(flow, headers, endpoints.speeds.get(ends.tx_port, 0))
    duration = read_duration(flow.child("duration"), timing)
    metrics = _read_metrics(flow.child("metrics"), isinstance(headers, DataHeaders))
    flow.done("egress_packet")
    if metrics.enable and not ends.rx_ports and ends.tx_port:
        flow.error("tx_rx.port.rx_names", "missing, and metrics.enable needs to know where frames are received")
    if len(flow.report.errors) > before or headers is None or not timing.speed_mbps:
        return None
    if isinstance(headers, PauseHeaders):
        frame = headers.frame.ljust(timing.sizes[0] - FCS_BYTES, b"\0")
        pause = PauseFlow(name, ends.tx_port, ends.rx_ports, frame, timing.rate_fps, duration)
        return FlowSetup(pause, metrics.enable, metrics.loss)
    destination_mac, problem = _resolve(headers, ends)
    if problem:
        flow.warn("tx_rx.device", problem)
    data = DataFlow(
        name, ends.tx_port, ends.rx_ports,
        source_mac=headers.source_mac or (ends.source.mac if ends.source else ANY_MAC),
        destination_mac=destination_mac,
        source_address=headers.source or _address(ends.source, headers),
        destination_address=headers.destination or _address(ends.destination, headers),
        dscp=headers.dscp, queue=headers.queue, sizes=timing.sizes, rate_fps=timing.rate_fps, duration=duration,
        vlan_id=headers.vlan_id, vlan_priority=headers.vlan_priority, latency=metrics.latency,
        ecn=headers.ecn, content=headers.content.frame)
    return FlowSetup(data, metrics.enable, metrics.loss, problem)


def _read_timing(flow: Fields, headers: DataHeaders | PauseHeaders | None, speed_mbps: int) -> FlowTiming:
    """Sizes and rate. Every pause frame of a flow is the same, so those have one size."""
    modelled = ("fixed",) if isinstance(headers, PauseHeaders) else ("fixed", "increment", "weight_pairs")
    sizes = read_sizes(flow, headers.shortest_frame if headers else 0, modelled)
    if isinstance(headers, DataHeaders) and (cycle := lcm(len(headers.dscp), len(sizes))) > LONGEST_CYCLE:
        flow.error("size", f"DSCP and size together repeat after {cycle} frames only; modelled are up to "
                   f"{LONGEST_CYCLE}: use fewer DSCP values or sizes")
    rate = read_rate(flow.child("rate"))
    fps = rate.frames_per_second(mean_size(sizes), speed_mbps)
    return FlowTiming(speed_mbps, sizes, fps or Fraction(DEFAULT_RATE["pps"]))


@dataclass(frozen=True)
class _Ends:
    tx_port: str = ""
    rx_ports: tuple[str, ...] = ()
    source: DeviceInterface | None = None
    destination: DeviceInterface | None = None


def _read_ends(tx_rx: Fields, endpoints: FlowEndpoints) -> _Ends:
    choice = tx_rx.choice(("port", "device"), "port")
    ends = _Ends()
    if choice == "port":
        ends = _port_ends(tx_rx.child("port"), endpoints)
    elif choice == "device":
        ends = _device_ends(tx_rx.child("device"), endpoints)
    tx_rx.done()
    return ends


def _port_ends(port: Fields, endpoints: FlowEndpoints) -> _Ends:
    tx_name = port.text("tx_name")
    rx_names = port.names("rx_names")
    if not rx_names and port.has("rx_name"):
        rx_names = [port.text("rx_name")]
    port.take("rx_name")
    port.done()
    for field, name in (("tx_name", tx_name), *(("rx_names", name) for name in rx_names)):
        if name and name not in endpoints.ports:
            port.error(field, f"no port is named {name!r}; ports are {listed(endpoints.ports)}")
    if tx_name in rx_names:
        port.warn("rx_names", f"{tx_name!r} is also the sender: no switch sends a frame back, so it receives none")
    if len(set(rx_names)) != len(rx_names):
        port.error("rx_names", f"names repeat: {listed(rx_names)}")
    return _Ends(tx_name if tx_name in endpoints.ports else "", tuple(rx_names))


def _device_ends(device: Fields, endpoints: FlowEndpoints) -> _Ends:
    found: list[DeviceInterface] = []
    device.one_of("mode", ("mesh", "one_to_one"), "mesh")
    if device.boolean("bidirectional", False):
        device.error("bidirectional", "true: not modelled; modelled is one flow a direction")
    for field in ("tx_names", "rx_names"):
        for name in (listing := device.names(field, required=True)):
            if name not in endpoints.interfaces:
                device.error(field, f"no device interface is named {name!r}; they are {listed(endpoints.interfaces)}")
        if len(listing) != 1:
            device.error(field, f"{len(listing)} names: not modelled; modelled is one device interface at each end")
        found += [endpoints.interfaces[name] for name in listing[:1] if name in endpoints.interfaces]
    device.done()
    if len(found) < 2:
        return _Ends()
    if found[0] == found[1]:
        device.error("rx_names", f"{found[1].name!r} is also the sender")
    elif found[0].port == found[1].port:
        device.warn("rx_names", f"{found[1].name!r} is on port {found[1].port!r}, where the sender is too: no switch "
                    "sends a frame back, so it receives none")
    return _Ends(found[0].port, (found[1].port,), *found)


def _address(interface: DeviceInterface | None, headers: DataHeaders) -> str:
    if interface is not None:
        return interface.address
    return "0.0.0.0" if headers.ip_version == 4 else "::"


def _resolve(headers: DataHeaders, ends: _Ends) -> tuple[str, str]:
    """Destination MAC and, when it cannot be had, why: as the device's own address resolution would find it."""
    if headers.destination_mac is not None or ends.source is None or ends.destination is None:
        return headers.destination_mac or ANY_MAC, ""
    if ends.source.reaches_directly(ends.destination):
        return ends.destination.mac, ""
    if ends.source.gateway_mac:
        return ends.source.gateway_mac, ""
    return ANY_MAC, f"gateway {ends.source.gateway} of {ends.source.name!r} is not resolved: no frame can be sent"


def read_rate(rate: Fields) -> Rate:
    """The rate; by default 1000 frames a second."""
    unit = rate.choice(tuple(DEFAULT_RATE), "pps")
    if not unit:
        return Rate("pps", Fraction(1000))
    if unit == "percentage":
        value = rate.number(unit, 100, 0, 100)
    else:
        value = Fraction(rate.integer(unit, DEFAULT_RATE[unit], SMALLEST_RATE.get(unit, 1), 10**18))
    if value == 0:
        rate.error(unit, "0: not modelled; a flow that sends nothing need not be configured")
    rate.done()
    return Rate(unit, value)


@dataclass(frozen=True)
class _Metrics:
    """What is wanted of a flow's metrics; `latency` as of the data plane's flow."""

    enable: bool
    loss: bool
    latency: str | None


def _read_metrics(metrics: Fields, has_latency: bool) -> _Metrics:
    """`has_latency`: there may be one, since frames of this kind are forwarded."""
    enable, loss = (metrics.boolean(name, False) for name in ("enable", "loss"))
    if metrics.boolean("timestamps", False):
        metrics.error("timestamps", "true: not modelled; first and last arrivals are not kept")
    latency = metrics.child("latency")
    is_wanted = latency.boolean("enable", False)
    if is_wanted and not has_latency:
        latency.error("enable", "true: not modelled for pause frames, which no switch forwards")
    mode = latency.one_of("mode", tuple(LATENCY_FROM), "store_forward")
    latency.done()
    metrics.done("predefined_metric_tags", "rx_tx_ratio")
    return _Metrics(enable, loss, LATENCY_FROM.get(mode) if is_wanted else None)
