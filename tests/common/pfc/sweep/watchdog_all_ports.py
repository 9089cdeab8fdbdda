"""SWEEP-3: the watchdog runs on all ports of a switch; storms on all of them, data, the end of the storms, data. Each
port's watchdog has to detect, drop and restore as if its port were the only one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ..cases.engine import Finding
from ..cases.watchdog.actions import DATA_S, storm_and_again, storm_s
from ..cases.watchdog.checks import (
    Stats, WatchdogRun, all_received, background, found, invalid, no_back_pressure, restored, way,
)
from ..lab.lab import Lab
from ..lab.otg_config import TrafficBuilder
from ..lab.preflight import SETTLE_S
from ..lab.watchdog import DROP, Timers, watching
from ..model.checking import at_priority, fail_unless, flows_of, least_load, priority_of
from ..model.counters import DutCounters
from ..model.qos import PortQos
from ..model.scenario import Scenario
from ..model.traffic import Role
from ..record.case import PlanCase
from ..record.verdict import Check
from . import port_sweep as sweep
from .full_load import FullPart, full_parts

WATCHDOG_ALL_PORTS = PlanCase("watchdog-all-ports", "SWEEP-3")
TIMERS = Timers(DROP)
LOAD_PERCENT = 45  # of each line, as for the watchdog of one port


def scenario(qos: PortQos) -> Scenario:
    """As SWEEP-1 has it for one port; the storms run until they must have been detected, then there is data.

    Raises:
        QualificationError: no DSCP value reaches a lossless priority.
    """
    lead_s = ceil(TIMERS.latest_detection_s + SETTLE_S)
    return replace(sweep.scenario(qos), case=WATCHDOG_ALL_PORTS, storm_lead_s=lead_s, data_s=DATA_S)


@dataclass(frozen=True)
class PortRun(WatchdogRun):
    """What one port did. `queues` are its own: the other ports have storms too, and verdicts of their own."""

    @property
    def ports_used(self) -> list[str]:
        """Where its data leaves and enters."""
        return [self.subject.pair.rx.port, self.subject.pair.tx.port]


def measure(labs: Sequence[Lab], whole: TrafficBuilder, before: DutCounters | None) -> list[Finding]:
    """Measures all of these ports at once; a finding for each. Arguments as of `full_load.measure`.

    Raises:
        QualificationError: a step could not be done. No traffic and no watchdog runs on, however this ends.
    """
    lab, parts = labs[0], full_parts(labs, scenario, LOAD_PERCENT)
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    traffic = whole.build([flow for part in parts for flow in part.flows()])
    lab.generator.push(traffic)
    lossless = sorted({priority for part in parts for priority in part.scenario.tested})
    with watching(lab.dut, [part.lab.port for part in parts], lossless) as watchdog:
        watchdog.start(TIMERS)
        try:
            phases, during, after = storm_and_again(lab, traffic, watchdog, TIMERS)
        finally:
            lab.generator.stop()
    return [_find(_of(part, phases, (before, during, after))) for part in parts]


def _of(part: FullPart, phases: Mapping[str, Stats], counters: tuple[DutCounters, DutCounters, DutCounters]) -> PortRun:
    """Of what all ports did one port's part."""
    subject, tested = part.lab.subject, part.scenario.tested
    queues = tuple(f"{subject.pair.rx.port}:{priority}" for priority in tested)
    own = {phase: part.own(stats) for phase, stats in phases.items()}
    return PortRun(subject, *counters, tested, TIMERS, queues, storm_s(TIMERS), own)


def _find(run: PortRun) -> Finding:
    wrong = invalid(run)
    return Finding([] if wrong else list(_judge(run)), wrong, run.evidence(), run.last_counters())


def _judge(run: PortRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    yield from found(run)
    for flow in flows_of(run.phases["stormed"].values(), Role.TEST):
        place, least = at_priority(run.subject, priority_of(flow)), least_load(run.subject, flow.plan)
        expected = f"0 frames {way(run, flow)} received in the storms"
        yield fail_unless("dropped-in-storm", place, flow.frames_rx == 0, expected, flow.frames_rx)
        expected = f"at least {least} frames {way(run, flow)} sent in the storms"
        yield fail_unless("sender-not-held", place, flow.frames_tx >= least, expected, flow.frames_tx)
    yield from background(run, "in the storms")
    yield from no_back_pressure(run)
    yield from restored(run)
    yield from all_received("resumed", run, run.phases["resumed"].values(), "after the storms")
