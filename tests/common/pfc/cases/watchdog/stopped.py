"""WD-16: the watchdog is stopped while a storm goes on that it has detected. What it switched off has to be on again:
PFC-1's steps must find the port as ever."""

from __future__ import annotations

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...model.counters import DutCounters
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ..checks import judge as judge_pauses
from ..checks import validity as pauses_valid
from ..engine import Table, settled_counters
from ..parts import CasePart, RunInParts, in_parts
from ..storm_sequence import measure
from .checks import WatchdogRun, detected, kept_lone_storm
from .restored import pfc_1_scenario
from .steps import TIMERS, until_detected, watching_pair
from .watched import all_watched

STOPPED = PlanCase("watchdog-stopped-in-storm", "WD-16")


def stop_in_storm(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> RunInParts:
    """A storm; when it must have been detected the watchdog is stopped, then the storm; then PFC-1's steps."""
    lab.subject.qos.check_reached(target)
    with watching_pair(lab) as watchdog, until_detected(lab, target, watchdog) as traffic:
        storms = traffic.names(Role.STORM)
        during = watchdog.counters()
        after = watchdog.stop()
        lab.generator.stop(storms)
        lab.clock.sleep(SETTLE_S)
        phases = {"over": lab.generator.stats(storms)}
        storm = WatchdogRun(lab.subject, before, during, after, target, phases, TIMERS, watchdog.queues)
    pauses = measure(lab, pfc_1_scenario(lab, case, target), settled_counters(lab))
    parts = (
        CasePart(storm, kept_lone_storm, detected),
        CasePart(pauses, pauses_valid, judge_pauses, "afterwards", "once the watchdog was stopped in a storm"),
    )
    return RunInParts(parts, pauses.settled)


CASES: Table = {STOPPED: in_parts(stop_in_storm, all_watched)}
