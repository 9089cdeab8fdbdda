"""WD-12: the watchdog's action `alert` reports a storm, and leaves the traffic to PFC."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...lab.watchdog import ALERT
from ...model.checking import at_priority, everything_received, fail_unless, nothing_received
from ...model.traffic import Role
from ...record.case import PlanCase
from ...record.verdict import Check
from ..engine import Procedure, Table
from .actions import storm_then_data
from .checks import WatchdogRun, detected, no_other_storm, restored, validity, works_again
from .watched import all_watched

ALERTED = PlanCase("watchdog-alert", "WD-12")


def judge(run: WatchdogRun) -> Iterator[Check]:
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
    yield from works_again(run)


CASES: Table = {ALERTED: Procedure(partial(storm_then_data, action=ALERT), validity, judge, all_watched)}
