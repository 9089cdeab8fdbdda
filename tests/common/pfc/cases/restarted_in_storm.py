"""FLAP-6: the port under test is shut down in a storm that its watchdog has detected, and started when the storm is
over; then the watchdog must have restored it, and do in the next storm what WD-2 asks for."""

from __future__ import annotations

from collections.abc import Iterator

from ..lab.generator import SETTLE_S
from ..lab.lab import Lab
from ..lab.watchdog import Watchdog
from ..model.counters import DutCounters
from ..model.traffic import Role
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Table
from .flap import switched_link
from .parts import CasePart, RunInParts, in_parts, saying
from .watchdog import actions, checks
from .watchdog.checks import WatchdogRun
from .watchdog.repeated import storm_and_data
from .watchdog.steps import TIMERS, until_detected, watching_pair
from .watchdog.watched import all_watched_changeable

SHUTDOWN = PlanCase("shutdown-with-watchdog", "FLAP-6")
STARTED = "after the port was started"


def restart_in_storm(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> RunInParts:
    """A storm; when it must have been detected the port is shut down, the storm stopped, the port started; another
    storm, as WD-2's.

    Raises:
        QualificationError: a step could not be done, or the link did not come up again.
    """
    lab.subject.qos.check_reached(target)
    with watching_pair(lab) as watchdog:
        interrupted = _interrupted(lab, target, watchdog, before)
        later = storm_and_data(lab, target, watchdog, interrupted.after, is_last=True)
    parts = (
        CasePart(interrupted, checks.lone_storm, judge_interrupted, "interrupted_storm"),
        CasePart(later, checks.validity, actions.judge, words=STARTED),
    )
    return RunInParts(parts, later.settled)


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


def judge_interrupted(run: WatchdogRun) -> Iterator[Check]:
    """The storm is detected, and over once the port was started."""
    yield from checks.detected(run)
    yield from saying(checks.restored(run), STARTED)


CASES: Table = {SHUTDOWN: in_parts(restart_in_storm, all_watched_changeable, is_audited=False)}
