"""Switch ports of the oracle: admission, back-pressure, scheduling, received pauses, one frame at a time."""
from __future__ import annotations

from functools import partial

from virtual_testbed.dataplane.model.configuration import SwitchConfig, SwitchPortConfig
from virtual_testbed.tests.dataplane.oracle_buffer import Group, Pools, Queue
from virtual_testbed.tests.dataplane.oracle_clock import (CONTROL_DUE, FAULT, FCS_BYTES, TIMER, Cable, Clock,
                                                          ControlItem, LineEnd, PauseTimers)
from virtual_testbed.tests.dataplane.oracle_control import (FaultsAt, OracleFault, Reading, pfc_bytes,
                                                            read_control, read_with_faults)
from virtual_testbed.tests.dataplane.oracle_forwarding import PORT_DOWN, Ways
from virtual_testbed.tests.dataplane.oracle_generator import Frame, GeneratorEnd, Run
from virtual_testbed.tests.dataplane.oracle_scheduler import Round, Served, served

FULL_QUANTA = 65535
MALFORMED_BYTES = 32


class SwitchPort(LineEnd):
    """One port: what it receives, admits and sends.

    Attributes:
        shut: queues shut by pauses; `leak` those of them that may send one frame all the same.
        muted: priorities whose PFC the watchdog has switched off.
        told: ticket by priority whose XOFF has been sent and is repeated.
    """

    def __init__(self, switch: Device, name: str, cable: Cable, index: int) -> None:
        super().__init__(switch.clock, cable, index)
        self.switch, self.name = switch, name
        self.faults = FaultsAt(switch.faults, switch.config.name, name)
        self.groups, self.queues = [Group() for _ in range(8)], [Queue() for _ in range(8)]
        self.pauses = PauseTimers(switch.clock, cable, self.gate_changed)
        self.round = Round()
        self.served = served({})
        self.shut: set[int] = set()
        self.leak: set[int] = set()
        self.muted: set[int] = set()
        self.leaking: dict[int, object] = {}
        self.told: dict[int, object] = {}
        self.current: Frame | None = None
        self.pfc_rx, self.pfc_tx = [0] * 8, [0] * 8
        self.rx_packets = self.rx_bytes = self.rx_errors = self.rx_drops = self.pause_rx = self.rx_smallest = 0
        self.tx_packets = self.tx_bytes = self.tx_drops = 0
        self.passed: dict[tuple[str, int, int, int, str, int], int] = {}

    @property
    def config(self) -> SwitchPortConfig:
        """As configured now."""
        return self.switch.config.ports[self.name]

    def fault(self, name: str, priority: int | None = None) -> int:
        """The value of a fault that the port has now, else 0."""
        return self.faults.value(name, self.clock.now, priority) if self.faults.faults else 0

    def speed_agrees(self) -> bool:
        """Up, and of the cable's speed."""
        return self.config.admin_up and self.config.speed_mbps == self.cable.speed_mbps

    # ---- data comes in

    def receive(self, frame: Frame) -> None:
        """A data frame's last bit has come."""
        config = self.config
        self.rx_packets += 1
        self.rx_bytes += frame.size
        self.rx_smallest += frame.size == 64
        tagged = frame.spec.vlan_priority if frame.spec.vlan_id is not None else 0
        traffic_class = config.dot1p_to_tc[tagged] if config.dot1p_to_tc else config.dscp_to_tc[frame.dscp]
        frame.in_port, frame.group = self, config.tc_to_pg[traffic_class]
        where = self.switch.ways.decide((self.switch.config.name, self.name), frame.size, frame.destination,
                                        frame.spec.destination_address)
        out = self.switch.ports[where.port] if where.port is not None else None
        if out is None or not out.cable.up:
            self.drop_in(where.reason or PORT_DOWN)
            return
        frame.out, frame.queue, frame.destination = out, out.config.tc_to_queue[traffic_class], where.next_mac
        cell = self.switch.config.cell_bytes
        frame.cells = (frame.size + cell - 1) // cell * cell
        self.admit(frame, self.groups[frame.group], out.queues[frame.queue])

    def admit(self, frame: Frame, group: Group, queue: Queue) -> None:
        """Put a frame in the buffer, or drop it."""
        pools = self.switch.pools
        pools.check()
        group.passed += 1
        if queue.dropping:
            self.drop_out(frame, "watchdog, egress")
        elif group.dropping:
            self.drop_in("watchdog, ingress", group)
        elif self.fault_drops(frame, group):
            self.drop_out(frame, "fault")
        elif not pools.fits_queue(queue, frame.cells):
            self.drop_out(frame, "queue full")
        elif self.charge_group(frame, group):
            pools.charge_queue(queue, frame.cells)
            group.packets += 1
            group.bytes += frame.size
            queue.frames.append(frame)
            self.clock.want(frame.out)
        else:
            self.drop_in("priority group full", group)

    def charge_group(self, frame: Frame, group: Group) -> bool:
        """Take a frame's cells at the ingress; XOFF when they do not fit in the shared part."""
        headroom = group.profile.xoff if group.profile and not self.fault("headroom-missing") else 0
        accepted, in_shared = self.switch.pools.charge_group(group, frame.cells, headroom)
        if not in_shared and group.is_lossless and not group.xoff:
            group.xoff = True
            self.tell_xoff(frame.group)
        return accepted

    def fault_drops(self, frame: Frame, group: Group) -> bool:
        """Whether a fault drops this one of the frames of its flow, size and DSCP on its path."""
        out: SwitchPort = frame.out
        every = out.fault("lossless-dropped" if group.is_lossless else "lossy-dropped", frame.queue)
        if not every:
            return False
        path = frame.spec.name, frame.size, frame.dscp, frame.group, self.name, frame.queue
        out.passed[path] = out.passed.get(path, 0) + 1
        return out.passed[path] % every == 0

    def drop_in(self, reason: str, group: Group | None = None) -> None:
        """Count a frame dropped on the way in."""
        self.rx_drops += 1
        if group is not None:
            group.dropped += 1
            group.passed -= 1
        self.switch.drop(self.name, reason)

    def drop_out(self, frame: Frame, reason: str) -> None:
        """Count a frame dropped that was to leave by another port."""
        queue: Queue = frame.out.queues[frame.queue]
        frame.out.tx_drops += 1
        queue.dropped += 1
        queue.dropped_bytes += frame.size
        self.switch.drop(frame.in_port.name, reason)

    # ---- back-pressure

    def priorities(self, group: int) -> list[int]:
        """Priorities that are told of a group's congestion, lowest first."""
        config = self.config
        if self.fault("xoff-not-sent"):
            return []
        found = [p for p in sorted(config.pfc_priorities - self.muted) if config.tc_to_pg[p] == group]
        if self.fault("xoff-one-priority-only"):
            found = found[:1]
        if found and self.fault("xoff-wrong-priority"):
            found = sorted({0, *found})
        return found

    def tell_xoff(self, group: int) -> None:
        """Begin to pause the other end."""
        for priority in self.priorities(group) if self.cable.up else []:
            if priority not in self.told:
                ticket = self.told[priority] = object()
                self.emit(priority, FULL_QUANTA)
                self.plan_refresh(priority, ticket)

    def plan_refresh(self, priority: int, ticket: object) -> None:
        """Repeat the XOFF every half pause time, counted from the decision, until its ticket is taken back."""
        def refresh() -> None:
            if self.told.get(priority) is ticket:
                if not self.fault("refresh-missing", priority):
                    self.emit(priority, FULL_QUANTA)
                self.plan_refresh(priority, ticket)
        self.clock.at(self.clock.now + FULL_QUANTA * 32 * self.cable.byte, TIMER, CONTROL_DUE, refresh)

    def send_unasked(self) -> None:
        """A faulty port pauses a priority without congestion; the fault and the link are older than this instant."""
        for fault in self.faults.faults:
            if fault.name == "pfc-unasked" and fault.since < self.clock.now and self.clock.now % (
                    fault.value * 10**9) == 0 and self.fault("pfc-unasked") and self.cable.up:
                self.emit(3 if fault.priority is None else fault.priority, FULL_QUANTA)
        self.clock.at(self.clock.now + 10**9, TIMER, CONTROL_DUE, self.send_unasked)

    def tell_xon(self, group: int) -> None:
        """End the pause of the other end."""
        for priority in self.priorities(group):
            if self.told.pop(priority, None) is not None and not self.fault("xon-not-sent", priority):
                self.emit(priority, 0)

    def emit(self, priority: int, quanta: int) -> None:
        """Let a PFC frame wait for the line."""
        source = bytes(6) if self.fault("zero-source-sent") else self.switch.station
        data = pfc_bytes(source, priority, quanta)
        if self.fault("malformed-pfc-sent"):
            data = data[:MALFORMED_BYTES]

        def sent() -> None:
            self.pfc_tx[priority] += 1
        self.send_control(ControlItem(data, False, sent))

    # ---- data goes out

    def choose_data(self) -> None:
        """The scheduler's choice among the queues that have frames and are not shut."""
        queues, shut, leak = self.queues, self.shut, self.leak
        heads = {n: queues[n].frames[0].size for n in range(8)
                 if queues[n].frames and (n not in shut or n in leak)}
        queue = self.round.choose(heads, self.served)
        if queue is None:
            return
        if queue in shut:
            leak.discard(queue)
        frame, peer = queues[queue].frames.popleft(), self.peer
        assert isinstance(peer, (SwitchPort, GeneratorEnd))
        self.current = frame
        self.put(frame.size, partial(self.sent, frame), partial(peer.receive, frame.on_the_next_cable()))

    def sent(self, frame: Frame) -> None:
        """A data frame's last bit has left."""
        self.current = None
        queue = self.queues[frame.queue]
        self.tx_packets += 1
        self.tx_bytes += frame.size
        queue.packets += 1
        queue.bytes += frame.size
        self.release(frame)

    def release(self, frame: Frame) -> None:
        """Give a frame's cells back; XON when its group may go on."""
        in_port: SwitchPort = frame.in_port
        group, pools = in_port.groups[frame.group], self.switch.pools
        pools.release_queue(self.queues[frame.queue], frame.cells)
        pools.release_group(group, frame.cells)
        if pools.may_resume(group):
            group.xoff = False
            in_port.tell_xon(frame.group)

    def discard(self, queue: Queue) -> None:
        """Drop what waits in a queue."""
        while queue.frames:
            frame = queue.frames.popleft()
            self.drop_out(frame, "queue discarded")
            self.release(frame)

    # ---- pauses come in

    def receive_control(self, item: ControlItem) -> None:
        """A control frame's last bit has come."""
        reading, size = self.read(item.data, item.fcs_error), len(item.data) + FCS_BYTES
        if reading.kind == "lost":
            return
        self.rx_smallest += size == 64
        if self.fault("pfc-forwarded"):
            self.switch.flood(self, item.run, size)
        if reading.kind == "error":
            self.rx_errors += 1
        elif reading.kind == "pause":
            self.pause_rx += 1
        elif reading.kind == "discard" or self.fault("pfc-counted-as-drop"):
            self.rx_drops += 1
        if reading.kind == "discard" or (reading.kind == "pfc" and self.fault("pfc-counted-as-data")):
            self.rx_packets += 1
            self.rx_bytes += size
        for priority in reading.pauses:
            if not self.fault("pfc-not-counted", priority):
                self.pfc_rx[(priority + bool(self.fault("pfc-miscounted", priority))) % 8] += 1
        if reading.kind == "pfc":
            self.pauses.later(self.response(), reading.pauses, lambda priority: bool(self.shut_by(priority)))

    def read(self, data: bytes, fcs_error: bool) -> Reading:
        """What the port makes of a control frame, faults included."""
        return read_with_faults(data, read_control(data, fcs_error, self.switch.station), self.fault)

    def response(self) -> int:
        """Time from a pause frame's last bit to its effect."""
        return self.config.response_ps * (self.fault("slow-response") or 1)

    def shut_by(self, priority: int) -> set[int]:
        """Queues that a pause of a class shuts."""
        if priority in self.muted or self.fault("pause-ignored", priority):
            return set()
        config = self.config
        own = {config.pfc_to_queue[priority]} if priority in config.pfc_priorities else set()
        return own | ({1} if self.fault("lossy-queue-paused", priority) else set())

    def gate_changed(self) -> None:
        """Work out which queues are shut now; leaks begin and end with that."""
        self.shut = {queue for p in range(8) if self.pauses.since[p] is not None for queue in self.shut_by(p)}
        self.leak &= self.shut
        for queue in range(8):
            period_ms = self.fault("pause-leaks", queue) if queue in self.shut else 0
            if not period_ms:
                self.leaking.pop(queue, None)
                self.leak.discard(queue)
            elif queue not in self.leaking:
                self.leaking[queue] = ticket = object()
                self.plan_leak(queue, ticket, period_ms * 10**9)
        self.clock.want(self)

    def plan_leak(self, queue: int, ticket: object, period: int) -> None:
        """Let one frame of a shut queue out each period."""
        def fire() -> None:
            if self.leaking.get(queue) is ticket:
                self.leak.add(queue)
                self.clock.want(self)
                self.plan_leak(queue, ticket, period)
        self.clock.at(self.clock.now + period, TIMER, FAULT, fire)

    # ---- changes

    def went_down(self) -> None:
        """Everything on the line and in the queues is lost, every pause forgotten."""
        frame, self.current, self.on_line = self.current, None, None
        if frame is not None:
            self.drop_out(frame, "queue discarded")
            self.release(frame)
        for queue in self.queues:
            self.discard(queue)
        self.waiting_control.clear()
        self.told.clear()
        self.pauses.forget({p for p in range(8) if self.fault("pause-outlives-flap", p)})

    def came_up(self) -> None:
        """Groups that are still congested say so."""
        for number, group in enumerate(self.groups):
            if group.xoff:
                self.tell_xoff(number)

    def serve(self) -> None:
        """Take how queues are served, by configuration and faults; another way starts the round anew."""
        now: Served = [(False, 1) if self.fault("weights-ignored", queue) and not strict else (strict, weight)
                       for queue, (strict, weight) in enumerate(served(self.config.schedulers))]
        if now != self.served:
            self.served, self.round = now, Round()

    def priorities_changed(self) -> None:
        """PFC of a priority was switched on or off: by the configuration, the watchdog or a fault."""
        self.serve()
        for priority in range(8):
            if not self.shut_by(priority):
                self.pauses.end(priority)
        self.gate_changed()
        allowed = {p for group in range(8) for p in self.priorities(group)}
        for priority in set(self.told) - allowed:
            del self.told[priority]
        self.came_up()


class Device:
    """What the ports of one switch share; `drops` by (ingress port, reason)."""

    def __init__(self, clock: Clock, config: SwitchConfig, faults: list[OracleFault], ways: Ways) -> None:
        self.clock, self.config, self.faults, self.ways = clock, config, faults, ways
        self.station = bytes.fromhex(config.mac.replace(":", ""))
        self.ports: dict[str, SwitchPort] = {}
        self.drops: dict[tuple[str, str], int] = {}
        self.pools = Pools(lambda: [group for port in self.ports.values() for group in port.groups],
                           lambda: [queue for port in self.ports.values() for queue in port.queues])

    def drop(self, port: str, reason: str) -> None:
        """Count a dropped frame by ingress port and reason."""
        self.drops[port, reason] = self.drops.get((port, reason), 0) + 1

    def flood(self, source: SwitchPort, run: Run | None, size: int) -> None:
        """A faulty switch forwards a control frame to its other generator ports.

        It counts there at once, and takes no place on their lines.
        """
        for port in self.ports.values():
            peer = port.peer
            if port is not source and isinstance(peer, GeneratorEnd) and port.cable.up:
                port.tx_packets += 1
                port.tx_bytes += size
                queue = port.queues[port.config.tc_to_queue[0]]
                queue.packets += 1
                queue.bytes += size
                if run is not None:
                    peer.receive_flooded(run, size)
