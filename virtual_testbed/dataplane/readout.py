"""Counters as of an instant, from what the parts of the data plane hold."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from virtual_testbed.dataplane.control import ERROR, GLOBAL_PAUSE
from virtual_testbed.dataplane.counters import (FlowCounters, GeneratorCounters, PgCounters, PortCounters,
                                                QueueCounters, SwitchCounters)
from virtual_testbed.dataplane.flow import FlowState
from virtual_testbed.dataplane.generator import GeneratorSide
from virtual_testbed.dataplane.pause import DATA_BYTES, DATA_FRAMES, DROPPED
from virtual_testbed.dataplane.port import Path, SwitchPort
from virtual_testbed.dataplane.storm import Storm
from virtual_testbed.dataplane.switch import Switch

PS_PER_US = 10**6


def delivered(path: Path, now_ps: int) -> int:
    """Frames of a path that have reached the generator port at its end."""
    if path.out is None or path.onward is not None:
        return 0
    return path.tx - path.lost - path.out.in_flight(now_ps).get(path, 0)


def flow_counters(flow: FlowState | Storm, ports: Mapping[str, GeneratorSide], now_ps: int) -> FlowCounters:
    """Counters of a flow; `ports` are the generator ports by name."""
    held = frozenset[int]() if isinstance(flow, Storm) else _holders(flow, ports[flow.spec.tx_port])
    sent, received, bytes_sent, bytes_received = _counts(flow, ports, now_ps)
    return FlowCounters(sent - flow.sent_cleared, received - flow.received_cleared,
                        bytes_sent - flow.bytes_sent_cleared, bytes_received - flow.bytes_received_cleared,
                        flow.transmit_state(now_ps), held)


def clear_flow(flow: FlowState | Storm, ports: Mapping[str, GeneratorSide], now_ps: int) -> None:
    """Count a flow from 0 again."""
    (flow.sent_cleared, flow.received_cleared, flow.bytes_sent_cleared,
     flow.bytes_received_cleared) = _counts(flow, ports, now_ps)


def _counts(flow: FlowState | Storm, ports: Mapping[str, GeneratorSide], now_ps: int) -> tuple[int, int, int, int]:
    """Frames and bytes, sent and received."""
    sides = {id(ports[name]): ports[name] for name in flow.spec.rx_ports}
    if isinstance(flow, Storm):
        sent = flow.sent(now_ps)
        received = sum(flooded(flow, ports[flow.spec.tx_port], side) for side in sides.values())
        return sent, received, sent * flow.frame_bytes, received * flow.frame_bytes
    wanted = {id(side.switch_port) for side in sides.values()}
    found = [(delivered(path, now_ps), path.frame_bytes) for path in flow.paths if id(path.out) in wanted]
    return (flow.frames_sent(now_ps), sum(n for n, _ in found), flow.bytes_sent(now_ps),
            sum(n * size for n, size in found))


def flooded(storm: Storm, source: GeneratorSide, side: GeneratorSide) -> int:
    """Frames of a storm that a faulty switch has forwarded from its port `source` to another generator port.

    They count there when they reach the switch, and do nothing else.
    """
    port, target = source.switch_port, side.switch_port
    if port is None or target is None or target is port or target.switch is not port.switch or not target.is_up:
        return 0
    forwards = port.switch.hooks.ask(port.place, None, False, lambda fault, does: fault.forwards_control(does))
    return storm.item.arrived if forwards else 0


def _holders(flow: FlowState, side: GeneratorSide) -> frozenset[int]:
    mapping = side.spec.pfc_queues if side.spec else ()
    return frozenset(priority for priority, queue in mapping
                     if queue == flow.spec.queue and side.receiver.is_paused(priority))


def generator_counters(side: GeneratorSide, flows: Iterable[FlowState | Storm], ports: Mapping[str, GeneratorSide],
                       now_ps: int) -> GeneratorCounters:
    """Counters of a generator port; `ports` are all of them by name."""
    everything = list(flows)
    storms = [flow for flow in everything if isinstance(flow, Storm)]
    data = [flow for flow in everything if not isinstance(flow, Storm)]
    sent = [(flow.frames_sent(now_ps), flow.bytes_sent(now_ps)) for flow in data if flow.side is side]
    sent += [(storm.sent(now_ps), storm.sent(now_ps) * storm.frame_bytes)
             for storm in storms if storm.line is side.line]
    received = [(delivered(path, now_ps), path.frame_bytes) for flow in data for path in flow.paths
                if path.out is not None and path.out is side.switch_port]
    received += [(flooded(storm, ports[storm.spec.tx_port], side), storm.frame_bytes) for storm in storms]
    pfc = tuple(count - cleared for count, cleared in zip(side.receiver.counts, side.received_cleared))
    return GeneratorCounters(sum(n for n, _ in sent), sum(n for n, _ in received), sum(size for _, size in sent),
                             sum(n * size for n, size in received), side.is_up, side.speed_mbps, pfc)


def clear_generator(side: GeneratorSide, now_ps: int) -> None:
    """Count a generator port from 0 again (its flows are new)."""
    side.received_cleared = list(side.receiver.counts)


class _Sums:
    """Frame and byte sums by place."""

    def __init__(self) -> None:
        self.frames: dict[tuple[object, str], int] = {}
        self.bytes: dict[tuple[object, str], int] = {}

    def add(self, place: object, what: str, frames: int, frame_bytes: int) -> None:
        if frames:
            key = place, what
            self.frames[key] = self.frames.get(key, 0) + frames
            self.bytes[key] = self.bytes.get(key, 0) + frames * frame_bytes

    def get(self, place: object, what: str) -> tuple[int, int]:
        return self.frames.get((place, what), 0), self.bytes.get((place, what), 0)


def switch_counters(switch: Switch, now_ps: int) -> SwitchCounters:
    """Counters of a switch."""
    sums = _Sums()
    drops: dict[tuple[str, str], int] = {}
    for path in switch.paths:
        _add_path(sums, drops, path)
    ports = {name: _port_counters(port, sums, now_ps) for name, port in switch.ports.items()}
    queues = {(name, queue.number): QueueCounters(
        *sums.get(queue, "tx"), *sums.get(queue, "drops"), queue.reserved + queue.shared, queue.peak,
        max(queue.peak, queue.bound))
        for name, port in switch.ports.items() for queue in port.queues}
    groups = {(name, group.number): PgCounters(
        *sums.get(group, "rx"), sums.get(group, "drops")[0], group.held, group.peak, group.headroom_peak,
        max(group.peak, group.bound))
        for name, port in switch.ports.items() for group in port.pgs}
    watched = {key: watch.state() for key, watch in switch.watchdog.watches.items() if watch.config or watch.detected}
    return SwitchCounters(ports, queues, groups, watched, drops)


def _add_path(sums: _Sums, drops: dict[tuple[str, str], int], path: Path) -> None:
    size, in_port = path.frame_bytes, path.in_port
    sums.add(in_port, "rx", path.rx, size)
    sums.add(in_port, "rx drops", path.rx_side_drops, size)
    sums.add(path.pg, "rx", path.rx - path.rx_side_drops - path.tx_side_drops + path.flushed, size)
    sums.add(path.pg, "drops", path.pg_drops + path.watchdog_rx_drops, size)
    if path.out is not None and path.queue is not None:
        for place in (path.out, path.queue):
            sums.add(place, "tx", path.tx, size)
            sums.add(place, "drops", path.tx_side_drops, size)
    reasons = {path.blocked or "": path.blocked_drops, "queue full": path.tail_drops,
               "priority group full": path.pg_drops,
               "watchdog, egress": path.watchdog_tx_drops, "watchdog, ingress": path.watchdog_rx_drops,
               "fault": path.fault_drops, "queue discarded": path.flushed}
    for reason, frames in reasons.items():
        if frames:
            key = in_port.name, reason
            drops[key] = drops.get(key, 0) + frames


def _port_counters(port: SwitchPort, sums: _Sums, now_ps: int) -> PortCounters:
    receiver = port.receiver
    rx_packets, rx_bytes = sums.get(port, "rx")
    tx_packets, tx_bytes = sums.get(port, "tx")
    return PortCounters(
        rx_packets + receiver.kinds[DATA_FRAMES], rx_bytes + receiver.kinds[DATA_BYTES], receiver.kinds[ERROR],
        sums.get(port, "rx drops")[0] + receiver.kinds[DROPPED], tx_packets, tx_bytes, 0, sums.get(port, "drops")[0],
        tuple(receiver.counts),
        tuple(port.sender.count(priority, now_ps) for priority in range(8)),
        receiver.kinds[GLOBAL_PAUSE], port.is_up, tuple(receiver.on2off),
        tuple(receiver.duration_ps(priority, now_ps) // PS_PER_US for priority in range(8)))
