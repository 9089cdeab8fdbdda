"""WD-5: storms on running traffic, with several times of the watchdog: how long detection and restoration really take.

The sender measures it. Until the storm is detected the switch pauses the sender: it sends less than was due by what it
would have sent in that time. From then until restoration the switch drops what the sender sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...lab.lab import Lab
from ...lab.preflight import SETTLE_S
from ...lab.watchdog import DROP, MS_PER_S, Timers, Watchdog, watching
from ...model.arithmetic import line_rate_fps
from ...model.checking import at_priority, error_unless, fail_unless, flows_of, priority_of
from ...model.counters import DutCounters
from ...model.measurement import PortUnderTest, flow_numbers
from ...model.traffic import FlowStats, Role
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..engine import Finding, OldProcedure as Procedure
from ..targets import all_lossless
from ..storm_sequence import pause_storm
from ..engine import unmet
from .actions import FRAME_BYTES, even_flows, settled
from .checks import Stats, WatchdogRun, invalid, no_other_storm

ON_TRAFFIC = PlanCase("watchdog-on-traffic", "WD-5")
TIMES = (Timers(DROP, 100, 400, 100), Timers(DROP, 400, 200, 200), Timers(DROP, 1000, 600, 200))
TEST_PERCENT = 40  # of the line, and as much of background
SPARE_S, WALL_SPARE_S = 0.5, 2.0  # on hardware a flow starts (and stops) up to a second after it is told to
EDGE_TOLERANCE = 0.01  # the action and what counts its frames do not begin and end at quite the same instant
EXACT_MS = Fraction(1)  # a storm's first pause, and the last one's end: some hundred microseconds at 100 Gb/s
LATE_MS = Fraction(100)  # on hardware a poll may be one late (as Timers.poll_ms says), and a flow starts when it does


@dataclass(frozen=True)
class Outage:
    """One storm on running traffic.

    Attributes:
        subject, timers: of what, and the watchdog's.
        stats: of all flows at the end.
        exact: whether flows start and end when they are told to.
        label: what tells it from the others of a run.
    """

    subject: PortUnderTest
    timers: Timers
    stats: Stats
    exact: bool
    label: str

    @property
    def late_ms(self) -> Fraction:
        """How far the measurement may be off."""
        return EXACT_MS if self.exact else LATE_MS + self.timers.poll_ms

    @property
    def storm(self) -> FlowStats:
        """The storm."""
        return flows_of(self.stats.values(), Role.STORM)[0]

    def detection_ms(self, flow: FlowStats) -> tuple[Fraction, Fraction]:
        """From the storm's beginning until the sender of a test flow was let go, at least and at most: what the switch
        had taken by then, its whole buffer at most, was not held."""
        held, rate = self._held(flow), self._fps(flow)
        buffered = Fraction(self.subject.buffer.size_bytes, FRAME_BYTES)
        return held / rate * MS_PER_S, (held + buffered) / rate * MS_PER_S

    def restoration_ms(self, flow: FlowStats) -> Fraction:
        """From the storm's end until frames of a test flow arrived again. What was neither sent nor received, of what
        was due, fell into the storm and into this time."""
        storm = self.storm
        missing = self._held(flow) + flow.frames_tx - flow.frames_rx
        storm_s = Fraction(storm.frames_tx, storm.plan.fps or 1)
        return (missing / self._fps(flow) - storm_s) * MS_PER_S

    def _fps(self, flow: FlowStats) -> Fraction:
        line = line_rate_fps(FRAME_BYTES, self.subject.pair.speed_mbps)
        return line * Fraction(flow.plan.percent or 0) / 100

    def _held(self, flow: FlowStats) -> Fraction:
        """Frames that were due and not sent; background, which nothing holds, says how many were due."""
        free = flows_of(self.stats.values(), Role.BACKGROUND)[0]
        return free.frames_tx * Fraction(flow.plan.percent or 0) / Fraction(free.plan.percent or 1) - flow.frames_tx


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """For each of the times: data, a storm on it, the storm's end, restoration, the data's end."""
    before = settled(lab, target, before)
    ports = (lab.subject.pair.rx.port, lab.subject.pair.tx.port)
    with watching(lab.dut, ports, lab.subject.qos.lossless) as watchdog:
        try:
            outages = [outage(lab, target, watchdog, timers) for timers in TIMES]
        finally:
            lab.generator.stop()
        lab.clock.sleep(lab.delays.port_s)
        after = watchdog.stop()
    return finding(lab, target, outages, (before, after), watchdog.queues)


CASES: Mapping[PlanCase, Procedure] = {ON_TRAFFIC: Procedure(carry_out, all_lossless)}


def finding(
    lab: Lab,
    target: Target,
    outages: Sequence[Outage],
    around: tuple[DutCounters, DutCounters],
    queues: tuple[str, ...],
) -> Finding:
    """What came of these storms; `around` them the counters were read."""
    (before, after), last = around, outages[-1]
    phases = {"stormed": last.stats, "over": last.stats}
    storm_s = _storm_s(last.timers, _spare_s(last.exact))
    run = WatchdogRun(lab.subject, before, after, after, target, last.timers, queues, storm_s, phases)
    wrong = [*invalid(run), *storms_lasted(run, outages)]
    return Finding([] if wrong else list(judge(run, outages)), wrong, _evidence(run, outages), run.last_counters())


def _spare_s(exact: bool) -> float:
    """Data before the storm, storm after the latest detection, and data after the latest restoration, each so long."""
    return SPARE_S if exact else WALL_SPARE_S


def _storm_s(timers: Timers, spare_s: float) -> float:
    return timers.latest_detection_s + spare_s


def outage(lab: Lab, target: Target, watchdog: Watchdog, timers: Timers, label: str = "") -> Outage:
    """One storm; the data runs from before it until after the restoration. The watchdog is started with these times
    first, unless it has them already."""
    spare_s = _spare_s(lab.clock.exact)
    storm_s, after_s = _storm_s(timers, spare_s), timers.latest_restoration_s + spare_s
    storm = replace(pause_storm(lab, target), delay_ns=round(spare_s * 1e9))
    traffic = lab.builder.build([storm, *even_flows(lab, target, TEST_PERCENT, spare_s + storm_s + after_s)])
    lab.generator.push(traffic)
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    if watchdog.timers != timers:
        watchdog.start(timers)
    lab.clock.sleep(SETTLE_S)
    lab.generator.start(traffic.names())
    lab.clock.sleep(spare_s)
    lab.clock.sleep(storm_s)
    lab.generator.stop(traffic.names(Role.STORM))
    lab.generator.run_out(data, after_s)
    return Outage(lab.subject, timers, lab.generator.stats(traffic.flows), lab.clock.exact, label or str(timers))


def storms_lasted(run: WatchdogRun, outages: Sequence[Outage]) -> list[Check]:
    """Each storm lasted, by its frames and their rate, until it had to be detected at the latest: a shorter one says
    nothing about a watchdog that does not see it."""
    made = []
    for outage in outages:
        sent, rate = outage.storm.frames_tx, outage.storm.plan.fps or 0
        least = int(rate * outage.timers.latest_detection_s)
        made.append(
            error_unless("storm-ran", run.place(), sent >= least, f"a storm of at least {least} pause frames", sent)
        )
    return unmet(made)


def judge(run: WatchdogRun, outages: Sequence[Outage]) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    for outage in outages:
        for flow in flows_of(outage.stats.values(), Role.TEST):
            yield from _in_time(outage, flow)
        yield from _background(run, outage)
    for priority in run.tested:
        place, row = at_priority(run.subject, priority), run.gained(run.queue(priority), run.after.watchdog)
        expected = f"{len(outages)} storms counted as detected and restored"
        met = row.detected == row.restored == len(outages)
        yield fail_unless("storms-counted", place, met, expected, f"{row.detected} and {row.restored}")
        lost = sum(flow.frames_tx - flow.frames_rx for flow in _test_flows(outages, priority))
        expected = f"the {lost} frames that were lost in `pfcwd show stats` TX DROP (1 % more or less)"
        met = abs(row.tx_dropped - lost) <= lost * EDGE_TOLERANCE
        yield fail_unless("drops-counted", place, met, expected, row.tx_dropped)
    yield no_other_storm(run, [run.queue(priority) for priority in run.tested])


def _in_time(outage: Outage, flow: FlowStats) -> Iterator[Check]:
    """Detection and restoration within their bounds (`Timers`)."""
    place, timers = at_priority(outage.subject, priority_of(flow)), outage.timers
    earliest, latest = timers.detection_bounds_ms(outage.subject.asic, outage.late_ms)
    low, high = outage.detection_ms(flow)
    met = high >= earliest - outage.late_ms and low <= latest
    expected = f"detection {float(earliest):.0f} to {float(latest):.0f} ms after the storm began ({outage.label})"
    yield fail_unless("detection-time", place, met, expected, f"{float(low):.1f} to {float(high):.1f} ms")
    earliest, latest = timers.restoration_bounds_ms(outage.late_ms)
    seen = outage.restoration_ms(flow)
    met = earliest - outage.late_ms <= seen <= latest
    expected = f"frames again {float(earliest):.0f} to {float(latest):.0f} ms after the storm ended ({outage.label})"
    yield fail_unless("restoration-time", place, met, expected, f"{float(seen):.1f} ms")


def _background(run: WatchdogRun, outage: Outage) -> Iterator[Check]:
    for flow in flows_of(outage.stats.values(), Role.BACKGROUND):
        place, expected = at_priority(run.subject, priority_of(flow)), f"all {flow.frames_tx} frames received"
        yield fail_unless("background-unaffected", place, flow.frames_rx == flow.frames_tx, expected, flow.frames_rx)


def _test_flows(outages: Sequence[Outage], priority: int) -> list[FlowStats]:
    return [
        flow
        for outage in outages
        for flow in flows_of(outage.stats.values(), Role.TEST)
        if priority_of(flow) == priority
    ]


def _evidence(run: WatchdogRun, outages: Sequence[Outage]) -> dict[str, Any]:
    """The numbers, for the record: flows for each of the times, and what they say."""
    flows = flow_numbers({outage.label: outage.stats for outage in outages})
    times = {
        outage.label: {
            str(priority_of(flow)): {
                "detection_ms": [round(float(ms), 3) for ms in outage.detection_ms(flow)],
                "restoration_ms": round(float(outage.restoration_ms(flow)), 3),
            }
            for flow in flows_of(outage.stats.values(), Role.TEST)
        }
        for outage in outages
    }
    return {**run.evidence(), "flows": flows, "watchdog_times": times}
