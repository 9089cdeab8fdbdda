"""WD-4: pauses that are shorter than a storm, on running traffic, leave the watchdog quiet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...lab.lab import Lab
from ...lab.generator import SETTLE_S
from ...lab.watchdog import DROP, LATE_MS, MS_PER_S, STORMED, Timers
from ...lab.watchdog_deviations import judges_instants, judges_whole_intervals
from ...model.arithmetic import MAX_QUANTA, holding_fps
from ...model.checking import (
    at_priorities, at_priority, error_unless, every_pause_counted, everything_received, fail_unless,
)
from ...model.counters import DutCounters
from ...model.traffic import FlowPlan, Role, pfc_frame
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Procedure, Table, sending
from ..storm_sequence import pause_storm
from ..validity import load_applied, lossy_in_background
from .checks import WatchdogRun, no_other_storm, undisturbed_while_watched
from .steps import TIMERS, even_flows, watching_pair
from .watched import all_watched

QUIET = PlanCase("watchdog-quiet", "WD-4")
WALL_TIMERS = Timers(DROP, detection_ms=600)
"""By a clock that is not exact: a poll may be late, and the next one on time: 190 ms may hold three polls then."""
LEAD_S = 3.0  # data runs that long before the first pause; within this time the watchdog is started
LONG_STORMS = 4  # where a poll comes just as the first begins, it alone has a single poll in it; the others have two
LONG_SHARE = 0.95  # by an exact clock each is that share of the shortest time in which a storm may be detected
LONG_GAP_S = 0.2
BURSTS = 6
BURST_S = 0.05
BURST_CYCLE_S = 0.15
SINGLE_FPS = 97  # pause frames one by one, each of which lapses; polls of 100 ms come at another moment of each
SINGLES_S = 0.3
WALL_SINGLES_S = 3.0  # more than the time of a detection, for a watchdog that takes any pause for a storm
BUSY_DETECTIONS = 5  # so many times of a detection the queues are paused most of the time, and data flows
BUSY_PERCENT = 60
"""How much of the time. Of an interval that is paused for more than 80 % some ask only whether no frame waits at its
end (sonic-swss pfc_detect_marvell-teralynx.lua), and a poll may be late."""
BUSY_PERCENT_WHOLE = 90
"""The same where a pause that ended in an interval keeps it from counting."""
RESUME_FPS = 50
"""Frames that end a pause, beside pauses that lapse: one comes in each interval, whatever is counted as an end."""
LOAD_PERCENT = 0.1  # of the line, test and background each: what a pause held drains at once, so that each is one
TAIL_S = 1.0  # data goes on after the last pause
WALL_GAP_S = 2.0  # between pauses on hardware: flows start up to a second after they are told to, one by one as here


@dataclass(frozen=True)
class ShortPause:
    """A flow of pause frames that is shorter than a storm, or pauses one by one.

    Attributes:
        start_s: seconds from the first pause to the beginning of this one.
        flow: the flow.
    """

    start_s: float
    flow: FlowPlan

    def end_s(self, speed_mbps: int) -> float:
        """When the port's last pause of it has lapsed, in seconds after the first one's beginning."""
        lapse_s = float(1 / holding_fps(MAX_QUANTA, speed_mbps))
        return self.start_s + (self.flow.frames or 0) / (self.flow.fps or 1) + lapse_s


def pauses_on_traffic(lab: Lab, target: Target, before: DutCounters) -> WatchdogRun:
    """Data; the watchdog is started while it runs; short pauses; the data ends and everything must have arrived."""
    lab.subject.qos.check_reached(target)
    timers = TIMERS if lab.clock.exact else WALL_TIMERS
    pauses = short_pauses(lab, target, timers)
    data_s = LEAD_S + max(pause.end_s(lab.subject.pair.speed_mbps) for pause in pauses) + TAIL_S
    data_s += len(pauses) * max(0.0, lab.generator.timing.start_s - WALL_GAP_S / 2)  # by which `start_pauses` is later
    storms = [pause.flow for pause in pauses]
    traffic = lab.builder.build([*storms, *even_flows(lab, target, LOAD_PERCENT, data_s)])
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    with watching_pair(lab) as watchdog, sending(lab, traffic):
        lab.generator.start(data)
        began_s = lab.clock.now()
        lab.clock.sleep(SETTLE_S)
        watchdog.start(timers)
        lab.clock.sleep(max(0.0, LEAD_S - (lab.clock.now() - began_s)))
        start_pauses(lab, pauses)
        lab.generator.run_out(data, max(TAIL_S, data_s - (lab.clock.now() - began_s)))
        lab.clock.sleep(lab.delays.port_s)
        stats = lab.generator.stats(traffic.flows)
        after = watchdog.stop()
    phases = {"stormed": stats, "over": stats}
    return WatchdogRun(lab.subject, before, after, after, target, phases, timers, watchdog.queues)


def longest_s(timers: Timers, asic: str, exact: bool) -> float:
    """How long a storm may be that no watchdog may detect, in seconds."""
    shortest_ms, _ = timers.detection_bounds_ms(asic, Fraction(0))
    least_ms = shortest_ms * Fraction(LONG_SHARE) if exact else shortest_ms - timers.poll_ms - LATE_MS
    return float(least_ms / MS_PER_S)


def short_pauses(lab: Lab, target: Target, timers: Timers) -> list[ShortPause]:
    """The pauses, from the longest to single frames, then many with some time between them, each at its time: on an
    exact clock they are started together."""
    storm = pause_storm(lab, target)
    exact = lab.clock.exact
    long_s = longest_s(timers, lab.subject.asic, exact)
    gap_s, cycle_s = (LONG_GAP_S, BURST_CYCLE_S) if exact else (WALL_GAP_S, BURST_S + WALL_GAP_S)
    bursts_s = LONG_STORMS * (long_s + gap_s)
    singles_s = bursts_s + BURSTS * cycle_s
    times = [(n * (long_s + gap_s), long_s) for n in range(LONG_STORMS)]
    times += [(bursts_s + n * cycle_s, BURST_S) for n in range(BURSTS)]
    single = _single(lab, storm)
    busy_s = singles_s + (single.frames or 0) / (single.fps or 1) + gap_s
    pauses = [
        *(ShortPause(start_s, replace(storm, name=f"Pause Storm {n}", frames=int((storm.fps or 0) * seconds)))
          for n, (start_s, seconds) in enumerate(times)),
        ShortPause(singles_s, single),
        *_busy(lab, target, storm, busy_s, gap_s, BUSY_DETECTIONS * timers.detection_ms / MS_PER_S),
    ]
    return [replace(pause, flow=_own_flow(lab, pause)) for pause in pauses]


def _own_flow(lab: Lab, pause: ShortPause) -> FlowPlan:
    """The flow with the port in its name, and, on an exact clock, with its time as a delay."""
    delay_ns = round(pause.start_s * 1e9) if lab.clock.exact else 0
    return replace(pause.flow, name=lab.builder.flow_name(pause.flow.name), delay_ns=delay_ns)


def _single(lab: Lab, storm: FlowPlan) -> FlowPlan:
    """Pauses one by one, each of which lapses. Where a watchdog looks at moments alone some could see one each time,
    so there it is over before a detection."""
    fps = min(SINGLE_FPS, round(holding_fps(MAX_QUANTA, lab.subject.pair.speed_mbps) / 2))
    seconds = SINGLES_S if lab.clock.exact or judges_instants(lab.subject.asic) else WALL_SINGLES_S
    return replace(storm, name="Single Pauses", fps=fps, frames=round(fps * seconds))


def _busy(lab: Lab, target: Target, storm: FlowPlan, start_s: float, gap_s: float, seconds: float) -> list[ShortPause]:
    """Pauses for most of the time, each of which lapses before the next, and frames that end one now and then, from
    before them until after them. None where a watchdog looks at moments alone."""
    asic = lab.subject.asic
    if judges_instants(asic):
        return []
    percent = BUSY_PERCENT_WHOLE if judges_whole_intervals(asic) else BUSY_PERCENT
    fps = round(holding_fps(MAX_QUANTA, lab.subject.pair.speed_mbps) * percent / 100)
    resume = replace(storm, name="Resumes", fps=RESUME_FPS, pause=pfc_frame(target, 0))
    around_s = seconds + 3 * gap_s
    return [
        ShortPause(start_s, replace(resume, frames=round(RESUME_FPS * around_s))),
        ShortPause(start_s + gap_s, replace(storm, name="Busy Pauses", fps=fps, frames=round(fps * seconds))),
    ]


def start_pauses(lab: Lab, pauses: Sequence[ShortPause]) -> None:
    """Starts all pauses: on an exact clock at once, each has its delay; else one by one, when it is its time, or later
    after one that was late. Flows that are told to start at once do not, and two pauses that meet would be a storm."""
    if lab.clock.exact:
        lab.generator.start([pause.flow.name for pause in pauses])
        return
    began_s = lab.clock.now()
    for pause in pauses:
        lab.clock.sleep(max(0.0, pause.start_s - (lab.clock.now() - began_s)))
        lab.generator.start([pause.flow.name])
        began_s = max(began_s, lab.clock.now() - pause.start_s - WALL_GAP_S / 2)


def validity(run: WatchdogRun) -> Iterator[Check]:
    """Whether the run was a measurement; the watchdog is stopped when its rows are read. All pauses were sent, and the
    switch had them."""
    storms = run.flows("stormed", Role.STORM)
    due = sum(flow.plan.frames or 0 for flow in storms)
    sent = sum(flow.frames_tx for flow in storms)
    place = at_priorities(run.subject, run.tested)
    yield from undisturbed_while_watched(run)
    yield error_unless("storm-ran", place, sent == due, f"{due} pause frames sent", sent)
    yield from load_applied(run.subject, run.flows("stormed"), run.pfc_sent, "in the pauses", [Role.TEST])
    yield from lossy_in_background(run.subject, run.flows("stormed", Role.BACKGROUND))


def judge(run: WatchdogRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    subject = run.subject
    sent = sum(flow.frames_tx for flow in run.flows("stormed", Role.STORM))
    for priority in run.tested:
        place = at_priority(subject, priority)
        row = run.gained(run.queue(priority), run.after)
        quiet = row.detected == 0 and row.status != STORMED
        expected = "no storm detected in pauses that are shorter than a storm"
        yield fail_unless("no-storm-detected", place, quiet, expected, f"{row.detected} ({row.status})")
        yield every_pause_counted(run, priority, sent)
    test = run.flows("stormed", Role.TEST)
    background = run.flows("stormed", Role.BACKGROUND)
    yield from everything_received("nothing-lost", subject, test, "once all pauses were over")
    yield from everything_received("background-unaffected", subject, background, "between and in the pauses")
    yield from no_other_storm(run)


CASES: Table = {QUIET: Procedure(pauses_on_traffic, validity, judge, all_watched)}
