"""Counters as of an instant, from what the parts of the data plane hold."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set

from virtual_testbed.dataplane.model.buffer import Share
from virtual_testbed.dataplane.model.control_frames import ERROR, GLOBAL_PAUSE
from virtual_testbed.dataplane.model.counters import (PORTS, PRIORITY_GROUPS, QUEUES, FlowCounters, GeneratorCounters,
                                                      PgCounters, PortCounters, QueueCounters, SwitchCounters,
                                                      SwitchStates)
from virtual_testbed.dataplane.model.flow import FlowState, is_complete
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.pause_flow import PauseFlowState
from virtual_testbed.dataplane.model.pause_receiver import (
    DATA_BYTES, DATA_FRAMES, DROPPED, SMALLEST, SMALLEST_BYTES, forwarded_of)
from virtual_testbed.dataplane.model.port import Path, SwitchPort
from virtual_testbed.dataplane.model.switch import Switch
from virtual_testbed.dataplane.model.traffic import LAST_BIT
from virtual_testbed.dataplane.model.units import PS_PER_US


def delivered(path: Path, now_ps: int) -> int:
    """Frames of a path that have reached the generator port at its end."""
    if path.out is None or path.onward is not None:
        return 0
    return path.tx - path.lost - path.out.in_flight(now_ps).get(path, 0)


def copied(path: Path, port: SwitchPort) -> int:
    """Copies of frames of a path that a faulty switch has sent by one of its ports; none counts behind another switch.
    """
    copies = path.copies.get(port.name) if path.out is not None and path.out.switch is port.switch else None
    return copies.count(path.tx) if copies is not None and not port.to_switch else 0


def _copied_to(port: SwitchPort) -> list[tuple[Path, int]]:
    """Paths of which copies were sent by a port, and how many."""
    if not port.switch.hooks.faults:
        return []
    return [(path, copied(path, port)) for other in port.switch.ports.values() for path in other.leaving
            if port.name in path.copies]


def flow_counters(flow: FlowState | PauseFlowState, ports: Mapping[str, GeneratorSide], now_ps: int) -> FlowCounters:
    """Counters of a flow; `ports` are the generator ports by name."""
    held = frozenset[int]() if isinstance(flow, PauseFlowState) else _holders(flow, ports[flow.spec.tx_port])
    sent, received, bytes_sent, bytes_received = _counts(flow, ports, now_ps)
    return FlowCounters(sent - flow.sent_cleared, received - flow.received_cleared,
                        bytes_sent - flow.bytes_sent_cleared, bytes_received - flow.bytes_received_cleared,
                        flow.transmit_state(now_ps), held, _latency_ps(flow, received))


def _latency_ps(flow: FlowState | PauseFlowState, received: int) -> int | None:
    """The sum of the latencies of all frames since the counts were cleared; None: not measured, or not each frame that
    was sent has been received.
    """
    if isinstance(flow, PauseFlowState) or flow.latency_cleared_ps is None or not flow.is_measured:
        return None
    sum_ps = _sum_of_latencies_ps(flow, received)
    return None if sum_ps is None else sum_ps - flow.latency_cleared_ps


def _sum_of_latencies_ps(flow: FlowState, received: int) -> int | None:
    """The same of all frames ever sent: until a frame's first bit reaches the generator, from its first bit or its last
    one on.
    """
    if received != flow.sent or not is_complete(flow):
        return None
    begun_ps = sum(path.arrived_ps - path.tx * path.tx_time_ps for path in flow.paths if path.onward is None)
    sent_ps = flow.sent_ps
    if flow.spec.latency == LAST_BIT:
        sent_ps += sum(lane.launched * lane.tx_time_ps for lane in flow.kinds)
    return begun_ps - sent_ps


def clear_flow(flow: FlowState | PauseFlowState, ports: Mapping[str, GeneratorSide], now_ps: int) -> None:
    """Count a flow from 0 again."""
    (flow.sent_cleared, flow.received_cleared, flow.bytes_sent_cleared,
     flow.bytes_received_cleared) = _counts(flow, ports, now_ps)
    if isinstance(flow, FlowState):
        flow.measure()
        flow.latency_cleared_ps = _sum_of_latencies_ps(flow, flow.received_cleared)


def _counts(flow: FlowState | PauseFlowState, ports: Mapping[str, GeneratorSide],
            now_ps: int) -> tuple[int, int, int, int]:
    """Frames and bytes, sent and received."""
    sides = {id(ports[name]): ports[name] for name in flow.spec.rx_ports}
    if isinstance(flow, PauseFlowState):
        sent = flow.sent(now_ps)
        received = sum(flooded(flow, ports[flow.spec.tx_port], side) for side in sides.values())
        return sent, received, sent * flow.frame_bytes, received * flow.frame_bytes
    wanted = {id(side.switch_port) for side in sides.values()}
    found = [(delivered(path, now_ps), path.frame_bytes) for path in flow.paths if id(path.out) in wanted]
    found += [(copied(path, side.switch_port), path.frame_bytes)
              for path in flow.paths if path.copies for side in sides.values() if side.switch_port is not None]
    return (flow.frames_sent(now_ps), sum(n for n, _ in found), flow.bytes_sent(now_ps),
            sum(n * size for n, size in found))


def flooded(storm: PauseFlowState, source: GeneratorSide, side: GeneratorSide) -> int:
    """Frames of a storm that a faulty switch has forwarded from its port `source` to another generator port.

    They count there when they reach the switch, and do nothing else.
    """
    port = source.switch_port
    target = side.switch_port
    if port is None or target is None or target.switch is not port.switch:
        return 0
    return port.receiver.kinds.get(forwarded_of(storm.item.frame.flow, target.name), 0)


def _holders(flow: FlowState, side: GeneratorSide) -> frozenset[int]:
    mapping = side.spec.pfc_queues if side.spec else ()
    return frozenset(priority for priority, queue in mapping
                     if queue == flow.spec.queue and side.receiver.is_paused(priority))


def generator_counters(side: GeneratorSide, data: Set[int], ports: Collection[GeneratorSide],
                       now_ps: int) -> GeneratorCounters:
    """Counters of a generator port.

    Args:
        data: numbers of all flows of data there are now; frames of others are not counted.
        ports: all generator ports.
    """
    sent = [(flow.frames_sent(now_ps), flow.bytes_sent(now_ps)) for flow in side.flows]
    sent += [(storm.sent(now_ps), storm.sent(now_ps) * storm.frame_bytes) for storm in side.storms]
    received = []
    if side.switch_port is not None:
        received = [(delivered(path, now_ps), path.frame_bytes) for path in side.switch_port.leaving
                    if path.flow in data]
        received += [(copies, path.frame_bytes) for path, copies in _copied_to(side.switch_port) if path.flow in data]
        if side.switch_port.switch.hooks.faults:
            received += [(flooded(storm, source, side), storm.frame_bytes)
                         for source in ports for storm in source.storms]
    pfc = tuple(count - cleared for count, cleared in zip(side.receiver.counts, side.received_cleared))
    return GeneratorCounters(sum(n for n, _ in sent), sum(n for n, _ in received), sum(size for _, size in sent),
                             sum(n * size for n, size in received), side.is_up, side.speed_mbps, pfc)


def clear_generator(side: GeneratorSide, now_ps: int) -> None:
    """Count a generator port from 0 again (its flows are new)."""
    side.received_cleared = list(side.receiver.counts)


def switch_states(switch: Switch) -> SwitchStates:
    """States of a switch."""
    watched = {key: watch.state() for key, watch in switch.watchdog.watches.items() if watch.config or watch.detected}
    return SwitchStates({name: port.is_up for name, port in switch.ports.items()}, watched)


def switch_counters(switch: Switch, parts: Collection[str], now_ps: int,
                    bound: Callable[[Share], int]) -> SwitchCounters:
    """Counters of a switch; `bound` is the most that a group or queue may have held."""
    drops: dict[tuple[str, str], int] = {}
    ports: dict[str, PortCounters] = {}
    queues: dict[tuple[str, int], QueueCounters] = {}
    groups: dict[tuple[str, int], PgCounters] = {}
    for name, port in switch.ports.items():
        if PORTS in parts:
            ports[name] = _port_counters(port, now_ps)
            _add_drops(drops, port)
        if QUEUES in parts:
            queues |= {(name, number): found for number, found in enumerate(_queue_counters(port, bound))}
        if PRIORITY_GROUPS in parts:
            groups |= {(name, number): found for number, found in enumerate(_group_counters(port, bound))}
    return SwitchCounters(ports, queues, groups, drops)


def _add_drops(drops: dict[tuple[str, str], int], port: SwitchPort) -> None:
    for path in (*port.paths, *port.past):
        if not (path.rx_side_drops or path.tx_side_drops):
            continue
        reasons = {path.blocked or "": path.blocked_drops, "queue full": path.tail_drops,
                   "priority group full": path.pg_drops,
                   "watchdog, egress": path.watchdog_tx_drops, "watchdog, ingress": path.watchdog_rx_drops,
                   "fault": path.fault_drops, "queue discarded": path.flushed}
        for reason, frames in reasons.items():
            if frames:
                key = port.name, reason
                drops[key] = drops.get(key, 0) + frames


def _port_counters(port: SwitchPort, now_ps: int) -> PortCounters:
    receiver = port.receiver
    rx_packets = receiver.kinds[DATA_FRAMES]
    rx_bytes = receiver.kinds[DATA_BYTES]
    rx_drops = receiver.kinds[DROPPED]
    tx_packets, tx_bytes = port.control_forwarded()
    tx_drops = 0
    rx_smallest = receiver.kinds[SMALLEST]
    for path in (*port.paths, *port.past):
        rx_smallest += path.rx if path.frame_bytes == SMALLEST_BYTES else 0
        rx_packets += path.rx
        rx_bytes += path.rx * path.frame_bytes
        rx_drops += path.rx_side_drops
    for path in port.leaving:
        tx_packets += path.tx
        tx_bytes += path.tx * path.frame_bytes
        tx_drops += path.tx_side_drops
    for path, copies in _copied_to(port):
        tx_packets += copies
        tx_bytes += copies * path.frame_bytes
    return PortCounters(
        rx_packets, rx_bytes, receiver.kinds[ERROR], rx_drops, tx_packets, tx_bytes, 0, tx_drops,
        port.pfc_counts,
        tuple(port.sender.count(priority, now_ps) for priority in range(8)),
        receiver.kinds[GLOBAL_PAUSE], tuple(receiver.on2off),
        tuple(receiver.duration_ps(priority, now_ps) // PS_PER_US for priority in range(8)),
        rx_smallest)


def _queue_counters(port: SwitchPort, bound: Callable[[Share], int]) -> list[QueueCounters]:
    """By queue. Control frames that a faulty switch forwards have no priority of their own: they leave by the queue of
    traffic class 0."""
    sums = [[0, 0, 0, 0] for _ in port.queues]
    sums[port.config.tc_to_queue[0]][:2] = port.control_forwarded()
    for path in port.leaving:
        if path.queue is not None:
            _add(sums[path.queue.number], path.frame_bytes, path.tx, path.tx_side_drops)
    for path, copies in _copied_to(port):
        if path.queue is not None:
            _add(sums[path.queue.number], path.frame_bytes, copies, 0)
    return [QueueCounters(sent, sent_bytes, drops, drop_bytes, queue.reserved + queue.shared, queue.peak,
                          bound(queue), port.receiver.is_paused(queue.number))
            for (sent, sent_bytes, drops, drop_bytes), queue in zip(sums, port.queues)]


def _group_counters(port: SwitchPort, bound: Callable[[Share], int]) -> list[PgCounters]:
    """By priority group."""
    sums = [[0, 0, 0, 0] for _ in port.pgs]
    for path in (*port.paths, *port.past):
        accepted = path.rx - path.rx_side_drops - path.tx_side_drops + path.flushed
        _add(sums[path.pg.number], path.frame_bytes, accepted, path.pg_drops + path.watchdog_rx_drops)
    return [PgCounters(accepted, accepted_bytes, drops, group.held, group.peak, group.headroom_peak,
                       bound(group))
            for (accepted, accepted_bytes, drops, _), group in zip(sums, port.pgs)]


def _add(sums: list[int], frame_bytes: int, frames: int, drops: int) -> None:
    """To frames, their bytes, drops, their bytes."""
    sums[0] += frames
    sums[1] += frames * frame_bytes
    sums[2] += drops
    sums[3] += drops * frame_bytes
