"""WD-15 and WD-16: what the watchdog switches off of a port in a storm it has to switch on again, both ways; PFC-1's
steps must find the port as ever. WD-15: the queues of the port under test are restored; then the tx port has a storm,
unwatched, and what the restored port sends into it must be held: the ports have changed places. WD-16: the watchdog is
stopped while a storm goes on that it has detected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...lab.watchdog import Watchdog, watching
from ...model.counters import DutCounters
from ...model.measurement import Measurement
from ...model.ports import PortPair
from ...model.scenario import Scenario
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..checks import judge as judge_pauses
from ..checks import storm_and_load
from ..checks import validity as pauses_valid
from ..engine import Table, settled_counters, with_late_counts
from ..parts import CasePart, RunInParts, in_parts
from ..pauses import pause_lossless
from ..storm_sequence import measure, scenario_flows
from .checks import DATA_S, WatchdogRun, detected, kept_lone_storm, restored, undisturbed_while_watched
from .steps import TIMERS, storms_over, until_detected, watching_pair
from .watched import all_watched

RESTORED = PlanCase("watchdog-restored-sender", "WD-15")
STOPPED = PlanCase("watchdog-stopped-in-storm", "WD-16")

all_watched_turned = all_watched.where(
    lambda subject: subject.pair.tx.speed_mbps == subject.pair.speed_mbps, "a tx port of the same speed"
)


def storm_then_turned(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """The watchdog runs on the port under test alone, all the time."""
    lab.subject.qos.check_reached(target)
    pair = lab.subject.pair
    with watching(lab.dut, lab.clock, (pair.rx.port,), lab.subject.qos.lossless) as watchdog:
        storm = _storm(lab, target, watchdog, before)
        turned = replace(lab, subject=replace(lab.subject, pair=PortPair(pair.tx, pair.rx)))
        pauses = with_late_counts(turned, _held(turned, target, storm.after), validity_of_turned, judge_pauses)
        stopped = watchdog.stop()
    return storm_and_turned(storm, pauses, stopped)


def storm_and_turned(storm: WatchdogRun, pauses: Measurement, stopped: DutCounters) -> RunInParts:
    """The storm, and PFC-1's steps once the ports changed places. `stopped`: the counters when the watchdog was stopped
    in the end."""
    parts = (
        CasePart(storm, kept_lone_storm, judge_storm),
        CasePart(pauses, validity_of_turned, judge_pauses, "turned", "the ports having changed places"),
    )
    return RunInParts(parts, replace(storm, after=stopped).settled)


def _storm(lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters) -> WatchdogRun:
    """A storm until it must have been detected, and until its queues must have been restored."""
    with until_detected(lab, target, watchdog) as traffic:
        during = watchdog.counters()
        over = storms_over(lab, traffic, TIMERS)
    lab.clock.sleep(lab.delays.port_s)
    return WatchdogRun(
        lab.subject, before, during, watchdog.counters(), target, {"over": over}, TIMERS, watchdog.queues
    )


def _held(lab: Lab, target: Target, before: DutCounters) -> Measurement:
    """PFC-1's steps on the lab's pair, whichever its port under test was."""
    pair = lab.subject.pair
    scenario = _pfc_1(lab, target)
    flows = [
        replace(flow, enters=pair.rx.port, leaves=pair.tx.port) if flow.role is Role.STORM
        else replace(flow, enters=pair.tx.port, leaves=pair.rx.port)
        for flow in scenario_flows(lab, scenario)
    ]
    return measure(lab, scenario, before, traffic=lab.builder.build(flows))


def _pfc_1(lab: Lab, target: Target) -> Scenario:
    """PFC-1's scenario (of several priorities PFC-2's), shorter."""
    return replace(pause_lossless(target, lab.subject.qos), data_s=DATA_S)


def judge_storm(run: WatchdogRun) -> Iterator[Check]:
    """The storm is detected, and over."""
    yield from detected(run)
    yield from restored(run)


def validity_of_turned(run: Measurement) -> Iterator[Check]:
    """Whether PFC-1's steps were a measurement; the watchdog of the other port runs, and may."""
    yield from undisturbed_while_watched(run)
    yield from storm_and_load(run)


def stop_in_storm(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """A storm; when it must have been detected the watchdog is stopped, then the storm; then PFC-1's steps."""
    lab.subject.qos.check_reached(target)
    with watching_pair(lab) as watchdog, until_detected(lab, target, watchdog) as traffic:
        storms = traffic.names(Role.STORM)
        during = watchdog.counters()
        after = watchdog.stop()
        lab.generator.stop(storms)
        lab.clock.sleep(SETTLE_S)
        phases = {"over": lab.generator.stats(storms)}
        storm = WatchdogRun(lab.subject, before, during, after, target, phases, TIMERS, watchdog.queues)
    pauses = measure(lab, _pfc_1(lab, target), settled_counters(lab))
    pauses = with_late_counts(lab, pauses, pauses_valid, judge_pauses)
    parts = (
        CasePart(storm, kept_lone_storm, detected),
        CasePart(pauses, pauses_valid, judge_pauses, "afterwards", "once the watchdog was stopped in a storm"),
    )
    return RunInParts(parts, pauses.settled)


CASES: Table = {
    RESTORED: in_parts(storm_then_turned, all_watched_turned),
    STOPPED: in_parts(stop_in_storm, all_watched),
}
