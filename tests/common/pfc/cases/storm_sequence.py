"""The steps of the test plan: storm, data in it, count while it runs, stop it, drain, send the same again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from ..lab.clock import wait_for
from ..lab.generator import SETTLE_S, STOP_GRACE_S, Traffic
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES, storm_fps
from ..model.counters import DutCounters
from ..model.measurement import Measurement
from ..model.scenario import Scenario
from ..model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from ..record.case import Target, priorities_text
from .engine import sending, settled_counters
from .flows import RESUMED, again

logger = logging.getLogger(__name__)

DRAIN_DEADLINE_S = 10.0
ANSWERS_S = 10.0  # what calls to switch and generator may take in a storm, beside what is waited
READINGS = 8  # of flow statistics in a storm, at most, for each of which a generator may take its `refresh_s`


def pause_storm(lab: Lab, priorities: Target, waits_s: float = 0.0) -> FlowPlan:
    """PFC frames for these priorities, twice as many as hold them, until they are stopped. `waits_s`: how long the case
    waits in the storm, the data that runs out in it among that: then the storm lasts longer, if need be, than one flow
    may. 0: it is a matter of seconds, or no frame more may come than the rate says."""
    timing = lab.generator.timing
    late_s = timing.start_s + 2 * timing.stop_s + READINGS * timing.refresh_s
    needed_s = waits_s + 2 * STOP_GRACE_S + ANSWERS_S + late_s if waits_s else 0.0  # data may run out late, be stopped
    fps = storm_fps(MAX_QUANTA, lab.subject.pair.speed_mbps)
    frame = pfc_frame(priorities, MAX_QUANTA)
    name = lab.builder.flow_name("Pause Storm")
    return FlowPlan(name, Role.STORM, None, PAUSE_FRAME_BYTES, fps=fps, pause=frame, needed_s=needed_s)


def scenario_flows(lab: Lab, scenario: Scenario) -> list[FlowPlan]:
    """Storm, test and background flows of a scenario on a port, the data so much later; and where the storm holds
    frames, the data once more for the time after it."""
    loads = (("Test Flow", Role.TEST, scenario.tested), ("Background Flow", Role.BACKGROUND, scenario.background))
    data = [
        FlowPlan(
            lab.builder.flow_name(f"{name} Prio {priority}"), role, priority, scenario.frame_bytes,
            scenario.share(priority), seconds=scenario.data_s, delay_ns=round(scenario.storm_lead_s * 1e9),
            mix=scenario.mix,
        )
        for name, role, priorities in loads for priority in priorities
    ]
    return [*_storms(lab, scenario), *data, *(again(data) if scenario.holds else ())]


def _storms(lab: Lab, scenario: Scenario) -> list[FlowPlan]:
    fps = scenario.storm_fps(lab.subject.pair.speed_mbps)
    storm = pause_storm(lab, scenario.paused, scenario.storm_lead_s + scenario.data_s + lab.delays.port_s)
    return [
        replace(storm, name=lab.builder.flow_name(name), fps=fps, pause=frame)
        for name, frame in scenario.pauses().items()
    ]


def scenario_traffic(lab: Lab, scenario: Scenario) -> Traffic:
    """These flows as a configuration."""
    return lab.builder.build(scenario_flows(lab, scenario))


def measure(
    lab: Lab, scenario: Scenario, before: DutCounters, also: Mapping[str, str] = MappingProxyType({}),
    traffic: Traffic | None = None, look_on: Callable[[Lab, Scenario, Traffic], None] | None = None,
) -> Measurement:
    """The steps of the test plan: storm, 1 s later the data, count while the storm runs, stop it, drain; and where the
    storm held frames, send the same again.

    Args:
        lab, scenario: what to measure with, and what.
        before: the switch's counters, read when all earlier traffic was in them.
        also: further commands that are run with each reading of the counters (`Dut.counters`).
        traffic: what is sent; None: the scenario's own flows.
        look_on: waits in the storm until the data has ended; None: as observers do.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    where = lab.subject.where()
    sent = traffic or scenario_traffic(lab, scenario)
    paused = priorities_text(scenario.paused) if scenario.paused else "the port"
    logger.info("%s: %s storm on %s", where, scenario.storm.name.lower(), paused)
    logger.info("%s: test traffic on %s, background on %s", where, list(scenario.tested), list(scenario.background))
    with sending(lab, sent):
        lab.generator.start(sent.names())
        lab.clock.sleep(scenario.storm_lead_s)
        (look_on or _look_on)(lab, scenario, sent)
        lab.clock.sleep(lab.delays.port_s)  # then the switch's counters have it too
        phases = {"paused": lab.generator.stats(sent.names())}
        during = lab.dut.counters(also=also)
        logger.info("%s: storm stopped, held frames drain", where)
        lab.generator.stop(sent.names(Role.STORM))
        lab.clock.sleep(SETTLE_S)
        phases["drained"] = drain(lab, sent.names(Role.STORM, Role.TEST))
        drained = settled_counters(lab) if scenario.holds and not lab.clock.exact else None
        phases["resumed"] = _without_a_storm(lab, sent)
        after = lab.dut.counters(also=also)
    return Measurement(
        lab.subject, before, during, after, scenario.tested, phases, scenario, lab.pause_source, drained=drained
    )


def _look_on(lab: Lab, scenario: Scenario, traffic: Traffic) -> None:
    """Waits until the data has ended, in which time observers may read statistics."""
    end_s = lab.clock.now() + scenario.data_s
    for observer in lab.observers:
        observer.data_in_storm(lab.clock, partial(lab.generator.stats, traffic.names()), scenario.data_s)
    lab.generator.run_out(traffic.names(Role.TEST, Role.BACKGROUND), max(0.0, end_s - lab.clock.now()))


def _without_a_storm(lab: Lab, traffic: Traffic) -> dict[str, FlowStats]:
    """The same data again, if the storm held any. The switch's counters have everything by then: the next scenario
    begins with them."""
    names = traffic.names(phase=RESUMED)
    if names:
        logger.info("%s: the same traffic without a storm", lab.subject.where())
        lab.generator.start(names)
        lab.generator.run_out(names, max(traffic.flows[name].seconds or 0 for name in names))
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats(names) if names else {}


def drain(lab: Lab, names: Sequence[str]) -> dict[str, FlowStats]:
    """Waits until every storm among these flows has stopped and every frame of the others has arrived, or will not;
    what they have come to."""
    latest: list[dict[str, FlowStats]] = []

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
