"""SWEEP-3: the watchdog runs on all ports of a switch; storms on all of them, data, the end of the storms, data. Each
port's watchdog has to detect, drop and restore as if its port were the only one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from ..cases.engine import Finding, finding_of, sending
from ..cases.watchdog.checks import DATA_S, WatchdogRun, acted, detected, lead_s, restored, validity, works_again
from ..cases.watchdog.steps import early_flows, storms_and_again
from ..cases.watchdog.watched import NEEDS, watched
from ..lab.lab import Lab
from ..lab.otg_config import TrafficBuilder
from ..lab.watchdog import DROP, Timers, watching
from ..lab.watchdog_deviations import is_in_software
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.qos import PortQos
from ..model.scenario import Scenario
from ..model.traffic import FlowPlan
from ..record.case import PlanCase
from ..record.verdict import Check
from . import port_sweep as sweep
from .full_load import FullPart, full_parts

WATCHDOG_ALL_PORTS = PlanCase("watchdog-all-ports", "SWEEP-3")
TIMERS = Timers(DROP)
LOAD_PERCENT = 45  # of each line, as for the watchdog of one port


def scenario(qos: PortQos) -> Scenario:
    """SWEEP-1's scenario for one port, with storms on the priorities that the watchdog watches there: these run until
    they must have been detected, then there is data.

    Raises:
        QualificationError: the watchdog watches none, or no DSCP value reaches one of them.
    """
    paused = watched(qos)
    if not paused:
        raise QualificationError(f"{qos.device} {qos.port}: SWEEP-3 needs {NEEDS}, found none")
    return replace(sweep.scenario(qos, paused), storm_lead_s=ceil(lead_s(TIMERS)), data_s=DATA_S)


def measure(labs: Sequence[Lab], whole: TrafficBuilder, before: DutCounters) -> list[Finding]:
    """Measures all of these ports at once; a finding for each. Arguments as of `full_load.measure`.

    Raises:
        QualificationError: a step could not be done. No traffic and no watchdog runs on, however this ends.
    """
    lab = labs[0]
    if not is_in_software(lab.subject.asic):
        raise QualificationError(f"{lab.dut.name}: SWEEP-3 needs {NEEDS}, found a watchdog in hardware")
    parts = full_parts(labs, scenario, LOAD_PERCENT)
    traffic = whole.build([flow for part in parts for flow in (*part.flows(), *_early(part))])
    lossless = tuple(sorted({priority for part in parts for priority in part.scenario.tested}))
    with watching(lab.dut, lab.clock, [part.lab.port for part in parts], lossless) as watchdog, sending(lab, traffic):
        watchdog.start(TIMERS)
        run = storms_and_again(lab, traffic, watchdog, TIMERS, lossless, before)
    return [finding_of(lab, _own(part, run), validity, judge) for part in parts]


def _early(part: FullPart) -> list[FlowPlan]:
    """What a port's storm begins with where no empty queue is stormed."""
    pair = part.lab.subject.pair
    return early_flows(part.lab, part.scenario.tested, pair.tx.port, pair.rx.port)


def _own(part: FullPart, run: WatchdogRun) -> WatchdogRun:
    """One port's part of what all ports did. The queues are its own: the other ports have storms too, and verdicts of
    their own."""
    tested = part.scenario.tested
    queues = tuple(f"{part.lab.port}:{priority}" for priority in tested)
    phases = {phase: part.own(stats) for phase, stats in run.phases.items()}
    return replace(run, subject=part.lab.subject, tested=tested, phases=phases, queues=queues)


def judge(run: WatchdogRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    yield from detected(run)
    yield from acted(run, "in the storms")
    yield from restored(run)
    yield from works_again(run, "after the storms")
