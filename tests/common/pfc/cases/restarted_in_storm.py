"""FLAP-6: the port under test is shut down in a storm that its watchdog has detected, and started when the storm is
over; then the watchdog must have restored it, and do in the next storm what WD-2 asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..lab.generator import SETTLE_S
from ..lab.lab import Lab
from ..lab.watchdog import Watchdog
from ..model.counters import DutCounters
from ..model.traffic import Role
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Measured, Procedure, Table
from .flap import switched_link
from .parts import OWN, RunInParts, saying
from .watchdog import actions, checks
from .watchdog.checks import WatchdogRun
from .watchdog.repeated import storm_and_data
from .watchdog.until_detected import TIMERS, until_detected
from .watchdog.watched import all_watched_changeable

SHUTDOWN = PlanCase("shutdown-with-watchdog", "FLAP-6")


@dataclass(frozen=True)
class RestartedRun(RunInParts):
    """A port with a watchdog that was shut down and started.

    Attributes:
        interrupted: the storm in which it was shut down; `after` was read when the port was up again.
        later: the next storm, with data in it and after it.
    """

    interrupted: WatchdogRun
    later: WatchdogRun

    @property
    def parts(self) -> Mapping[str, Measured]:
        """The later storm, as any other; and the one in which the port was shut down."""
        return {"interrupted_storm": self.interrupted, OWN: self.later}


def restart_in_storm(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> RestartedRun:
    """A storm; when it must have been detected the port is shut down, the storm stopped, the port started; another
    storm, as WD-2's.

    Raises:
        QualificationError: a step could not be done, or the link did not come up again.
    """
    lab.subject.qos.check_reached(target)
    with actions.watching_pair(lab) as watchdog:
        interrupted = _interrupted(lab, target, watchdog, before)
        return RestartedRun(interrupted, storm_and_data(lab, target, watchdog, interrupted.after, is_last=True))


def _interrupted(lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters) -> WatchdogRun:
    with switched_link(lab, by_switch=True) as switch, until_detected(lab, target, watchdog) as traffic:
        during = watchdog.counters()
        storm = traffic.names(Role.STORM)
        switch(False)
        lab.generator.stop(storm)
        lab.clock.sleep(SETTLE_S)
        stats = lab.generator.stats(storm)
    lab.clock.sleep(max(TIMERS.latest_restoration_s + SETTLE_S, lab.delays.port_s))
    return WatchdogRun(
        lab.subject, before, during, watchdog.counters(), target, {"over": stats}, TIMERS, watchdog.queues
    )


def validity(run: RestartedRun) -> Iterator[Check]:
    """Whether both storms were a measurement."""
    yield from checks.lone_storm(run.interrupted)
    yield from checks.validity(run.later)


def judge(run: RestartedRun) -> Iterator[Check]:
    """The first storm is detected, and over once the port was started; the later one has all of WD-2."""
    yield from checks.detected(run.interrupted)
    once_started = (*checks.restored(run.interrupted), *actions.judge(run.later))
    yield from saying(once_started, "after the port was started")


CASES: Table = {SHUTDOWN: Procedure(restart_in_storm, validity, judge, all_watched_changeable, is_audited=False)}
