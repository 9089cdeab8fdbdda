"""A pause storm on the port under test while data runs that comes in by any port, until everything that was held has
left: the steps that M2O-6, SPEED-4 and HEAD share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..lab.generator import SETTLE_S, Traffic
from ..lab.generator_ports import reacting_late
from ..lab.lab import Lab
from ..model.checking import Place, at_port, held_by_pauses, none_of, priority_of
from ..model.counters import DutCounters
from ..model.measurement import CaseRun
from ..model.qos import PRIORITIES
from ..model.traffic import FlowStats, Role, Stats
from ..record.verdict import Check
from .engine import sending
from .ingress import FRAME_BYTES, IngressLoad, entered, ingress_applied, ingress_flows, ingress_undisturbed
from .storm_sequence import pause_storm
from .storm_length import storm_held
from .validity import storm_running, storm_stopped

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hold:
    """What is sent while lossless priorities are paused.

    Attributes:
        paused: these priorities.
        loads: the data, all of it as long.
        counted_after_s: from the end of all to the last reading of the counters.
        reaction_quanta: how long senders go on after a pause reached them.
        frame_bytes: size of data frames with FCS.
        also: further commands that are run with the last reading.
    """

    paused: tuple[int, ...]
    loads: tuple[IngressLoad, ...]
    counted_after_s: float
    reaction_quanta: int = 0
    frame_bytes: int = FRAME_BYTES
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def data_s(self) -> float:
        """How long data is sent."""
        return max(load.seconds for load in self.loads)


@dataclass(frozen=True)
class HeldRun(CaseRun):
    """One run. Its phases are `paused`, after the data ended and while the storm ran on, and `drained`, when all was
    over.

    Attributes:
        hold: what was sent.
    """

    hold: Hold

    @property
    def data(self) -> list[FlowStats]:
        """The data when all was over."""
        return self.flows("drained", Role.TEST)

    def details(self) -> dict[str, Any]:
        """What was sent, and what came of it."""
        enters = sorted(port.port for port in entered(self.hold.loads))
        return {
            "pfc_sent": {port: list(self.pfc_sent_in_all(port)) for port in enters},
            "storm_priorities": list(self.hold.paused),
            "reaction_quanta": self.hold.reaction_quanta,
            "frame_bytes": self.hold.frame_bytes,
            "missing_frames": sum(flow.frames_tx - flow.frames_rx for flow in self.data),
        }


def hold_s(lab: Lab) -> float:
    """How long data is sent: on an exact clock twice as long as a full line takes to fill the shared buffer."""
    line = lab.subject.pair.speed_mbps * 10**6 / 8  # bytes a second
    return 2 * lab.subject.buffer.size_bytes / line if lab.clock.exact else 5.0


def measure(lab: Lab, hold: Hold, before: DutCounters) -> HeldRun:
    """Storm, 1 s later the data; frames are counted while the storm runs, and when it has stopped and all has left. The
    switch's counters are read before (when all earlier traffic was in them) and after all of it: a storm that the
    watchdog detected is in them then too.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    traffic = hold_traffic(lab, hold)
    with sending(lab, traffic):
        paused = _in_the_storm(lab, traffic, hold)
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(max(SETTLE_S, hold.counted_after_s))
    phases = {"paused": paused, "drained": lab.generator.stats(traffic.flows)}
    after = lab.dut.counters(also=hold.also)
    return HeldRun(lab.subject, before, after, after, hold.paused, phases, hold)


def hold_traffic(lab: Lab, hold: Hold) -> Traffic:
    """The storm, and some time later the data."""
    later = [replace(load, delay_s=load.delay_s + SETTLE_S) for load in hold.loads]
    data = ingress_flows(lab, later, ((hold.frame_bytes, 1),))
    storm = pause_storm(lab, hold.paused, SETTLE_S + hold.data_s + SETTLE_S)
    traffic = lab.builder.build([storm, *data])
    return reacting_late(traffic, hold.reaction_quanta, lab.builder.port_name(lab.port))


def _in_the_storm(lab: Lab, traffic: Traffic, hold: Hold) -> Stats:
    logger.info("%s: storm on %s, senders react after %d quanta", lab.subject.where(), list(hold.paused),
                hold.reaction_quanta)
    lab.generator.start(traffic.names())
    lab.clock.sleep(SETTLE_S)
    lab.generator.run_out(traffic.names(Role.TEST), hold.data_s)
    lab.clock.sleep(SETTLE_S)
    return lab.generator.stats(traffic.flows)


def validity(run: HeldRun) -> Iterator[Check]:
    """Whether it was a measurement, best cause first."""
    yield from ingress_undisturbed(run, entered(run.hold.loads))
    yield from storm_ran_and_load_applied(run)


def storm_ran_and_load_applied(run: HeldRun) -> Iterator[Check]:
    """The storm sent so many pause frames that the pause cannot have lapsed on average, until it was stopped; data came
    in, and of what the switch had no reason to hold, and did not, all that was due."""
    storms = run.flows("paused", Role.STORM)
    place = at_port(run.subject)
    yield from storm_held(run, place, storms, SETTLE_S + run.hold.data_s)
    for storm in storms:
        yield storm_running(place, storm, run.phases["drained"][storm.plan.name])
    yield from storm_stopped(place, run.flows("drained", Role.STORM))
    yield from ingress_applied(run, "drained", "in the storm", run.hold.paused)


def back_pressure(run: HeldRun, port: str, at: Callable[[int], Place]) -> Iterator[Check]:
    """A port that data entered by was paused for the priorities that were held, and for no other; `at`: where a
    priority's check looked."""
    sent = run.pfc_sent_in_all(port)
    what = f"PFC frames sent out of {port}"
    for flow in run.flows("paused", Role.TEST):
        priority = priority_of(flow)
        if priority in run.hold.paused and flow.plan.enters == port:
            yield held_by_pauses(at(priority), run.subject, flow, what, sent[priority])
    for priority in (one for one in PRIORITIES if one not in run.hold.paused):
        yield none_of("no-other-back-pressure", at(priority), what, sent[priority])
