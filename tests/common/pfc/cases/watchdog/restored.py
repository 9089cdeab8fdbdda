"""WD-15 and WD-16: what the watchdog switches off of a port in a storm it has to switch on again, both ways; PFC-1's
steps must find the port as ever. WD-15: the queues of the port under test are restored; then the tx port has a storm,
unwatched, and what the restored port sends into it must be held: the ports have changed places. WD-16: the watchdog is
stopped while a storm goes on that it has detected; PFC-1's steps, and then, where the tx port is as fast, the same with
the ports in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...lab.generator import SETTLE_S
from ...lab.lab import Lab
from ...lab.watchdog import Watchdog, watching
from ...model.counters import DutCounters
from ...model.measurement import Measurement, PortUnderTest
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

TURNED = "the ports having changed places"


def can_turn(subject: PortUnderTest) -> bool:
    """Whether the ports may change places: they are of the same speed."""
    return subject.pair.tx.speed_mbps == subject.pair.speed_mbps


all_watched_turned = all_watched.where(can_turn, "a tx port of the same speed")


def storm_then_turned(lab: Lab, target: Target, before: DutCounters) -> RunInParts:
    """The watchdog runs on the port under test alone, all the time."""
    lab.subject.qos.check_reached(target)
    with watching(lab.dut, lab.clock, (lab.port,), lab.subject.qos.lossless) as watchdog:
        storm = _storm(lab, target, watchdog, before)
        pauses = with_late_counts(lab, _turned(lab, target, storm.after), validity_of_turned, judge_pauses)
        stopped = watchdog.stop()
    return storm_and_turned(storm, pauses, stopped)


def storm_and_turned(storm: WatchdogRun, pauses: Measurement, stopped: DutCounters) -> RunInParts:
    """The storm, and PFC-1's steps once the ports changed places. `stopped`: the counters when the watchdog was stopped
    in the end."""
    parts = (
        CasePart(storm, kept_lone_storm, judge_storm),
        CasePart(pauses, validity_of_turned, judge_pauses, "turned", TURNED),
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


def _turned(lab: Lab, target: Target, before: DutCounters) -> Measurement:
    """PFC-1's steps, the ports having changed places."""
    pair = PortPair(lab.subject.pair.tx, lab.subject.pair.rx)
    turned = replace(lab, subject=replace(lab.subject, pair=pair))
    scenario = _pfc_1(turned, target)
    flows = [
        replace(flow, enters=pair.rx.port, leaves=pair.tx.port) if flow.role is Role.STORM
        else replace(flow, enters=pair.tx.port, leaves=pair.rx.port)
        for flow in scenario_flows(turned, scenario)
    ]
    return measure(turned, scenario, before, traffic=lab.builder.build(flows))


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
    """A storm; when it must have been detected the watchdog is stopped, then the storm; then PFC-1's steps, both ways
    where the ports may change places."""
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
    if not can_turn(lab.subject):
        return stopped_and_again(storm, pauses, None)
    turned = with_late_counts(lab, _turned(lab, target, pauses.after), pauses_valid, judge_pauses)
    return stopped_and_again(storm, pauses, turned)


def stopped_and_again(storm: WatchdogRun, pauses: Measurement, turned: Measurement | None) -> RunInParts:
    """The storm, PFC-1's steps, and those with the ports in each other's place; None: these were not taken."""
    when = "once the watchdog was stopped in a storm"
    parts: tuple[CasePart[Any], ...] = (
        CasePart(storm, kept_lone_storm, detected),
        CasePart(pauses, pauses_valid, judge_pauses, "afterwards", when),
    )
    if turned is None:
        return RunInParts(parts, pauses.settled)
    last = CasePart(turned, pauses_valid, judge_pauses, "turned", f"{when}, {TURNED}")
    return RunInParts((*parts, last), turned.settled)


CASES: Table = {
    RESTORED: in_parts(storm_then_turned, all_watched_turned),
    STOPPED: in_parts(stop_in_storm, all_watched),
}
