"""A switch: ports that receive, admit, queue, schedule and send; priority groups that push back.

Store and forward: a frame is admitted when its last bit has come, can leave from that instant on, and holds its
buffer until its own last bit has left.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable

from virtual_testbed.dataplane.buffer import UNLIMITED_BYTES, EgressQueue, Pool, PriorityGroup
from virtual_testbed.dataplane.configuration import BufferProfile, PoolConfig, SwitchConfig, SwitchPortConfig
from virtual_testbed.dataplane.events import FRAME_SENT, EventLoop
from virtual_testbed.dataplane.hooks import Hooks
from virtual_testbed.dataplane.pause import PauseReceiver, PauseSender, Peer
from virtual_testbed.dataplane.scheduler import Scheduler
from virtual_testbed.dataplane.units import ps_per_byte
from virtual_testbed.dataplane.watchdog import DROP, FORWARD, FrameCounts, Sample, Watchdog


class ConfigurationError(ValueError):
    """A configuration that the data plane cannot take; `str()` is one sentence."""


class Path:
    """One kind of frame through a switch, with its counts.

    Attributes:
        flow: index of the flow; `frame_bytes` its size with FCS, `size` the same in whole cells.
        pg, out, queue: where it is accounted and leaves; `out` and `queue` are None when `blocked` says why it is
            dropped.
        drop_one_in, drop_phase: a fault drops every n-th frame.
        rx .. lost: frames received, sent, dropped by reason, lost on the wire after being sent.
    """

    COUNTED = ("rx", "tx", "blocked_drops", "tail_drops", "pg_drops", "watchdog_tx_drops", "watchdog_rx_drops",
               "fault_drops")
    __slots__ = ("flow", "frame_bytes", "size", "tx_time_ps", "pg", "out", "queue", "in_port", "blocked", "drop_one_in",
                 "drop_phase", "flushed", "lost", *COUNTED)

    def __init__(self, flow: int, frame_bytes: int, in_port: SwitchPort, blocked: str | None) -> None:
        self.flow, self.frame_bytes, self.in_port, self.blocked = flow, frame_bytes, in_port, blocked
        self.size = frame_bytes
        self.pg: PriorityGroup = in_port.pgs[0]
        self.out: SwitchPort | None = None
        self.queue: EgressQueue[Path] | None = None
        self.tx_time_ps = self.drop_one_in = self.drop_phase = self.flushed = self.lost = 0
        self.rx = self.tx = self.blocked_drops = self.tail_drops = self.pg_drops = self.fault_drops = 0
        self.watchdog_tx_drops = self.watchdog_rx_drops = 0

    @property
    def tx_side_drops(self) -> int:
        """Frames counted as drops of the egress queue."""
        return self.tail_drops + self.watchdog_tx_drops + self.fault_drops + self.flushed

    @property
    def rx_side_drops(self) -> int:
        """Frames counted as drops of the ingress port."""
        return self.blocked_drops + self.pg_drops + self.watchdog_rx_drops

    @property
    def inside(self) -> int:
        """Frames in the switch now."""
        return self.rx - self.tx - self.tx_side_drops - self.rx_side_drops


class SwitchPort:
    """One front-panel port.

    Attributes:
        propagation_ps: time from here to the other end of the cable.
        backlog: mask of queues with frames waiting; `gate` mask of queues shut by received pauses; `leak` queues that
            a fault lets send one frame all the same.
        current: the frame on the line; `flight` the last frames sent as (instant of the last bit, path).
        muted: priorities whose PFC the watchdog has switched off.
    """

    def __init__(self, switch: Switch, config: SwitchPortConfig, index: int) -> None:
        self.switch, self.config, self.index, self.loop = switch, config, index, switch.loop
        self.name = config.name
        self.place = (switch.name, config.name)
        self.pgs = [PriorityGroup(number) for number in range(8)]
        self.queues: list[EgressQueue[Path]] = [EgressQueue(number) for number in range(8)]
        self.scheduler = Scheduler()
        self.receiver = PauseReceiver(config.speed_mbps, self.set_gate, switch.loop)
        self.sender = PauseSender(switch.loop, index)
        self.propagation_ps = 0
        self.is_up = False
        self.backlog = self.gate = self.leak = 0
        self.current: Path | None = None
        self.flight: deque[tuple[int, Path]] = deque()
        self.awake = False
        self.muted: set[int] = set()
        self.pg_priorities: list[list[int]] = [[] for _ in range(8)]
        self.finish = self._finish
        self._leaks: dict[int, Callable[[int], None]] = {}

    def connect(self, peer: Peer, speed_mbps: int, propagation_ps: int) -> None:
        """Plug the cable in."""
        self.propagation_ps = propagation_ps
        self.sender.connect(peer, speed_mbps, propagation_ps)
        self.flight = deque(maxlen=propagation_ps // (84 * ps_per_byte(speed_mbps)) + 2)

    def configure(self, config: SwitchPortConfig, now_ps: int) -> None:
        """Take a configuration; what the port holds stays."""
        self.config = config
        self.receiver.speed_mbps = config.speed_mbps
        for n in range(8):
            self.pgs[n].configure(*self.switch.pool_of(config.priority_groups.get(n), f"{self.name} group {n}"))
            self.queues[n].set_profile(*self.switch.pool_of(config.queues.get(n), f"{self.name} queue {n}"))
        self.scheduler.configure(config.schedulers)
        self.apply_priorities(now_ps)

    def apply_priorities(self, now_ps: int) -> None:
        """Work out which priorities pause what, from configuration, watchdog and faults."""
        hooks, active = self.switch.hooks, self.config.pfc_priorities - self.muted
        shuts = []
        for priority in range(8):
            own = frozenset({self.config.pfc_to_queue[priority]}) if priority in active else frozenset()
            chosen = own if priority in self.muted else hooks.shut_queues(self.place, priority, own)
            shuts.append(sum(1 << queue for queue in chosen))
        self.receiver.configure(shuts, [hooks.counts_pfc(self.place, priority) for priority in range(8)], now_ps)
        allowed = {priority for priority in active if hooks.sends_xoff(self.place, priority)}
        self.pg_priorities = [sorted(p for p in allowed if self.config.tc_to_pg[p] == number) for number in range(8)]
        for priority in range(8):
            if self.sender.since_ps[priority] is not None and priority not in allowed:
                self.sender.abandon(priority, now_ps)
        for group in self.pgs:
            if group.xoff:
                for priority in self.pg_priorities[group.number]:
                    self.sender.xoff(priority, now_ps)

    def receive(self, path: Path, now_ps: int) -> None:
        """A data frame's last bit has come: admit it or drop it."""
        path.rx += 1
        out, queue = path.out, path.queue
        if path.blocked is not None or out is None or queue is None:
            path.blocked_drops += 1
            return
        group, size = path.pg, path.size
        if queue.dropping or group.dropping:
            self._watchdog_drop(path, queue)
            return
        if path.drop_one_in:
            path.drop_phase += 1
            if path.drop_phase == path.drop_one_in:
                path.drop_phase = 0
                path.fault_drops += 1
                return
        if not queue.fits(size):
            path.tail_drops += 1
            return
        verdict = group.take(size)
        if verdict:
            if not group.xoff and group.headroom_size:
                self._xoff(group, now_ps)
            if verdict == 2:
                path.pg_drops += 1
                return
        queue.charge(size)
        queue.push(path)
        out.backlog |= queue.bit
        if out.current is None and not out.awake:
            out.awake = True
            self.loop.awake.append(out)

    def _watchdog_drop(self, path: Path, queue: EgressQueue[Path]) -> None:
        if queue.dropping:
            path.watchdog_tx_drops += 1
        else:
            path.watchdog_rx_drops += 1

    def _xoff(self, group: PriorityGroup, now_ps: int) -> None:
        group.xoff = True
        for priority in self.pg_priorities[group.number]:
            self.sender.xoff(priority, now_ps)

    def release(self, path: Path, now_ps: int) -> None:
        """A frame leaves the buffer: give its cells back, XON if that is due."""
        if path.queue is not None:
            path.queue.release(path.size)
        if path.pg.release(path.size):
            path.pg.xoff = False
            for priority in path.in_port.pg_priorities[path.pg.number]:
                path.in_port.sender.xon(priority, now_ps)

    def pick(self, now_ps: int) -> None:
        """Put the next frame on the line."""
        if self.current is not None:
            return
        eligible = self.backlog & ~(self.gate & ~self.leak)
        if not eligible:
            self.scheduler.forget(0)
            return
        queue = self.queues[self.scheduler.choose(eligible, self.queues)]
        path = queue.pop()
        if not queue.frames:
            self.backlog &= ~queue.bit
        if self.gate & queue.bit:
            self.leak &= ~queue.bit
        self.current = path
        self.loop.push_traffic((now_ps + path.tx_time_ps, FRAME_SENT, self.index, self.finish))

    def _finish(self, now_ps: int) -> None:
        """The last bit of the frame on the line has left."""
        path = self.current
        if path is None:
            return
        self.current = None
        path.tx += 1
        self.flight.append((now_ps, path))
        self.release(path, now_ps)
        if not self.awake:  # also without a backlog: finding nothing to send starts the round anew
            self.awake = True
            self.loop.awake.append(self)

    def set_gate(self, gate: int, now_ps: int) -> None:
        """Shut and open queues."""
        if gate == self.gate:
            return
        opened, shut = self.gate & ~gate, gate & ~self.gate
        self.gate = gate
        self.leak &= gate
        for queue in range(8):
            if shut >> queue & 1:
                self._start_leak(queue, now_ps)
            elif opened >> queue & 1 and queue in self._leaks:
                self.loop.cancel(self._leaks.pop(queue))
        if self.backlog:
            self.loop.wake(self)

    def _start_leak(self, queue: int, now_ps: int) -> None:
        period_ps = self.switch.hooks.leak_period_ps(self.place, queue)
        if not period_ps:
            return

        def leak(then_ps: int) -> None:
            self.leak |= 1 << queue
            self.loop.wake(self)
            self.loop.at(then_ps + period_ps, leak)

        self._leaks[queue] = leak
        self.loop.at(now_ps + period_ps, leak)

    def flush(self, queue: EgressQueue[Path], now_ps: int) -> None:
        """Discard what waits in a queue (not the frame on the line)."""
        while queue.frames:
            path = queue.pop()
            path.flushed += 1
            self.release(path, now_ps)
        self.backlog &= ~queue.bit

    def link_went_down(self, now_ps: int) -> None:
        """Lose the frame on the line and those on the cable, discard the queues, forget every pause."""
        for sent_ps, path in self.flight:
            if sent_ps > now_ps - self.propagation_ps:
                path.lost += 1
        self.flight.clear()
        if self.current is not None:
            self.loop.cancel(self.finish)
            path, self.current = self.current, None
            path.flushed += 1
            self.release(path, now_ps)
        for queue in self.queues:
            self.flush(queue, now_ps)
        self.receiver.end_all(now_ps)
        self.sender.link_went_down(now_ps)

    def link_came_up(self, now_ps: int) -> None:
        """Groups that are still congested pause again."""
        for group in self.pgs:
            if group.xoff:
                for priority in self.pg_priorities[group.number]:
                    self.sender.xoff(priority, now_ps)

    def in_flight(self, now_ps: int) -> dict[Path, int]:
        """Frames sent whose last bit has not reached the other end."""
        found: dict[Path, int] = {}
        for sent_ps, path in self.flight:
            if sent_ps + self.propagation_ps > now_ps:
                found[path] = found.get(path, 0) + 1
        return found

    def sample(self, number: int, now_ps: int) -> Sample:
        """Read a queue for a poll of the watchdog."""
        receiver, queue = self.receiver, self.queues[number]
        packets = sum(path.tx for path in self.switch.paths if path.queue is queue)
        return Sample(now_ps, receiver.count(number, now_ps), receiver.on2off[number], receiver.is_paused(number),
                      packets, queue.reserved + queue.shared, receiver.duration_ps(number, now_ps))

    def frames_through(self, number: int) -> FrameCounts:
        """Frames (sent, dropped) of a queue and (accepted, dropped) of its priority group so far."""
        queue, group = self.queues[number], self.pgs[self.config.tc_to_pg[number]]
        out = [path for path in self.switch.paths if path.queue is queue]
        into = [path for path in self.switch.paths if path.pg is group]
        return (sum(path.tx for path in out), sum(path.tx_side_drops for path in out),
                sum(path.rx - path.rx_side_drops for path in into), sum(path.rx_side_drops for path in into))

    def act_on_storm(self, number: int, action: str, now_ps: int) -> None:
        """Do what the watchdog's `drop` or `forward` does to a queue and its priority (`alert`: nothing)."""
        if action in (DROP, FORWARD):
            self.muted.add(number)
        if action == DROP:
            self._set_dropping(number, True)
            if self.switch.config.asic_type == "broadcom":
                self.flush(self.queues[number], now_ps)
        self.apply_priorities(now_ps)

    def undo_action(self, number: int, now_ps: int) -> None:
        """Undo what the watchdog has done to a queue and its priority."""
        self.muted.discard(number)
        self._set_dropping(number, False)
        self.apply_priorities(now_ps)

    def _set_dropping(self, number: int, dropping: bool) -> None:
        """Drop what would leave by the queue, and what comes in with its traffic class if that has a group of its
        own.
        """
        self.queues[number].dropping = dropping
        group = self.config.tc_to_pg[number]
        if list(self.config.tc_to_pg.values()).count(group) == 1:
            self.pgs[group].dropping = dropping


class Switch:
    """One switch: ports, pools, watchdog; `paths` all kinds of frames that have come through it."""

    def __init__(self, config: SwitchConfig, loop: EventLoop, hooks: Hooks, first_index: int) -> None:
        self.name, self.config, self.loop, self.hooks = config.name, config, loop, hooks
        self.pools = {name: Pool(pool) for name, pool in config.pools.items()}
        self.ports = {name: SwitchPort(self, port, first_index + place)
                      for place, (name, port) in enumerate(config.ports.items())}
        self.paths: list[Path] = []
        self.watchdog = Watchdog(self.ports, loop)

    def pool_of(self, profile: BufferProfile | None, user: str) -> tuple[BufferProfile | None, Pool]:
        """The pool a profile names (an unlimited one of its own without a profile).

        Raises:
            ConfigurationError: the pool does not exist.
        """
        if profile is None:
            return None, Pool(PoolConfig(UNLIMITED_BYTES))
        if profile.pool not in self.pools:
            raise ConfigurationError(f"{self.name} {user}: buffer pool '{profile.pool}' does not exist: "
                                     f"expected one of {', '.join(sorted(self.pools)) or 'none configured'}")
        return profile, self.pools[profile.pool]

    def configure(self, config: SwitchConfig, now_ps: int) -> None:
        """Take a configuration at `now_ps`, traffic running or not.

        Raises:
            ConfigurationError: the set of ports differs, or a profile names a pool that does not exist.
        """
        if set(config.ports) != set(self.ports):
            raise ConfigurationError(f"switch {self.name}: its ports cannot change while it runs")
        self.config = config
        for name, pool in config.pools.items():
            if name in self.pools:
                self.pools[name].configure(pool)
            else:
                self.pools[name] = Pool(pool)
        for name, port in self.ports.items():
            port.configure(config.ports[name], now_ps)
        self.watchdog.configure(config, now_ps)
