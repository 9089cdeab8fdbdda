"""WD-5 and WD-8: storms on running traffic, how long detection and restoration really take: with several times of the
watchdog, and while a buffer threshold is changed and put back.

The sender measures it. Until the storm is detected the switch pauses the sender: it has sent less than was due by what
it would have sent in that time. From then until restoration the switch drops what the sender sends; with the action
`forward`, of one more storm of WD-5, it drops nothing. What was due is counted from when all flows had begun, up to
before they end: some generators take a time for a number of frames, and send what was held after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from ...lab.configuration import configured, read_config
from ...lab.lab import Lab
from ...lab.generator import SETTLE_S
from ...lab.reservation import Rows
from ...lab.watchdog import DROP, FORWARD, LATE_MS, MS_PER_S, Timers, Watchdog
from ...lab.watchdog_deviations import forwards
from ...model.arithmetic import MAX_QUANTA, pause_seconds
from ...model.checking import (
    at_priorities, at_priority, error_unless, everything_received, fail_unless, priority_of, storm_sent,
)
from ...model.counters import DutCounters
from ...model.measurement import PortUnderTest
from ...model.traffic import FlowStats, Role, Stats
from ...record.case import PlanCase, Target
from ...record.verdict import Check
from ..buffer_threshold import smaller_threshold
from ..engine import Procedure, Table, sending
from ..storm_length import storm_held
from ..storm_sequence import pause_storm
from ..validity import load_applied, lossy_in_background, storm_stopped
from .checks import FRAME_BYTES, WatchdogRun, no_other_storm, storm_unbroken, undisturbed_while_watched
from .steps import even_flows, watching_pair
from .watched import all_watched, all_watched_changeable

ON_TRAFFIC = PlanCase("watchdog-on-traffic", "WD-5")
BUFFER_CHANGED = PlanCase("watchdog-buffer-changed", "WD-8")

TIMES = (Timers(DROP, 100, 400, 100), Timers(DROP, 400, 200, 200), Timers(DROP, 1200, 1400, 200))
"""Of WD-5. The last are more milliseconds than ten bits hold."""
FORWARDING = Timers(FORWARD, 200, 200, 100)
"""Those of WD-5 with the other action, where the switch has it: what waits when a storm is detected has to go on."""
SAME_TIMES = Timers(DROP, 200, 200, 100)  # in every storm of WD-8
TEST_PERCENT = 40  # of the line, and as much of background
SPARE_S = 0.5
WALL_SPARE_S = 2.0  # on hardware a flow starts (and stops) up to a second after it is told to
OFTEN = 3
"""Storms of the same setting where time is not exact; the one in the middle is judged. A poll of the watchdog may wait
for those of other counters, seldom (sonic-swss#3391)."""
EDGE_PERCENT = 1  # on hardware the action and what counts its frames do not begin and end at quite the same instant


@dataclass(frozen=True)
class StormOnTraffic:
    """One storm on running traffic.

    Attributes:
        subject, timers: of what, and the watchdog's.
        begun, running: of all flows before the storm, and after the latest restoration, when data was still sent.
        stats: of all flows at the end.
        exact: whether flows start and end when they are told to.
        setting: what tells it from the others of a run, but for those that are the same once more.
        number: of several of that setting, from 1 on; 0: it is the only one.
    """

    subject: PortUnderTest
    timers: Timers
    begun: Stats
    running: Stats
    stats: Stats
    exact: bool
    setting: str
    number: int = 0

    @property
    def label(self) -> str:
        """What tells it from all others of a run."""
        return f"{self.setting}, {self.number} of {OFTEN}" if self.number else self.setting

    @property
    def late_ms(self) -> Fraction:
        """How far the measurement may be off: on an exact clock by a pause, as the storm's last one outlasts it."""
        pause_ms = pause_seconds(MAX_QUANTA, self.subject.pair.speed_mbps) * MS_PER_S
        return pause_ms if self.exact else LATE_MS + self.timers.poll_ms

    @property
    def pauses(self) -> FlowStats:
        """The flow of its pause frames."""
        return self.flows(Role.STORM)[0]

    def flows(self, role: Role) -> list[FlowStats]:
        """The flows of a role."""
        return [flow for flow in self.stats.values() if flow.plan.role is role]

    def detection_ms(self, flow: FlowStats) -> tuple[Fraction, Fraction]:
        """From the storm's beginning until the sender of a test flow was let go, at least and at most: what the switch
        had taken by then, its whole buffer at most, was not held."""
        held = self.held(flow)
        rate = flow.plan.rate(self.subject.pair.speed_mbps)
        buffered = Fraction(self.subject.buffer.size_bytes, FRAME_BYTES)
        return held / rate * MS_PER_S, (held + buffered) / rate * MS_PER_S

    def restoration_ms(self, flow: FlowStats) -> Fraction:
        """From the storm's end until frames of a test flow arrived again. What was neither sent nor received, of what
        was due, fell into the storm and into this time."""
        missing = self.held(flow) + flow.frames_tx - flow.frames_rx
        storm_s = Fraction(self.pauses.frames_tx, self.pauses.plan.fps or 1)
        return (missing / flow.plan.rate(self.subject.pair.speed_mbps) - storm_s) * MS_PER_S

    def held(self, flow: FlowStats) -> Fraction:
        """Frames that were due and not sent; background, which nothing holds, says how many were due."""
        free = self.flows(Role.BACKGROUND)[0]
        due = self._sent(free) * Fraction(flow.plan.percent or 0) / Fraction(free.plan.percent or 1)
        return due - self._sent(flow)

    def _sent(self, flow: FlowStats) -> int:
        """Frames of a flow that were sent while all of them were."""
        return self.running[flow.plan.name].frames_tx - self.begun[flow.plan.name].frames_tx

    def times(self) -> dict[str, Any]:
        """Detection and restoration for each test flow, by priority, for the record."""
        return {
            str(priority_of(flow)): {
                "detection_ms": [round(float(ms), 3) for ms in self.detection_ms(flow)],
                "restoration_ms": round(float(self.restoration_ms(flow)), 3),
            }
            for flow in self.flows(Role.TEST)
        }


@dataclass(frozen=True)
class TimedStormsRun(WatchdogRun):
    """Storms on running traffic, one after the other. The times of the watchdog are those of the last one; the
    phases are the three moments at which the flows of each were counted.

    Attributes:
        storms: each of them.
        rows: how the switch was configured in one of them; None: as found.
    """

    storms: Sequence[StormOnTraffic]
    rows: Rows | None = None

    def details(self) -> dict[str, Any]:
        """Also what the counts of each storm say."""
        times = {storm.label: storm.times() for storm in self.storms}
        configured = {} if self.rows is None else {"rows": self.rows}
        return {**super().details(), "watchdog_times": times, **configured}


def with_several_times(lab: Lab, target: Target, before: DutCounters) -> TimedStormsRun:
    """WD-5: for each of the times data, a storm on it, the storm's end, restoration, the data's end."""
    lab.subject.qos.check_reached(target)
    settings = settings_on(lab.subject.asic)
    with watching_pair(lab) as watchdog:
        storms = [measure_storms(lab, target, watchdog, timers, setting) for setting, timers in settings.items()]
        return _read(lab, target, before, watchdog, [*chain(*storms)])


def settings_on(asic: str) -> dict[str, Timers]:
    """The times of WD-5's storms, by what messages call them."""
    settings = {str(timers): timers for timers in TIMES}
    return {**settings, f"action {FORWARD}, {FORWARDING}": FORWARDING} if forwards(asic) else settings


def while_buffer_changes(lab: Lab, target: Target, before: DutCounters) -> TimedStormsRun:
    """WD-8: a storm on running traffic, as found; with a smaller threshold of the groups that the storm fills: those of
    the tested priorities on the tx port; and as found again. The watchdog runs on."""
    lab.subject.qos.check_reached(target)
    config_db = read_config(lab)
    rows = smaller_threshold(lab, config_db, target)
    with watching_pair(lab) as watchdog:
        storms = measure_storms(lab, target, watchdog, SAME_TIMES, "threshold as found")
        with configured(lab, config_db, rows):
            storms += measure_storms(lab, target, watchdog, SAME_TIMES, "smaller threshold")
        storms += measure_storms(lab, target, watchdog, SAME_TIMES, "threshold put back")
        return replace(_read(lab, target, before, watchdog, storms), rows=rows)


def _spare_s(exact: bool) -> float:
    """Data before the storm, storm after the latest detection, and data after the latest restoration, each so long;
    what is counted in the first and the last is counted in the middle."""
    return SPARE_S if exact else WALL_SPARE_S


def measure_storms(
    lab: Lab, target: Target, watchdog: Watchdog, timers: Timers, setting: str
) -> list[StormOnTraffic]:
    """The storms of a setting: one, and where time is not exact so many that one late poll decides nothing."""
    numbers = (0,) if lab.clock.exact else range(1, OFTEN + 1)
    return [replace(measure_storm(lab, target, watchdog, timers, setting), number=number) for number in numbers]


def measure_storm(lab: Lab, target: Target, watchdog: Watchdog, timers: Timers, setting: str) -> StormOnTraffic:
    """One storm; the data runs from before it until after the restoration. The watchdog is started with these times
    first, unless it has them already."""
    spare_s = _spare_s(lab.clock.exact)
    timing = lab.generator.timing
    lead_s = spare_s + timing.refresh_s
    storm_s = timers.latest_detection_s + spare_s
    after_s = timers.latest_restoration_s + spare_s
    data_s = lead_s + storm_s + after_s + timing.start_s + timing.stop_s + timing.refresh_s
    storm = replace(pause_storm(lab, target), delay_ns=round(lead_s * 1e9))
    traffic = lab.builder.build([storm, *even_flows(lab, target, TEST_PERCENT, data_s)])
    with sending(lab, traffic):
        if watchdog.timers != timers:
            watchdog.start(timers)
        lab.clock.sleep(SETTLE_S)
        lab.generator.start(traffic.names())
        lab.clock.sleep(spare_s / 2)
        begun = lab.generator.stats(traffic.flows)
        lab.clock.sleep(spare_s / 2 + storm_s)
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(after_s - spare_s / 2)
        running = lab.generator.stats(traffic.flows)
        lab.generator.run_out(traffic.names(Role.TEST, Role.BACKGROUND), spare_s / 2)
        lab.clock.sleep(SETTLE_S)
        stats = lab.generator.stats(traffic.flows)
        return StormOnTraffic(lab.subject, timers, begun, running, stats, lab.clock.exact, setting)


def _read(
    lab: Lab, target: Target, before: DutCounters, watchdog: Watchdog, storms: list[StormOnTraffic]
) -> TimedStormsRun:
    """What came of these storms; stops the watchdog."""
    lab.clock.sleep(lab.delays.port_s)
    after = watchdog.stop()
    phases = {
        phase: stats for storm in storms
        for phase, stats in (
            (f"{storm.label}, before the storm", storm.begun), (f"{storm.label}, data still sent", storm.running),
            (storm.label, storm.stats),
        )
    }
    timers = storms[-1].timers
    return TimedStormsRun(lab.subject, before, after, after, target, phases, timers, watchdog.queues, storms)


def validity(run: TimedStormsRun) -> Iterator[Check]:
    """Whether each of the storms was a measurement. It has to last, by its frames and their rate, until it must have
    been detected: a shorter one says nothing about a watchdog that does not see it; and data has to outlast it."""
    subject = run.subject
    place = at_priorities(run.subject, run.tested)
    yield from undisturbed_while_watched(run)
    for storm in run.storms:
        pauses = storm.pauses
        latest_s = storm.timers.latest_detection_s
        yield from storm_held(run, place, [pauses], latest_s + _spare_s(storm.exact))
        yield from storm_sent(place, [pauses], int((pauses.plan.fps or 0) * latest_s))
        seconds = pauses.frames_tx / (pauses.plan.fps or 1)
        most_s = latest_s + 2 * _spare_s(storm.exact)
        expected = f"a storm of at most {most_s:g} s"
        seen = f"{seconds:.1f} s: this machine, or the generator, stopped it late"
        yield error_unless("storm-ended", place, seconds <= most_s, expected, seen)
        yield from storm_stopped(place, [pauses])
        yield from storm_unbroken(place, [pauses])
        yield from _time_kept(storm)
        when = f"({storm.label})"
        yield from load_applied(subject, storm.stats.values(), run.pfc_sent, when, [Role.TEST])
    yield from lossy_in_background(subject, run.storms[-1].flows(Role.BACKGROUND))


def _time_kept(storm: StormOnTraffic) -> Iterator[Check]:
    """What a storm held had not been sent when it was counted. A generator that had made up for it, or whose data had
    ended and was made up for, says nothing."""
    for flow in storm.flows(Role.TEST) if not storm.exact else ():
        missing = storm.held(flow)
        met = missing > 1 or flow.frames_rx == flow.frames_tx  # nothing was dropped: the storm did nothing at all
        place = at_priority(storm.subject, priority_of(flow))
        expected = f"fewer frames sent than were due ({storm.label})"
        yield error_unless("time-kept", place, met, expected, f"{round(missing)} fewer")


def judge(run: TimedStormsRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    for setting in dict.fromkeys(storm.setting for storm in run.storms):
        storms = [storm for storm in run.storms if storm.setting == setting]
        for flows in zip(*(storm.flows(Role.TEST) for storm in storms)):
            yield from _in_time(list(zip(storms, flows)))
        for storm in storms:
            yield from everything_received("background-unaffected", run.subject, storm.flows(Role.BACKGROUND), "")
            test = storm.flows(Role.TEST) if storm.timers.action == FORWARD else ()
            yield from everything_received("forwarded-in-storm", run.subject, test, f"({storm.label})")
    for priority in run.tested:
        place = at_priority(run.subject, priority)
        row = run.gained(run.queue(priority), run.after)
        expected = f"{len(run.storms)} storms counted as detected and restored"
        met = row.detected == row.restored == len(run.storms)
        yield fail_unless("storms-counted", place, met, expected, f"{row.detected} and {row.restored}")
        lost = sum(
            flow.frames_tx - flow.frames_rx
            for storm in run.storms for flow in storm.flows(Role.TEST) if priority_of(flow) == priority
        )
        percent = 0 if all(storm.exact for storm in run.storms) else EDGE_PERCENT
        more = lost * percent // 100
        less = more + sum(_at_edges(storm, priority) for storm in run.storms)
        expected = f"the {lost} frames that were lost in `pfcwd show stats` TX DROP"
        expected += f" (at most {more} more, {less} less)" if less else ""
        yield fail_unless("drops-counted", place, -less <= row.tx_dropped - lost <= more, expected, row.tx_dropped)
    yield from no_other_storm(run)


def _at_edges(storm: StormOnTraffic, priority: int) -> int:
    """Frames of a storm that may be dropped before and after those that are counted: what drops them is there before
    its counters are first read, and goes after they were read the last time (`pfcwdsworch.cpp`)."""
    is_open = not storm.exact and storm.timers.action == DROP
    flows = [flow for flow in storm.flows(Role.TEST) if is_open and priority_of(flow) == priority]
    speed_mbps = storm.subject.pair.speed_mbps
    return sum(int(flow.plan.rate(speed_mbps) * LATE_MS / MS_PER_S) for flow in flows)


def _in_time(measured: Sequence[tuple[StormOnTraffic, FlowStats]]) -> Iterator[Check]:
    """Detection and restoration within their bounds (`Timers`), of the storm that was in the middle; with the action
    `forward` nothing shows the restoration. `measured`: each storm of a setting, with its flow of one priority."""
    storm, flow = middle(measured, lambda storm, flow: storm.detection_ms(flow))
    place = at_priority(storm.subject, priority_of(flow))
    timers = storm.timers
    earliest, latest = timers.detection_bounds_ms(storm.subject.asic, storm.late_ms)
    low, high = storm.detection_ms(flow)
    met = high >= earliest - storm.late_ms and low <= latest
    expected = f"detection {float(earliest):.0f} to {float(latest):.0f} ms after the storm began ({storm.label})"
    yield fail_unless("detection-time", place, met, expected, f"{float(low):.1f} to {float(high):.1f} ms")
    if timers.action == FORWARD:
        return
    storm, flow = middle(measured, lambda storm, flow: storm.restoration_ms(flow))
    earliest, latest = timers.restoration_bounds_ms(storm.late_ms)
    seen = storm.restoration_ms(flow)
    met = earliest - storm.late_ms <= seen <= latest
    expected = f"frames again {float(earliest):.0f} to {float(latest):.0f} ms after the storm ended ({storm.label})"
    yield fail_unless("restoration-time", place, met, expected, f"{float(seen):.1f} ms")


def middle(
    measured: Sequence[tuple[StormOnTraffic, FlowStats]], time: Callable[[StormOnTraffic, FlowStats], Any]
) -> tuple[StormOnTraffic, FlowStats]:
    """Of several storms the one whose time is neither among the shorter nor among the longer half."""
    return sorted(measured, key=lambda one: time(*one))[len(measured) // 2]


CASES: Table = {
    ON_TRAFFIC: Procedure(with_several_times, validity, judge, all_watched),
    BUFFER_CHANGED: Procedure(while_buffer_changes, validity, judge, all_watched_changeable),
}
