"""Switch ports: they receive, admit, queue and send; their priority groups push back.

Store and forward: a frame is admitted when its last bit has come, can leave from that instant on, and holds its
buffer until its own last bit has left.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from virtual_testbed.dataplane.model.buffer import (BufferPool, EgressQueue, GroupSnapshot, PriorityGroup,
                                                    QueueSnapshot)
from virtual_testbed.dataplane.model.configuration import BufferProfile, SchedulerConfig, SwitchConfig, SwitchPortConfig
from virtual_testbed.dataplane.model.control_frames import Control, MacControlFrame
from virtual_testbed.dataplane.model.events import FRAME_SENT, EventLoop
from virtual_testbed.dataplane.model.hooks import IGNORED, PROLONGS, RESTARTS, Fault, Hooks, PortPlace
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.copies import CopiesByPort
from virtual_testbed.dataplane.model.pause_receiver import ClassHabits, PauseReceiver, forwarded
from virtual_testbed.dataplane.model.pause_transmitter import PauseTransmitter, teach
from virtual_testbed.dataplane.model.scheduler import EgressScheduler, SchedulerSnapshot, scheduler_of
from virtual_testbed.dataplane.model.ties import Ties, kind_at
from virtual_testbed.dataplane.model.units import repeated_ps
from virtual_testbed.dataplane.model.while_shut import WhileShut

_Answer = TypeVar("_Answer")


class Owner(Protocol):
    """The switch, as far as its ports need it."""

    name: str
    config: SwitchConfig
    loop: EventLoop
    hooks: Hooks

    @property
    def ports(self) -> Mapping[str, SwitchPort]:
        """All of them by name."""

    def pool_of(self, profile: BufferProfile | None, user: str) -> tuple[BufferProfile | None, BufferPool]:
        """The pool that a profile names, for a user named in an error."""


class DataObserver(Protocol):
    """Observes the data frames that a port sends to a generator."""

    @property
    def room(self) -> int:
        """How many more frames it can take."""

    def data_sent(self, path: Path, number: int, arrival_ps: int) -> None:
        """The n-th frame of a path (0: the first) goes on the line; its last bit will reach the generator then."""


class PathSnapshot(NamedTuple):
    """Counts of a path. See `Path`."""

    rx: int
    tx: int
    blocked_drops: int
    tail_drops: int
    pg_drops: int
    watchdog_tx_drops: int
    watchdog_rx_drops: int
    fault_drops: int
    lost: int
    flushed: int
    drop_phase: int
    arrived_ps: int


class Path:
    """One kind of frame through a switch, with its counts.

    Attributes:
        flow: number of the flow; `frame_bytes` its size with FCS, `size` the same in whole cells.
        pg, out, queue: where it is accounted and leaves; `out` and `queue` are None when `blocked` says why it is
            dropped.
        onward: its path through the next switch (None: it leaves to a generator port).
        macs: source and destination MAC address as it leaves.
        number, cycle: its n-th frame is number `number + n * cycle` of the flow.
        drop_one_in, drop_phase: a fault drops every n-th frame.
        copies: what a fault copies.
        rx .. lost: frames received, sent, dropped by reason, lost on the wire after being sent.
        arrived_ps: the sum of the instants at which the frames sent reach the other end of the cable, kept where the
            flow `wants_latency`.
    """

    __slots__ = ("flow", "frame_bytes", "size", "tx_time_ps", "pg", "out", "queue", "in_port", "blocked", "onward",
                 "macs", "number", "cycle", "drop_one_in", "copies", "wants_latency", *PathSnapshot._fields)

    def __init__(
        self, flow: int, frame_bytes: int, in_port: SwitchPort, *, pg: PriorityGroup, out: SwitchPort | None,
        queue: EgressQueue[Path] | None, blocked: str | None, number: int, cycle: int, wants_latency: bool,
    ) -> None:
        self.flow = flow
        self.frame_bytes = frame_bytes
        self.in_port = in_port
        self.pg = pg
        self.out = out
        self.queue = queue
        self.blocked = blocked
        self.number = number
        self.cycle = cycle
        self.wants_latency = wants_latency
        self.size = frame_bytes
        self.onward: Path | None = None
        self.macs = "", ""
        self.tx_time_ps = 0
        self.drop_one_in = 0
        self.copies = CopiesByPort()
        self.drop_phase = 0
        self.arrived_ps = 0
        self.flushed = 0
        self.lost = 0
        self.rx = 0
        self.tx = 0
        self.blocked_drops = 0
        self.tail_drops = 0
        self.pg_drops = 0
        self.fault_drops = 0
        self.watchdog_tx_drops = 0
        self.watchdog_rx_drops = 0

    def arrive(self, now_ps: int) -> None:
        """A frame's last bit reaches the next switch."""
        if self.onward is None:
            self.lost += 1
        else:
            self.onward.in_port.receive(self.onward, now_ps)

    def lose(self) -> None:
        """A frame was on a cable that is cut."""
        self.lost += 1

    def snapshot(self) -> PathSnapshot:
        """Its counts now."""
        return PathSnapshot(self.rx, self.tx, self.blocked_drops, self.tail_drops, self.pg_drops,
                            self.watchdog_tx_drops, self.watchdog_rx_drops, self.fault_drops, self.lost, self.flushed,
                            self.drop_phase, self.arrived_ps)

    def restore(self, snapshot: PathSnapshot) -> None:
        """Take counts."""
        (self.rx, self.tx, self.blocked_drops, self.tail_drops, self.pg_drops, self.watchdog_tx_drops,
         self.watchdog_rx_drops, self.fault_drops, self.lost, self.flushed, self.drop_phase,
         self.arrived_ps) = snapshot

    def add(self, other: Path) -> None:
        """Count the frames of another path here."""
        self.copies.add(other.copies, other.tx)
        phase = self.drop_phase
        self.restore(PathSnapshot(*(mine + its for mine, its in zip(self.snapshot(), other.snapshot()))))
        self.drop_phase = phase

    def repeat(self, since: PathSnapshot, times: int, period_ps: int) -> None:
        """Count what was counted since then so many times more, a period later each time."""
        arrived_ps = self.arrived_ps + repeated_ps(
            self.arrived_ps - since.arrived_ps, self.tx - since.tx, times, period_ps)
        self.restore(PathSnapshot(*(new + times * (new - old) for new, old in zip(self.snapshot(), since))))
        self.arrived_ps = arrived_ps

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


class PortSnapshot(NamedTuple):
    """What moves in a switch port beside its line, its receiver and its trains. See `SwitchPort`."""

    current: Path | None
    flight: tuple[tuple[int, Path], ...]
    backlog: int
    gate: int
    leak: int
    sending: int
    scheduler: SchedulerSnapshot
    groups: tuple[GroupSnapshot, ...]
    queues: tuple[QueueSnapshot[Path], ...]


class SwitchPort:
    """One front-panel port.

    Attributes:
        line: towards the other end of the cable; `peer` what is there (None: no cable).
        backlog: mask of queues with frames waiting; `gate` mask of queues shut by received pauses; `leak` queues that
            a fault lets send one frame all the same, now and then by `leaks`.
        observer: told of each data frame put on the line to a generator port, if there is one.
        current: the data frame on the line; `flight` the last frames sent to a generator as (arrival, path).
        not_obeyed, not_sent: priorities whose pauses the watchdog has switched off, those received and those sent.
        pg_priorities: the priorities that a congested group pauses, `drop_priorities` those that a group pauses whose
            frame a full queue dropped, by group; `told_priorities` both.
        ties: what faults let it do at other ports.
        up_since_ps: when its link last came up; `link_losses`: how often it has gone down.
        paths: kinds of frames that come in here; `past` those that no frame has any more (`fold`).
        leaving: all kinds of frames that were ever meant to leave here.
    """

    def __init__(self, switch: Owner, config: SwitchPortConfig, index: int) -> None:
        self.switch = switch
        self.config = config
        self.index = index
        self.loop = switch.loop
        self.name = config.name
        self.place = PortPlace(switch.name, config.name, config.speed_mbps)
        self.pgs = [PriorityGroup(number) for number in range(8)]
        self.queues: list[EgressQueue[Path]] = [EgressQueue(number) for number in range(8)]
        self.scheduler = EgressScheduler()
        self.receiver = PauseReceiver(self, (1 << 20) + index, switch.loop)
        self.peer: object | None = None
        self.line = Line(self, config.speed_mbps, 0, switch.loop)
        self.sender = PauseTransmitter(self.line, index, switch.loop)
        self.is_up = False
        self.backlog = 0
        self.gate = 0
        self.leak = 0
        self.current: Path | None = None
        self.flight: deque[tuple[int, Path]] = deque()
        self.to_switch = False
        self.awake = False
        self.not_obeyed: set[int] = set()
        self.not_sent: set[int] = set()
        self.pg_priorities: list[list[int]] = [[] for _ in range(8)]
        self.drop_priorities: list[list[int]] = [[] for _ in range(8)]
        self.told_priorities: list[list[int]] = [[] for _ in range(8)]
        self.ties: Ties[SwitchPort] = Ties(self)
        self._control_leaves_by: list[SwitchPort] = []
        self.up_since_ps = 0
        self.link_losses = 0
        self.paths: list[Path] = []
        self.past: list[Path] = []
        self.leaving: list[Path] = []
        self.finish = self._finish
        self.observer: DataObserver | None = None
        self.leaks = WhileShut(self.leak_period_ps, self.let_out, switch.loop, 16 * index)
        self.aging = WhileShut(self.aging_ps, self.age, switch.loop, 16 * index + 8)

    def connect(self, speed_mbps: int, propagation_ps: int, peer: object) -> None:
        """Plug the cable in."""
        self.peer = peer
        self.to_switch = isinstance(peer, SwitchPort)
        self.line = Line(self, speed_mbps, propagation_ps, self.loop)
        self.sender = PauseTransmitter(self.line, self.index, self.loop)
        self.flight = deque(maxlen=propagation_ps // (84 * self.line.ps_per_byte) + 2)
        self._set_frames()

    def configure(self, config: SwitchPortConfig, now_ps: int) -> None:
        """Take a configuration; what the port holds stays."""
        self.config = config
        self.place = PortPlace(self.switch.name, config.name, config.speed_mbps)
        for n in range(8):
            profile, pool = self.switch.pool_of(config.priority_groups.get(n), f"{self.name} group {n}")
            group = self.pgs[n]
            group.configure(profile, pool)
            headroom = self._headroom(n, group.headroom_size) if group.is_lossless else 0
            group.resize(self._reserved(n, group), headroom)
            self.queues[n].set_profile(*self.switch.pool_of(config.queues.get(n), f"{self.name} queue {n}"))
        self.scheduler.configure({n: self._scheduled(n) for n in range(8)})
        response_ps = self.ask(None, config.response_ps, lambda fault, ps: fault.response_ps(ps))
        self.receiver.set_timing(config.speed_mbps, response_ps)
        self.apply_priorities(now_ps)
        self._update_shut(now_ps)

    def ask(self, priority: int | None, healthy: _Answer, hook: Callable[[Fault, _Answer], _Answer]) -> _Answer:
        """What the faults of this port make of a healthy answer."""
        return self.switch.hooks.ask(self.place, priority, healthy, hook)

    def _scheduled(self, queue: int) -> SchedulerConfig:
        healthy = scheduler_of(self.config.schedulers, queue)
        return self.ask(queue, healthy, lambda fault, found: fault.scheduled(queue, found))

    def _reserved(self, n: int, group: PriorityGroup) -> int:
        return self.ask(n, group.size, lambda fault, found: fault.reserved_bytes(n, group.is_lossless, found))

    def _headroom(self, group: int, size: int) -> int:
        return self.ask(group, size, lambda fault, found: fault.headroom_bytes(group, found))

    def apply_priorities(self, now_ps: int) -> None:
        """Work out which priorities pause what, from configuration, watchdog and faults."""
        active = self.config.pfc_priorities - self.not_obeyed
        bound = self.ties.bound
        self.ties.tie([self._shuts_elsewhere(p) for p in range(8)], [self._tellers(n) for n in range(8)])
        as_data = self.ask(None, False, lambda fault, does: fault.counts_as_data(does))
        as_drop = self.ask(None, False, lambda fault, does: fault.counts_as_drop(does))
        self._control_leaves_by = self._ways_of_control()
        deaf = self._deaf(now_ps)
        self.receiver.configure([self._habits(p, active, p in deaf) for p in range(8)], now_ps, as_data, as_drop)
        self._set_frames()
        for n, group in enumerate(self.pgs):
            mine = frozenset(p for p in self.config.pfc_priorities - self.not_sent if self.config.tc_to_pg[p] == n)
            told = self.ask(n, mine, lambda fault, found: fault.xoff_priorities(n, found))
            dropped = frozenset() if group.is_lossless else self.ask(
                n, frozenset[int](), lambda fault, found: fault.xoff_for_drops(n, found))
            self.pg_priorities[n] = sorted(told)
            self.drop_priorities[n] = sorted(dropped)
            self.told_priorities[n] = sorted(told | dropped)
        for port in dict.fromkeys([self, *bound, *self.ties.bound]):
            port._update(port in bound, now_ps)

    def _update(self, was_told: bool, now_ps: int) -> None:
        """What is told of groups may have changed, and what others do here: open and shut queues, stop pausing and
        begin to. A port that `was_told` by another one goes on pausing only for groups that are congested.
        """
        self.set_gate(self.receiver.gate(), now_ps)
        allowed = {priority for group, port in self._told_groups() if group.xoff or not was_told
                   for priority in port.told_priorities[group.number]}
        for priority in range(8):
            if self.sender.sending >> priority & 1 and priority not in allowed:
                self.sender.abandon(priority, now_ps)
        self.resend_xoff(now_ps)

    def _ways_of_control(self) -> list[SwitchPort]:
        """The ports by which control frames that come in here leave."""
        is_flooded = self.ask(None, False, lambda fault, does: fault.forwards_control(does))
        others = frozenset(self.switch.ports) - {self.name} if is_flooded else frozenset[str]()
        ways = self.ask(None, others, lambda fault, ports: fault.control_leaves_by(ports))
        return [port for _, port in self._others(ways)]

    def _habits(self, priority: int, active: Set[int], is_deaf: bool) -> ClassHabits:
        """What is made of the pauses of a class."""
        own = frozenset({self.config.pfc_to_queue[priority]}) if priority in active else frozenset()
        is_off = is_deaf or priority in self.not_obeyed
        shut = frozenset() if is_off else self.ask(
            priority, own, lambda fault, queues: fault.shut_queues(priority, queues))
        under = self.ask(priority, frozenset({priority}), lambda fault, found: fault.counted(priority, found))
        counted = sorted(under)
        at = self.ask(priority, frozenset({self.name}), lambda fault, ports: fault.counted_at(priority, ports))
        others = [self.switch.ports[name] for name in sorted(at - {self.name}) if name in self.switch.ports]
        for port in others:
            port.ties.book(self)
        further = self.ask(priority, RESTARTS, lambda fault, effect: fault.further_pause(priority, effect))
        if further not in (RESTARTS, IGNORED, PROLONGS):
            raise ValueError(f"a fault's further_pause answers '{further}': expected {RESTARTS}, {IGNORED}, {PROLONGS}")
        return ClassHabits(sum(1 << queue for queue in shut), tuple(counted) if self.name in at else (),
                           bool(self.ties.shuts[priority]) and not is_off,
                           tuple(kind_at(port.name, number) for port in others for number in counted), further)

    def _shuts_elsewhere(self, priority: int) -> list[tuple[SwitchPort, int]]:
        """What a pause of a class shuts at other ports."""
        is_enabled = priority in self.config.pfc_priorities
        own = frozenset({self.config.pfc_to_queue[priority]}) if is_enabled else frozenset()
        found = self.ask(priority, frozenset[tuple[str, int]](),
                         lambda fault, queues: fault.shut_elsewhere(priority, own, queues))
        masks: dict[str, int] = {}
        for name, queue in sorted(found):
            masks[name] = masks.get(name, 0) | 1 << queue
        return [(port, masks[name]) for name, port in self._others(masks)]

    def _tellers(self, group: int) -> list[SwitchPort]:
        """The ports that send the pauses of a group."""
        names = self.ask(group, frozenset({self.name}), lambda fault, ports: fault.xoff_ports(group, ports))
        return [*([self] if self.name in names else []), *(port for _, port in self._others(names))]

    def _others(self, names: Iterable[str]) -> list[tuple[str, SwitchPort]]:
        """Other ports of the switch of these names, in the order of the names."""
        return [(name, self.switch.ports[name]) for name in sorted(names)
                if name != self.name and name in self.switch.ports]

    def _told_groups(self) -> list[tuple[PriorityGroup, SwitchPort]]:
        """The groups that the port sends pauses of, with the ports that they belong to."""
        return [(group, port) for port in (self, *self.ties.told_by) for group in port.pgs
                if self in port.ties.tells[group.number]]

    def _deaf(self, now_ps: int) -> set[int]:
        """Classes whose pauses do nothing because the link has come up just now; it is asked again when that ends."""
        ends_ps = {p: self.up_since_ps + self.ask(p, 0, lambda fault, time: fault.deaf_after_link_up_ps(p, time))
                   for p in range(8)} if self.switch.hooks.faults else {}
        later_ps = [end_ps for end_ps in ends_ps.values() if end_ps > now_ps]
        if later_ps:
            self.loop.cancel(self._hear_again)
            self.loop.at(min(later_ps), self._hear_again)
        return {p for p, end_ps in ends_ps.items() if end_ps > now_ps}

    def _set_frames(self) -> None:
        teach(self.sender, self, self.switch.config.mac, self.link_losses, self.loop.now_ps)

    def resend_xoff(self, now_ps: int) -> None:
        """Groups that are congested pause their priorities, those that do not do so yet."""
        self.sender.start_unasked(now_ps)
        for group, port in self._told_groups():
            if group.xoff:
                for priority in port.told_priorities[group.number]:
                    self.sender.xoff(priority, now_ps)

    def _tell_xoff(self, group: PriorityGroup, priorities: Sequence[int], now_ps: int) -> None:
        """A group is congested from now on."""
        group.xoff = True
        for port in self.ties.tells[group.number]:
            for priority in priorities:
                port.sender.xoff(priority, now_ps)

    def _tell_xon(self, group: PriorityGroup, now_ps: int) -> None:
        """A group is not congested any more."""
        group.xoff = False
        for port in self.ties.tells[group.number]:
            for priority in self.told_priorities[group.number]:
                port.sender.xon(priority, now_ps)

    @property
    def pfc_counts(self) -> tuple[int, ...]:
        """PFC frames by class that are counted here."""
        own = tuple(self.receiver.counts)
        if not self.ties.counts_of:
            return own
        return tuple(mine + others for mine, others in zip(own, self.ties.counted_here()))

    def forwards_by(self) -> list[str]:
        """Names of the ports by which control frames that come in now leave: of those that are up, and lead to no other
        switch."""
        return [port.name for port in self._control_leaves_by if port.is_up and not port.to_switch]

    def control_forwarded(self) -> tuple[int, int]:
        """Control frames that came in by other ports and left here, and their bytes."""
        kinds = [port.receiver.kinds for port in self.switch.ports.values()] if self.switch.hooks.faults else []
        frames, size = forwarded(self.name)
        return sum(kind.get(frames, 0) for kind in kinds), sum(kind.get(size, 0) for kind in kinds)

    @property
    def station_mac(self) -> str:
        """The switch's address."""
        return self.switch.config.mac

    def parse(self, frame: MacControlFrame, reading: Control) -> Control:
        """What faults of the port make of a healthy reading of a frame."""
        found = self.ask(None, reading, lambda fault, healthy: fault.parse(frame.data, healthy))
        sets = self.ask(None, found.timers, lambda fault, timers: fault.timers(timers))
        return found if sets == found.timers else replace(found, sets=tuple(sorted(dict(sets).items())))

    def observe(self, observer: DataObserver | None) -> None:
        """Have the data frames that go to a generator observed from now on (None: no longer)."""
        self.observer = observer

    def receive(self, path: Path, now_ps: int) -> None:
        """A data frame's last bit has come: admit it or drop it."""
        path.rx += 1
        out = path.out
        queue = path.queue
        if path.blocked is not None or out is None or queue is None:
            path.blocked_drops += 1
            return
        group = path.pg
        size = path.size
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
            if not group.xoff and self.drop_priorities[group.number]:
                self._tell_xoff(group, self.drop_priorities[group.number], now_ps)
            return
        verdict = group.take(size)
        if verdict:
            if not group.xoff and group.is_lossless:
                self._tell_xoff(group, self.pg_priorities[group.number], now_ps)
            if verdict == 2:
                path.pg_drops += 1
                return
        queue.charge(size)
        queue.push(path)
        out.backlog |= queue.bit
        if not out.awake and out.line.busy_until_ps <= now_ps:
            out.awake = True
            self.loop.awake.append(out)

    def _watchdog_drop(self, path: Path, queue: EgressQueue[Path]) -> None:
        if queue.dropping:
            path.watchdog_tx_drops += 1
        else:
            path.watchdog_rx_drops += 1

    def release(self, path: Path, now_ps: int) -> None:
        """A frame leaves the buffer: give its cells back, XON if that is due."""
        if path.queue is not None:
            path.queue.release(path.size)
        if path.pg.release(path.size):
            path.in_port._tell_xon(path.pg, now_ps)

    def pick(self, now_ps: int) -> None:
        """Put the next frame on the line: a control frame, or the one that the scheduler chooses."""
        line = self.line
        if line.busy_until_ps > now_ps:
            return
        if line.controls:
            end_ps = line.launch_control(now_ps)
            self.loop.push_traffic((end_ps, FRAME_SENT, self.index, self.finish))
            return
        line.on_line = None
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
        end_ps = now_ps + path.tx_time_ps
        line.data_ps = now_ps
        if self.to_switch:
            line.launch(path, end_ps)
        else:
            line.busy_until_ps = end_ps
            self.flight.append((end_ps + line.propagation_ps, path))
            if self.observer is not None:
                self.tell(path, path.tx, end_ps + line.propagation_ps)
        self.loop.push_traffic((end_ps, FRAME_SENT, self.index, self.finish))

    @property
    def capture_room(self) -> int:
        """How many more frames of those that reach the generator port a capture takes; 0: there is none, or it is
        full."""
        return 0 if self.observer is None else self.observer.room

    def tell(self, path: Path, number: int, arrival_ps: int) -> None:
        """Tell the observer, if there is one, of the n-th frame of a path (0: the first)."""
        if self.observer is not None:
            self.observer.data_sent(path, number, arrival_ps)

    def _finish(self, now_ps: int) -> None:
        """The last bit of the frame on the line has left."""
        if self.line.busy_until_ps != now_ps:
            return  # forgotten meanwhile
        path = self.current
        if path is not None:
            self.current = None
            path.tx += 1
            if path.wants_latency:
                path.arrived_ps += now_ps + self.line.propagation_ps
            self.release(path, now_ps)
        if not self.awake:  # also without a backlog: finding nothing to send starts the round anew
            self.awake = True
            self.loop.awake.append(self)

    @property
    def is_quiet(self) -> bool:
        """True when nothing waits here, is under way, or is paused."""
        line = self.line
        is_busy = self.receiver.is_busy or not self.sender.is_quiet
        return not (self.backlog or self.current or line.flight or line.controls or is_busy)

    def line_wanted(self, now_ps: int) -> None:
        """A frame has begun to wait: choose as soon as the line is free."""
        if self.line.busy_until_ps <= now_ps:
            self.loop.wake(self)

    def snapshot(self) -> PortSnapshot:
        """Its state now."""
        return PortSnapshot(self.current, tuple(self.flight), self.backlog, self.gate, self.leak, self.sender.sending,
                            self.scheduler.snapshot(), tuple(group.snapshot() for group in self.pgs),
                            tuple(queue.snapshot() for queue in self.queues))

    def restore(self, snapshot: PortSnapshot) -> None:
        """Take a state; line, receiver and trains have theirs, and events are set by `schedule`."""
        self.current = snapshot.current
        self.flight = deque(snapshot.flight, self.flight.maxlen)
        self.backlog = snapshot.backlog
        self.gate = snapshot.gate
        self.leak = snapshot.leak
        self.sender.restore(snapshot.sending)
        self.scheduler.restore(snapshot.scheduler)
        for group, held in zip(self.pgs, snapshot.groups):
            group.restore(held)
        for queue, content in zip(self.queues, snapshot.queues):
            queue.restore(content)

    def empty(self) -> None:
        """No data frame is on the line or on the cable to a generator, nor waits in an open queue; buffers stay."""
        self.current = None
        self.flight.clear()
        self.scheduler.forget(0)
        self.backlog &= self.gate
        for queue in self.queues:
            if not self.gate & queue.bit:
                queue.empty()

    def fill(self, queue: EgressQueue[Path], content: Iterable[tuple[Path, int]]) -> None:
        """Take what waits in one of the queues, as (path, frames)."""
        queue.fill(content)
        self.backlog = self.backlog | queue.bit if queue.frames else self.backlog & ~queue.bit

    def shift(self, shift_ps: int, now_ps: int) -> None:
        """Let frames on the cable to a generator arrive so much later; those that have arrived are forgotten."""
        moved = [(arrival_ps + shift_ps, path) for arrival_ps, path in self.flight if arrival_ps > now_ps]
        self.flight.clear()
        self.flight.extend(moved)

    def schedule(self) -> None:
        """Set the event of the frame on the line anew."""
        if self.line.busy_until_ps > self.loop.now_ps:
            self.loop.push_traffic((self.line.busy_until_ps, FRAME_SENT, self.index, self.finish))

    def set_gate(self, gate: int, now_ps: int) -> None:
        """Shut and open queues: those that the port's own pauses shut, and those that a fault lets others' shut."""
        self._set_gate(gate | self.ties.shut_from_elsewhere(), now_ps)
        for port in self.ties.reached:
            port._set_gate(port.receiver.gate() | port.ties.shut_from_elsewhere(), now_ps)

    def _set_gate(self, gate: int, now_ps: int) -> None:
        if gate == self.gate:
            return
        self.gate = gate
        self._update_shut(now_ps)
        if self.backlog:
            self.line_wanted(now_ps)

    def _update_shut(self, now_ps: int) -> None:
        self.leak &= self.gate & self.leaks.update(self.gate, now_ps)
        self.aging.update(self.gate, now_ps)

    def leak_period_ps(self, queue: int) -> int:
        """How often a fault lets a frame out of a queue while it is shut (0: never)."""
        return self.ask(queue, 0, lambda fault, period: fault.leak_period_ps(queue, period))

    def aging_ps(self, queue: int) -> int:
        """After how long a queue that is shut drops what it holds, again and again (0: never)."""
        is_off = self.switch.config.aging_off
        return self.ask(queue, 0, lambda fault, time_ps: fault.aging_ps(queue, is_off, time_ps))

    def age(self, queue: int, now_ps: int) -> None:
        """Drop what a queue holds."""
        self.flush(self.queues[queue], now_ps)

    def let_out(self, queue: int, now_ps: int) -> None:
        """Let one frame out of a queue that is shut."""
        self.leak |= 1 << queue
        self.line_wanted(now_ps)

    def flush(self, queue: EgressQueue[Path], now_ps: int) -> None:
        """Discard what waits in a queue (not the frame on the line)."""
        while queue.frames:
            path = queue.pop()
            path.flushed += 1
            self.release(path, now_ps)
        self.backlog &= ~queue.bit

    def _hear_again(self, now_ps: int) -> None:
        """The link has been up for so long that pauses do again what they should."""
        self.apply_priorities(now_ps)

    def link_came_up(self, now_ps: int) -> None:
        """What is put on the line arrives."""
        self.is_up = True
        self.line.is_up = True
        self.up_since_ps = now_ps
        if self._deaf(now_ps):
            self.apply_priorities(now_ps)

    def link_went_down(self, now_ps: int) -> None:
        """Lose the frame on the line and those on the cable, discard what waits, forget every pause."""
        line = self.line
        path = self.current
        self.is_up = False
        line.is_up = False
        if path is not None:  # it has not left: discarded here, not lost on the cable
            self.current = None
            path.flushed += 1
            if self.to_switch and line.flight:
                line.flight.pop()
            elif self.flight:
                self.flight.pop()
            self.release(path, now_ps)
        elif line.on_line is not None and line.busy_until_ps > now_ps:
            line.on_line.launched -= 1
        for arrival_ps, sent in self.flight:
            if arrival_ps > now_ps:
                sent.lose()
        self.flight.clear()
        line.cut()
        line.on_line = None
        line.busy_until_ps = min(line.busy_until_ps, now_ps)
        for queue in self.queues:
            self.flush(queue, now_ps)
        kept = frozenset(p for p in range(8) if self.ask(p, False, lambda fault, keeps: fault.keeps_pause(p, keeps)))
        self.receiver.link_went_down(now_ps, kept)
        self.sender.link_went_down(now_ps)
        self.link_losses += 1
        self._set_frames()

    def in_flight(self, now_ps: int) -> dict[Path, int]:
        """Frames sent to a generator port whose last bit has not reached it."""
        found: dict[Path, int] = {}
        for arrival_ps, path in self.flight:
            if now_ps < arrival_ps <= now_ps + self.line.propagation_ps:
                found[path] = found.get(path, 0) + 1
        return found


def paths_through(ports: Iterable[SwitchPort]) -> list[Path]:
    """The paths that come in and leave by these ports, those that are past apart."""
    members = dict.fromkeys(ports)
    return [path for port in members for path in port.paths if path.out is None or path.out in members]


def fold(ports: Sequence[SwitchPort], used: Set[Path]) -> None:
    """Put aside the paths that no frame takes any more and none is on: only counters look at those. Of those that count
    alike the counts are added up, so that they do not pile up either.

    Args:
        ports: all ports.
        used: paths that frames take, or are in a switch on.
    """
    kept = used | set(_on_cables(ports))
    for port in ports:
        past = {_likeness(path): path for path in port.past}
        for path in port.paths:
            if path in kept:
                continue
            alike = past.setdefault(_likeness(path), path)
            if alike is path:
                continue
            alike.add(path)
            if path.out is not None:
                path.out.leaving.remove(path)
        port.paths[:] = [path for path in port.paths if path in kept]
        port.past[:] = past.values()


def _likeness(path: Path) -> tuple[object, ...]:
    """What tells paths of a port apart as far as counters are concerned."""
    return path.out, path.queue, path.pg, path.blocked, path.frame_bytes


def _on_cables(ports: Iterable[SwitchPort]) -> Iterator[Path]:
    """Paths of the frames that have left a switch and not arrived yet."""
    for port in ports:
        yield from (path for _, path in port.flight)
        yield from (frame for _, frame in port.line.flight if isinstance(frame, Path))
