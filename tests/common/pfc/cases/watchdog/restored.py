"""WD-15: the queues of the port under test are restored after a storm; then the tx port has one, unwatched, and what
the restored port sends into it must be held: what PFC-1 asks for, the ports having changed places. What the watchdog
switches off of a port it has to switch on both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...lab.lab import Lab
from ...lab.watchdog import Watchdog, watching
from ...model.counters import DutCounters
from ...model.measurement import Measurement
from ...model.ports import PortPair
from ...model.scenario import Scenario, Storm
from ...model.traffic import Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..checks import judge as judge_pauses
from ..checks import storm_and_load
from ..engine import Measured, Procedure, Table
from ..parts import OWN, RunInParts, saying
from ..storm_sequence import measure, scenario_flows
from ..validity import counters_kept, links_kept
from .actions import storms_over
from .checks import DATA_S, WatchdogRun, detected, lone_storm, restored
from .until_detected import TIMERS, until_detected
from .watched import all_watched

RESTORED = PlanCase("watchdog-restored-sender", "WD-15")
PERCENT = 50  # of the line: test traffic, and background as much
TURNED = "the ports having changed places"

all_watched_turned = all_watched.where(
    lambda subject: subject.pair.tx.speed_mbps == subject.pair.speed_mbps, "a tx port of the same speed"
)


@dataclass(frozen=True)
class RestoredRun(RunInParts):
    """A storm that the watchdog detected, and what the restored port did as a sender.

    Attributes:
        storm: the storm; `after` was read when its queues must have been restored.
        turned: PFC-1's steps, the storm on the tx port and the data from the port under test.
        after: the switch's counters when the watchdog was stopped.
    """

    storm: WatchdogRun
    turned: Measurement
    after: DutCounters

    @property
    def parts(self) -> Mapping[str, Measured]:
        """The storm, and what came after it apart."""
        return {OWN: self.storm, "turned": self.turned}

    @property
    def settled(self) -> DutCounters | None:
        """The counters in the end, as those of a `WatchdogRun`."""
        return replace(self.storm, after=self.after).settled


def storm_then_turned(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> RestoredRun:
    """The watchdog runs on the port under test alone, all the time."""
    lab.subject.qos.check_reached(target)
    pair = lab.subject.pair
    with watching(lab.dut, (pair.rx.port,), lab.subject.qos.lossless) as watchdog:
        storm = _storm(lab, target, watchdog, before)
        turned = replace(lab, subject=replace(lab.subject, pair=PortPair(pair.tx, pair.rx)))
        return RestoredRun(storm, _held(turned, case, target, storm.after), watchdog.stop())


def _storm(lab: Lab, target: Target, watchdog: Watchdog, before: DutCounters) -> WatchdogRun:
    """A storm until it must have been detected, and until its queues must have been restored."""
    with until_detected(lab, target, watchdog) as traffic:
        during = watchdog.counters()
        over = storms_over(lab, traffic, TIMERS)
    lab.clock.sleep(lab.delays.port_s)
    return WatchdogRun(
        lab.subject, before, during, watchdog.counters(), target, {"over": over}, TIMERS, watchdog.queues
    )


def _held(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> Measurement:
    """PFC-1's steps on the lab's pair, whichever its port under test was."""
    pair = lab.subject.pair
    scenario = held_scenario(lab, case, target)
    flows = [
        replace(flow, enters=pair.rx.port, leaves=pair.tx.port) if flow.role is Role.STORM
        else replace(flow, enters=pair.tx.port, leaves=pair.rx.port)
        for flow in scenario_flows(lab, scenario)
    ]
    return measure(lab, scenario, before, traffic=lab.builder.build(flows))


def held_scenario(lab: Lab, case: PlanCase, target: Target) -> Scenario:
    """PFC-1's scenario (of several priorities PFC-2's), shorter."""
    return Scenario(
        case, Storm.LOSSLESS, target, lab.subject.qos.others(target), test_percent=PERCENT, background_percent=PERCENT,
        data_s=DATA_S
    )


def validity(run: RestoredRun) -> Iterator[Check]:
    """Whether both storms were a measurement."""
    yield from links_kept(run.storm)
    yield from counters_kept(run.storm)
    yield from lone_storm(run.storm)
    yield from links_kept(run.turned)
    yield from counters_kept(run.turned)
    yield from storm_and_load(run.turned)


def judge(run: RestoredRun) -> Iterator[Check]:
    """The storm is detected, and over; then the port holds its sender as any other."""
    yield from detected(run.storm)
    yield from restored(run.storm)
    yield from saying(judge_pauses(run.turned), TURNED)


CASES: Table = {RESTORED: Procedure(storm_then_turned, validity, judge, all_watched_turned)}
