"""Ports that exchange frames, directly or over others, are one component; what others do reaches it through the levels
of shared pools alone.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from virtual_testbed.dataplane.compiled import Compiled
from virtual_testbed.dataplane.fast_forward.buffer_levels import fits, is_congested, rises
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.fast_forward.skip import Skip
from virtual_testbed.dataplane.model.buffer import BufferPool, PriorityGroup, Share
from virtual_testbed.dataplane.model.events import EventLoop, Strand
from virtual_testbed.dataplane.model.flow import Lane
from virtual_testbed.dataplane.model.generator import GeneratorSide
from virtual_testbed.dataplane.model.port import Path, SwitchPort, paths_through
from virtual_testbed.dataplane.model.units import WIRE_OVERHEAD_BYTES


class Component:
    """See the module.

    Attributes:
        skip, strand: how it is advanced, and its own events.
    """

    def __init__(self, sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], loop: EventLoop,
                 ledger: Ledger, compiled: Compiled) -> None:
        self.sides = sides
        self.ports = ports
        self._ledger = ledger
        self.skip = Skip(loop, ledger, compiled)
        self.skip.watch(sides, ports)
        self.strand = Strand(self.skip)

    @cached_property
    def pools(self) -> set[BufferPool]:
        """Pools that its groups and queues use."""
        return {share.pool for port in self.ports for share in (*port.pgs, *port.queues)}

    @cached_property
    def _uses(self) -> Counter[BufferPool]:
        """How often a frame is charged to a pool: on the way in, on the way out."""
        return Counter([*{group.pool for port in self.ports for group in port.pgs},
                        *{queue.pool for port in self.ports for queue in port.queues}])

    @cached_property
    def _paths(self) -> dict[SwitchPort, list[Path]]:
        """Paths by the port where they come in."""
        found: dict[SwitchPort, list[Path]] = {port: [] for port in self.ports}
        for path in paths_through(self.ports):
            found[path.in_port].append(path)
        return found

    def rises(self, pools: Iterable[BufferPool], now_ps: int, until_ps: int) -> dict[BufferPool, int]:
        """Most bytes of some pools that it uses up to then beyond those that it uses now."""
        inflow = self._inflow(self.ports, until_ps - now_ps)
        steady_state = self.skip.steady_state
        most = {pool: inflow * self._uses[pool] for pool in pools}
        if steady_state is None or until_ps > steady_state.end_ps:
            return most
        found = rises(steady_state.uses, until_ps)
        return {pool: min(most[pool], found.get(pool, 0)) for pool in pools}

    def is_quiet(self, until_ps: int) -> bool:
        """Whether nothing happens on its strand, which is being advanced, up to then."""
        return not self.strand.awake and not (self.strand.heap and self.strand.heap[0][0] <= until_ps)

    def fits(self, until_ps: int) -> bool:
        """Whether it is steady and stays so up to then when pools are as full as the ledger's ceilings."""
        steady_state = self.skip.steady_state
        return steady_state is not None and until_ps <= steady_state.end_ps and fits(
            steady_state.uses, until_ps, self._ledger)

    def is_free(self, pools: Iterable[BufferPool], now_ps: int, until_ps: int) -> bool:
        """Whether nothing that others do to these pools, up to the ledger's ceilings, can matter here up to then."""
        if self.fits(until_ps):
            return True
        shared = set(pools)
        span_ps = until_ps - now_ps
        inflow = self._inflow(self.ports, span_ps)
        for port in self.ports:
            own = self._inflow((port,), span_ps)
            if not all(self._is_group_free(group, self._paths[port], own, until_ps)
                       for group in port.pgs if group.pool in shared):
                return False
            queues = (queue for queue in port.queues if queue.pool in shared)
            if not all(self._stays_below(queue, queue.shared + inflow) for queue in queues):
                return False
        return True

    def _inflow(self, ports: Iterable[SwitchPort], span_ps: int) -> int:
        """Bytes, in whole cells, that may come in by some of its ports in a time, whatever is sent."""
        return sum(_most_bytes(self._frames[port], span_ps) for port in ports)

    @cached_property
    def _frames(self) -> dict[SwitchPort, list[tuple[int, int]]]:
        """The frames that come in by each port: bytes that one is charged with, and the time that it takes; each kind
        once."""
        return {port: sorted({(path.size, (path.frame_bytes + WIRE_OVERHEAD_BYTES) * port.line.ps_per_byte)
                              for path in paths}) for port, paths in self._paths.items()}

    def marks(self) -> object:
        """What changes when a threshold is reached that a steady state says is not."""
        return ([path.tail_drops + path.pg_drops for paths in self._paths.values() for path in paths],
                [(group.xoff, group.headroom) for port in self.ports for group in port.pgs],
                [self._ledger.decided_ps(port.line) for port in self.ports])

    def _is_group_free(self, group: PriorityGroup, paths: Sequence[Path], inflow: int, until_ps: int) -> bool:
        """`paths`: those that come in by the group's port, `inflow` the most that they bring up to then."""
        if group.static_limit is not None and not group.pool.headroom_size:
            return True
        if not is_congested(group):
            return self._stays_below(group, group.shared + inflow)
        # It sends XON at a level that others do not move, and until then nothing comes: its senders are paused.
        return (not group.headroom and not group.xon_offset and self._stays_below(group, group.xon + inflow)
                and all(_is_held(path, until_ps) for path in paths if path.pg is group))

    def _stays_below(self, share: Share, shared: int) -> bool:
        """No limit is reached when it holds so many shared bytes."""
        return shared <= share.limit_at(self._ledger.used_at_most(share.pool, 0))


def _most_bytes(frames: Sequence[tuple[int, int]], span_ps: int) -> int:
    if not frames:
        return 0
    return max(span_ps * size // tx_ps + 1 for size, tx_ps in frames) + max(size for size, _ in frames)


def _is_held(path: Path, until_ps: int) -> bool:
    """No frame of a path comes up to then: none is under way, and its flows are paused by this group alone."""
    port = path.in_port
    side = path.in_port.peer
    if not isinstance(side, GeneratorSide) or any(
            isinstance(frame, Lane) and frame.path is path for _, frame in side.line.flight):
        return False
    if port.line.controls or port.line.flight or side.receiver.responding:
        return False  # an XON may be among them
    if not port.ties.are_none:
        return False  # others may send XON here, or its own XOFF goes elsewhere
    others = {priority for number, told in enumerate(port.told_priorities) if number != path.pg.number
              for priority in told}
    own = [priority for priority in port.told_priorities[path.pg.number] if priority not in others]
    flows = [flow for flow in side.flows if path in flow.paths]
    return all(_paused_until(side, flow.queue_bit, own) >= until_ps for flow in flows)


def _paused_until(side: GeneratorSide, queue_bit: int, priorities: Sequence[int]) -> int:
    """When the pause of a queue of a generator port ends unless a pause frame comes."""
    receiver = side.receiver
    return max((receiver.until_ps[priority] for priority in priorities
                if receiver.since_ps[priority] is not None and receiver.shuts[priority] & queue_bit), default=0)


def components(sides: Sequence[GeneratorSide], ports: Sequence[SwitchPort], paths: Iterable[Path]
               ) -> list[tuple[list[GeneratorSide], list[SwitchPort]]]:
    """Generator ports and switch ports by component; `paths` are all that frames take."""
    above: dict[SwitchPort, SwitchPort] = {port: port for port in ports}

    def top(port: SwitchPort) -> SwitchPort:
        while above[port] is not port:
            port = above[port]
        return port

    def join(a: SwitchPort | None, b: object) -> None:
        if isinstance(b, SwitchPort) and a in above and b in above:
            above[top(b)] = top(a)
    for port in ports:
        join(port, port.peer)
        for other in port.ties.bound:
            join(port, other)
    for path in paths:
        join(path.in_port, path.out)
    found: dict[SwitchPort, tuple[list[GeneratorSide], list[SwitchPort]]] = {}
    for port in ports:
        found.setdefault(top(port), ([], []))[1].append(port)
    for side in sides:
        if side.switch_port is not None:
            found[top(side.switch_port)][0].append(side)
    return list(found.values())
