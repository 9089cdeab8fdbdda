"""A slow, literal model of the same testbed: every frame, every refresh, every timer is an event.

It is written from docs/data-plane.md and shares no arithmetic with `virtual_testbed.dataplane`: it reads the same
configuration and traffic values, and nothing else. Times are Fractions or ints of picoseconds, buffer levels are
summed anew whenever they are needed.
"""
from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from virtual_testbed.dataplane.configuration import BufferProfile, SwitchConfig
from virtual_testbed.dataplane.traffic import DataFlow, Flow, GeneratorPort, Host, PauseFlow

ORDER = ["pfc at generator", "sent", "at switch", "timer", "due", "poll", "pick"]


@dataclass
class OracleFaults:
    """Faults in the oracle's own words; ports are switch ports."""

    deaf: set[str] = field(default_factory=set)
    shuts_queue_1: set[str] = field(default_factory=set)
    uncounted: set[str] = field(default_factory=set)
    mute: set[str] = field(default_factory=set)
    leak_ps: dict[str, int] = field(default_factory=dict)
    drop_lossless: dict[str, int] = field(default_factory=dict)
    drop_lossy: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class Frame:
    """A frame and the places where it holds memory."""

    flow: DataFlow
    dscp: int
    in_port: str = ""
    pg: int = 0
    out: str = ""
    queue: int = 0
    cells: int = 0


@dataclass(eq=False)
class Group:
    """A priority group's three parts."""

    reserved: int = 0
    shared: int = 0
    headroom: int = 0
    xoff: bool = False
    dropping: bool = False
    peak: int = 0
    headroom_peak: int = 0


@dataclass(eq=False)
class Queue:
    """An egress queue."""

    frames: list[Frame] = field(default_factory=list)
    reserved: int = 0
    shared: int = 0
    dropping: bool = False
    peak: int = 0


class Port:
    """One cable with both its ends."""

    def __init__(self, name: str, number: int, speed_mbps: int, cable_m: int) -> None:
        self.name, self.number = name, number
        self.byte = Fraction(8 * 10**6, speed_mbps)
        self.quantum = 512 * Fraction(10**6, speed_mbps)
        self.delay = cable_m * 5000
        self.groups = [Group() for _ in range(8)]
        self.queues = [Queue() for _ in range(8)]
        self.sending: Frame | None = None
        self.deficit = [0] * 8
        self.turn = 0
        self.until: list[Fraction] = [Fraction(0)] * 8
        self.begun: list[Fraction | None] = [None] * 8
        self.paused = [Fraction(0)] * 8
        self.on2off = [0] * 8
        self.muted: set[int] = set()
        self.leak: set[int] = set()
        self.leaking: dict[int, int] = {}
        self.xoff_since: dict[int, int] = {}
        self.line: list[tuple[int, Any]] = []
        self.gen_busy = Fraction(0)
        self.gen_until: list[Fraction] = [Fraction(0)] * 8
        self.generator: GeneratorPort | None = None


class Run:
    """A started flow."""

    def __init__(self, spec: Flow, port: Port) -> None:
        self.spec, self.port = spec, port
        self.period = Fraction(10**12) / spec.rate_fps
        self.base: Fraction = Fraction(0)
        self.number = 0
        self.made = 0
        self.active = self.held = self.ended = False
        self.generation = 0


class Oracle:
    """See the module. `links` are (location, switch port, speed, cable)."""

    def __init__(self, config: SwitchConfig, links: list[tuple[str, str, int, int]], faults: OracleFaults) -> None:
        self.config, self.faults, self.now = config, faults, Fraction(0)
        self.ports = {name: Port(name, number, speed, cable) for number, (_, name, speed, cable) in enumerate(links)}
        self.locations = {location: name for location, name, _, _ in links}
        self.events: list[tuple[Fraction, int, int, int, Callable[[], None]]] = []
        self.sequence = 0
        self.count: dict[tuple[Any, ...], int] = {}
        self.runs: dict[str, Run] = {}
        self.by_name: dict[str, Port] = {}
        self.hosts: list[Host] = []
        self.fault_phase: dict[tuple[Any, ...], int] = {}
        self.watch: dict[tuple[str, int], dict[str, Any]] = {}
        self.poll_generation = 0
        self.picks: set[tuple[str, str]] = set()
        self._set_watchdog()

    def add(self, *key: Any) -> None:
        """Count one."""
        self.count[key] = self.count.get(key, 0) + 1

    def at(self, time: Fraction | int, kind: str, what: Callable[[], None], index: int = 1000) -> None:
        """Plan an event; those of one instant and kind come by index, then in the order in which they were planned."""
        self.sequence += 1
        heapq.heappush(self.events, (Fraction(time), ORDER.index(kind), index, self.sequence, what))

    def set_traffic(self, ports: list[GeneratorPort], hosts: list[Host], flows: list[Flow]) -> None:
        """As in Network (once)."""
        for port in ports:
            self.by_name[port.name] = self.ports[self.locations[port.location]]
            self.by_name[port.name].generator = port
        self.hosts = hosts
        self.runs = {flow.name: Run(flow, self.by_name[flow.tx_port]) for flow in flows}
        self.flow_order = [flow.name for flow in flows]

    def advance_to(self, time: int) -> None:
        """Process all events at or before `time`."""
        while self.events and self.events[0][0] <= time:
            self.now, _, _, _, what = heapq.heappop(self.events)
            what()
        self.now = Fraction(time)

    # ---- generator

    def start_flows(self, names: list[str]) -> None:
        """START."""
        for name in names:
            run = self.runs[name]
            if not run.active:
                run.active, run.ended, run.made, run.held = True, False, 0, False
                run.generation += 1
                self.at(self.now + run.spec.duration.delay_ps, "timer", partial(self._begin, run, run.generation))
        self.advance_to(int(self.now))

    def stop_flows(self, names: list[str]) -> None:
        """STOP."""
        for name in names:
            self._end(self.runs[name])
        self.advance_to(int(self.now))

    def _begin(self, run: Run, generation: int) -> None:
        if run.generation != generation or not run.active:
            return
        run.base, run.number = self.now, 0
        self.count["position", run.spec.name] = 0
        if run.spec.duration.time_ps is not None:
            self.at(self.now + run.spec.duration.time_ps, "timer", partial(self._time_is_up, run, generation))
        self._plan(run)

    def _time_is_up(self, run: Run, generation: int) -> None:
        if run.generation == generation:
            self._end(run)

    def _plan(self, run: Run) -> None:
        generation, number, base = run.generation, run.number, run.base
        due = base + math.floor(number * run.period)

        def fire() -> None:
            if run.active and (run.generation, run.number, run.base) == (generation, number, base) and not run.held:
                self._due(run)
        self.at(due, "due", fire, self.flow_order.index(run.spec.name))

    def _end(self, run: Run) -> None:
        run.active, run.ended, run.held = False, True, False
        run.generation += 1
        if isinstance(run.spec, DataFlow) and run.spec.queue in self._held_queues(run.port):
            run.port.line = [item for item in run.port.line if item[1][0] is not run]

    def _due(self, run: Run) -> None:
        port, spec = run.port, run.spec
        if isinstance(spec, PauseFlow):
            size = len(spec.frame) + 4
            self.at(self.now + (size + 20) * port.byte, "sent", lambda: self.add("flow tx", spec.name))
            self.at(self.now + (size + 20) * port.byte + port.delay, "at switch", partial(self._control, port, spec),
                    1000 + self.flow_order.index(spec.name))
        else:
            if spec.queue in self._held_queues(port):
                run.held = True
                return
            port.line.append((int(self.now), (run, run.made)))
            self._want(port, "generator")
        run.made += 1
        run.number += 1
        if run.spec.duration.frames is not None and run.made >= run.spec.duration.frames:
            run.active = False
        else:
            self._plan(run)

    def _held_queues(self, port: Port) -> set[int]:
        mapping = port.generator.pfc_queues if port.generator else ()
        return {queue for priority, queue in mapping if port.gen_until[priority] > self.now}

    def _pfc_at_generator(self, port: Port, priority: int, quanta: int) -> None:
        self.add("generator pfc rx", port.name, priority)
        before = self._held_queues(port)
        port.gen_until[priority] = self.now + quanta * port.quantum if quanta else Fraction(0)
        if quanta:
            self.at(port.gen_until[priority], "timer", lambda: self._generator_resumes(port))
        for queue in self._held_queues(port) - before:
            port.line = [item for item in port.line if not (
                item[1][0].spec.queue == queue and item[1][0].ended and item[1][0].spec.duration.frames is None)]
        self._generator_resumes(port)

    def _generator_resumes(self, port: Port) -> None:
        held = self._held_queues(port)
        for run in self.runs.values():
            waits = run.port is port and run.held and run.active
            if waits and isinstance(run.spec, DataFlow) and run.spec.queue not in held:
                run.held, run.base, run.number = False, self.now, 0
                self._plan(run)
        self._want(port, "generator")

    def _want(self, port: Port, which: str) -> None:
        """Choose at the end of this instant."""
        if (port.name, which) not in self.picks:
            self.picks.add((port.name, which))
            self.at(self.now, "pick", lambda: self._pick(port, which))

    def _pick(self, port: Port, which: str) -> None:
        self.picks.discard((port.name, which))
        if which == "switch":
            self._switch_pick(port)
            return
        if port.gen_busy > self.now:
            return
        held = self._held_queues(port)
        for item in sorted(port.line, key=lambda item: (item[0], self.flow_order.index(item[1][0].spec.name))):
            run, number = item[1]
            if run.spec.queue in held:
                continue
            port.line.remove(item)
            spec = run.spec
            sent_number = self.count.get(("position", spec.name), 0)
            self.add("position", spec.name)
            frame = Frame(spec, spec.dscp[sent_number % len(spec.dscp)])
            done = self.now + (spec.frame_bytes + 20) * port.byte
            port.gen_busy = done
            self.at(done, "sent", partial(self._generator_sent, port, spec.name))
            self.at(done + port.delay, "at switch", lambda: self._arrive(port, frame), port.number)
            return

    def _generator_sent(self, port: Port, flow: str) -> None:
        self.add("flow tx", flow)
        self._want(port, "generator")

    # ---- switch, in

    def _arrive(self, port: Port, frame: Frame) -> None:
        config = self.config.ports[port.name]
        self.add("rx", port.name)
        traffic_class = config.dscp_to_tc[frame.dscp]
        frame.in_port, frame.pg = port.name, config.tc_to_pg[traffic_class]
        out = [self.by_name[host.port].name for host in self.hosts if host.mac == frame.flow.destination_mac]
        if not out or out[0] == port.name:
            self.add("in drops", port.name)
            return
        frame.out = out[0]
        frame.queue = self.config.ports[frame.out].tc_to_queue[traffic_class]
        frame.cells = math.ceil(frame.flow.frame_bytes / self.config.cell_bytes) * self.config.cell_bytes
        group, queue = port.groups[frame.pg], self.ports[frame.out].queues[frame.queue]
        if queue.dropping or group.dropping:
            self.add("out drops" if queue.dropping else "in drops", frame.out if queue.dropping else port.name,
                     frame.queue if queue.dropping else frame.pg)
            return
        if self._fault_drops(frame):
            self.add("out drops", frame.out, frame.queue)
            return
        if not self._admit_out(frame, queue):
            self.add("out drops", frame.out, frame.queue)
            return
        if not self._admit_in(port, frame, group):
            self.add("in drops", port.name, frame.pg)
            return
        self._charge_out(frame, queue)
        queue.frames.append(frame)
        self._want(self.ports[frame.out], "switch")

    def _fault_drops(self, frame: Frame) -> bool:
        lossless = self._profile(frame.in_port, frame.pg).xoff > 0
        every = (self.faults.drop_lossless if lossless else self.faults.drop_lossy).get(frame.out)
        if not every:
            return False
        key = frame.flow.name, frame.in_port, frame.pg, frame.out, frame.queue
        self.fault_phase[key] = self.fault_phase.get(key, 0) + 1
        return self.fault_phase[key] % every == 0

    def _profile(self, port: str, pg: int) -> BufferProfile:
        return self.config.ports[port].priority_groups.get(pg, BufferProfile("", 0, None, 2**62))

    def _queue_profile(self, port: str, queue: int) -> BufferProfile:
        return self.config.ports[port].queues.get(queue, BufferProfile("", 0, None, 2**62))

    def _used(self, pool: str) -> int:
        """Shared bytes in use in a pool."""
        total = 0
        for name, port in self.ports.items():
            total += sum(g.shared for n, g in enumerate(port.groups) if self._profile(name, n).pool == pool)
            total += sum(q.shared for n, q in enumerate(port.queues) if self._queue_profile(name, n).pool == pool)
        return total

    def _limit(self, profile: BufferProfile) -> Fraction:
        if profile.dynamic_th is None:
            return Fraction(2**62 if profile.static_th is None else profile.static_th)
        free = self.config.pools[profile.pool].size - self._used(profile.pool)
        return Fraction(free) * Fraction(2) ** profile.dynamic_th

    def _admit_out(self, frame: Frame, queue: Queue) -> bool:
        profile = self._queue_profile(frame.out, frame.queue)
        rest = frame.cells - max(0, min(frame.cells, profile.size - queue.reserved))
        return rest == 0 or queue.shared + rest <= self._limit(profile)

    def _charge_out(self, frame: Frame, queue: Queue) -> None:
        own = max(0, min(frame.cells, self._queue_profile(frame.out, frame.queue).size - queue.reserved))
        queue.reserved += own
        queue.shared += frame.cells - own
        queue.peak = max(queue.peak, queue.reserved + queue.shared)

    def _admit_in(self, port: Port, frame: Frame, group: Group) -> bool:
        profile = self._profile(port.name, frame.pg)
        own = max(0, min(frame.cells, profile.size - group.reserved))
        rest = frame.cells - own
        if rest and group.shared + rest > self._limit(profile):
            if profile.xoff and not group.xoff:
                group.xoff = True
                self._start_xoff(port, frame.pg)
            shared_room = self.config.pools[profile.pool].xoff if profile.pool else 0
            used = sum(p.groups[n].headroom for name, p in self.ports.items() for n in range(8)
                       if self._profile(name, n).pool == profile.pool)
            if group.headroom + rest > profile.xoff or (shared_room and used + rest > shared_room):
                return False
            group.headroom += rest
            group.headroom_peak = max(group.headroom, group.headroom_peak)
        else:
            group.shared += rest
            group.peak = max(group.peak, group.shared)
        group.reserved += own
        return True

    def _priorities(self, port: Port, pg: int) -> list[int]:
        config = self.config.ports[port.name]
        if port.name in self.faults.mute:
            return []
        return [p for p in sorted(config.pfc_priorities - port.muted) if config.tc_to_pg[p] == pg]

    def _start_xoff(self, port: Port, pg: int) -> None:
        for priority in self._priorities(port, pg):
            if priority not in port.xoff_since:
                self.sequence += 1
                port.xoff_since[priority] = self.sequence
                self._refresh(port, priority, self.sequence)

    def _refresh(self, port: Port, priority: int, ticket: int) -> None:
        if port.xoff_since.get(priority) != ticket:
            return
        self._emit(port, priority, 65535)
        self.at(self.now + 65535 * port.quantum / 2, "timer", lambda: self._refresh(port, priority, ticket))

    def _emit(self, port: Port, priority: int, quanta: int) -> None:
        self.add("pfc tx", port.name, priority)
        self.at(self.now + 84 * port.byte + port.delay, "pfc at generator",
                partial(self._pfc_at_generator, port, priority, quanta))

    # ---- switch, out

    def _eligible(self, port: Port) -> list[int]:
        shut = self._shut(port)
        return [n for n in range(8) if port.queues[n].frames and (n not in shut or n in port.leak)]

    def _shut_by(self, port: Port, priority: int) -> set[int]:
        config = self.config.ports[port.name]
        if port.name in self.faults.deaf or priority in port.muted:
            return set()
        queues = {config.pfc_to_queue[priority]} if priority in config.pfc_priorities else set()
        return queues | ({1} if port.name in self.faults.shuts_queue_1 else set())

    def _shut(self, port: Port) -> set[int]:
        return {queue for p in range(8) if port.begun[p] is not None for queue in self._shut_by(port, p)}

    def _switch_pick(self, port: Port) -> None:
        if port.sending is not None:
            return
        eligible = self._eligible(port)
        if not eligible:
            port.deficit, port.turn = [0] * 8, 0
            return
        schedulers = self.config.ports[port.name].schedulers
        strict = [n for n in eligible if (schedulers[n].type == "STRICT" if n in schedulers else n == 7)]
        if strict:
            queue = max(strict)
        elif len(eligible) == 1:
            queue = eligible[0]
            port.deficit, port.turn = [0] * 8, queue
        else:
            queue = self._round(port, eligible)
        frame = port.queues[queue].frames.pop(0)
        if queue in self._shut(port):
            port.leak.discard(queue)
        port.sending = frame
        done = self.now + (frame.flow.frame_bytes + 20) * port.byte
        self.at(done, "sent", partial(self._sent, port, frame), port.number)

    def _round(self, port: Port, eligible: list[int]) -> int:
        schedulers = self.config.ports[port.name].schedulers
        while True:
            queue = port.turn
            if queue in eligible:
                size = port.queues[queue].frames[0].flow.frame_bytes
                if port.deficit[queue] >= size:
                    port.deficit[queue] -= size
                    return queue
            else:
                port.deficit[queue] = 0
            port.turn = (queue + 1) % 8
            weight = schedulers[port.turn].weight if port.turn in schedulers else 1
            port.deficit[port.turn] += 128 * weight

    def _sent(self, port: Port, frame: Frame) -> None:
        port.sending = None
        self.add("tx", port.name, frame.queue)
        self.at(self.now + port.delay, "pfc at generator", lambda: self.add("flow rx", frame.flow.name))
        self._release(frame)
        self._want(port, "switch")

    def _release(self, frame: Frame) -> None:
        queue = self.ports[frame.out].queues[frame.queue]
        from_shared = min(queue.shared, frame.cells)
        queue.shared -= from_shared
        queue.reserved -= frame.cells - from_shared
        port = self.ports[frame.in_port]
        group, profile = port.groups[frame.pg], self._profile(frame.in_port, frame.pg)
        left = frame.cells
        for part in ("headroom", "shared", "reserved"):
            taken = min(getattr(group, part), left)
            setattr(group, part, getattr(group, part) - taken)
            left -= taken
        level: Fraction | int = profile.xon
        if profile.xon_offset:
            level = max(Fraction(profile.xon), math.floor(self._limit(profile)) - Fraction(profile.xon_offset))
        if group.xoff and not group.headroom and group.shared <= level:
            group.xoff = False
            for priority in self._priorities(port, frame.pg):
                if port.xoff_since.pop(priority, None) is not None:
                    self._emit(port, priority, 0)

    # ---- pauses received

    def _control(self, port: Port, spec: PauseFlow) -> None:
        data = spec.frame
        if spec.fcs_error or len(data) < 60:
            self.add("rx errors", port.name)
            return
        own = bytes.fromhex(self.config.mac.replace(":", ""))
        head_ok = data[:6] in (bytes.fromhex("0180c2000001"), own) and data[12:14] == b"\x88\x08"
        if not head_ok or data[14:16] not in (b"\x01\x01", b"\x00\x01"):
            self.add("rx discards", port.name)
            return
        if data[14:16] == b"\x00\x01":
            self.add("pause rx", port.name)
            return
        for priority in range(8):
            if data[17] >> priority & 1:
                if port.name not in self.faults.uncounted:
                    self.add("pfc rx", port.name, priority)
                quanta = data[18 + 2 * priority] * 256 + data[19 + 2 * priority]
                if self._shut_by(port, priority):
                    self._set_pause(port, priority, quanta)
        self._gate_changed(port)

    def _set_pause(self, port: Port, priority: int, quanta: int) -> None:
        if not quanta:
            self._end_pause(port, priority)
            return
        if port.begun[priority] is None:
            port.begun[priority] = self.now
        until = port.until[priority] = self.now + quanta * port.quantum

        def expire() -> None:
            if port.begun[priority] is not None and port.until[priority] == until:
                self._end_pause(port, priority)
                self._gate_changed(port)
        self.at(until, "timer", expire)

    def _end_pause(self, port: Port, priority: int) -> None:
        begun = port.begun[priority]
        if begun is not None:
            port.paused[priority] += self.now - begun
            port.on2off[priority] += 1
            port.begun[priority] = None
        port.until[priority] = Fraction(0)

    def _gate_changed(self, port: Port) -> None:
        shut = self._shut(port)
        port.leak &= shut
        period = self.faults.leak_ps.get(port.name)
        for queue in range(8):
            if period and queue in shut and queue not in port.leaking:
                self.sequence += 1
                port.leaking[queue] = self.sequence
                self.at(self.now + period, "timer", partial(self._leak, port, queue, self.sequence))
            if queue not in shut:
                port.leaking.pop(queue, None)
        self._want(port, "switch")

    def _leak(self, port: Port, queue: int, ticket: int) -> None:
        if port.leaking.get(queue) == ticket:
            port.leak.add(queue)
            self._want(port, "switch")
            self.at(self.now + self.faults.leak_ps[port.name], "timer", lambda: self._leak(port, queue, ticket))

    # ---- watchdog

    def configure(self, config: SwitchConfig) -> None:
        """Only pfc_priorities and the watchdog may differ."""
        self.config = config
        for port in self.ports.values():
            self._priorities_changed(port)
        self._set_watchdog()
        self.advance_to(int(self.now))

    def _priorities_changed(self, port: Port) -> None:
        for priority in range(8):
            if not self._shut_by(port, priority):
                self._end_pause(port, priority)
        self._gate_changed(port)
        allowed = [p for pg in range(8) for p in self._priorities(port, pg)]
        for priority in list(port.xoff_since):
            if priority not in allowed:
                del port.xoff_since[priority]
        for pg, group in enumerate(port.groups):
            if group.xoff:
                self._start_xoff(port, pg)

    def _set_watchdog(self) -> None:
        for name in self.ports:
            config = self.config.ports[name]
            for queue in range(8):
                want = config.watchdog if queue in config.watchdog_priorities else None
                state = self.watch.setdefault((name, queue), {
                    "config": None, "stormed": False, "detected": 0, "restored": 0, "last": None, "left": 0})
                if want == state["config"]:
                    continue
                if state["stormed"]:
                    self._restore(name, queue, state)
                state.update(config=want, last=None, left=want.detection_ms if want else 0)
        active = any(state["config"] for state in self.watch.values())
        poll = self.config.watchdog_poll_ms if active else 0
        if poll != getattr(self, "poll", 0):
            self.poll = poll
            self.poll_generation += 1
            if poll:
                self._next_poll(self.poll_generation)

    def _next_poll(self, generation: int) -> None:
        def poll() -> None:
            if generation == self.poll_generation:
                self._next_poll(generation)
                for (name, queue), state in self.watch.items():
                    if state["config"]:
                        self._poll(name, queue, state)
        self.at(self.now + self.poll * 10**9, "poll", poll)

    def _poll(self, name: str, queue: int, state: dict[str, Any]) -> None:
        port = self.ports[name]
        begun = port.begun[queue]
        now = {"rx": self.count.get(("pfc rx", name, queue), 0), "off": port.on2off[queue], "paused": begun is not None,
               "tx": self.count.get(("tx", name, queue), 0),
               "held": port.queues[queue].reserved + port.queues[queue].shared,
               "time": port.paused[queue] + (self.now - begun if begun is not None else 0), "at": self.now}
        old, state["last"] = state["last"], now
        if old is None:
            return
        if state["stormed"] and state["action"] != "alert":
            limit = state["config"].restoration_ms
            if limit is None:
                return
            if now["rx"] > old["rx"]:
                state["left"] = limit
            elif state["left"] <= self.poll:
                self._restore(name, queue, state)
            else:
                state["left"] -= self.poll
            return
        if not self._stuck(old, now):
            state["left"] = state["config"].detection_ms
            if state["stormed"]:
                self._restore(name, queue, state)
        elif state["left"] > self.poll:
            state["left"] -= self.poll
        else:
            state["left"] = state["config"].detection_ms
            if not state["stormed"]:
                self._storm(name, queue, state)

    def _stuck(self, old: dict[str, Any], now: dict[str, Any]) -> bool:
        share = Fraction(now["time"] - old["time"]) / (now["at"] - old["at"])
        if self.config.asic_type == "broadcom":
            return bool(now["rx"] > old["rx"] and now["off"] == old["off"] and old["paused"] and now["paused"])
        if now["tx"] != old["tx"]:
            return False
        if self.config.asic_type == "mellanox":
            return bool(now["held"] and share > Fraction(99, 100))
        return bool(now["rx"] > old["rx"]) if now["held"] else share > Fraction(8, 10)

    def _storm(self, name: str, queue: int, state: dict[str, Any]) -> None:
        port, action = self.ports[name], state["config"].action
        state.update(stormed=True, action=action, detected=state["detected"] + 1)
        if action == "alert":
            return
        state["left"] = state["config"].restoration_ms or 0
        port.muted.add(queue)
        if action == "drop":
            port.queues[queue].dropping = True
            self._ingress_dropping(port, queue, True)
            if self.config.asic_type == "broadcom":
                while port.queues[queue].frames:
                    frame = port.queues[queue].frames.pop(0)
                    self.add("out drops", name, queue)
                    self._release(frame)
        self._priorities_changed(port)

    def _restore(self, name: str, queue: int, state: dict[str, Any]) -> None:
        port = self.ports[name]
        state.update(stormed=False, restored=state["restored"] + 1, left=state["config"].detection_ms)
        port.muted.discard(queue)
        port.queues[queue].dropping = False
        self._ingress_dropping(port, queue, False)
        self._priorities_changed(port)

    def _ingress_dropping(self, port: Port, queue: int, dropping: bool) -> None:
        mapping = self.config.ports[port.name].tc_to_pg
        if [tc for tc in mapping if mapping[tc] == mapping[queue]] == [queue]:
            port.groups[mapping[queue]].dropping = dropping
