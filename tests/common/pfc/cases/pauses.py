"""PFC-1 to PFC-4: what a pause storm does to the traffic of a port. The steps are the test plan's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..lab.lab import Lab
from ..lab.pause_source import PauseSource
from ..model.counters import DutCounters
from ..model.errors import NoMeasurement, QualificationError
from ..model.measurement import Measurement
from ..model.qos import DSCP_VALUES, PortQos
from ..model.scenario import Scenario, Storm
from ..record.case import PlanCase, Target
from .checks import judge
from .engine import Finding, Procedure, all_lossy, each_lossless, several_lossless, whole_port
from .generator_pauses import TRAFFIC_GENERATOR, pauses_of
from .storm_sequence import measure
from .validity import validity

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
    return Scenario(case, Storm.LOSSLESS, reached(target, qos), others_reached(target, qos))


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
    return Scenario(case, Storm.LOSSY, reached(target, qos), others_reached(target, qos))


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
    """Measures a scenario and judges it by what its storm must do. Where nothing of the storm was seen, its source has
    to show after it that pauses from there arrive: else this was no measurement.

    Raises:
        QualificationError: a step could not be done.
    """
    run = measure(lab, scenario, before)
    pauses = pauses_of(lab)
    finding = judge_storm(run, pauses)
    if pauses.is_shown(run):
        return finding
    try:
        return replace(finding, after=pauses.arrived(lab, run.after))
    except NoMeasurement as error:
        return replace(finding, checks=[], invalid=[error.check, *finding.invalid], after=None)


def judge_storm(run: Measurement, pauses: PauseSource = TRAFFIC_GENERATOR) -> Finding:
    """Judges a scenario by what its storm, which came from `pauses`, must do."""
    invalid = validity(run, pauses)
    return Finding([] if invalid else judge(run, pauses), invalid, run.evidence(), run.after)


CASES: Mapping[PlanCase, Procedure] = {
    SINGLE_LOSSLESS: Procedure(carry_out, each_lossless),
    SEVERAL_LOSSLESS: Procedure(carry_out, several_lossless, "several lossless priorities"),
    LOSSY: Procedure(carry_out, all_lossy),
    GLOBAL_PAUSE: Procedure(carry_out, whole_port),
}


def reached(target: Target, qos: PortQos) -> Target:
    """`target`, each of which some DSCP value must reach.

    Raises:
        QualificationError: none reaches one.
    """
    for priority in target:
        if priority not in qos.dscps:
            raise QualificationError(
                f"{qos.where(priority)}: no DSCP value reaches it, DSCP_TO_TC_MAP|{qos.dscp_map} leads to "
                f"{list(qos.reachable)} only"
            )
    return target


def others_reached(target: Target, qos: PortQos) -> Target:
    """The priorities beside `target` that some DSCP value reaches."""
    return tuple(other for other in qos.reachable if other not in target)
