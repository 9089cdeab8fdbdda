"""WD-1 to WD-3, WD-9, WD-11 and WD-12: what the watchdog's actions do to the traffic of a port in a pause storm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...lab.watchdog import ALERT, DROP, FORWARD, Timers
from ...lab.watchdog_deviations import counts_pauses_to_restore
from ...model.checking import at_priority, everything_received, fail_unless, nothing_received, priority_of
from ...model.counters import DutCounters
from ...model.ports import PortPair
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, sending
from ..ingress import faster_port
from ..pause_counts import counted_for
from .checks import WatchdogRun, acted, detected, is_dropped, no_other_storm, restored, validity, works_again
from .steps import early_frames, storm_traffic, storms_and_again, watching_pair
from .watched import all_watched, all_watched_changing, all_watched_forwarding, each_watched, several_watched

DROP_SINGLE = PlanCase("watchdog-drop-single", "WD-1")
DROP_SEVERAL = PlanCase("watchdog-drop-several", "WD-2")
FORWARD_ALL = PlanCase("watchdog-forward", "WD-3")
MIXED_SPEED = PlanCase("watchdog-mixed-speed", "WD-9")
ACTION_CHANGED = PlanCase("watchdog-action-changed", "WD-11")
ALERTED = PlanCase("watchdog-alert", "WD-12")

NEEDS_FASTER = "a port for data to enter by that is faster than the port under test, on another traffic generator"


def storm_then_data(
    lab: Lab, target: Target, before: DutCounters, action: str = DROP, first: str = ""
) -> WatchdogRun:
    """A storm without data, or with as little as its detection needs; when it must have been detected, data both ways;
    after restoration the same again. The watchdog begins with the action `first` (empty: the same one) and ten times
    as long, and gets the other action and times while it runs, before the storm.
    """
    lab.subject.qos.check_reached(target)
    timers = Timers(action)
    traffic = storm_traffic(lab, target, timers)
    with watching_pair(lab) as watchdog, sending(lab, traffic):
        if first:
            longer = {"detection_ms": 10 * timers.detection_ms, "restoration_ms": 10 * timers.restoration_ms}
            watchdog.start(replace(timers, action=first, **longer))
            lab.clock.sleep(SETTLE_S)
            watchdog.start_over(timers)
        else:
            watchdog.start(timers)
        return storms_and_again(lab, traffic, watchdog, timers, target, before)


def from_faster(lab: Lab, target: Target, before: DutCounters) -> WatchdogRun:
    """The same with a faster tx port."""
    faster = faster_port(lab.subject)
    assert faster is not None, f"{MIXED_SPEED.plan_id} is carried out where a faster port is"
    subject = replace(lab.subject, pair=PortPair(lab.subject.pair.rx, faster))
    return storm_then_data(replace(lab, subject=subject), target, before)


def judge(run: WatchdogRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    yield from detected(run)
    yield from no_other_storm(run)
    yield from acted(run)
    yield from restored(run)
    yield from _frames_counted(run)
    yield from _pauses_counted(run)
    yield from works_again(run)


def _frames_counted(run: WatchdogRun) -> Iterator[Check]:
    """Each frame of the stormed priorities in the storm was counted: as sent or dropped by the queue, or as taken or
    dropped where it came in; of the last storm and of all. No other frame was, so these numbers are exact, but for
    those that the storm began with: what becomes of them on its detection is not said anywhere."""
    tolerances = run.subject.tolerances
    for flow in run.flows("stormed", Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        row = run.gained(run.queue(priority_of(flow)), run.after)
        comes_in = flow.plan.enters == run.subject.pair.rx.port
        if comes_in:
            counted = {"RX OK/DROP": (row.rx_ok, row.rx_dropped), "RX LAST OK/DROP": row.last[2:]}
        else:
            counted = {"TX OK/DROP": (row.tx_ok, row.tx_dropped), "TX LAST OK/DROP": row.last[:2]}
        due = (0, flow.frames_tx) if is_dropped(run, flow) else (flow.frames_tx, 0)
        early = 0 if comes_in else early_frames(run.subject)
        or_more = f", up to {early} more of each" if early else ""
        for column, seen in counted.items():
            met = all(tolerances.alike(one, min(max(one, least), least + early))
                      for least, one in zip(due, seen, strict=True))
            expected = f"{due[0]}/{due[1]}{tolerances.more_or_less} in `pfcwd show stats` {column}{or_more}"
            yield fail_unless("frames-counted", place, met, expected, f"{seen[0]}/{seen[1]}")


def _pauses_counted(run: WatchdogRun) -> Iterator[Check]:
    """Each pause of the storm was counted, also while the watchdog acted: by them it sees that the storm goes on. Of a
    platform whose watchdog does not go by them nothing is said."""
    if counts_pauses_to_restore(run.subject.asic):
        for priority in run.tested:
            yield counted_for(run, run.flows("over", Role.STORM), priority, "once the storm had stopped ")


def judge_alert(run: WatchdogRun) -> Iterator[Check]:
    """The storm is detected, counted and over; meanwhile what leaves by the port is held, as it is without a watchdog,
    and its sender with it. Nothing is lost."""
    subject = run.subject
    pair = subject.pair
    yield from detected(run)
    yield from no_other_storm(run)
    test = run.flows("stormed", Role.TEST)
    held = [flow for flow in test if flow.plan.leaves == pair.rx.port]
    yield from nothing_received("held-in-storm", subject, held, "in the storm")
    back = [flow for flow in test if flow not in held]
    yield from everything_received("forwarded-in-storm", subject, back, "in the storm")
    background = run.flows("stormed", Role.BACKGROUND)
    yield from everything_received("background-unaffected", subject, background, "in the storm")
    for port in run.ports_used:
        for priority, frames in enumerate(run.pfc_sent(port)):
            holds = port == pair.tx.port and priority in run.tested
            name = "back-pressure" if holds else "no-back-pressure"
            expected = f"{'more than 0' if holds else '0'} PFC frames sent out of {port} in the storm"
            yield fail_unless(name, at_priority(subject, priority, port), (frames > 0) == holds, expected, frames)
    yield from restored(run)
    drained = [flow for flow in run.flows("over", Role.TEST) if flow.plan.leaves == pair.rx.port]
    yield from everything_received("held-frames-drained", subject, drained, "once the storm had stopped")
    yield from _pauses_counted(run)
    yield from works_again(run)


CASES: Table = {
    DROP_SINGLE: Procedure(storm_then_data, validity, judge, each_watched),
    DROP_SEVERAL: Procedure(storm_then_data, validity, judge, several_watched),
    FORWARD_ALL: Procedure(partial(storm_then_data, action=FORWARD), validity, judge, all_watched_forwarding),
    MIXED_SPEED: Procedure(from_faster, validity, judge, all_watched.where(faster_port, NEEDS_FASTER)),
    ACTION_CHANGED: Procedure(partial(storm_then_data, first=FORWARD), validity, judge, all_watched_changing),
    ALERTED: Procedure(partial(storm_then_data, action=ALERT), validity, judge_alert, all_watched),
}
