"""Paths of flows through the switches: worked out when something changes, so that a frame only follows them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from virtual_testbed.dataplane.forwarding import SwitchHop, PortName, Topology
from virtual_testbed.dataplane.model.flow import FlowState, Lane
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.hooks import FrameTraits, Hooks
from virtual_testbed.dataplane.model.port import Path, SwitchPort
from virtual_testbed.dataplane.model.switch import Switch
from virtual_testbed.dataplane.model.traffic import EmulatedHost
from virtual_testbed.dataplane.model.units import frame_time_ps


class Paths:
    """Finds the path of every lane.

    Args:
        switches: all switches by name.
        hooks: the faults.

    Attributes:
        by_dscp: frames with different DSCP have paths of their own, as a capture needs to tell them apart. Where a
            fault drops every n-th frame they always have: what is dropped does not depend on who looks.
    """

    def __init__(self, switches: Mapping[str, Switch], hooks: Hooks) -> None:
        self._switches = switches
        self._hooks = hooks
        self._topology = Topology((), {}, ())
        self.by_dscp = False

    def know(self, cables: Sequence[tuple[PortName, PortName]], sides: Mapping[str, GeneratorSide],
             hosts: Sequence[EmulatedHost]) -> None:
        """Take cables between switches, generator ports by name, and hosts."""
        attached = {name: (side.switch_port.switch.name, side.switch_port.name)
                    for name, side in sides.items() if side.switch_port is not None}
        self._topology = Topology(tuple(cables), attached, tuple(hosts))

    def resolve(self, flow: FlowState, side: GeneratorSide) -> None:
        """Find the paths of a flow's lanes anew."""
        port = side.switch_port
        configs = {name: switch.config for name, switch in self._switches.items()}
        for lane in flow.kinds:
            path = None
            if port is not None:  # also while the link is down: earlier frames may be further on
                hops = self._topology.route(configs, flow.spec, lane.frame_bytes, (port.switch.name, port.name),
                                            self._is_up)
                path = self._chain(flow, lane, hops)
            lane.path = path if side.is_up else None

    def _is_up(self, switch: str, port: str) -> bool:
        return self._switches[switch].ports[port].is_up

    def _chain(self, flow: FlowState, lane: Lane, hops: Sequence[SwitchHop]) -> Path | None:
        following: Path | None = None
        for hop in reversed(hops):
            path = self._path(flow, lane, hop)
            path.onward = following
            following = path
        return following

    def _path(self, flow: FlowState, lane: Lane, hop: SwitchHop) -> Path:
        """The flow's path with these properties, made if it is new."""
        switch = self._switches[hop.switch]
        port = switch.ports[hop.in_port]
        out = switch.ports[hop.out_port] if hop.out_port else None
        trusted = port.config.dot1p_to_tc
        traffic_class = trusted[flow.spec.vlan_priority if flow.spec.vlan_id is not None else 0] if trusted \
            else port.config.dscp_to_tc[lane.dscp]
        version = 6 if ":" in flow.spec.destination_address else 4
        traits = FrameTraits(lane.frame_bytes, lane.dscp, version, flow.spec.ecn)
        traffic_class = self._hooks.ask(port.place, traffic_class, traffic_class,
                                        lambda fault, found: fault.classified(traits, found))
        group = port.pgs[port.config.tc_to_pg[traffic_class]]
        queue = out.queues[out.config.tc_to_queue[traffic_class]] if out is not None else None
        one_in = 0
        if hop.blocked is None and out is not None and queue is not None:
            one_in = self._drop_one_in(out, queue.number, group.is_lossless, lane.frame_bytes)
        first = flow.lanes.index(lane)
        for path in flow.paths:
            if path.frame_bytes != lane.frame_bytes:  # first, as a flow may have thousands of sizes
                continue
            if (path.in_port, path.out, path.blocked, path.pg, path.queue) == (
                    port, out, hop.blocked, group, queue) and (
                        not (self.by_dscp or one_in) or path.number == first):
                break
        else:
            path = Path(flow.index, lane.frame_bytes, port, pg=group, out=out, queue=queue, blocked=hop.blocked,
                        number=first, cycle=len(flow.lanes), wants_latency=flow.wants_latency)
            flow.paths.append(path)
            path.in_port.paths.append(path)
            if out is not None:
                out.leaving.append(path)
        path.macs = hop.source_mac, hop.destination_mac
        cell = switch.config.cell_bytes
        path.size = -(-lane.frame_bytes // cell) * cell
        path.drop_one_in = one_in
        if hop.blocked is None and out is not None and queue is not None:
            path.tx_time_ps = frame_time_ps(lane.frame_bytes, out.config.speed_mbps)
            path.copies.change(self._copies_leave_by(out, queue.number), path.tx)
        return path

    def _copies_leave_by(self, out: SwitchPort, queue: int) -> dict[str, int]:
        """Ports that are up by which copies leave -> of how many frames one."""
        none: Mapping[str, int] = {}
        found = self._hooks.ask(
            out.place, queue, none, lambda fault, ports: fault.copies_leave_by(out.name, queue, ports))
        ports = out.switch.ports
        return {name: one_in for name, one_in in found.items() if name in ports and ports[name].is_up}

    def _drop_one_in(self, out: SwitchPort, queue: int, lossless: bool, frame_bytes: int) -> int:
        """Every how many frames of one size that leave by a queue of a port one is dropped; 0: none."""
        one_in = self._hooks.ask(out.place, queue, 0, lambda fault, frames: fault.drop_one_in(queue, lossless, frames))
        return self._hooks.ask(
            out.place, queue, one_in, lambda fault, frames: fault.drop_one_of_size(queue, frame_bytes, frames))
