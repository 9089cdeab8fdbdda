"""PFC-1 to PFC-4: what a pause storm does to the traffic of a port. The steps are the test plan's."""

from __future__ import annotations

from collections.abc import Callable

from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement
from ..model.qos import DSCP_VALUES, PRIORITIES, PortQos
from ..model.scenario import Scenario, Storm
from ..model.traffic import pfc_frame
from ..record.case import PlanCase, Target
from .checks import judge, validity
from .engine import Procedure, Table, Targets
from .storm_sequence import measure
from .targets import all_lossy, each_lossless, several_lossless, whole_port

SINGLE_LOSSLESS = PlanCase("pause-lossless-single", "PFC-1")
SEVERAL_LOSSLESS = PlanCase("pause-lossless-several", "PFC-2")
LOSSY = PlanCase("pause-lossy", "PFC-3")
GLOBAL_PAUSE = PlanCase("global-pause", "PFC-4")


def pause_lossless(target: Target, qos: PortQos) -> Scenario:
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
    qos.check_reached(target)
    return Scenario(Storm.LOSSLESS, target, qos.others(target))


def pause_lossy(target: Target, qos: PortQos) -> Scenario:
    """Test case 3 of the plan: a storm on lossy priorities, everything else that some DSCP reaches is background. Both
    together fill the line. A storm on all lossy priorities is also one on those that no DSCP reaches.

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
    qos.check_reached(target)
    without_data = [one for one in PRIORITIES if one not in qos.lossless and one not in qos.reachable]
    frame = pfc_frame((*target, *without_data), MAX_QUANTA) if target == qos.reached_lossy and without_data else None
    return Scenario(Storm.LOSSY, target, qos.others(target), frame=frame)


def global_pause(target: Target, qos: PortQos) -> Scenario:
    """Test case 4 of the plan: a storm of 802.3x pause frames; all 64 DSCP values, the same load for each, fill the
    line. Raises QualificationError where the switch does not say which priority some DSCP value is."""
    missing = [dscp for dscp in DSCP_VALUES if not any(dscp in dscps for dscps in qos.dscps.values())]
    if missing:
        raise QualificationError(
            f"{qos.device} {qos.port}: DSCP_TO_TC_MAP|{qos.dscp_map} has no entry for DSCP {missing[:4]}"
            f" ({len(missing)} of {len(DSCP_VALUES)}): 802.3x pauses are judged with all of them"
        )
    parts = {priority: len(dscps) for priority, dscps in qos.dscps.items()}
    return Scenario(Storm.GLOBAL, qos.reachable, (), parts, test_percent=100, background_percent=0)


def storm_case(scenario: Callable[[Lab, Target], Scenario], targets: Targets) -> Procedure[Measurement]:
    """A case that is one scenario, confirmed by the source of its pauses."""

    def measured(lab: Lab, target: Target, before: DutCounters) -> Measurement:
        return lab.pause_source.confirmed(lab, measure(lab, scenario(lab, target), before))

    return Procedure(measured, validity, judge, targets)


CASES: Table = {
    SINGLE_LOSSLESS: storm_case(lambda lab, target: pause_lossless(target, lab.subject.qos), each_lossless),
    SEVERAL_LOSSLESS: storm_case(lambda lab, target: pause_lossless(target, lab.subject.qos), several_lossless),
    LOSSY: storm_case(lambda lab, target: pause_lossy(target, lab.subject.qos), all_lossy),
    GLOBAL_PAUSE: storm_case(lambda lab, target: global_pause(target, lab.subject.qos), whole_port),
}
