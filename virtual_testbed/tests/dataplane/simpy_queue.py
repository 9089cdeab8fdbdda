"""The queue behind a paused port as a SimPy model: what the data plane's speed is compared with.

Two ports of one switch: data flows from the first to the second, pause storms from the second. A source merges the
flows' schedules, each direction of a cable is a serializer, the egress queues have a pause gate that the storm
drives, and the ingress buffer sends XOFF (repeated) and XON to the first port, whose source obeys. Frame counts are
those of docs/data-plane.md on such traffic.

Left out, which makes it faster, not slower: egress thresholds, shared headroom, response times, watchdog, faults,
forwarding, several classes or sizes in one flow, bursts, durations. Waiting frames that are not paused leave oldest
first; the scheduler's rounds are the same thing while never two classes wait, as with at most 100 % of the line.
"""
from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import simpy

from pfctest.frame import PfcFrame, decode
from pfctest.timing import MAX_QUANTA, frame_time_ps, pause_time_ps
from virtual_testbed.dataplane.model.configuration import BufferProfile, SwitchConfig
from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, Flow, PauseFlow

CONTROL = 8
"""The transmit queue of MAC control frames, which no pause shuts."""
CONTROL_BYTES = 64
NO_LIMIT = BufferProfile("", 0, None, 1 << 60)
Steps = Generator[simpy.Event, Any, None]
"""A SimPy process."""


@dataclass(frozen=True, slots=True)
class Frame:
    """All frames of one flow, or of one kind of MAC control frame (`pauses`: quanta by class)."""

    name: str
    queue: int
    group: int
    cells: int
    wire_ps: int
    pauses: tuple[tuple[int, int], ...] = ()


class Line:
    """One direction of a cable: takes frames one by one, oldest first, except those of a shut queue.

    Args:
        env: SimPy's environment; its time is picoseconds.
        propagation_ps: from the last bit's departure to its arrival, less than any frame's wire time.
        sent: told of each frame whose last bit has left.
        arrived: told of each frame whose last bit has come.
    """

    def __init__(self, env: simpy.Environment, propagation_ps: int, sent: Callable[[Frame], None],
                 arrived: Callable[[Frame], None]) -> None:
        self._env, self._propagation_ps, self._sent, self._arrived = env, propagation_ps, sent, arrived
        self._ready: deque[Frame] = deque()
        self._parked: list[deque[Frame]] = [deque() for _ in range(CONTROL + 1)]
        self._idle: simpy.Event | None = None
        self.shut = [False] * (CONTROL + 1)
        env.process(self._serve())

    def put(self, frame: Frame) -> None:
        """Send a frame as soon as the line is free and the queue is not shut."""
        if self.shut[frame.queue]:
            self._parked[frame.queue].append(frame)
            return
        self._ready.append(frame)
        self._wake()

    def close(self, queue: int) -> None:
        """Send nothing of a queue from now on; the frame on the line is finished."""
        self.shut[queue] = True
        self._parked[queue].extend(frame for frame in self._ready if frame.queue == queue)
        self._ready = deque(frame for frame in self._ready if frame.queue != queue)

    def open(self, queue: int) -> None:
        """Send a queue's frames again, those that waited behind what is ready."""
        self.shut[queue] = False
        self._ready.extend(self._parked[queue])
        self._parked[queue].clear()
        self._wake()

    def _wake(self) -> None:
        if self._idle is not None and self._ready:
            self._idle.succeed()
            self._idle = None

    def _serve(self) -> Steps:
        while True:
            while not self._ready:
                self._idle = self._env.event()
                yield self._idle
            frame = self._ready.popleft()
            yield self._env.timeout(frame.wire_ps)
            self._sent(frame)
            self._env.timeout(self._propagation_ps, frame).callbacks.append(self._arrive)

    def _arrive(self, event: Any) -> None:
        self._arrived(event.value)


class Gate:
    """Received pauses: shut queues of a line until their quanta have passed; `opened` is told of each that opens."""

    def __init__(self, env: simpy.Environment, line: Line, speed_mbps: int, opened: Callable[[int], None]) -> None:
        self._env, self._line, self._speed_mbps, self._opened = env, line, speed_mbps, opened
        self._until = [0] * CONTROL

    def receive(self, pauses: Iterable[tuple[int, int]]) -> None:
        """A pause frame has come: (queue, quanta) of each class that it enables."""
        for queue, quanta in pauses:
            pause_ps = pause_time_ps(quanta, self._speed_mbps)
            self._until[queue] = int(self._env.now) + pause_ps
            if quanta and not self._line.shut[queue]:
                self._line.close(queue)
            self._env.timeout(pause_ps, queue).callbacks.append(self._expire)

    def _expire(self, event: Any) -> None:
        queue = event.value
        if self._line.shut[queue] and self._until[queue] <= self._env.now:
            self._line.open(queue)
            self._opened(queue)


class Source:
    """Everything that one port sends, in one schedule; a frame due while its queue is shut is due when that opens."""

    def __init__(self, env: simpy.Environment, line: Line, frames: Sequence[Frame], rates: Sequence[Fraction]) -> None:
        self._env, self._line, self._frames = env, line, frames
        self._periods = [10**12 / rate for rate in rates]
        self._start = [0] * len(frames)
        self._number = [0] * len(frames)
        self._due = [(0, flow) for flow in range(len(frames))]
        self._held: set[int] = set()
        self._process = env.process(self._send())

    def resume(self, queue: int) -> None:
        """A queue has opened: go on with the flows that it held."""
        flows = sorted(flow for flow in self._held if self._frames[flow].queue == queue)
        for flow in flows:
            self._held.remove(flow)
            self._start[flow], self._number[flow] = int(self._env.now), 0
            heapq.heappush(self._due, (self._start[flow], flow))
        if flows:
            self._process.interrupt()

    def _send(self) -> Steps:
        while True:
            try:
                yield self._env.timeout(self._due[0][0] - self._env.now) if self._due else self._env.event()
            except simpy.Interrupt:
                continue
            _, flow = heapq.heappop(self._due)
            if self._line.shut[self._frames[flow].queue]:
                self._held.add(flow)
                continue
            self._line.put(self._frames[flow])
            self._number[flow] += 1
            period = self._periods[flow]
            due = self._start[flow] + self._number[flow] * period.numerator // period.denominator
            heapq.heappush(self._due, (due, flow))


class Ingress:
    """Buffer of the first port's priority groups; `xoff` is told (group, True or False) when one congests or not."""

    def __init__(self, config: SwitchConfig, xoff: Callable[[int, bool], None]) -> None:
        profiles = next(iter(config.ports.values())).priority_groups
        self._profiles = [profiles.get(group, NO_LIMIT) for group in range(8)]
        self._free = {name: pool.size for name, pool in config.pools.items()} | {NO_LIMIT.pool: NO_LIMIT.static_th or 0}
        self._xoff = xoff
        self._reserved, self._shared, self._headroom = [0] * 8, [0] * 8, [0] * 8
        self._congested = [False] * 8

    def _limit(self, profile: BufferProfile) -> int:
        if profile.dynamic_th is None:
            return NO_LIMIT.static_th or 0 if profile.static_th is None else profile.static_th
        free, power = self._free[profile.pool], profile.dynamic_th
        return free << power if power >= 0 else free >> -power

    def admit(self, frame: Frame) -> bool:
        """Store a frame, False when it does not fit."""
        group, profile = frame.group, self._profiles[frame.group]
        own = min(frame.cells, profile.size - self._reserved[group])
        rest = frame.cells - own
        if self._shared[group] + rest <= self._limit(profile):
            self._shared[group] += rest
            self._free[profile.pool] -= rest
        else:
            if profile.xoff and not self._congested[group]:
                self._congested[group] = True
                self._xoff(group, True)
            if self._headroom[group] + rest > profile.xoff:
                return False
            self._headroom[group] += rest
        self._reserved[group] += own
        return True

    def release(self, frame: Frame) -> None:
        """A frame has left."""
        group, profile = frame.group, self._profiles[frame.group]
        headroom = min(frame.cells, self._headroom[group])
        shared = min(frame.cells - headroom, self._shared[group])
        self._headroom[group] -= headroom
        self._shared[group] -= shared
        self._free[profile.pool] += shared
        self._reserved[group] -= frame.cells - headroom - shared
        if self._congested[group] and not self._headroom[group]:
            level = max(profile.xon, self._limit(profile) - profile.xon_offset) if profile.xon_offset else profile.xon
            if self._shared[group] <= level:
                self._congested[group] = False
                self._xoff(group, False)


class SimpyQueue:
    """See the module.

    Args:
        config: a switch; its first two ports carry the traffic, a priority is also the number of its group and queue.
        flows: data flows (from the first port to the second) and pause flows (from the second); all start at 0.
        cable_m: length of the two cables, meters.

    Attributes:
        frames_tx: frames sent, by flow.
        frames_rx: data frames received, by flow.
        pfc_tx: XOFF and XON frames sent to the first port, by class.
        pfc_rx: pause frames that the second port received, by class.
        dropped: frames that did not fit in the ingress buffer, by flow.

    Raises:
        ValueError: a flow with something that the model leaves out.
    """

    def __init__(self, config: SwitchConfig, flows: Sequence[Flow], cable_m: int = 5) -> None:
        self.frames_tx, self.frames_rx, self.dropped = (Counter({flow.name: 0 for flow in flows}) for _ in range(3))
        self.pfc_tx: Counter[int] = Counter()
        self.pfc_rx: Counter[int] = Counter()
        self._config, self._env, self._delay = config, simpy.Environment(), cable_m * 5000
        self._in, self._out = list(config.ports.values())[:2]
        self._ingress = Ingress(config, self._xoff)
        self._xoff_ticket: Counter[int] = Counter()
        self._build([flow for flow in flows if isinstance(flow, DataFlow)],
                    [flow for flow in flows if isinstance(flow, PauseFlow)])

    def advance_to(self, time_ps: int) -> None:
        """Process all events at or before `time_ps`, which lies ahead."""
        self._env.run(until=time_ps + 1)  # SimPy stops before the events of that instant

    def _build(self, data: Sequence[DataFlow], storms: Sequence[PauseFlow]) -> None:
        env, delay = self._env, self._delay
        into_switch = Line(env, delay, self._count_sent, self._at_switch)
        out_of_switch = Line(env, delay, self._ingress.release, self._count_received)
        storm_line = Line(env, delay, self._count_sent, self._pause_at_switch)
        self._xoff_line = Line(env, delay, self._count_xoff, self._pause_at_generator)
        self._egress = out_of_switch
        self._egress_gate = Gate(env, out_of_switch, self._out.speed_mbps, lambda queue: None)
        source = Source(env, into_switch, [self._data_frame(flow) for flow in data], [flow.rate_fps for flow in data])
        self._source_gate = Gate(env, into_switch, self._in.speed_mbps, source.resume)
        Source(env, storm_line, [self._storm_frame(flow) for flow in storms], [flow.rate_fps for flow in storms])

    def _data_frame(self, flow: DataFlow) -> Frame:
        classes = {self._in.dscp_to_tc[dscp] for dscp in flow.dscp}
        if len(classes) != 1 or len(flow.sizes) != 1 or flow.duration != Duration() or classes != {flow.queue}:
            raise ValueError(f"flow {flow.name}: expected one traffic class, equal to its queue, one size, no duration")
        traffic_class = classes.pop()
        cells = -(-flow.sizes[0] // self._config.cell_bytes) * self._config.cell_bytes
        return Frame(flow.name, self._out.tc_to_queue[traffic_class], self._in.tc_to_pg[traffic_class], cells,
                     frame_time_ps(flow.sizes[0], self._in.speed_mbps))

    def _storm_frame(self, flow: PauseFlow) -> Frame:
        pause = decode(flow.frame)
        if not isinstance(pause, PfcFrame) or flow.fcs_error or flow.duration != Duration():
            raise ValueError(f"flow {flow.name}: expected good PFC frames, no duration")
        enabled = tuple((n, quanta) for n, quanta in enumerate(pause.quanta) if pause.class_enable >> n & 1)
        return Frame(flow.name, CONTROL, 0, 0, frame_time_ps(len(flow.frame) + 4, self._out.speed_mbps), enabled)

    def _count_sent(self, frame: Frame) -> None:
        self.frames_tx[frame.name] += 1

    def _count_received(self, frame: Frame) -> None:
        self.frames_rx[frame.name] += 1

    def _count_xoff(self, frame: Frame) -> None:
        self.pfc_tx[frame.pauses[0][0]] += 1

    def _at_switch(self, frame: Frame) -> None:
        if self._ingress.admit(frame):
            self._egress.put(frame)
        else:
            self.dropped[frame.name] += 1

    def _pause_at_switch(self, frame: Frame) -> None:
        self.pfc_rx.update(priority for priority, _ in frame.pauses)
        self._egress_gate.receive((priority, quanta) for priority, quanta in frame.pauses
                                  if priority in self._out.pfc_priorities)

    def _pause_at_generator(self, frame: Frame) -> None:
        self._source_gate.receive(frame.pauses)

    def _xoff(self, group: int, congested: bool) -> None:
        self._xoff_ticket[group] += 1
        if congested:
            self._env.process(self._repeat_xoff(group, self._xoff_ticket[group]))
        else:
            self._xoff_line.put(self._control(group, 0))

    def _repeat_xoff(self, group: int, ticket: int) -> Steps:
        while self._xoff_ticket[group] == ticket:
            self._xoff_line.put(self._control(group, MAX_QUANTA))
            yield self._env.timeout(pause_time_ps(MAX_QUANTA, self._in.speed_mbps) // 2)

    def _control(self, group: int, quanta: int) -> Frame:
        return Frame("", CONTROL, 0, 0, frame_time_ps(CONTROL_BYTES, self._in.speed_mbps), ((group, quanta),))
