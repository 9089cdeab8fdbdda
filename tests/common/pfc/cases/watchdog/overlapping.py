"""WD-13: two storms of different priorities on one port, the first of which ends while the later one lasts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...model.checking import at_priorities, everything_received
from ...model.counters import DutCounters
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, sending
from ..flows import later
from ..storm_sequence import pause_storm
from ..validity import load_applied, lossy_in_background
from .checks import (
    DATA_S, WatchdogRun, acted, applied_again, detected, lead_s, no_other_storm, restored, storm_lasted,
    undisturbed_while_watched, works_again,
)
from .steps import (
    TIMERS, data_again, data_in_storms, early_flows, end_storms, watched_flows, watching_pair,
)
from .watched import each_of_several_watched, watched

OVERLAPPING = PlanCase("watchdog-overlapping-storms", "WD-13")
FIRST = "First Storm"
LATER = "Later Storm"
IN_LATER = "in the later storm"


@dataclass(frozen=True)
class OverlappingRun(WatchdogRun):
    """Two storms of which the first one ends while the later one lasts. Phases: `ended` of the first one when it had
    stopped, `stormed` in the later one, `recovered` of the first one's priority meanwhile, `over` when the later one
    had stopped, `resumed` of the data sent again. `during` was read in the later one, when the first one was over.

    Attributes:
        first: the priority of the first one.
        all_stormed: the switch's counters in both.
    """

    first: int
    all_stormed: DutCounters

    @property
    def others(self) -> tuple[int, ...]:
        """The other priorities, of the later storm."""
        return tuple(priority for priority in self.tested if priority != self.first)

    def details(self) -> dict[str, Any]:
        """Also whose storm was the first."""
        return {**super().details(), "first_storm": self.first}


def one_ends(lab: Lab, target: Target, before: DutCounters) -> OverlappingRun:
    """A storm on the target, later one on all other watched priorities too, the end of the first, data both ways, the
    end of the later one, and the data again."""
    first = target[0]
    others = tuple(priority for priority in watched(lab.subject.qos) if priority != first)
    lab.subject.qos.check_reached((first, *others))
    wait_s = TIMERS.latest_restoration_s + SETTLE_S
    traffic = lab.builder.build([
        *_storm(lab, FIRST, target, 2 * lead_s(TIMERS)),
        *_storm(lab, LATER, others, 2 * lead_s(TIMERS) + wait_s + DATA_S + lab.delays.port_s),
        *watched_flows(lab, (first, *others), TIMERS),
    ])
    ending, lasting = (traffic.names(Role.STORM, phase=phase) for phase in (FIRST, LATER))
    with watching_pair(lab) as watchdog, sending(lab, traffic):
        watchdog.start(TIMERS)
        for phase in (FIRST, LATER):
            lab.generator.start(traffic.names(phase=phase))
            lab.clock.sleep(lead_s(TIMERS))
        all_stormed = watchdog.counters()
        end_storms(lab, ending, TIMERS)
        ended = lab.generator.stats(ending)
        in_later = {**data_in_storms(lab, traffic), **lab.generator.stats(lasting)}
        during = watchdog.counters()
        end_storms(lab, lasting, TIMERS)
        phases = {
            "ended": ended,
            "stormed": {name: flow for name, flow in in_later.items() if flow.plan.priority != first},
            "recovered": {name: flow for name, flow in in_later.items() if flow.plan.priority == first},
            "over": lab.generator.stats(lasting),
            "resumed": data_again(lab, traffic),
        }
        return OverlappingRun(lab.subject, before, during, watchdog.stop(), (first, *others), phases, TIMERS,
                              watchdog.queues, first, all_stormed)


def _storm(lab: Lab, phase: str, target: Target, waits_s: float) -> list[FlowPlan]:
    """A storm that is a phase of its own, with its early data."""
    return later([pause_storm(lab, target, waits_s), *early_flows(lab, target)], phase)


def validity(run: OverlappingRun) -> Iterator[Check]:
    """Whether the run was a measurement, best cause first."""
    subject = run.subject
    yield from undisturbed_while_watched(run)
    for phase, priorities, least_s in (
        ("ended", (run.first,), 2 * lead_s(run.timers)), ("over", run.others, 2 * lead_s(run.timers) + DATA_S)
    ):
        yield from storm_lasted(run, at_priorities(subject, priorities), run.flows(phase, Role.STORM), least_s)
    data = [*run.flows("stormed"), *run.flows("recovered")]
    yield from load_applied(subject, data, run.pfc_sent, IN_LATER, [Role.TEST])
    yield from applied_again(run, "after both storms")
    yield from lossy_in_background(subject, run.flows("stormed", Role.BACKGROUND))


def judge(run: OverlappingRun) -> Iterator[Check]:
    """Each queue is detected and restored by the pauses of its own priority."""
    yield from detected(replace(run, during=run.all_stormed))
    yield from no_other_storm(run)
    yield from restored(replace(run, tested=(run.first,), after=run.during), "once its own storm had stopped")
    yield from detected(replace(run, tested=run.others), "while its own storm went on")
    yield from acted(run, IN_LATER)
    recovered = run.flows("recovered")
    yield from everything_received("resumed", run.subject, recovered, f"once its own storm had stopped, {IN_LATER}")
    yield from restored(run)
    yield from works_again(run, "after both storms")


CASES: Table = {OVERLAPPING: Procedure(one_ends, validity, judge, each_of_several_watched)}
