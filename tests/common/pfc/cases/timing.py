"""TIME-1 to TIME-4, TIME-6 and TIME-7: pauses that come at a fixed rate, and in all but the last are over before the
next period. What they leave of the line says how long each of them lasted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, line_rate_fps, pause_seconds
from ..model.checking import (
    all_at_rate, at_least, at_most, at_port, at_priority, error_unless, everything_received, fail_unless, never_taken,
    priority_of, storm_sent,
)
from ..model.counters import DutCounters
from ..model.measurement import CaseRun, PortUnderTest, flow_numbers
from ..model.response_time import response_seconds
from ..model.traffic import FlowPlan, FlowStats, Role, Stats
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Procedure, Table, Targets, sending, settled_counters
from .data_loads import DataLoad, data_flows
from .flows import later
from .pause_counts import pauses_counted
from .pause_pattern import WINDOW_EXACT_S, Pauses, beside_global, same_classes
from .scheduler_shares import divide_beside
from .storm_sequence import drain
from .targets import all_lossless, each_lossless
from .validity import load_applied, storm_stopped, undisturbed

ZERO_RESUMES = PlanCase("pause-zero-resumes", "TIME-1")
PAUSE_LENGTH = PlanCase("pause-length", "TIME-2")
PAUSE_RATE = PlanCase("pause-rate", "TIME-3")
THROTTLED = PlanCase("pause-throttles", "TIME-4")
REFRESHED = PlanCase("pause-refreshed", "TIME-6")
SHORT = PlanCase("pause-short", "TIME-7")
SHORT_QUANTA = 255  # all of a time's lower byte
SHORT_COUNT = 6127  # in 4 ms: twice in each pause
BRIEF_QUANTA = 31  # all of its five lowest bits
BRIEF_COUNT = 50_403  # likewise
FRAME_BYTES = 1024
# By an exact clock a window of 12 of the longest pauses is enough, and costs little: it is all of the data, and holds
# whole periods of the pauses, so that it does not matter where in a period it begins. By any other one flows start and
# end when they like, within some hundred milliseconds, and some generators send what pauses held after the time that
# they were told: a window is what comes between two counts while data and pauses last.
WINDOW_S = 2.0
START_LAG_S = 1.0  # from when data should have begun to the first count
LONGEST_S = 60.0  # data that nobody stops, because the run was killed
DRAIN_EXACT_S = 0.002  # at 100 Gb/s: 16 MB take 1.3 ms
DRAIN_S = 1.0
EDGE_FRAMES = 4  # one under way at each end of a window, and one being stored in the switch at each


@dataclass(frozen=True)
class Window:
    """One storm and the data in it.

    Attributes:
        number: its place in the course, from 1 on.
        loaded: the priorities of its test traffic.
        pauses: the storm.
    """

    number: int
    loaded: Target
    pauses: Pauses

    @property
    def phase(self) -> str:
        """The phase of its flows; the first is the case's first."""
        return f"Window {self.number}" if self.number > 1 else ""

    @property
    def begun(self) -> str:
        """The moment from which on frames count, where that is not the beginning of its data."""
        return f"at the beginning of window {self.number}"

    @property
    def at_end(self) -> str:
        """The moment up to which frames count; the storm still ran."""
        return f"at the end of window {self.number}"

    @property
    def drained(self) -> str:
        """The moment when the storm was over and what was held had left."""
        return f"drained after window {self.number}"


@dataclass(frozen=True)
class Course:
    """What a case sends, one after the other.

    Attributes:
        storms: of each window the priorities of its test traffic, and its pauses.
        test_percent, beside_percent, background_percent: load of all test flows together, of those of the other tested
            priorities, and of those of all others, percent of the line.
        background_waits: whether some of the others get nothing while test traffic waits, as strict queues come first:
            they leave in pauses.
    """

    storms: tuple[tuple[Target, Pauses], ...]
    test_percent: int = 90
    beside_percent: int = 0
    background_percent: int = 10
    background_waits: bool = False

    @property
    def windows(self) -> list[Window]:
        """The pauses, each with its window."""
        return [Window(number, loaded, pauses) for number, (loaded, pauses) in enumerate(self.storms, 1)]

    @property
    def fills_the_line(self) -> bool:
        """Whether test traffic waits for the line after each pause, so that what it gets of it can be computed."""
        return self.test_percent + self.beside_percent + self.background_percent == 100


def _course(target: Target, *pauses: Pauses) -> Course:
    return Course(tuple((target, storm) for storm in pauses))


COURSES: Mapping[PlanCase, Callable[[Target], Course]] = {
    ZERO_RESUMES: lambda target: _course(target, same_classes(target, (MAX_QUANTA, 0), (0, 100), count=6)),
    PAUSE_LENGTH: lambda target: _course(
        target,
        same_classes(target, (MAX_QUANTA, 0), count=6),
        # low bits are set in these: a timer with a coarse tick rounds them
        same_classes(target, (16_897, 0), count=24),
        same_classes(target, (3_585, 0), count=96),
    ),
    PAUSE_RATE: lambda target: _course(target, *(same_classes(target, (16_384, 0), count=count) for count in (8, 32))),
    THROTTLED: lambda target: Course(
        ((target, same_classes(target, (16_384, 0), count=12)),), test_percent=50, background_percent=25
    ),
    REFRESHED: lambda target: _course(
        target,
        same_classes(target, (32_768, 0), (32_768, 40), count=6),  # early: 168 us from the second frame on
        same_classes(target, (32_768, 0), (32_768, 160), count=6),  # 8 us before it lapses
        same_classes(target, (32_768, 0), (32_768, 180), count=6),  # 12 us after it has lapsed
        same_classes(target, (MAX_QUANTA, 0), (4_096, 100), count=6),  # shorter than what is left
        *(beside_global(target, 32_768, 100, quanta, count=6) for quanta in (0, MAX_QUANTA)),  # that sets no timer
    ),
    SHORT: lambda target: _course(target, *(
        same_classes(target, (quanta, 0), count=count)
        for quanta, count in ((SHORT_QUANTA, SHORT_COUNT), (BRIEF_QUANTA, BRIEF_COUNT))
    )),
}


@dataclass(frozen=True)
class TimingRun(CaseRun):
    """One run.

    Attributes:
        course: what was sent.
        window_s: how long a window was meant to be.
        exact: whether windows begin and end at the instant that they are meant to.
    """

    course: Course
    window_s: float
    exact: bool

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record: flows by window."""
        windows = [self._window_numbers(window) for window in self.course.windows]
        return {**self.counted(), "exact_clock": self.exact, "phases": windows}

    def within(self, window: Window, *roles: Role) -> list[FlowStats]:
        """Flows of these roles, with the frames that count in a window."""
        begun = self.phases.get(window.begun, {})
        return [
            replace(flow, frames_tx=flow.frames_tx - begun[flow.plan.name].frames_tx,
                    frames_rx=flow.frames_rx - begun[flow.plan.name].frames_rx) if flow.plan.name in begun else flow
            for flow in self.flows(window.at_end, *roles)
        ]

    def lasted_s(self, window: Window, sent: bool = False) -> Fraction:
        """How long a window was. By a clock that is not exact background traffic tells it, which nothing holds. It
        comes out where test traffic does, and goes in where that does, so that both were counted at the same instants;
        `sent`: where they go in, which may be counted a little earlier or later. 0: there is none."""
        if self.exact:
            return Fraction(self.window_s)
        free = self.free(window)
        rate = line_rate_fps(FRAME_BYTES, self.subject.pair.speed_mbps) * _asked(free)
        return sum(flow.frames_tx if sent else flow.frames_rx for flow in free) / rate if free else Fraction(0)

    def free(self, window: Window) -> list[FlowStats]:
        """Background traffic of priorities that nothing holds, within a window."""
        return [flow for flow in self.within(window, Role.BACKGROUND) if priority_of(flow) not in self.tested]

    def _window_numbers(self, window: Window) -> dict[str, Any]:
        pauses = window.pauses
        speed = self.subject.pair.speed_mbps
        moments = {
            name: self._shown(self.phases[moment])
            for name, moment in (("begun", window.begun), ("at_end", window.at_end), ("drained", window.drained))
            if moment in self.phases
        }
        known = bool(self.course.fills_the_line and self.lasted_s(window))
        return {
            "pauses": pauses.describe(speed),
            "paused_us": {priority: float(pauses.held(priority, speed).seconds) * 1e6 for priority in window.loaded},
            "window_s": float(self.lasted_s(window)),
            "frames_due": due_in_window(self, window) if known else None,
            "flows": flow_numbers(moments),
        }

    def _shown(self, stats: Stats) -> Stats:
        """Flows as the record has them: those that were stopped have no time, and so no mean rate."""
        if self.exact:
            return stats
        return {name: replace(flow, plan=replace(flow.plan, seconds=None)) for name, flow in stats.items()}


def measure(lab: Lab, course: Course, target: Target, before: DutCounters) -> TimingRun:
    """Each storm in turn, with data of its own."""
    course = fitted(lab, course, target)
    traffic = timed_traffic(lab, course, target)
    phases: dict[str, Stats] = {}
    with sending(lab, traffic):
        for window in course.windows:
            phases |= _send(lab, traffic, window)
    after = settled_counters(lab)
    return TimingRun(lab.subject, before, after, after, target, phases, course, window_s(lab), lab.clock.exact)


def fitted(lab: Lab, course: Course, target: Target) -> Course:
    """The course, where it fills the line with no more background than the lightest queue gets by its weight: what of
    it waited would leave in pauses, and cost test traffic nothing. Where that is less than 1 % it waits."""
    parts = divide_beside(lab.config_db, lab.subject.qos, target, course.background_percent)
    others = [parts[priority] for priority in lab.subject.qos.others(target) if parts]
    given = min(others, default=Fraction(1)) * 100 * len(others)
    if not others or not course.fills_the_line or given >= course.background_percent:
        return course
    if given < 1:
        return replace(course, background_waits=True)
    background = floor(given)
    more = course.background_percent - background
    return replace(course, test_percent=course.test_percent + more, background_percent=background)


def _send(lab: Lab, traffic: Traffic, window: Window) -> dict[str, Stats]:
    """Pauses, a period later data, and what came of it in the window; then what was held drains."""
    names = traffic.names(phase=window.phase)
    moments: dict[str, Stats] = {}
    lab.generator.start(names)
    lab.clock.sleep(lead_s(lab, window.pauses))
    if not lab.clock.exact:
        lab.clock.sleep(START_LAG_S)
        moments[window.begun] = lab.generator.stats(names)
    lab.clock.sleep(window_s(lab))
    moments[window.at_end] = lab.generator.stats(names)
    if lab.clock.exact:
        lab.generator.stop(traffic.names(Role.STORM, phase=window.phase))
        data = traffic.names(Role.TEST, Role.BACKGROUND, phase=window.phase)
        lab.generator.run_out(data, scaled_s(lab.subject, DRAIN_EXACT_S))
    else:
        lab.generator.stop(names)
        lab.clock.sleep(DRAIN_S)
    return {**moments, window.drained: drain(lab, names)}


def lead_s(lab: Lab, pauses: Pauses) -> float:
    """How long pauses come before the data of their window."""
    return 1 / pauses.fps(lab.subject.pair.speed_mbps) if lab.clock.exact else DRAIN_S


def timed_traffic(lab: Lab, course: Course, target: Target) -> Traffic:
    """For each window of a course its storm, and data of its own."""
    flows: list[FlowPlan] = []
    for window in course.windows:
        beside = tuple(priority for priority in target if priority not in window.loaded)
        loads = [
            DataLoad(name, role, priorities, percent, data_s(lab), FRAME_BYTES, delay_s=lead_s(lab, window.pauses))
            for name, role, priorities, percent in (
                ("test flow", Role.TEST, window.loaded, course.test_percent),
                ("flow beside", Role.BACKGROUND, beside, course.beside_percent),
                ("background flow", Role.BACKGROUND, lab.subject.qos.others(target), course.background_percent),
            )
        ]
        own = [*window.pauses.flows(lab), *staggered(lab, data_flows(lab, loads))]
        flows += later(own, window.phase) if window.phase else own
    return lab.builder.build(flows)


def staggered(lab: Lab, flows: list[FlowPlan]) -> list[FlowPlan]:
    """The flows, of which those of background traffic begin one after the other, spread over the time from one frame
    of such a flow to its next: their frames never come all at once, so that a pause that begins or ends a moment
    sooner or later finds one of them under way at most."""
    background = [flow for flow in flows if flow.role is Role.BACKGROUND]
    rate = sum((Fraction(flow.percent or 0) for flow in background), Fraction(0)) / 100
    apart_ns = 10**9 / (rate * line_rate_fps(FRAME_BYTES, lab.subject.pair.speed_mbps)) if rate else 0
    begins_ns = {flow.name: round(number * apart_ns) for number, flow in enumerate(background)}
    return [replace(flow, delay_ns=flow.delay_ns + begins_ns.get(flow.name, 0)) for flow in flows]


def scaled_s(subject: PortUnderTest, seconds: float) -> float:
    """A time that is meant for 100 Gb/s, in proportion to the length of a pause at the port's speed."""
    return seconds * 100_000 / subject.pair.speed_mbps


def window_s(lab: Lab) -> float:
    """How long a window is meant to be, in seconds of the lab's clock."""
    return scaled_s(lab.subject, float(WINDOW_EXACT_S)) if lab.clock.exact else WINDOW_S


def data_s(lab: Lab) -> float:
    """How long data runs; by a clock that is not exact unless it is stopped."""
    return window_s(lab) if lab.clock.exact else LONGEST_S


def validity(run: TimingRun) -> Iterator[Check]:
    """The storms came at their rate and stopped, and the load was there."""
    yield from undisturbed(run)
    place = at_port(run.subject)
    for window in run.course.windows:
        yield from in_window(run, window)
        drained = run.flows(window.drained, Role.STORM)
        yield from storm_stopped(place, drained, "the storm stopped when all had drained")
        yield from load_applied(run.subject, as_due(run, window, sent=True), run.pfc_sent, "in the window")


def in_window(run: TimingRun, window: Window) -> Iterator[Check]:
    """A window's storms came at their rate, and by a clock that is not exact its data lasted longer than the window."""
    place = at_port(run.subject)
    lasted_s = run.lasted_s(window)
    if not run.exact:  # some generators say of a flow that is held that it does not transmit
        lasts = bool(lasted_s) and all(flow.transmitting for flow in run.free(window))
        expected = f"data that outlasts {run.window_s:g} s between two counts, some of it of other priorities"
        yield error_unless("load-lasted", place, lasts, expected, "its end, or none of these")
    for storm in run.within(window, Role.STORM):
        least = floor((storm.plan.fps or 0) * lasted_s * (1 - load_tolerance(run)))
        yield from storm_sent(place, [storm], least if run.exact else least - 1)


def as_due(run: TimingRun, window: Window, sent: bool = False) -> list[FlowStats]:
    """The data of a window with the time in which it is due (`sent`: to be sent). By an exact clock that is when all
    has drained: at the window's end some frames wait for those of other priorities. By any other it is the window's
    own, less what may be under way at its ends."""
    if run.exact:
        return run.flows(window.drained, Role.TEST, Role.BACKGROUND)
    speed_mbps = run.subject.pair.speed_mbps
    lasted_s = run.lasted_s(window, sent)
    return [
        replace(flow, plan=replace(flow.plan, seconds=float(lasted_s - EDGE_FRAMES / flow.plan.rate(speed_mbps))))
        for flow in run.within(window, Role.TEST, Role.BACKGROUND)
    ]


def judge(run: TimingRun) -> Iterator[Check]:
    """What each storm must leave of the line, and that all pauses were counted."""
    storms: list[FlowStats] = []
    for window in run.course.windows:
        yield from _of_window(run, window)
        storms += run.flows(window.drained, Role.STORM)
    yield from _to_scale(run)
    yield from pauses_counted(run, storms)


def _of_window(run: TimingRun, window: Window) -> Iterator[Check]:
    when = f"in {window.pauses.describe(run.subject.pair.speed_mbps)}"
    test, background = (run.flows(window.drained, role) for role in (Role.TEST, Role.BACKGROUND))
    data = run.flows(window.drained, Role.TEST, Role.BACKGROUND)
    yield from never_taken(run.subject, data, run.pfc_sent, when)
    if run.course.fills_the_line:
        yield from _share_left(run, window, when)
    else:  # what is left of it is more than is asked for: all of it is taken
        yield from all_at_rate("throughput", run.subject, as_due(run, window), when)
    yield from everything_received("nothing-lost", run.subject, test, when)
    yield from everything_received("background-unaffected", run.subject, background, when)


def due_in_window(run: TimingRun, window: Window) -> tuple[int, int]:
    """Least and most frames of the priority of test traffic that may have come in a window.

    The window has W seconds and n periods with pauses of P seconds in all, k of them, whole periods. Between pauses
    test traffic has its part of the line, as more waits for it than the line takes. What a pause takes from it differs
    from its time by at most the response time R (the pause may begin so late after its frame, while its end does not
    move, and may be so late to end) and one frame time F (the frame under way is sent to its end; what was let go waits
    for the one of another priority): W - n (P + k (R + F)) to W - n (P - k (R + F)), times the part of the line. At the
    window's ends a few frames are under way (`EDGE_FRAMES`). Where a full line is loaded with less than 100 %
    (`tolerances`), that part is between what test traffic asks for and what background traffic leaves.

    Traffic of other priorities that are paused in the window may come at any time in it: what came of it while test
    traffic was paused took nothing from that, and what came of it later had waited, and took as much more.

    By a clock that is not exact a window begins and ends anywhere in a period, so that it has up to P more or less of
    pauses, and the two counts may be off by what `tolerances` say.
    """
    speed = run.subject.pair.speed_mbps
    test = run.flows(window.at_end, Role.TEST)[0].plan
    rate = line_rate_fps(test.frame_bytes, speed)
    seconds = run.lasted_s(window)
    beside, background = _background_parts(run, window, rate * seconds)
    held = window.pauses.held(window.loaded[0], speed)
    periods = seconds * window.pauses.fps(speed)
    if not held.times:
        return 0, floor(_most_between(run, window, rate * (1 - background)))
    unsure = held.times * (response_seconds(speed) + 1 / rate)
    at_ends = Fraction(0) if run.exact else held.seconds
    longest = periods * (held.seconds + unsure) + at_ends
    shortest = periods * (held.seconds - unsure) - at_ends
    least = rate * (Fraction(test.percent or 0) / 100 * (seconds - longest) - beside * longest) - EDGE_FRAMES
    most = rate * (1 - background) * (seconds - shortest) + EDGE_FRAMES
    if run.exact:
        return ceil(least), floor(most)
    return ceil(least * (1 - load_tolerance(run))), floor(most * (1 + load_tolerance(run)))


def _most_between(run: TimingRun, window: Window, rate: Fraction) -> Fraction:
    """Most frames that pauses let pass of which each comes before the one before it ends, where the line has room for
    `rate` frames a second. A port that responds to each in the same time lets nothing pass. But all that come within
    the response time R may take effect at once, behind a frame under way, and end after their time P: P - F of P + R
    are held in any case."""
    speed = run.subject.pair.speed_mbps
    lasts = pause_seconds(window.pauses.frames[0].quanta[window.loaded[0]], speed)
    response = response_seconds(speed)
    left = (response + 1 / line_rate_fps(FRAME_BYTES, speed)) / (lasts + response)
    more = 0 if run.exact else load_tolerance(run)
    return rate * run.lasted_s(window) * left * (1 + more) + EDGE_FRAMES


def _background_parts(run: TimingRun, window: Window, line_frames: Fraction) -> tuple[Fraction, Fraction]:
    """The part of the line that background traffic of other tested priorities asked for; and the part that all other
    background took from test traffic: what it asked for, or what came of it where that is less because frames of it
    were lost (`background-unaffected` says so); nothing where it waits for pauses."""
    background = run.free(window)
    beside = [flow for flow in run.within(window, Role.BACKGROUND) if priority_of(flow) in run.tested]
    came = sum(flow.frames_rx for flow in background) / line_frames
    return _asked(beside), Fraction(0) if run.course.background_waits else min(_asked(background), came)


def _asked(flows: Iterable[FlowStats]) -> Fraction:
    return sum((Fraction(flow.plan.percent or 0) / 100 for flow in flows), Fraction(0))


def load_tolerance(run: CaseRun) -> Fraction:
    """What a sender may miss of its due, as a part of it."""
    return Fraction(run.subject.tolerances.load_tolerance_percent) / 100


def _share_left(run: TimingRun, window: Window, when: str) -> Iterator[Check]:
    """What came of test traffic in a window is what its pauses leave. Where that may be all that is sent (by a clock
    that is not exact, of pauses shorter than a few frames), nothing is said of how long they were."""
    least, most = due_in_window(run, window)
    for flow in run.within(window, Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        if most < flow.plan.rate(run.subject.pair.speed_mbps) * run.lasted_s(window):
            yield at_most("paused-long-enough", place, most, f"frames received {when}", flow.frames_rx)
        if least:  # none where pauses never end
            yield at_least("resumed-in-time", place, least, f"frames received {when}", flow.frames_rx)


def off_scale(run: TimingRun, windows: tuple[Window, Window]) -> tuple[Fraction, Fraction]:
    """How much longer (shorter) the pauses of two windows were than their quanta say, as a part of that, and how far
    that number may be off.

    The line was lost for n (P (1 + x) + d) in each window: n pauses of P, x what is looked for, and d by how much a
    pause ends later after its time than it begins after its frame, which the response time allows and which is the same
    for long pauses and short ones. Two windows with the same priority and different P tell x from d:
    x = (E1 / n1 - E2 / n2) / (P1 - P2), where E is what was lost beside n P. E is off by at most a frame time for each
    pause, and `EDGE_FRAMES`.
    """
    speed = run.subject.pair.speed_mbps
    each = []
    lengths = []
    unsure = Fraction(0)
    for window in windows:
        flow = run.flows(window.at_end, Role.TEST)[0]
        rate = flow.plan.rate(speed)
        number = Fraction(run.window_s) * window.pauses.fps(speed)
        length = window.pauses.held(window.loaded[0], speed).seconds
        each.append((Fraction(run.window_s) - flow.frames_rx / rate) / number - length)
        unsure += (EDGE_FRAMES / number + 1) / rate
        lengths.append(length)
    apart = lengths[0] - lengths[1]
    return (each[0] - each[1]) / apart, abs(unsure / apart)


def _to_scale(run: TimingRun) -> Iterator[Check]:
    """By an exact clock: long pauses that end are as much longer than short ones as their quanta say (`off_scale`)."""
    first = run.course.windows[0]
    last = run.course.windows[-1]
    speed = run.subject.pair.speed_mbps
    alone = first.loaded == last.loaded and all(
        len(window.pauses.frames) == 1 and window.pauses.held(window.loaded[0], speed).times for window in (first, last)
    )
    is_known = run.exact and alone and not run.course.background_waits
    if not is_known or first.pauses.frames[0].quanta == last.pauses.frames[0].quanta:
        return
    off, unsure = off_scale(run, (first, last))
    place = at_priority(run.subject, first.loaded[0])
    expected = f"pauses in proportion to their quanta ({float(unsure):.2%} more or less)"
    seen = f"{float(abs(off)):.2%} {'longer' if off > 0 else 'shorter'}"
    yield fail_unless("length-to-scale", place, abs(off) <= unsure, expected, seen)


def timed_case(course: Callable[[Target], Course], targets: Targets) -> Procedure[TimingRun]:
    """A case of storms and what they leave of the line; `course` makes what it sends for its target."""
    return Procedure(lambda lab, target, before: measure(lab, course(target), target, before), validity, judge, targets)


TARGETS = {THROTTLED: all_lossless}
CASES: Table = {case: timed_case(course, TARGETS.get(case, each_lossless)) for case, course in COURSES.items()}
