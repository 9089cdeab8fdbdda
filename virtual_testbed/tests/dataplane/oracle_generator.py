"""Generator ports and flows of the oracle: every frame comes due on its own, waits, and is put on the line."""
from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import partial
from typing import Any

from virtual_testbed.dataplane.model.traffic import DataFlow, Flow, GeneratorPort, PauseFlow
from virtual_testbed.tests.dataplane.oracle_clock import (AT_GENERATOR, CONTROL_DUE, DUE, FCS_BYTES, FLOW_END,
                                                          FLOW_START, GENERATOR_INDEX, TIMER, Cable, Clock,
                                                          ControlItem, LineEnd, PauseTimers)
from virtual_testbed.tests.dataplane.oracle_control import read_control

SECOND = 10**12


@dataclass(eq=False)
class Frame:
    """A data frame, and the places of the switch that it is in (ports as objects of the switch).

    Attributes:
        begun, sent: when it went on the line of its generator port, and when its last bit had left.
    """

    run: Run
    spec: DataFlow
    size: int
    dscp: int
    destination: str
    in_port: Any = None
    out: Any = None
    group: int = 0
    queue: int = 0
    cells: int = 0
    begun: int = 0
    sent: int = 0

    def on_the_next_cable(self) -> Frame:
        """The same frame as the next device receives it, with places of its own there."""
        return Frame(self.run, self.spec, self.size, self.dscp, self.destination, begun=self.begun, sent=self.sent)


class Run:
    """A flow, started or not.

    Attributes:
        index: its place in the order of the flows.
        base, number, phase: the next frame is the `number`-th since `base`, where the first was the `phase`-th of its
            burst.
        made: frames that came due since the flow began; `position` frames put on the line since then.
        waiting: frames that wait for the line or are on it.
        under_way: when each frame that has not been received went on the line; `latency` the sum of the latencies of
            those that have, `is_known` none was under way when the counts were cleared.
    """

    def __init__(self, spec: Flow, end: GeneratorEnd, index: int) -> None:
        self.spec, self.end, self.index, self.clock = spec, end, index, end.clock
        self.active = self.commanded_pause = self.held = self.ended = False
        self.generation = self.base = self.number = self.phase = self.made = self.position = self.waiting = 0
        self.tx = self.tx_bytes = self.rx = self.rx_bytes = self.latency = 0
        self.under_way, self.is_known = set[int](), True

    def start(self) -> None:
        """START."""
        waits = not self.ended and any(run is self for _, _, _, run in self.end.line)
        if not self.active and not waits:
            self.active, self.commanded_pause, self.held, self.ended, self.made = True, False, False, False, 0
            self.generation += 1
            self._timer(self.spec.duration.delay_ps, FLOW_START, self._begin)

    def stop(self) -> None:
        """STOP, or the end of a fixed time."""
        self.active = self.commanded_pause = self.held = False
        self.ended = True
        self.generation += 1
        self.end.discard_held()

    def command_pause(self) -> None:
        """Hold the flow by command."""
        self.commanded_pause = self.active

    def command_resume(self) -> None:
        """End a hold by command."""
        self.commanded_pause = False
        self.resume()

    def clear(self) -> None:
        """Count from 0 again."""
        self.tx = self.tx_bytes = self.rx = self.rx_bytes = self.latency = 0
        self.is_known = not self.under_way

    def resume(self) -> None:
        """Go on when nothing holds the flow any more: the frame it held back is due now."""
        if self.active and self.held and not self._is_held():
            burst = self.spec.duration.burst_frames
            self.phase = (self.phase + self.number) % burst if burst else 0
            self.held, self.base, self.number = False, self.clock.now, 0
            self._plan()

    def transmit(self) -> str:
        """What the flow's counters call it."""
        if self.active:
            return "paused" if self.commanded_pause else "started"
        return "started" if self.waiting else "stopped"

    def _is_held(self) -> bool:
        return self.commanded_pause or (isinstance(self.spec, DataFlow) and self.spec.queue in self.end.held)

    def _timer(self, delay: int, order: int, what: Any) -> None:
        generation = self.generation

        def fire() -> None:
            if self.generation == generation:
                what()
        self.clock.at(self.clock.now + delay, TIMER, order, fire)

    def _begin(self) -> None:
        self.base, self.number, self.phase, self.position = self.clock.now, 0, 0, 0
        if self.spec.duration.time_ps is not None:
            self._timer(self.spec.duration.time_ps, FLOW_END, self.stop)
        self._plan()

    def _after(self, frames: int) -> int:
        """Picoseconds from a frame to the `frames`-th after it, rounded down."""
        rate = self.spec.rate_fps
        return frames * SECOND * rate.denominator // rate.numerator

    def _next_due(self) -> int:
        burst, place = self.spec.duration.burst_frames, self.phase + self.number
        if not burst or place < burst:
            return self.base + self._after(self.number)
        begun = self.base - self._after(self.phase)
        return begun + place // burst * self.spec.duration.burst_period_ps + self._after(place % burst)

    def _plan(self) -> None:
        ticket = self.generation, self.base, self.number

        def fire() -> None:
            if self.active and not self.held and ticket == (self.generation, self.base, self.number):
                self._due()
        if isinstance(self.spec, DataFlow):
            self.clock.at(self._next_due(), DUE, self.index, fire)
        else:
            self.clock.at(self._next_due(), TIMER, CONTROL_DUE, fire)

    def _due(self) -> None:
        if self._is_held():
            self.held = True
            return
        self.waiting += 1
        self.end.accept(self)
        self.made += 1
        self.number += 1
        if self.spec.duration.frames is not None and self.made >= self.spec.duration.frames:
            self.active = False
        else:
            self._plan()

    def next_frame(self) -> Frame:
        """The frame that is put on the line now."""
        spec, position = self.spec, self.position
        assert isinstance(spec, DataFlow)
        self.position += 1
        size, begun = spec.sizes[position % len(spec.sizes)], self.clock.now
        self.under_way.add(begun)
        return Frame(self, spec, size, spec.dscp[position % len(spec.dscp)], spec.destination_mac.lower(),
                     begun=begun, sent=begun + self.end.cable.time(size))

    def received(self, frame: Frame, first_bit: int) -> None:
        """A frame has come, its first bit at that instant."""
        self.under_way.remove(frame.begun)
        self.latency += first_bit - (frame.sent if frame.spec.latency == "last bit" else frame.begun)

    def known_latency(self) -> int | None:
        """The sum of the latencies of all frames, if it is measured and all have come."""
        is_measured = isinstance(self.spec, DataFlow) and self.spec.latency is not None
        return self.latency if is_measured and self.is_known and not self.under_way else None

    def sent(self, size: int) -> None:
        """A frame's last bit has left."""
        self.waiting -= 1
        self.tx += 1
        self.tx_bytes += size
        self.end.tx += 1
        self.end.tx_bytes += size


class GeneratorEnd(LineEnd):
    """One generator port.

    Attributes:
        line: data frames that came due, as (due instant, flow, count, run).
        held: transmit queues that received pauses hold.
        tx, tx_bytes, rx, rx_bytes, pfc_rx: its counters.
    """

    stage = AT_GENERATOR

    def __init__(self, clock: Clock, cable: Cable, number: int) -> None:
        super().__init__(clock, cable, GENERATOR_INDEX + number)
        self.spec: GeneratorPort | None = None
        self.admin_up = True
        self.runs: list[Run] = []
        self.line: list[tuple[int, int, int, Run]] = []
        self.held: set[int] = set()
        self.pauses = PauseTimers(clock, cable, self._pauses_changed)
        self.tx = self.tx_bytes = self.rx = self.rx_bytes = 0
        self.pfc_rx = [0] * 8

    def speed_agrees(self) -> bool:
        """Up, and of the cable's speed."""
        return self.admin_up and (self.spec is None or self.spec.speed_mbps in (0, self.cable.speed_mbps))

    def accept(self, run: Run) -> None:
        """A frame of a flow has come due."""
        if isinstance(run.spec, PauseFlow):
            size = len(run.spec.frame) + FCS_BYTES
            self.send_control(ControlItem(run.spec.frame, run.spec.fcs_error, partial(run.sent, size), run.index,
                                          run))
        else:
            bisect.insort(self.line, (self.clock.now, run.index, run.made, run), key=lambda item: item[:3])
            self.clock.want(self)

    def choose_data(self) -> None:
        """The oldest frame whose queue is not held."""
        for place, (_, _, _, run) in enumerate(self.line):
            if isinstance(run.spec, DataFlow) and run.spec.queue not in self.held:
                del self.line[place]
                frame, peer = run.next_frame(), self.peer
                self.put(frame.size, partial(run.sent, frame.size), partial(getattr(peer, "receive"), frame))
                return

    def receive(self, frame: Frame) -> None:
        """A data frame's last bit has come."""
        self._count(frame.run, frame.size)
        if self.spec is not None and self.spec.name in frame.spec.rx_ports:
            frame.run.received(frame, self.clock.now - self.cable.time(frame.size))

    def _count(self, run: Run, size: int) -> None:
        self.rx += 1
        self.rx_bytes += size
        if self.spec is not None and self.spec.name in run.spec.rx_ports:
            run.rx += 1
            run.rx_bytes += size

    def receive_flooded(self, run: Run, size: int) -> None:
        """A faulty switch has forwarded a control frame of a flow."""
        self._count(run, size)

    def receive_control(self, item: ControlItem) -> None:
        """A control frame's last bit has come."""
        reading = read_control(item.data, item.fcs_error, None)
        for priority in reading.pauses:
            self.pfc_rx[priority] += 1
        if reading.kind == "pfc" and self.spec is not None:
            mapped = {priority for priority, _ in self.spec.pfc_queues}
            self.pauses.later(self.spec.response_ps, reading.pauses, mapped.__contains__)

    def went_down(self) -> None:
        """Pauses end; flows go on into the void."""
        self.pauses.forget()

    def discard_held(self) -> None:
        """What PFC holds of flows that have ended is not sent."""
        for item in [item for item in self.line if item[3].ended]:
            run = item[3]
            if isinstance(run.spec, DataFlow) and run.spec.queue in self.held:
                self.line.remove(item)
                run.waiting -= 1

    def holding(self, queue: int) -> frozenset[int]:
        """Classes whose pause holds a transmit queue now."""
        mapping = self.spec.pfc_queues if self.spec else ()
        return frozenset(p for p, q in mapping if q == queue and self.pauses.since[p] is not None)

    def _pauses_changed(self) -> None:
        mapping = self.spec.pfc_queues if self.spec else ()
        held = {queue for priority, queue in mapping if self.pauses.since[priority] is not None}
        if held == self.held:
            return
        self.held = held
        self.discard_held()
        for run in self.runs:
            run.resume()
        self.clock.want(self)
