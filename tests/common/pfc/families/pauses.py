"""PFC-1 to PFC-4: what a pause storm does to the traffic of a port. The steps are the test plan's."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from ..arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES, storm_fps
from ..case import PlanCase, Target, named
from ..checks import judge
from ..dut import DutCounters
from ..errors import QualificationError
from ..measurement import Measurement
from ..polling import wait_for
from ..preflight import SETTLE_S, Lab
from ..procedure import Finding, Procedure, all_lossy, each_lossless, several_lossless, whole_port
from ..qos import DSCP_VALUES, PortQos
from ..scenario import Scenario, Storm
from ..traffic import FlowPlan, FlowStats, Role, Traffic, pfc_frame
from ..validity import validity

logger = logging.getLogger(__name__)

DRAIN_DEADLINE_S = 10.0
SINGLE_LOSSLESS = PlanCase("pause-lossless-single", "PFC-1")
SEVERAL_LOSSLESS = PlanCase("pause-lossless-several", "PFC-2")
LOSSY = PlanCase("pause-lossy", "PFC-3")
GLOBAL_PAUSE = PlanCase("global-pause", "PFC-4")

ScenarioMaker = Callable[[PlanCase, Target, PortQos], Scenario]


def pause_lossless(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """Test cases 1 and 2 of the plan: lossless priorities are paused, everything else that some DSCP reaches is
    background.

    Raises:
        QualificationError: a priority is not lossless on the port, no DSCP reaches it, or none reaches any other.
    """
    for priority in target:
        if priority not in qos.lossless:
            raise QualificationError(
                f"{qos.where(priority)}: it is not lossless, PORT_QOS_MAP|{qos.port} pfc_enable has"
                f" {list(qos.lossless)}"
            )
    return Scenario(case, Storm.LOSSLESS, _reached(target, qos), _others(target, qos))


def pause_lossy(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """Test case 3 of the plan: a storm on lossy priorities, everything else that some DSCP reaches is background. Both
    together fill the line.

    Raises:
        QualificationError: a priority is lossless, no DSCP reaches it, or none reaches any (other) one.
    """
    if not target:
        raise QualificationError(
            f"{qos.device} {qos.port}: DSCP_TO_TC_MAP|{qos.dscp_map} leads to lossless priorities only, so there is no "
            "lossy traffic that a pause could disturb"
        )
    for priority in target:
        if priority in qos.lossless:
            raise QualificationError(
                f"{qos.where(priority)}: it is lossless, PORT_QOS_MAP|{qos.port} pfc_enable has {list(qos.lossless)}"
            )
    return Scenario(case, Storm.LOSSY, _reached(target, qos), _others(target, qos))


def global_pause(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """Test case 4 of the plan: a storm of 802.3x pause frames; all 64 DSCP values, the same load for each, fill the
    line.

    Raises:
        QualificationError: the switch does not say which priority some DSCP value is.
    """
    missing = [dscp for dscp in DSCP_VALUES if not any(dscp in dscps for dscps in qos.dscps.values())]
    if missing:
        raise QualificationError(
            f"{qos.device} {qos.port}: DSCP_TO_TC_MAP|{qos.dscp_map} has no entry for DSCP {missing[:4]}"
            f" ({len(missing)} of {len(DSCP_VALUES)}): {case.plan_id} sends all of them"
        )
    parts = {priority: len(dscps) for priority, dscps in qos.dscps.items()}
    return Scenario(case, Storm.GLOBAL, qos.reachable, (), parts, test_percent=100, background_percent=0)


SCENARIOS: Mapping[PlanCase, ScenarioMaker] = {
    SINGLE_LOSSLESS: pause_lossless,
    SEVERAL_LOSSLESS: pause_lossless,
    LOSSY: pause_lossy,
    GLOBAL_PAUSE: global_pause,
}


def make_scenario(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """The scenario that carries out `case` for `target` on a port with these priorities.

    Raises:
        QualificationError: it cannot be carried out there.
    """
    return SCENARIOS[case](case, target, qos)


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Runs the scenario of `case` and judges it."""
    return find(lab, make_scenario(case, target, lab.subject.qos), before)


def find(lab: Lab, scenario: Scenario, before: DutCounters | None) -> Finding:
    """Measures a scenario and judges it by what its storm must do."""
    run = measure(lab, scenario, before)
    invalid = validity(run)
    return Finding([] if invalid else judge(run), invalid, run.evidence(), run.after)


CASES: Mapping[PlanCase, Procedure] = {
    SINGLE_LOSSLESS: Procedure(carry_out, each_lossless),
    SEVERAL_LOSSLESS: Procedure(carry_out, several_lossless, "several lossless priorities"),
    LOSSY: Procedure(carry_out, all_lossy),
    GLOBAL_PAUSE: Procedure(carry_out, whole_port),
}


def pause_storm(lab: Lab, priorities: Target) -> FlowPlan:
    """PFC frames for these priorities, twice as many as hold them, until they are stopped."""
    fps, frame = storm_fps(MAX_QUANTA, lab.subject.pair.speed_mbps), pfc_frame(priorities, MAX_QUANTA)
    return FlowPlan(lab.builder.named("Pause Storm"), Role.STORM, None, PAUSE_FRAME_BYTES, fps=fps, pause=frame)


def scenario_traffic(lab: Lab, scenario: Scenario) -> Traffic:
    """Storm, test and background flows of a scenario."""
    name, size, seconds, mix = lab.builder.named, scenario.frame_bytes, scenario.data_s, scenario.mix
    fps = scenario.storm_fps(lab.subject.pair.speed_mbps)
    storm = replace(pause_storm(lab, scenario.paused), fps=fps, pause=scenario.pause_frame())
    test = [
        FlowPlan(name(f"Test Flow Prio {priority}"), Role.TEST, priority, size, scenario.test_share(priority),
                 seconds=seconds, mix=mix)
        for priority in scenario.tested
    ]
    background = [
        FlowPlan(name(f"Background Flow Prio {priority}"), Role.BACKGROUND, priority, size,
                 scenario.background_share(), seconds=seconds, mix=mix)
        for priority in scenario.background
    ]
    return lab.builder.build([storm, *test, *background])


def measure(
    lab: Lab, scenario: Scenario, before: DutCounters | None = None, also: Mapping[str, str] = MappingProxyType({})
) -> Measurement:
    """The steps of the test plan: storm, 1 s later the data, count while the storm runs, stop it, drain; and where the
    storm held frames, send the same again.

    Args:
        lab: what to measure with.
        scenario: what to measure.
        before: the switch's counters, read when all earlier traffic was in them; None: waited for and read.
        also: further commands that are run with each reading of the counters (`Dut.counters`).

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    traffic = scenario_traffic(lab, scenario)
    if before is None:
        lab.clock.sleep(lab.ages.port_s)  # pauses of an earlier scenario must not come into the counters in this one
        before = lab.dut.counters(also=also)
    lab.generator.push(traffic)
    try:
        paused = _in_the_storm(lab, traffic, scenario)
        during = lab.dut.counters(also=also)
        logger.info("%s: storm stopped, held frames drain", lab.subject.where())
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(SETTLE_S)
        drained = _drain(lab, traffic)
        resumed = _without_a_storm(lab, traffic, scenario)
        after = lab.dut.counters(also=also)
    finally:
        lab.generator.stop()
    return Measurement(lab.subject, before, during, after, scenario, paused, drained, resumed)


def _in_the_storm(lab: Lab, traffic: Traffic, scenario: Scenario) -> dict[str, FlowStats]:
    """Storm and data; what was counted while the storm still ran, and the switch's counters have it too."""
    where, kind = lab.subject.where(), scenario.storm.name.lower()
    logger.info("%s: %s storm on %s", where, kind, named(scenario.paused) if scenario.paused else "the port")
    lab.generator.start(traffic.names(Role.STORM))
    lab.clock.sleep(scenario.storm_lead_s)
    logger.info("%s: test traffic on %s, background on %s", where, list(scenario.tested), list(scenario.background))
    _send(lab, traffic, scenario)
    lab.clock.sleep(lab.ages.port_s)
    return lab.generator.stats(traffic.flows)


def _without_a_storm(lab: Lab, traffic: Traffic, scenario: Scenario) -> dict[str, FlowStats]:
    """The same data again, if the storm held any. The switch's counters have everything by then: the next scenario
    begins with them."""
    names = traffic.names(Role.TEST, Role.BACKGROUND) if scenario.holds else []
    if names:
        logger.info("%s: the same traffic without a storm", lab.subject.where())
        _send(lab, traffic, scenario)
    lab.clock.sleep(lab.ages.port_s)
    return lab.generator.stats(names) if names else {}


def _send(lab: Lab, traffic: Traffic, scenario: Scenario) -> None:
    names = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.start(names)
    lab.generator.run_out(names, scenario.data_s)


def _drain(lab: Lab, traffic: Traffic) -> dict[str, FlowStats]:
    """Waits until the storm has stopped and every held frame has arrived, or will not. They are counted apart from what
    is sent afterwards."""
    names = traffic.names(Role.STORM, Role.TEST)
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


def _reached(target: Target, qos: PortQos) -> Target:
    """`target`, each of which some DSCP value must reach."""
    for priority in target:
        if priority not in qos.dscps:
            raise QualificationError(
                f"{qos.where(priority)}: no DSCP value reaches it, DSCP_TO_TC_MAP|{qos.dscp_map} leads to "
                f"{list(qos.reachable)} only"
            )
    return target


def _others(target: Target, qos: PortQos) -> Target:
    return tuple(other for other in qos.reachable if other not in target)
