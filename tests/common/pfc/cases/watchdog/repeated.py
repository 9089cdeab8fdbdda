"""WD-10: many storms of the same queues, one after the other, and the watchdog runs on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...lab.lab import Lab
from ...lab.watchdog import MS_PER_S, OPERATIONAL, Watchdog
from ...model.checking import at_priorities, at_priority, fail_unless, storm_sent
from ...model.counters import DutCounters
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Table, sending, with_late_counts
from ..parts import CasePart, RunInParts, in_parts
from ..storm_sequence import pause_storm
from . import checks
from .actions import judge
from .checks import FRAME_BYTES, WatchdogRun, undisturbed_while_watched
from .steps import LIGHT_FPS, TIMERS, storm_traffic, storms_and_again, watching_pair
from .watched import all_watched

REPEATED = PlanCase("watchdog-repeated-storms", "WD-10")
STORMS = 16
"""What a watchdog loses or keeps of a storm, until it has no more room, is told where four bits are full."""
SHORT_STORMS = STORMS - 3
"""Those between the second and the last: with little data, of which nothing is asked."""
SPARE_S = 0.5
"""How much longer than until the latest detection each of them lasts, and than until the latest restoration the next
one waits: polls of hardware come late."""
SHORT_S = TIMERS.latest_detection_s + SPARE_S
BRIEF_STORMS = 5
"""Those before the last that end when they may just be detected: their lengths go from the detection time to two polls
more. Whether one is detected is the polls' affair; that it is over is not."""


def storms_one_by_one(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """WD-2's storm and data, twice; many short storms; some brief ones; and once more the first. The watchdog is
    started before the first and stopped after the last."""
    lab.subject.qos.check_reached(target)
    with watching_pair(lab) as watchdog:
        first = storm_and_data(lab, target, watchdog, before)
        second = storm_and_data(lab, target, watchdog, first.after)
        short = storms_in_a_row(lab, target, watchdog, second.after, "Short", SHORT_STORMS * [SHORT_S])
        brief = storms_in_a_row(lab, target, watchdog, short.after, "Brief", brief_s())
        last = storm_and_data(lab, target, watchdog, brief.after, is_last=True)
    parts = (
        _with_data(first, 1),
        _with_data(second, 2),
        _with_data(last, STORMS),
        CasePart(short, validity_of_short, judge_short, "short_storms"),
        CasePart(brief, validity_of_brief, judge_brief, "brief_storms"),
    )
    return RunInParts(parts, last.settled)


def _with_data(storm: WatchdogRun, number: int) -> CasePart[WatchdogRun]:
    """A storm with data in it and after it; the first one's numbers are the case's own."""
    key = f"storm_{number}" if number > 1 else ""
    return CasePart(storm, checks.validity, judge, key, f"storm {number} of {STORMS}")


def brief_s() -> list[float]:
    """How long each of the brief storms lasts."""
    first_s = TIMERS.detection_ms / MS_PER_S
    return [first_s + (TIMERS.latest_detection_s - first_s) * step / (BRIEF_STORMS - 1) for step in range(BRIEF_STORMS)]


def storms_in_a_row(
    lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters, name: str, lasting_s: Sequence[float]
) -> WatchdogRun:
    """Storms that end by themselves, each so long: the queues of those that are detected are restored before the
    next."""
    rounds = [_storm(lab, target, f"{name} Storm {number}", lasts_s) for number, lasts_s in enumerate(lasting_s, 1)]
    traffic = lab.builder.build([flow for flows in rounds for flow in flows])
    with sending(lab, traffic):
        for flows, lasts_s in zip(rounds, lasting_s, strict=True):
            names = [flow.name for flow in flows]
            lab.generator.start(names)
            lab.generator.run_out(names, lasts_s)
            lab.clock.sleep(TIMERS.latest_restoration_s + SPARE_S)
        lab.clock.sleep(lab.delays.port_s)
        stats = lab.generator.stats(traffic.flows)
        after = watchdog.counters()
    return WatchdogRun(lab.subject, before, after, after, target, {"over": stats}, TIMERS, watchdog.queues)


def _storm(lab: Lab, target: Target, name: str, lasts_s: float) -> list[FlowPlan]:
    """The flows of such a storm. Data goes by a number of frames: generators may take whole seconds only."""
    storm = pause_storm(lab, target)
    return [
        replace(storm, name=lab.builder.flow_name(name), frames=int(lasts_s * (storm.fps or 0))),
        *(FlowPlan(lab.builder.flow_name(f"Light Flow in {name} Prio {priority}"), Role.TEST, priority, FRAME_BYTES,
                   fps=LIGHT_FPS, frames=int(lasts_s * LIGHT_FPS)) for priority in target),
    ]


def storm_and_data(
    lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters, is_last: bool = False
) -> WatchdogRun:
    """One storm, data in it, its end, data as soon as the queues must be restored. `is_last`: the watchdog is stopped
    then."""
    traffic = storm_traffic(lab, target, TIMERS)
    with sending(lab, traffic):
        if watchdog.timers is None:
            watchdog.start(TIMERS)
        run = storms_and_again(lab, traffic, watchdog, TIMERS, target, before, is_last)
        return with_late_counts(lab, run, checks.validity, judge)


def validity_of_short(run: WatchdogRun) -> Iterator[Check]:
    """Whether the short storms were a measurement: each has to last until it must have been detected."""
    yield from undisturbed_while_watched(run)
    place = at_priorities(run.subject, run.tested)
    for short in run.flows("over", Role.STORM):
        yield from storm_sent(place, [short], int((short.plan.fps or 0) * TIMERS.latest_detection_s))


def judge_short(run: WatchdogRun) -> Iterator[Check]:
    """Each of the short storms was detected, and is over."""
    for priority in run.tested:
        row = run.gained(run.queue(priority), run.after)
        expected = f"{SHORT_STORMS} short storms counted as detected and restored, the queue {OPERATIONAL}"
        met = row.detected == row.restored == SHORT_STORMS and row.status == OPERATIONAL
        seen = f"{row.detected} and {row.restored} ({row.status})"
        yield fail_unless("storms-counted", at_priority(run.subject, priority), met, expected, seen)


def validity_of_brief(run: WatchdogRun) -> Iterator[Check]:
    """Whether the brief storms were a measurement: nothing was disturbed, and all their pauses were sent."""
    yield from undisturbed_while_watched(run)
    place = at_priorities(run.subject, run.tested)
    for brief in run.flows("over", Role.STORM):
        yield from storm_sent(place, [brief], brief.plan.frames or 0)


def judge_brief(run: WatchdogRun) -> Iterator[Check]:
    """Those of the brief storms that were detected are over."""
    for priority in run.tested:
        row = run.gained(run.queue(priority), run.after)
        expected = f"as many of {BRIEF_STORMS} brief storms counted as restored as detected, the queue {OPERATIONAL}"
        met = row.restored == row.detected <= BRIEF_STORMS and row.status == OPERATIONAL
        seen = f"{row.detected} and {row.restored} ({row.status})"
        yield fail_unless("storms-counted", at_priority(run.subject, priority), met, expected, seen)


CASES: Table = {REPEATED: in_parts(storms_one_by_one, all_watched)}
