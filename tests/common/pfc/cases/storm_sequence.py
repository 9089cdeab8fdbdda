"""The steps of the test plan: storm, data in it, count while it runs, stop it, drain, send the same again. On one
port, or on several at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..lab.clock import wait_for
from ..lab.generator import SETTLE_S, STOP_GRACE_S, PauseSender, Traffic
from ..lab.lab import Lab
from ..lab.otg_config import build_together
from ..lab.pause_source import PauseSource
from ..model.arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES, storm_fps
from ..model.checking import at_tested, every_pause_counted, none_of
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement
from ..model.scenario import Scenario
from ..model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from ..record.case import Target, named
from ..record.verdict import Check
from .engine import sending
from .flows import RESUMED, DataLoad, again, data_flows
from .validity import storm_sent

logger = logging.getLogger(__name__)

DRAIN_DEADLINE_S = 10.0
ANSWERS_S = 10.0  # what calls to switch and generator may take in a storm, beside what is waited
LOOKS = 2
"""Readings of flow statistics while data is sent in a storm, for the timeline: after its first and second quarter."""


def pause_storm(lab: Lab, priorities: Target, waits_s: float = 0.0) -> FlowPlan:
    """PFC frames for these priorities, twice as many as hold them, until they are stopped.

    Args:
        lab: what to measure with.
        priorities: what the frames pause.
        waits_s: how long the case waits in the storm, the data that runs out in it among that: then the storm lasts
            longer, if need be, than one flow may. 0: it is a matter of seconds, or no frame more may come than the
            rate says.
    """
    needed_s = waits_s + 2 * STOP_GRACE_S + ANSWERS_S if waits_s else 0.0  # data may run out late, and be stopped
    fps = storm_fps(MAX_QUANTA, lab.subject.pair.speed_mbps)
    frame = pfc_frame(priorities, MAX_QUANTA)
    name = lab.builder.named("Pause Storm")
    return FlowPlan(name, Role.STORM, None, PAUSE_FRAME_BYTES, fps=fps, pause=frame, needed_s=needed_s)


class GeneratorPauses:
    """Pauses that are flows of the traffic generator: it counts what it sent, and knows its frames where they come
    out."""

    sender: PauseSender | None = None

    def arrived(self, lab: Lab, before: DutCounters) -> DutCounters:
        """Returns the counters as they are: nothing more is sent."""
        return before

    def is_shown(self, run: Measurement) -> bool:
        """True: the generator counts the frames that it sends."""
        return True

    def storm_ran(self, run: Measurement) -> Iterator[Check]:
        """The storm had so many pause frames that the pause cannot have lapsed on average."""
        least = run.scenario.least_storm_frames(run.subject.pair.speed_mbps)
        yield from storm_sent(at_tested(run), run.flows("paused", Role.STORM), least)

    def every_pause_counted(self, run: Measurement, priority: int) -> Check:
        """The switch counted as many pauses as were sent."""
        return every_pause_counted(run, priority, run.pauses_sent(priority), "once the storm had stopped ")

    def none_forwarded(self, run: Measurement) -> Iterator[Check]:
        """None of its pause frames came back to it."""
        forwarded = sum(running.frames_rx for running, _ in run.storms)
        yield none_of(
            "pause-not-forwarded", at_tested(run), f"pause frames forwarded to {run.subject.pair.tx.port}", forwarded
        )


TRAFFIC_GENERATOR: PauseSource = GeneratorPauses()


def pauses_of(lab: Lab) -> PauseSource:
    """The source of a lab's pauses."""
    return lab.pause_source or TRAFFIC_GENERATOR


@dataclass(frozen=True)
class Part:
    """One port's part in what is measured at once: what it is measured with, and the scenario."""

    lab: Lab
    scenario: Scenario

    def flows(self) -> list[FlowPlan]:
        """Storm, test and background flows, the data so much later; and where the storm holds frames, the data once
        more for the time after it."""
        scenario = self.scenario
        loads = (("Test Flow", Role.TEST, scenario.tested), ("Background Flow", Role.BACKGROUND, scenario.background))
        data = data_flows(self.lab, [
            DataLoad(name, role, (priority,), scenario.share(priority), scenario.data_s, scenario.frame_bytes,
                     scenario.mix, scenario.storm_lead_s)
            for name, role, priorities in loads for priority in priorities
        ])
        return [*self._storms(), *data, *(again(data) if scenario.holds else ())]

    def own(self, stats: Mapping[str, FlowStats]) -> dict[str, FlowStats]:
        """The statistics of this port's flows, out of those of all."""
        names = {flow.name for flow in self.flows()}
        return {name: flow for name, flow in stats.items() if name in names}

    def _storms(self) -> list[FlowPlan]:
        scenario = self.scenario
        lab = self.lab
        fps = scenario.storm_fps(lab.subject.pair.speed_mbps)
        waits_s = scenario.storm_lead_s + scenario.data_s + lab.delays.port_s
        if not scenario.apart:
            return [replace(pause_storm(lab, scenario.paused, waits_s), fps=fps, pause=scenario.pause_frame())]
        return [
            replace(pause_storm(lab, (priority,), waits_s), fps=fps, name=lab.builder.named(f"Pause Prio {priority}"))
            for priority in scenario.paused
        ]


def scenario_traffic(lab: Lab, scenario: Scenario) -> Traffic:
    """Storm, test and background flows of a scenario on one port."""
    return lab.builder.build(Part(lab, scenario).flows())


def measure(
    lab: Lab, scenario: Scenario, before: DutCounters, also: Mapping[str, str] = MappingProxyType({})
) -> Measurement:
    """Measures a scenario on one port; see `measure_together`."""
    return measure_together([Part(lab, scenario)], before, also)[0]


def build(parts: Sequence[Part]) -> Traffic:
    """The flows of these parts, each built with its own port's builder."""
    return build_together([(part.lab.builder, part.flows()) for part in parts])


def measure_together(
    parts: Sequence[Part], before: DutCounters, also: Mapping[str, str] = MappingProxyType({}),
    build: Callable[[Sequence[Part]], Traffic] = build,
) -> list[Measurement]:
    """The steps of the test plan: storm, 1 s later the data, count while the storm runs, stop it, drain; and where the
    storm held frames, send the same again.

    Args:
        parts: ports of one switch and their scenarios, which last equally long; no port is in two of them, unless
            `build` allows for that.
        before: the switch's counters, read when all earlier traffic was in them.
        also: further commands that are run with each reading of the counters (`Dut.counters`).
        build: makes one configuration of the flows of all parts.

    Returns:
        A measurement for each part.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    lab = parts[0].lab
    traffic = build(parts)
    with sending(lab, traffic):
        paused = _in_the_storm(parts, traffic)
        during = lab.dut.counters(also=also)
        logger.info("%s: storm stopped, held frames drain", lab.subject.where())
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(SETTLE_S)
        drained = drain(lab, traffic.names(Role.STORM, Role.TEST))
        resumed = _without_a_storm(parts, traffic)
        after = lab.dut.counters(also=also)
    held = [_held_bytes(part, paused, drained) for part in parts]
    return [
        Measurement(
            part.lab.subject, before, during, after, part.scenario.tested,
            {"paused": part.own(paused), "drained": part.own(drained), "resumed": part.own(resumed)},
            part.scenario, pauses_of(part.lab), sum(held) - own,
        )
        for part, own in zip(parts, held, strict=True)
    ]


def _held_bytes(part: Part, paused: Mapping[str, FlowStats], drained: Mapping[str, FlowStats]) -> int:
    """Bytes that the switch held on a port while its storm ran: they came out once it had stopped."""
    counted = part.own(paused)
    return sum(
        round((flow.frames_rx - counted[name].frames_rx) * flow.plan.mean_bytes)
        for name, flow in part.own(drained).items() if flow.plan.role is Role.TEST
    )


def _in_the_storm(parts: Sequence[Part], traffic: Traffic) -> dict[str, FlowStats]:
    """Storm and data; what was counted while the storm still ran, and the switch's counters have it too. Readings while
    data is sent are for a picture: one that fails, or takes long, changes nothing."""
    lab = parts[0].lab
    lead_s = parts[0].scenario.storm_lead_s
    for part in parts:
        where = part.lab.subject.where()
        kind = part.scenario.storm.name.lower()
        paused = part.scenario.paused
        logger.info("%s: %s storm on %s", where, kind, named(paused) if paused else "the port")
        logger.info("%s: test traffic on %s, background on %s", where, list(part.scenario.tested),
                    list(part.scenario.background))
    data_s = parts[0].scenario.data_s
    lab.generator.start(traffic.names())
    lab.clock.sleep(lead_s)
    begun_s = lab.clock.now()
    for _ in range(LOOKS):
        lab.clock.sleep(data_s / 4)
        with suppress(QualificationError):
            lab.generator.stats(traffic.names())
    left_s = max(0.0, begun_s + data_s - lab.clock.now())
    lab.generator.run_out(traffic.names(Role.TEST, Role.BACKGROUND), left_s)
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats(traffic.names())


def _without_a_storm(parts: Sequence[Part], traffic: Traffic) -> dict[str, FlowStats]:
    """The same data again, if the storm held any. The switch's counters have everything by then: the next scenario
    begins with them."""
    lab = parts[0].lab
    names = traffic.names(phase=RESUMED)
    if names:
        logger.info("%s: the same traffic without a storm", lab.subject.where())
        lab.generator.start(names)
        lab.generator.run_out(names, parts[0].scenario.data_s)
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats(names) if names else {}


def drain(lab: Lab, names: Sequence[str]) -> dict[str, FlowStats]:
    """Waits until every storm among these flows has stopped and every frame of the others has arrived, or will not;
    what they have come to."""
    latest = [lab.generator.stats(names)]

    def empty() -> bool:
        latest.append(lab.generator.stats(names))
        return all(
            not flow.transmitting if flow.plan.role is Role.STORM else flow.frames_rx >= flow.frames_tx
            for flow in latest[-1].values()
        )

    if not wait_for(empty, DRAIN_DEADLINE_S, lab.clock, 0.5):
        logger.warning(
            "%s: frames that were held did not all arrive within %.0f s", lab.subject.where(), DRAIN_DEADLINE_S
        )
    return latest[-1]
