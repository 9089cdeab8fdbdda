"""WD-20: a storm that goes on slowly. Once it is detected a pause comes now and then, not in each poll, and holds
nothing: its queue is to be restored after some time without any, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lab.lab import Lab
from ...lab.watchdog import DROP, Timers
from ...lab.watchdog_deviations import counts_pauses_to_restore
from ...model.checking import at_priorities, error_unless
from ...model.counters import DutCounters
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ...record.verdict import LOSSLESS, Check
from ..engine import Procedure, Table, sending
from ..storm_sequence import pause_storm
from ..validity import storm_stopped
from .checks import WatchdogRun, detected, kept_lone_storm, lead_s, no_other_storm, restored, storm_unbroken
from .steps import early_flows, end_storms, watching_pair
from .watched import all_watched

SLOW = PlanCase("watchdog-slow-storm", "WD-20", (LOSSLESS,))
TIMERS = Timers(DROP, restoration_ms=2000)
"""Time enough for a generator that stands still while one of its flows is stopped."""
SLOW_FPS = 3
"""A pause in every third or fourth poll: the polls without one are no time of restoration together."""
MISSED = 2
"""Pauses that need not come: one at each end, or where a generator stands still."""
SLOW_S = 2 * TIMERS.latest_restoration_s
"""How long pauses come slowly: twice as long as it takes to restore a queue that is paused no more."""


def slow_storm(lab: Lab, target: Target, before: DutCounters) -> WatchdogRun:
    """A storm without data until it must have been detected, with slow pauses beside it, which go on by themselves.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    lab.subject.qos.check_reached(target)
    storm = pause_storm(lab, target, lead_s(TIMERS))
    both_s = lead_s(TIMERS) + SLOW_S
    slow = replace(pause_storm(lab, target, both_s), name=lab.builder.flow_name("Slow Pauses"), fps=SLOW_FPS)
    traffic = lab.builder.build([storm, slow, *early_flows(lab, target)])
    with watching_pair(lab) as watchdog:
        watchdog.start(TIMERS)
        with sending(lab, traffic):
            lab.generator.start(traffic.names())
            lab.clock.sleep(lead_s(TIMERS))
            lab.generator.stop([storm.name])
            begun = lab.generator.stats([slow.name])
            lab.clock.sleep(SLOW_S)
            going_on = lab.generator.stats([slow.name])
            during = watchdog.counters()
            end_storms(lab, [slow.name], TIMERS)
            phases = {"over": lab.generator.stats([storm.name]), "begun": begun, "going_on": going_on,
                      "slow": lab.generator.stats([slow.name])}
        after = watchdog.stop()
    return WatchdogRun(lab.subject, before, during, after, target, phases, TIMERS, watchdog.queues)


def validity(run: WatchdogRun) -> Iterator[Check]:
    """Whether the storm was a measurement, and pauses went on to come."""
    place = at_priorities(run.subject, run.tested)
    slow = run.flows("slow", Role.STORM)
    yield from kept_lone_storm(run)
    for begun, going_on in zip(run.flows("begun", Role.STORM), run.flows("going_on", Role.STORM), strict=True):
        came = going_on.frames_tx - begun.frames_tx
        least = int(SLOW_FPS * SLOW_S) - MISSED
        yield error_unless("storm-ran", place, came >= least, f"at least {least} slow pauses in {SLOW_S:g} s", came)
    yield from storm_stopped(place, slow)
    yield from storm_unbroken(place, slow)


def judge(run: WatchdogRun) -> Iterator[Check]:
    """The storm was detected once, is one for as long as pauses come, and over when none comes."""
    yield from detected(run, f"while {SLOW_FPS} pauses came in a second")
    yield from no_other_storm(run)
    yield from restored(run)


restoring_by_pauses = all_watched.where(
    lambda subject: counts_pauses_to_restore(subject.asic), "a platform whose watchdog counts pauses to restore a queue"
)
CASES: Table = {SLOW: Procedure(slow_storm, validity, judge, restoring_by_pauses)}
