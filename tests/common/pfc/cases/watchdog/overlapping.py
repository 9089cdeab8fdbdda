"""WD-13: what a storm of one priority leaves alone of the others at its port. Two storms of different priorities, the
first of which ends while the later one lasts; and before them a storm at the port under test, while another priority is
congested whose data enters there: the port has to hold its sender."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...lab.watchdog import watching
from ...model.checking import (
    at_flow, at_priorities, at_priority, everything_received, held_by_pauses, nothing_received, priority_of,
)
from ...model.counters import DutCounters, changed
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..data_loads import DataLoad, data_flows
from ..engine import Table, sending, settled_counters, with_late_counts
from ..flows import later
from ..parts import CasePart, RunInParts, in_parts
from ..storm_sequence import drain, pause_storm
from ..validity import load_applied, lossy_in_background
from .checks import (
    DATA_S, FRAME_BYTES, WatchdogRun, acted, applied_again, at_storm, detected, lead_s, no_other_storm, restored,
    storm_lasted, undisturbed_while_watched, works_again,
)
from .steps import (
    BACK_PERCENT, TIMERS, data_again, data_in_storms, early_flows, end_storms, watched_flows, watching_pair,
)
from .restored import can_turn
from .watched import each_of_several_watched, watched

OVERLAPPING = PlanCase("watchdog-overlapping-storms", "WD-13")
FIRST = "First Storm"
LATER = "Later Storm"
IN_LATER = "in the later storm"
CONGESTED = "Congested"
"""The phase of the storm at the tx port, and of the data that it holds."""
IN_STORM = "in a storm of another priority on its port"


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


def both_parts(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """Congestion of another priority in a storm, where the ports are of the same speed; then storms that overlap."""
    lab.subject.qos.check_reached(watched(lab.subject.qos))
    if not can_turn(lab.subject):
        return of_parts(None, one_ends(lab, target, before))
    congested = other_congested(lab, target, before)
    congested = with_late_counts(lab, congested, validity_of_congested, judge_congested)
    return of_parts(congested, one_ends(lab, target, congested.settled or settled_counters(lab)))


def of_parts(congested: WatchdogRun | None, overlapping: OverlappingRun) -> RunInParts:
    """Both parts, each with its checks; None: that one was not measured."""
    parts: tuple[CasePart[Any], ...] = (CasePart(overlapping, validity, judge),)
    if congested is not None:
        parts = (*parts, CasePart(congested, validity_of_congested, judge_congested, "other_congested"))
    return RunInParts(parts, overlapping.settled)


def other_congested(lab: Lab, target: Target, before: DutCounters) -> WatchdogRun:
    """A storm on the target at the port under test, which alone is watched; when it must have been detected one on
    another priority at the tx port, data into that, and the end of both. Phases: `held` in both storms, `drained` when
    the one at the tx port had stopped, `over` when both had."""
    other = tuple(priority for priority in watched(lab.subject.qos) if priority not in target)[:1]
    waits_s = lead_s(TIMERS) + SETTLE_S + DATA_S + lab.delays.port_s
    traffic = lab.builder.build([
        pause_storm(lab, target, waits_s), *early_flows(lab, target), *_congested_flows(lab, other, waits_s),
    ])
    storm = traffic.names(Role.STORM)
    congestion = traffic.names(Role.STORM, phase=CONGESTED)
    data = traffic.names(Role.TEST, phase=CONGESTED)
    with watching(lab.dut, lab.clock, (lab.port,), lab.subject.qos.lossless) as watchdog, sending(lab, traffic):
        watchdog.start(TIMERS)
        lab.generator.start(traffic.names())
        lab.clock.sleep(lead_s(TIMERS))
        lab.generator.start([*congestion, *data])
        lab.clock.sleep(SETTLE_S)
        lab.generator.run_out(data, DATA_S)
        lab.clock.sleep(lab.delays.port_s)
        phases = {"held": lab.generator.stats(data)}
        during = watchdog.counters()
        lab.generator.stop(congestion)
        lab.clock.sleep(SETTLE_S)
        phases["drained"] = drain(lab, [*congestion, *data])
        end_storms(lab, storm, TIMERS)
        phases["over"] = lab.generator.stats(storm)
        return WatchdogRun(lab.subject, before, during, watchdog.stop(), target, phases, TIMERS, watchdog.queues)


def _congested_flows(lab: Lab, other: Target, waits_s: float) -> list[FlowPlan]:
    """A storm at the tx port, and data from the port under test into it."""
    rx = lab.subject.pair.rx.port
    tx = lab.subject.pair.tx.port
    storm = replace(pause_storm(lab, other, waits_s), enters=tx, leaves=rx)
    load = DataLoad("Held Flow", Role.TEST, other, BACK_PERCENT, DATA_S, FRAME_BYTES, (), SETTLE_S, rx, tx)
    return later([storm, *data_flows(lab, [load])], CONGESTED)


def validity_of_congested(run: WatchdogRun) -> Iterator[Check]:
    """Whether that was a measurement: both storms lasted until the data had ended, and data was sent."""
    yield from undisturbed_while_watched(run)
    lasting_s = SETTLE_S + DATA_S
    place = at_priorities(run.subject, run.tested)
    yield from storm_lasted(run, place, run.flows("over"), lead_s(run.timers) + lasting_s)
    tx = run.subject.pair.tx.port
    held = [priority_of(flow) for flow in run.flows("held")]
    yield from storm_lasted(run, at_priorities(run.subject, held, tx), run.flows("drained", Role.STORM), lasting_s)
    yield from load_applied(run.subject, run.flows("held"), run.pfc_sent, IN_STORM, [Role.TEST])


def judge_congested(run: WatchdogRun) -> Iterator[Check]:
    """The port in storm holds the sender of another priority, and nothing of that is lost."""
    subject = run.subject
    rx = subject.pair.rx.port
    yield from detected(run, "in the first storm")
    yield from nothing_received("held-in-storm", subject, run.flows("held"), IN_STORM, partial(at_flow, subject))
    for flow in run.flows("held"):
        sent = changed(run.before.pfc_tx, run.after.pfc_tx, rx)[priority_of(flow)]
        what = f"PFC frames sent out of {rx} to hold the sender, {IN_STORM}"
        yield held_by_pauses(at_priority(subject, priority_of(flow), rx), subject, flow, what, sent)
    test = run.flows("drained", Role.TEST)
    yield from everything_received("held-frames-drained", subject, test, f"once it could leave, {IN_STORM}")


def one_ends(lab: Lab, target: Target, before: DutCounters) -> OverlappingRun:
    """A storm on the target, later one on all other watched priorities too, the end of the first, data both ways, the
    end of the later one, and the data again."""
    first = target[0]
    others = tuple(priority for priority in watched(lab.subject.qos) if priority != first)
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
    when = f"once its own storm had stopped, {IN_LATER}"
    yield from everything_received("resumed", run.subject, recovered, when, partial(at_storm, run))
    yield from restored(run)
    yield from works_again(run, "after both storms")


CASES: Table = {OVERLAPPING: in_parts(both_parts, each_of_several_watched)}
