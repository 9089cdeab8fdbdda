"""FLAP-5 to FLAP-7: a port is shut down and started by the switch's configuration. What an ASIC is told of a port, it
may lose when the port starts.

FLAP-5 and FLAP-7: the port under test and the tx port, idle. FLAP-5: then M2O-3's load must be shared, held and counted
as ever: by the weights of the queues, with headroom where data comes in. FLAP-7: then PFC-1's storm must hold the
sender as long as it lasts.

FLAP-6: the port under test, in a storm that its watchdog has detected; it is started when the storm is over. Then the
watchdog must have restored it, and do in the next storm what WD-2 asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..lab.generator import SETTLE_S
from ..lab.lab import Lab
from ..lab.watchdog import Watchdog
from ..model.counters import DutCounters
from ..model.traffic import Role
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Procedure, Table, settled_counters
from .flap import LEAD_S, pfc_1_at_its_load, switched_link
from .loads import MANY_TO_ONE, TOO_MUCH_OF_BOTH
from .parts import CasePart, RunInParts, in_parts, saying
from .pauses import storm_case
from .targets import all_lossless
from .watchdog import actions, checks
from .watchdog.checks import WatchdogRun
from .watchdog.repeated import storm_and_data
from .watchdog.steps import TIMERS, until_detected, watching_pair
from .watchdog.watched import all_watched

SHARED_AFTERWARDS = PlanCase("shutdown-then-congestion", "FLAP-5")
SHUTDOWN_WATCHED = PlanCase("shutdown-with-watchdog", "FLAP-6")
HELD_AFTERWARDS = PlanCase("shutdown-then-storm", "FLAP-7")
STARTED = "after the port was started"


def restart_pair(lab: Lab) -> None:
    """Shuts both ports down for a second. Raises QualificationError where a link does not come up again."""
    pair = lab.subject.pair
    with switched_link(lab, True, pair.rx.port) as switch_rx, switched_link(lab, True, pair.tx.port) as switch_tx:
        switch_rx(False)
        switch_tx(False)
        lab.clock.sleep(LEAD_S)


def after_a_restart(procedure: Procedure[Any]) -> Procedure[Any]:
    """The procedure, once both ports were down for a second and their links are up again. It raises QualificationError
    also where a link did not come up again."""

    def measure(lab: Lab, target: Target, before: DutCounters) -> Any:
        restart_pair(lab)
        return procedure.measure(lab, target, settled_counters(lab))

    return replace(procedure, measure=measure)


def restart_in_storm(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
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


CASES: Table = {
    SHARED_AFTERWARDS: after_a_restart(MANY_TO_ONE[TOO_MUCH_OF_BOTH]),
    SHUTDOWN_WATCHED: in_parts(restart_in_storm, all_watched),
    HELD_AFTERWARDS: after_a_restart(storm_case(pfc_1_at_its_load, all_lossless)),
}
