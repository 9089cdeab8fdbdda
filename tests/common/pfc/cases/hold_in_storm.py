"""A pause storm on the port under test while data runs that comes in by any port, until everything that was held has
left: the steps that SPEED-4 and HEAD share."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Any

from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..lab.preflight import SETTLE_S
from ..model.arithmetic import MAX_QUANTA, holding_fps
from ..model.checking import at_port, error_unless, flows_of, never_taken, priority_of, sent_as_due
from ..model.counters import DutCounters, changed
from ..model.measurement import Readings, flow_numbers
from ..model.traffic import FlowStats, Role
from ..record.verdict import Check
from .ingress_load import FRAME_BYTES, IngressLoad, ingress_flows
from .storm_sequence import pause_storm
from .validity import storm_running

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hold:
    """What is sent while lossless priorities are paused.

    Attributes:
        paused: these priorities.
        streams: the data, all of it as long.
        reaction_quanta: how long senders go on after a pause reached them.
        frame_bytes: size of data frames with FCS.
        counted_after_s: from the end of all to the last reading of the counters.
        also: further commands that are run with the last reading.
    """

    paused: tuple[int, ...]
    streams: tuple[IngressLoad, ...]
    counted_after_s: float
    reaction_quanta: int = 0
    frame_bytes: int = FRAME_BYTES
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def data_s(self) -> float:
        """How long data is sent."""
        return max(stream.seconds for stream in self.streams)


@dataclass(frozen=True)
class HeldRun(Readings):
    """One run.

    Attributes:
        hold: what was sent.
        paused: flow name -> statistics after the data ended and while the storm ran on.
        drained: flow name -> statistics when all was over.
    """

    hold: Hold
    paused: Mapping[str, FlowStats]
    drained: Mapping[str, FlowStats]

    @property
    def data(self) -> list[FlowStats]:
        """The data when all was over."""
        return flows_of(self.drained.values(), Role.TEST)

    @property
    def missing(self) -> int:
        """Frames that were sent and never received."""
        return sum(flow.frames_tx - flow.frames_rx for flow in self.data)

    def pfc_sent_by(self, port: str) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch sent out of a port from before the storm until after it."""
        return changed(self.before.pfc_tx, self.after.pfc_tx, port)

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        enters = {stream.enters.port for stream in self.hold.streams}
        return {
            "flows": flow_numbers({"paused": self.paused, "drained": self.drained}),
            **self.counted(),
            "pfc_sent": {port: list(self.pfc_sent_by(port)) for port in sorted(enters)},
            "storm_priorities": list(self.hold.paused),
            "reaction_quanta": self.hold.reaction_quanta,
            "frame_bytes": self.hold.frame_bytes,
            "missing_frames": self.missing,
        }


def hold_s(lab: Lab) -> float:
    """How long data is sent: on an exact clock twice as long as a full line takes to fill the shared buffer."""
    line = lab.subject.pair.speed_mbps * 10**6 / 8  # bytes a second
    return 2 * lab.subject.buffer.size_bytes / line if lab.clock.exact else 5.0


def measure(lab: Lab, hold: Hold, before: DutCounters | None) -> HeldRun:
    """Storm, 1 s later the data; frames are counted while the storm runs, and when it has stopped and all has left.
    The switch's counters are read before and after all of it: a storm that the watchdog detected is in them then too.

    Args:
        lab: what to measure with.
        hold: what to send.
        before: the switch's counters, read when all earlier traffic was in them; None: waited for and read.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    traffic = hold_traffic(lab, hold)
    lab.generator.push(traffic)
    try:
        paused = _in_the_storm(lab, traffic, hold)
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(max(SETTLE_S, hold.counted_after_s))
    finally:
        lab.generator.stop()
    drained, after = lab.generator.stats(traffic.flows), lab.dut.counters(also=hold.also)
    return HeldRun(lab.subject, before, after, after, hold, paused, drained)


def hold_traffic(lab: Lab, hold: Hold) -> Traffic:
    """The storm, and some time later the data."""
    later = [replace(load, delay_s=load.delay_s + SETTLE_S) for load in hold.streams]
    data = ingress_flows(lab, later, ((hold.frame_bytes, 1),))
    storm = pause_storm(lab, hold.paused, SETTLE_S + hold.data_s + SETTLE_S)
    return lab.builder.build([storm, *data], reaction_quanta=hold.reaction_quanta)


def _in_the_storm(lab: Lab, traffic: Traffic, hold: Hold) -> dict[str, FlowStats]:
    logger.info("%s: storm on %s, senders react after %d quanta", lab.subject.where(), list(hold.paused),
                hold.reaction_quanta)
    lab.generator.start(traffic.names())
    lab.clock.sleep(SETTLE_S)
    lab.generator.run_out(traffic.names(Role.TEST), hold.data_s)
    lab.clock.sleep(SETTLE_S)
    return lab.generator.stats(traffic.flows)


def storm_ran(run: HeldRun) -> Iterator[Check]:
    """The storm sent so many pause frames that the pause cannot have lapsed on average, until it was stopped; data came
    in, and of what the switch had no reason to hold, and did not, all that was due."""
    place = at_port(run.subject, run.subject.pair.rx.port)
    least = floor(holding_fps(MAX_QUANTA, run.subject.pair.speed_mbps) * Fraction(SETTLE_S + run.hold.data_s))
    for flow in flows_of(run.paused.values(), Role.STORM):
        expected = f"a storm of at least {least} pause frames"
        yield error_unless("storm-ran", place, flow.frames_tx >= least, expected, flow.frames_tx)
        yield storm_running(place, flow, run.drained[flow.plan.name])
    for flow in flows_of(run.drained.values(), Role.STORM):
        seen = "running" if flow.transmitting else "stopped"
        yield error_unless("storm-stopped", place, not flow.transmitting, "the storm stopped in the end", seen)
    for flow in run.data:
        pushed = run.pfc_sent_by(flow.plan.enters)[priority_of(flow)]
        yield sent_as_due(run.subject, flow, pushed, priority_of(flow) in run.hold.paused, "in the storm")


def taken(run: HeldRun) -> Iterator[Check]:
    """Some of every flow was taken by the switch before it held the sender."""
    for flow in run.data:
        yield from never_taken(run.subject, [flow], run.pfc_sent_by(flow.plan.enters), "in the storm")
