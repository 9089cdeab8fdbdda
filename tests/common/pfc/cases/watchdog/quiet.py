"""WD-4: pauses that are shorter than a storm, on running traffic, leave the watchdog quiet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ...lab.generator import Traffic
from ...lab.lab import Lab
from ...lab.preflight import SETTLE_S
from ...lab.watchdog import DROP, STORMED, Timers, Watchdog, watching
from ...model.arithmetic import MAX_QUANTA, holding_fps
from ...model.checking import at_priority, error_unless, fail_unless, flows_of
from ...model.counters import DutCounters
from ...model.traffic import FlowPlan, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Finding, OldProcedure as Procedure
from ..targets import all_lossless
from ..storm_sequence import pause_storm
from ..engine import unmet
from ..validity import counters_kept, links_kept
from .actions import even_flows, settled
from .checks import WatchdogRun, all_received, background, load_applied, lossy_in_background, no_other_storm

QUIET = PlanCase("watchdog-quiet", "WD-4")
LEAD_S = 3.0  # data runs that long before the first pause; within this time the watchdog is started
LONG_STORMS, LONG_SHARE = 2, 0.95  # each is that share of the shortest time in which a storm may be detected
LONG_GAP_S = 0.2
BURSTS, BURST_S, BURST_CYCLE_S = 6, 0.05, 0.15
SINGLES, SINGLE_CYCLE_S = 30, 0.01  # pause frames one by one, each of which lapses
LOAD_PERCENT = 1  # of the line, test and background each: what a pause held drains at once, so that each pause is one
TAIL_S = 1.0  # data goes on after the last pause
WALL_GAP_S = 2.0  # between pauses on hardware: flows start up to a second after they are told to, one by one as here
Timed = tuple[float, FlowPlan]  # seconds from the first pause to the beginning of this one


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Data; the watchdog is started while it runs; short pauses; the data ends and everything must have arrived."""
    before = settled(lab, target, before)
    pair, timers = lab.subject.pair, Timers(DROP)
    storms = _storms(lab, target, timers)
    ends = max(_end_s(lab, storm) for storm in storms)
    flows = [storm for _, storm in storms]
    traffic = lab.builder.build([*flows, *even_flows(lab, target, LOAD_PERCENT, LEAD_S + ends + TAIL_S)])
    lab.generator.push(traffic)
    with watching(lab.dut, (pair.rx.port, pair.tx.port), lab.subject.qos.lossless) as watchdog:
        try:
            run = _pauses(lab, (traffic, storms), watchdog, (before, target, timers, ends))
        finally:
            lab.generator.stop()
    wrong = _invalid(run)
    return Finding([] if wrong else list(judge(run)), wrong, run.evidence(), run.last_counters())


CASES: Mapping[PlanCase, Procedure] = {QUIET: Procedure(carry_out, all_lossless)}


def _storms(lab: Lab, target: Target, timers: Timers) -> list[Timed]:
    """The pauses, from the longest to single frames, each at its time: on an exact clock they are started together."""
    storm = pause_storm(lab, target)
    shortest_ms, _ = timers.detection_bounds_ms(lab.subject.asic, Fraction(0))
    long_s = float(shortest_ms) / 1000 * LONG_SHARE
    gap_s, cycle_s = (LONG_GAP_S, BURST_CYCLE_S) if lab.clock.exact else (WALL_GAP_S, BURST_S + WALL_GAP_S)
    times = [(n * (long_s + gap_s), long_s) for n in range(LONG_STORMS)]
    first_s = LONG_STORMS * (long_s + gap_s)
    times += [(first_s + n * cycle_s, BURST_S) for n in range(BURSTS)]
    fps = storm.fps or 0
    kinds = [(f"Pause Storm {n}", start_s, fps, int(fps * seconds)) for n, (start_s, seconds) in enumerate(times)]
    kinds.append(("Single Pauses", first_s + BURSTS * cycle_s, round(1 / SINGLE_CYCLE_S), SINGLES))
    return [
        (start_s, replace(storm, name=lab.builder.named(name), fps=rate, frames=frames,
                          delay_ns=round(start_s * 1e9) if lab.clock.exact else 0))
        for name, start_s, rate, frames in kinds
    ]


def start_storms(lab: Lab, storms: Sequence[Timed]) -> None:
    """Starts all pauses: on an exact clock at once, each has its delay; else one by one, when it is its time. Flows
    that are told to start at once do not, and two pauses that meet would be a storm."""
    if lab.clock.exact:
        lab.generator.start([storm.name for _, storm in storms])
        return
    began = lab.clock.now()
    for start_s, storm in storms:
        lab.clock.sleep(max(0.0, start_s - (lab.clock.now() - began)))
        lab.generator.start([storm.name])


def _end_s(lab: Lab, timed: Timed) -> float:
    """When a storm is over, pauses and all, in seconds after the first one's beginning."""
    start_s, storm = timed
    lapse_s = float(1 / holding_fps(MAX_QUANTA, lab.subject.pair.speed_mbps))
    return start_s + (storm.frames or 0) / (storm.fps or 1) + lapse_s


def _pauses(
    lab: Lab, sent: tuple[Traffic, list[Timed]], watchdog: Watchdog, run: tuple[DutCounters, Target, Timers, float]
) -> WatchdogRun:
    """Data, the watchdog's start, the pauses, the end of the data."""
    (traffic, storms), (before, target, timers, ends_s) = sent, run
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    lab.generator.start(data)
    began = lab.clock.now()
    lab.clock.sleep(SETTLE_S)
    watchdog.start(timers)
    lab.clock.sleep(max(0.0, LEAD_S - (lab.clock.now() - began)))
    start_storms(lab, storms)
    lab.generator.run_out(data, max(TAIL_S, LEAD_S + ends_s + TAIL_S - (lab.clock.now() - began)))
    lab.clock.sleep(lab.delays.port_s)
    stormed, after = lab.generator.stats(traffic.flows), watchdog.stop()
    phases = {"stormed": stormed, "over": stormed}
    return WatchdogRun(lab.subject, before, after, after, target, timers, watchdog.queues, ends_s, phases)


def _invalid(run: WatchdogRun) -> list[Check]:
    """Reasons why the run was no measurement; the watchdog is stopped when its rows are read."""
    return unmet([*links_kept(run), *counters_kept(run), *_paused(run), *load_applied(run), *lossy_in_background(run)])


def _paused(run: WatchdogRun) -> Iterator[Check]:
    """All pauses were sent, and the switch had them."""
    storms = flows_of(run.phases["stormed"].values(), Role.STORM)
    due, sent = sum(flow.plan.frames or 0 for flow in storms), sum(flow.frames_tx for flow in storms)
    yield error_unless("storm-ran", run.place(), sent == due, f"{due} pause frames sent", sent)


def judge(run: WatchdogRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    sent = sum(flow.frames_tx for flow in flows_of(run.phases["stormed"].values(), Role.STORM))
    for priority in run.tested:
        place, row = at_priority(run.subject, priority), run.gained(run.queue(priority), run.after.watchdog)
        quiet = row.detected == 0 and row.status != STORMED
        expected = "no storm detected in pauses that are shorter than a storm"
        yield fail_unless("no-storm-detected", place, quiet, expected, f"{row.detected} ({row.status})")
        frames = run.pfc_received_in_all()[priority]
        expected = f"{sent} PFC frames in the receive counter ({run.subject.tolerances.more_or_less})"
        met = run.subject.tolerances.alike(frames, sent)
        yield fail_unless("every-pause-counted", place, met, expected, frames)
    yield from all_received(
        "nothing-lost", run, flows_of(run.phases["stormed"].values(), Role.TEST), "once all pauses were over"
    )
    yield from background(run, "between and in the pauses")
    yield no_other_storm(run, map(run.queue, run.tested))
