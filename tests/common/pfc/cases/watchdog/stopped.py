"""WD-16: the watchdog is stopped while a storm goes on that it has detected. What it switched off has to be on again:
PFC-1's steps must find the port as ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...model.counters import DutCounters
from ...model.measurement import Measurement
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..checks import judge as judge_pauses
from ..checks import validity as pauses_valid
from ..engine import Measured, Procedure, Table, settled_counters
from ..parts import OWN, RunInParts, saying
from ..storm_sequence import measure
from ..validity import counters_kept, links_kept
from .actions import watching_pair
from .checks import WatchdogRun, detected, lone_storm
from .restored import held_scenario
from .until_detected import TIMERS, until_detected
from .watched import all_watched

STOPPED = PlanCase("watchdog-stopped-in-storm", "WD-16")
AFTERWARDS = "once the watchdog was stopped in a storm"


@dataclass(frozen=True)
class StoppedRun(RunInParts):
    """A storm in which the watchdog was stopped, and what the port did without it.

    Attributes:
        storm: the storm; `after` was read when the watchdog was stopped in it.
        pauses: PFC-1's steps afterwards.
    """

    storm: WatchdogRun
    pauses: Measurement

    @property
    def parts(self) -> Mapping[str, Measured]:
        """The storm, and what came after it apart."""
        return {OWN: self.storm, "afterwards": self.pauses}


def stop_in_storm(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> StoppedRun:
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
    return StoppedRun(storm, measure(lab, held_scenario(lab, case, target), settled_counters(lab)))


def validity(run: StoppedRun) -> Iterator[Check]:
    """Whether both storms were a measurement."""
    yield from links_kept(run.storm)
    yield from counters_kept(run.storm)
    yield from lone_storm(run.storm)
    yield from pauses_valid(run.pauses)


def judge(run: StoppedRun) -> Iterator[Check]:
    """The storm is detected; afterwards the port is held, and holds its sender, as any other."""
    yield from detected(run.storm)
    yield from saying(judge_pauses(run.pauses), AFTERWARDS)


CASES: Table = {STOPPED: Procedure(stop_in_storm, validity, judge, all_watched)}
