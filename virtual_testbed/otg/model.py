"""An OTG configuration, read from plain JSON data and translated into the data plane's terms.

Everything that is not modelled is refused by its path; nothing is silently left out. All errors are collected, so that
one answer names them all. OTG's defaults are applied here (those of OTG's model 1.62).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pfctest.timing import MAX_QUANTA, pause_time_ps
from virtual_testbed.dataplane.model.traffic import GeneratorPort, EmulatedHost
from virtual_testbed.otg.devices import Devices, Fabric, read_devices, resolve
from virtual_testbed.otg.errors import OtgError
from virtual_testbed.otg.fields import Fields, Report, listed
from virtual_testbed.otg.flows import FlowEndpoints, FlowSetup, read_flow
from virtual_testbed.otg.stations import learned_stations, station_warnings, unreachable_warnings

SPEEDS_MBPS = {"speed_10_fd_mbps": 10, "speed_10_hd_mbps": 10, "speed_100_fd_mbps": 100, "speed_100_hd_mbps": 100,
               **{f"speed_{gbps}_gbps": gbps * 1000 for gbps in (1, 10, 25, 40, 50, 100, 200, 400, 800)}}
UNMODELLED = ("lags", "events", "lldp", "stateful_flows", "egress_only_tracking")
PRIORITIES = range(8)
CAPTURED_FRAMES = 16384  # that a capture holds of each port


@dataclass(frozen=True)
class CaptureSetup:
    """OTG capture: which port names, in which file format, how much of each frame (`snap_bytes` None: all)."""

    name: str
    ports: tuple[str, ...]
    format: str
    snap_bytes: int | None


@dataclass(frozen=True)
class Model:
    """A whole configuration.

    Attributes:
        devices: as configured; gateways are resolved when somebody needs to know.
        auto_start: devices resolve their gateways without a protocol start.
        warnings: what is accepted but may not be as the sender thinks.
        stations: who is taken to be behind a port because flows are sent there.
    """

    ports: tuple[GeneratorPort, ...] = ()
    speeds: Mapping[str, int] = field(default_factory=dict)
    captures: tuple[CaptureSetup, ...] = ()
    devices: Devices = Devices()
    flows: tuple[FlowSetup, ...] = ()
    auto_start: bool = True
    warnings: tuple[str, ...] = ()
    stations: tuple[EmulatedHost, ...] = ()

    def interfaces(self, fabric: Fabric) -> Devices:
        """The devices with their gateways resolved as of now."""
        return resolve(self.devices, {port.name: port for port in self.ports}, fabric)

    def endpoints(self, fabric: Fabric) -> FlowEndpoints:
        """What a flow of this configuration may refer to, as of now."""
        return FlowEndpoints({port.name: port for port in self.ports}, self.speeds, self.interfaces(fabric).by_name())


def read_config(body: Any, fabric: Fabric) -> Model:
    """Reads the body of `set_config`.

    Args:
        body: the JSON data.
        fabric: the testbed's generator ports and its switches' answers to address resolution.

    Raises:
        OtgError: with every error found.
    """
    report = Report()
    config = Fields(body, "", report)
    ports = {port.name: port for port in (_read_port(fields, fabric) for fields in config.items("ports"))}
    _unique_locations(ports.values(), report)
    speeds = {name: fabric.speeds.get(port.location, 0) for name, port in ports.items()}
    ports, speeds = _read_layer1(config, ports, speeds)
    captures = _read_captures(config, ports)
    devices = read_devices(config, ports)
    auto_start = _read_options(config.child("options"))
    resolved = devices if report.errors else resolve(devices, ports, fabric)
    endpoints = FlowEndpoints(ports, speeds, resolved.by_name())
    flows = [read_flow(fields, endpoints) for fields in config.items("flows")]
    config.done(*UNMODELLED)
    _unique_names(body, report)
    if report.errors:
        raise OtgError(report.errors)
    whole = tuple(flow for flow in flows if flow is not None)
    stations = learned_stations(whole, devices.hosts, fabric)
    report.warnings += [*station_warnings(stations), *unreachable_warnings(whole, (*stations, *devices.hosts), fabric)]
    return Model(tuple(ports.values()), speeds, captures, devices, whole, auto_start, tuple(report.warnings), stations)


def read_flows(flows: Any, path: str, endpoints: FlowEndpoints) -> tuple[tuple[FlowSetup, ...], list[str]]:
    """Reads further flows against a configuration that stands.

    Args:
        flows: the JSON list.
        path: where it stands in the request.
        endpoints: what the flows may refer to.

    Returns:
        The flows, and warnings.

    Raises:
        OtgError: with every error found.
    """
    report = Report()
    found = [read_flow(fields, endpoints) for fields in Fields({path: flows}, "", report).items(path)]
    if report.errors:
        raise OtgError(report.errors)
    return tuple(flow for flow in found if flow is not None), report.warnings


def _read_port(port: Fields, fabric: Fabric) -> GeneratorPort:
    name = port.text("name")
    location = port.text("location")
    port.done()
    if location and location not in fabric.speeds:
        port.error("location",
                   f"{location!r} is not a generator port of this testbed; they are {listed(fabric.speeds)}")
    return GeneratorPort(name, location)


def _unique_locations(ports: Iterable[GeneratorPort], report: Report) -> None:
    for location, times in Counter(port.location for port in ports if port.location).items():
        if times > 1:
            report.errors.append(f"ports: {times} ports have the location {location}")


def _read_layer1(config: Fields, ports: dict[str, GeneratorPort],
                 speeds: dict[str, int]) -> tuple[dict[str, GeneratorPort], dict[str, int]]:
    """The ports with speed and flow control, and their line rates."""
    ports, speeds = dict(ports), dict(speeds)
    seen: set[str] = set()
    for layer1 in config.items("layer1"):
        layer1.text("name")
        targets = _port_names(layer1, ports, seen, "layer1")
        speed = SPEEDS_MBPS.get(layer1.one_of("speed", tuple(SPEEDS_MBPS), "-"), 0)
        _read_media(layer1)
        queues, honours_global_pause, delay_quanta = _read_flow_control(layer1)
        layer1.done()
        for name in targets:
            if speed and speeds[name] and speed != speeds[name]:
                layer1.warn("speed", f"{speed} Mb/s, but the link of port {name!r} has {speeds[name]} Mb/s: "
                            "it stays down")
            speeds[name] = speed or speeds[name]
            response_ps = pause_time_ps(delay_quanta, speeds[name]) if speeds[name] else 0
            ports[name] = GeneratorPort(name, ports[name].location, speed, queues, honours_global_pause, response_ps)
    return ports, speeds


def _port_names(owner: Fields, ports: Mapping[str, GeneratorPort], seen: set[str], kind: str) -> list[str]:
    """The known ones of `port_names`; unknown ones and those that another of its kind has are errors."""
    names = owner.names("port_names", required=True)
    for name in names:
        if name not in ports:
            owner.error("port_names", f"no port is named {name!r}; ports are {listed(ports)}")
        elif name in seen:
            owner.error("port_names", f"port {name!r} is in {kind} twice")
        seen.add(name)
    return [name for name in names if name in ports]


def _read_media(layer1: Fields) -> None:
    """Fields that change nothing on a simulated link."""
    layer1.one_of("media", ("copper", "fiber", "sgmii"), "fiber")
    layer1.boolean("ieee_media_defaults", True)
    layer1.boolean("auto_negotiate", True)
    negotiation = layer1.child("auto_negotiation")
    for name in ("advertise_1000_mbps", "advertise_100_fd_mbps", "advertise_100_hd_mbps", "advertise_10_fd_mbps",
                 "advertise_10_hd_mbps", "link_training", "rs_fec"):
        negotiation.boolean(name, False)
    negotiation.done()
    if layer1.integer("mtu", 1500, 64, 14000) != 1500:
        layer1.warn("mtu", "ignored, a generator port receives frames of any size")
    if not layer1.boolean("promiscuous", True):
        layer1.warn("promiscuous", "ignored, a generator port receives every frame that arrives")


def _read_flow_control(layer1: Fields) -> tuple[tuple[tuple[int, int], ...], bool, int]:
    """The queue that each received pause class stops, whether 802.3x pauses count, and the response time in quanta.

    Absent: no pause is honoured. OTG gives `pfc_delay` no unit; it is IxOS's `pfcResponseDelayQuanta`.
    """
    control = layer1.child("flow_control")
    if not layer1.has("flow_control"):
        return (), False, 0
    control.mac("directed_address", "01:80:c2:00:00:01")
    choice = control.choice(("ieee_802_1qbb", "ieee_802_3x"), "ieee_802_1qbb")
    branch = control.child(choice) if choice else Fields({}, "", Report())
    queues: list[tuple[int, int]] = []
    delay_quanta = 0
    if choice == "ieee_802_1qbb":
        delay_quanta = branch.integer("pfc_delay", 0, 0, MAX_QUANTA)
        present = [priority for priority in PRIORITIES if branch.has(f"pfc_class_{priority}")]
        queues = [(priority, branch.integer(f"pfc_class_{priority}", priority, 0, 7))
                  for priority in PRIORITIES if priority in present or not present]
        for priority in PRIORITIES:
            branch.take(f"pfc_class_{priority}")
    branch.done()
    control.done()
    return tuple(queues), choice == "ieee_802_3x", delay_quanta


def _read_captures(config: Fields, ports: Mapping[str, GeneratorPort]) -> tuple[CaptureSetup, ...]:
    seen: set[str] = set()
    found = []
    for capture in config.items("captures"):
        name = capture.text("name")
        targets = _port_names(capture, ports, seen, "captures")
        snap = capture.integer("packet_size", 0, 0, 65535) or None
        file_format = capture.one_of("format", ("pcap", "pcapng"), "pcap")
        if capture.boolean("overwrite", True):
            capture.warn("overwrite", f"true, but a capture keeps the first {CAPTURED_FRAMES} frames of a port, "
                         "not the last ones")
        capture.done("filters")
        found.append(CaptureSetup(name, tuple(targets), file_format, snap))
    return tuple(found)


def _read_options(options: Fields) -> bool:
    """`protocol_options.auto_start_all`."""
    port_options = options.child("port_options")
    port_options.boolean("location_preemption", False)  # nobody else can own a port of this testbed
    if port_options.boolean("data_integrity", False):
        port_options.error("data_integrity", "true: not modelled")
    port_options.done()
    protocol_options = options.child("protocol_options")
    auto_start = protocol_options.boolean("auto_start_all", True)
    protocol_options.done()
    options.done("per_port_options", "flow_options")
    return auto_start


def object_names(body: Any) -> Iterable[tuple[str, str]]:
    """Path and name of every named object of a configuration (OTG: names are unique over all kinds)."""
    for kind in ("ports", "layer1", "captures", "devices", "flows"):
        yield from _named(body.get(kind), kind)


def _named(objects: Any, path: str) -> Iterable[tuple[str, str]]:
    for index, entry in enumerate(objects if isinstance(objects, list) else ()):
        if not isinstance(entry, dict):
            continue
        here = f"{path}[{index}]"
        if isinstance(entry.get("name"), str):
            yield f"{here}.name", entry["name"]
        for kind in ("ethernets", "ipv4_addresses", "ipv6_addresses"):
            yield from _named(entry.get(kind), f"{here}.{kind}")


def _unique_names(body: Any, report: Report) -> None:
    first: dict[str, str] = {}
    for path, name in object_names(body) if isinstance(body, dict) else ():
        if name in first:
            report.errors.append(f"{path}: {name!r} is already the name of {first[name].removesuffix('.name')}")
        first.setdefault(name, path)
