"""Data without a storm, as much as the port under test can send or more: the steps that LOAD, M2O and SPEED share."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import line_rate_fps
from ..model.checking import priority_of
from ..model.counters import DutCounters, changed
from ..model.errors import QualificationError
from ..model.measurement import Readings, flow_numbers
from ..model.ports import ConnectedPort
from ..model.traffic import FlowStats
from .ingress_load import FRAME_BYTES, IngressLoad, ingress_flows
from .scheduler_shares import Scheduler, divide, read_schedulers
from .switch_counters import Drops, drop_commands, drops_delay_s, read_drops

logger = logging.getLogger(__name__)


DRAIN_S = 1.0  # a shared buffer leaves in milliseconds; a generator's clock is not the lab's
ROOM_S = 5.0  # how long data is sent that the line has room for
EXACT_ROOM_S = 0.004  # ... on an exact clock: 48,000 frames at 100 Gb/s
EXACT_FRAMES = 12_000  # of the line, in which rates are measured on an exact clock: a queue's turn is 2 of them


@dataclass(frozen=True)
class Timing:
    """How long data is sent that the line has no room for, and when in it rates are measured.

    Attributes:
        settled_s: from the start until queues are full and rates steady.
        window_s: how long rates are measured then.
    """

    settled_s: float
    window_s: float

    @property
    def data_s(self) -> float:
        """How long data is sent: a tenth longer, so that it does not end before the last reading."""
        return 1.1 * (self.settled_s + self.window_s)


# Flows take up to a second to start, and a generator refreshes its statistics about once a second.
WALL = Timing(3.0, 10.0)


def room_s(lab: Lab) -> float:
    """How long data is sent that the line has room for."""
    return EXACT_ROOM_S if lab.clock.exact else ROOM_S


def timing(lab: Lab, percent: int) -> Timing:
    """How long data of `percent` of the line under test is sent.

    Of what the line has no room for a switch holds at most its shared buffer: when that much has come in, queues are
    as full as they get. Simulated time of congestion is dear: no more of it is spent than that takes and rates need.

    Args:
        lab: its clock, the buffer and the line.
        percent: more than 100, where full lines are loaded in full.

    Raises:
        QualificationError: full lines are loaded so little that nothing is too much.
    """
    speed_mbps, loaded = lab.subject.pair.speed_mbps, percent * _of_full(lab)
    if loaded <= 100:
        raise QualificationError(
            f"{lab.subject.where()}: the testbed's pfc_conditions have line_percent"
            f" {lab.subject.tolerances.line_percent:g}, which makes {float(loaded):g} % of the line out of {percent} %:"
            " expected more than 100 %, or nothing is congested"
        )
    if not lab.clock.exact:
        return WALL
    surplus = speed_mbps * 10**6 * (loaded - 100) / 800
    return Timing(
        float(lab.subject.buffer.size_bytes / surplus), float(EXACT_FRAMES / line_rate_fps(FRAME_BYTES, speed_mbps))
    )


def _of_full(lab: Lab) -> Fraction:
    """What the testbed has for a full line, as a part of it."""
    return Fraction(lab.subject.tolerances.line_percent) / 100


@dataclass(frozen=True)
class Load:
    """What is sent, and what it has to come to.

    Attributes:
        streams: the data.
        wanted: priority -> how much of the line under test its data would take.
        given: priority -> how much of it the switch's schedulers give it.
        mix: sizes of frames and their weights; empty: one size.
        timing: when rates are measured; None: they are not.
    """

    streams: tuple[IngressLoad, ...]
    wanted: Mapping[int, Fraction]
    given: Mapping[int, Fraction]
    mix: tuple[tuple[int, int], ...] = ()
    timing: Timing | None = None

    @property
    def congested(self) -> tuple[int, ...]:
        """Priorities that want more than they get, ascending."""
        return tuple(sorted(priority for priority, wanted in self.wanted.items() if wanted > self.given[priority]))

    @property
    def ports(self) -> tuple[ConnectedPort, ...]:
        """The ports that data enters by."""
        return tuple(dict.fromkeys(stream.enters for stream in self.streams))


@dataclass(frozen=True)
class LoadRun(Readings):
    """One run of a load.

    Attributes:
        load: what was sent.
        sent: flow name -> statistics when all was over.
        rates: priority -> frames received in the window in which rates were steady; empty: they were not measured.
        drops: what the switch counted as dropped; None: nothing had to be, and it was not read.
    """

    load: Load
    sent: Mapping[str, FlowStats]
    rates: Mapping[int, int]
    drops: Drops | None

    @property
    def received(self) -> int:
        """Frames of all flows that were received."""
        return sum(flow.frames_rx for flow in self.sent.values())

    def frames(self, priority: int) -> tuple[int, int]:
        """Frames of a priority that were sent and received."""
        flows = [flow for flow in self.sent.values() if priority_of(flow) == priority]
        return sum(flow.frames_tx for flow in flows), sum(flow.frames_rx for flow in flows)

    def pfc_sent_by(self, port: str) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch sent out of a port from before the data until after it."""
        return changed(self.before.pfc_tx, self.after.pfc_tx, port)

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "flows": flow_numbers({"sent": self.sent}),
            **self.counted(),
            "pfc_sent": {port.port: list(self.pfc_sent_by(port.port)) for port in self.load.ports},
            "wanted_percent": {priority: float(100 * part) for priority, part in self.load.wanted.items()},
            "given_percent": {priority: float(100 * part) for priority, part in self.load.given.items()},
            "received_in_window": dict(self.rates),
            **({} if self.drops is None else self.drops.counted()),
        }


def make_load(
    lab: Lab, streams: Sequence[IngressLoad], mix: tuple[tuple[int, int], ...] = (), times: Timing | None = None
) -> Load:
    """What these streams have to come to on the port under test when all of them run: where they are too much for its
    line, what its schedulers make of them.

    Raises:
        QualificationError: a queue has no scheduler from which its share would follow.
    """
    wanted: dict[int, Fraction] = {}
    for stream in streams:
        share = Fraction(stream.percent * stream.enters.speed_mbps, 100 * lab.subject.pair.speed_mbps) * _of_full(lab)
        for priority in stream.priorities:
            wanted[priority] = wanted.get(priority, Fraction(0)) + share / len(stream.priorities)
    schedulers: Mapping[int, Scheduler] = {}
    if sum(wanted.values()) > 1:
        schedulers = read_schedulers(lab.config_db, lab.subject.qos)
    return Load(tuple(streams), wanted, divide(wanted, schedulers), mix, times)


def measure(lab: Lab, load: Load, before: DutCounters | None) -> LoadRun:
    """Sends a load and counts: the counters before, the rates once they are steady, everything when all is over.

    Args:
        lab: what to measure with.
        load: what to send.
        before: the switch's counters, read when all earlier traffic was in them; None: waited for and read.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    rx, enters = lab.subject.pair.rx.port, [port.port for port in load.ports]
    loses = any(priority not in lab.subject.qos.lossless for priority in load.congested)
    also, wait_s = (drop_commands(rx), drops_delay_s(lab)) if loses else ({}, lab.delays.port_s)
    if before is None or loses:
        lab.clock.sleep(wait_s)
        before = lab.dut.counters(also=also)
    traffic = lab.builder.build(ingress_flows(lab, load.streams, load.mix))
    lab.generator.push(traffic)
    try:
        logger.info("%s: data of %s, too much of %s", lab.subject.where(), list(load.wanted), list(load.congested))
        rates, during = _send(lab, traffic, load)
    finally:
        lab.generator.stop()
    lab.clock.sleep(wait_s)  # what the switch holds leaves meanwhile, and is counted
    sent, after = lab.generator.stats(traffic.flows), lab.dut.counters(also=also)
    drops = read_drops(after.printed, rx, enters).since(read_drops(before.printed, rx, enters)) if loses else None
    return LoadRun(lab.subject, before, during or after, after, load, sent, rates, drops)


def _send(lab: Lab, traffic: Traffic, load: Load) -> tuple[dict[int, int], DutCounters | None]:
    """Sends all flows until they end.

    Returns:
        Frames of each priority that were received in the window, where rates are measured; and the counters when the
        short streams were over, where some go on.
    """
    names, ends = list(traffic.flows), sorted({stream.delay_s + stream.seconds for stream in load.streams})
    lab.generator.start(names)
    rates, during, spent_s = {}, None, 0.0
    if load.timing is not None:
        lab.clock.sleep(load.timing.settled_s)
        early = _received(lab.generator.stats(names))
        lab.clock.sleep(load.timing.window_s)
        late = _received(lab.generator.stats(names))
        rates = {priority: frames - early[priority] for priority, frames in late.items()}
        spent_s = load.timing.settled_s + load.timing.window_s
    elif len(ends) > 1:
        spent_s = ends[-2] + DRAIN_S + lab.delays.port_s
        lab.clock.sleep(spent_s)
        during = lab.dut.counters()
    lab.generator.run_out(names, ends[-1] - spent_s)
    return rates, during


def _received(stats: Mapping[str, FlowStats]) -> dict[int, int]:
    """Priority -> frames received."""
    frames: dict[int, int] = {}
    for flow in stats.values():
        frames[priority_of(flow)] = frames.get(priority_of(flow), 0) + flow.frames_rx
    return frames
