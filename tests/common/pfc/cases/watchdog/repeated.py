"""WD-10: several storms of the same queues, one after the other, and the watchdog runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...lab.lab import Lab
from ...lab.watchdog import DROP, Timers, Watchdog
from ...model.counters import DutCounters
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, sending
from ..storm_sequence import pause_storm
from . import checks
from .actions import data_again, data_in_storms, judge, storms_over, watched_flows, watching_pair
from .checks import DATA_S, WatchdogRun, lead_s
from .watched import all_watched

REPEATED = PlanCase("watchdog-repeated-storms", "WD-10")
STORMS = 3
TIMERS = Timers(DROP)


@dataclass(frozen=True)
class RepeatedRun:
    """The storms; each begins with the counters that the one before left.

    Attributes:
        storms: what was measured of each, in order.
    """

    storms: Sequence[WatchdogRun]

    @property
    def settled(self) -> DutCounters | None:
        """The counters after the last one."""
        return self.storms[-1].settled

    def evidence(self) -> dict[str, Any]:
        """The numbers of the first one, and of the others apart, for the record."""
        later = {f"storm_{number}": run.evidence() for number, run in enumerate(self.storms[1:], 2)}
        return {**self.storms[0].evidence(), **later}


def storms_one_by_one(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> RepeatedRun:
    """WD-2's storm and data, again and again; the watchdog is started before the first and stopped after the last."""
    lab.subject.qos.check_reached(target)
    runs: list[WatchdogRun] = []
    with watching_pair(lab) as watchdog:
        while len(runs) < STORMS:
            found = runs[-1].after if runs else before
            runs.append(_storm(lab, target, watchdog, found, is_last=len(runs) == STORMS - 1))
    return RepeatedRun(runs)


def _storm(lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters, is_last: bool) -> WatchdogRun:
    """One storm, data in it, its end, data as soon as the queues must be restored."""
    storm = pause_storm(lab, target, lead_s(TIMERS) + DATA_S + lab.delays.port_s)
    traffic = lab.builder.build([storm, *watched_flows(lab, target, TIMERS)])
    with sending(lab, traffic):
        if watchdog.timers is None:
            watchdog.start(TIMERS)
        stormed = data_in_storms(lab, traffic, [storm.name])
        during = watchdog.counters()
        phases = {"stormed": stormed, "over": storms_over(lab, traffic, TIMERS), "resumed": data_again(lab, traffic)}
        after = watchdog.stop() if is_last else watchdog.counters()
    return WatchdogRun(lab.subject, before, during, after, target, phases, TIMERS, watchdog.queues)


def _of_each(made: Callable[[WatchdogRun], Iterable[Check]]) -> Callable[[RepeatedRun], Iterator[Check]]:
    """The checks of every storm, each of which says whose it is."""

    def checks_of(run: RepeatedRun) -> Iterator[Check]:
        for number, storm in enumerate(run.storms, 1):
            for check in made(storm):
                yield replace(check, expected=f"{check.expected} (storm {number} of {STORMS})")

    return checks_of


CASES: Table = {REPEATED: Procedure(storms_one_by_one, _of_each(checks.validity), _of_each(judge), all_watched)}
