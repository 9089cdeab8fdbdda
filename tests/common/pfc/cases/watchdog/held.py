"""WD-14: storms that are over before the watchdog detects them hold, and let go, as TIME-5's do without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...lab.watchdog import DROP, MS_PER_S, Timers
from ...model.arithmetic import MAX_QUANTA, pause_seconds
from ...model.checking import at_priorities, error_unless
from ...model.counters import DutCounters
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, with_late_counts
from ..timing_storms import StormsRun, storms_and_load
from ..timing_storms import judge as judge_storms
from ..timing_storms import measure as measure_storms
from .checks import WatchdogRun, no_other_storm, undisturbed_while_watched
from .steps import TIMERS, watching_pair
from .watched import all_watched

HELD = PlanCase("watchdog-storms-held", "WD-14")
WALL_TIMERS = Timers(DROP, detection_ms=5000, restoration_ms=5000)
"""The longest detection that there is: by a clock that is not exact each storm lasts seconds."""


@dataclass(frozen=True)
class WatchedStormsRun:
    """TIME-5's storms on a watched port.

    Attributes:
        storms: what they held.
        watchdog: what the watchdog counted meanwhile: no priority may have had a storm.
    """

    storms: StormsRun
    watchdog: WatchdogRun

    @property
    def settled(self) -> DutCounters | None:
        """The counters when the watchdog was stopped."""
        return self.watchdog.settled

    def evidence(self) -> dict[str, Any]:
        """The numbers of the storms, and what the watchdog counted, for the record."""
        return {**self.storms.evidence(), **self.watchdog.details()}


def measure(lab: Lab, target: Target, before: DutCounters) -> WatchedStormsRun:
    """The watchdog is started before TIME-5's data, and stopped when all of it has come."""
    timers = TIMERS if lab.clock.exact else WALL_TIMERS
    with watching_pair(lab) as watchdog:
        watchdog.start(timers)
        lab.clock.sleep(SETTLE_S)
        storms = with_late_counts(lab, measure_storms(lab, target, before), storms_and_load, judge_storms)
        after = watchdog.stop()
    return WatchedStormsRun(storms, WatchdogRun(lab.subject, before, after, after, (), {}, timers, watchdog.queues))


def validity(run: WatchedStormsRun) -> Iterator[Check]:
    """Whether the run was a measurement: no storm may have lasted until it could be detected."""
    subject = run.storms.subject
    place = at_priorities(subject, run.storms.tested)
    yield from undisturbed_while_watched(run.watchdog)
    yield from storms_and_load(run.storms)
    earliest_ms, _ = run.watchdog.timers.detection_bounds_ms(subject.asic, Fraction(0))
    for storm in run.storms.storms:
        lasted_s = storm.frames_tx / (storm.plan.fps or 1) + float(pause_seconds(MAX_QUANTA, subject.pair.speed_mbps))
        expected = f"a storm over in less than the {float(earliest_ms) / MS_PER_S:g} s in which one may be detected"
        yield error_unless("storm-ended", place, lasted_s * MS_PER_S < earliest_ms, expected, f"{lasted_s:.1f} s")


def judge(run: WatchedStormsRun) -> Iterator[Check]:
    """What TIME-5 asks for; and no queue was taken for stormed."""
    yield from judge_storms(run.storms)
    yield from no_other_storm(run.watchdog)


CASES: Table = {HELD: Procedure(measure, validity, judge, all_watched)}
