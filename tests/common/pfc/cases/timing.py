"""TIME-1 to TIME-4: pauses that come at a fixed rate and are over before the next one. What they leave of the line says
how long each of them lasted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES, line_rate_fps, pause_seconds
from ..model.checking import (
    all_at_rate, at_least, at_most, at_port, at_priority, every_pause_counted, everything_received, never_taken,
    no_pause_sent, priority_of,
)
from ..model.counters import DutCounters
from ..model.measurement import CaseRun, PortUnderTest, flow_numbers
from ..model.qos import PRIORITIES
from ..model.response_time import response_seconds
from ..model.traffic import FlowPlan, FlowStats, Role, Stats, pfc_frame
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Procedure, Table, sending, settled_counters
from .flows import DataLoad, data_flows, later
from .storm_sequence import drain
from .targets import all_lossless, each_lossless
from .validity import load_applied, storm_sent, storm_stopped, undisturbed

ZERO_RESUMES = PlanCase("pause-zero-resumes", "TIME-1")
PAUSE_LENGTH = PlanCase("pause-length", "TIME-2")
PAUSE_RATE = PlanCase("pause-rate", "TIME-3")
THROTTLED = PlanCase("pause-throttles", "TIME-4")
FRAME_BYTES = 1024
# By an exact clock a window of 12 of the longest pauses is enough, and costs little; by any other one flows start and
# end when they like, within some hundred milliseconds, and only seconds say something. Both hold whole periods of the
# pauses, so that it does not matter where in a period they begin.
WINDOW_EXACT_S = Fraction(4, 1000)  # at 100 Gb/s, in proportion to a pause at other speeds
WINDOW_S = 2.0
DRAIN_EXACT_S = 0.002  # at 100 Gb/s: 16 MB take 1.3 ms
DRAIN_S = 1.0
EDGE_FRAMES = 4  # one under way at each end of a window, and one being stored in the switch at each


@dataclass(frozen=True)
class Pauses:
    """Pauses of one length at one rate.

    Attributes:
        quanta: the time in each pause frame.
        count: so many in 4 ms of a port of 100 Gb/s, and in proportion at other speeds, so that the paused share of
            the time is the same at every speed.
        ended_after: the part of those 4 ms after which a frame with a time of 0 ends each pause; 0: it lapses.
    """

    quanta: int
    count: int
    ended_after: int = 0

    def fps(self, speed_mbps: int) -> int:
        """Pause frames a second."""
        return floor(self.count * speed_mbps / (WINDOW_EXACT_S * 100_000))

    def period_s(self, speed_mbps: int) -> float:
        """Seconds from one pause frame to the next."""
        return 1 / self.fps(speed_mbps)

    def lasting_s(self, speed_mbps: int) -> Fraction:
        """Seconds that each pause is meant to last."""
        if self.ended_after:
            return WINDOW_EXACT_S * 100_000 / speed_mbps / self.ended_after
        return pause_seconds(self.quanta, speed_mbps)

    def named(self, speed_mbps: int) -> str:
        """For messages."""
        end = f"ended after {float(self.lasting_s(speed_mbps)) * 1e6:.1f} us " if self.ended_after else ""
        return f"pauses of {self.quanta} quanta {end}at {self.fps(speed_mbps)} a second"


@dataclass(frozen=True)
class Window:
    """One storm and the data in it.

    Attributes:
        number: its place in the course, from 1 on.
        pauses: the storm.
    """

    number: int
    pauses: Pauses

    @property
    def phase(self) -> str:
        """The phase of its flows; the first is the case's first."""
        return f"Window {self.number}" if self.number > 1 else ""

    @property
    def at_end(self) -> str:
        """The moment at which data ended and the storm still ran."""
        return f"at the end of window {self.number}"

    @property
    def drained(self) -> str:
        """The moment when the storm was over and what was held had left."""
        return f"drained after window {self.number}"


@dataclass(frozen=True)
class Course:
    """What a case sends, one after the other.

    Attributes:
        pauses: each of them in a window of its own.
        test_percent, background_percent: load of all test (background) flows together, percent of the line.
    """

    pauses: tuple[Pauses, ...]
    test_percent: int = 90
    background_percent: int = 10

    @property
    def windows(self) -> list[Window]:
        """The pauses, each with its window."""
        return [Window(number, pauses) for number, pauses in enumerate(self.pauses, 1)]

    @property
    def fills_the_line(self) -> bool:
        """Whether test traffic waits for the line after each pause, so that what it gets of it can be computed."""
        return self.test_percent + self.background_percent == 100


COURSES: Mapping[PlanCase, Course] = {
    ZERO_RESUMES: Course((Pauses(MAX_QUANTA, 6, ended_after=40),)),
    PAUSE_LENGTH: Course((Pauses(MAX_QUANTA, 6), Pauses(16_384, 24), Pauses(4_096, 96))),
    PAUSE_RATE: Course((Pauses(16_384, 8), Pauses(16_384, 32))),
    THROTTLED: Course((Pauses(16_384, 12),), test_percent=50, background_percent=25),
}


@dataclass(frozen=True)
class TimingRun(CaseRun):
    """One run.

    Attributes:
        course: what was sent.
        window_s: how long data ran in each window.
        exact: whether windows begin and end at the instant that they are meant to.
    """

    course: Course
    window_s: float
    exact: bool

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record: flows by window."""
        windows = [self._window_numbers(window) for window in self.course.windows]
        return {**self.counted(), "exact_clock": self.exact, "phases": windows}

    def _window_numbers(self, window: Window) -> dict[str, Any]:
        pauses = window.pauses
        speed = self.subject.pair.speed_mbps
        moments = {"at_end": self.phases[window.at_end], "drained": self.phases[window.drained]}
        return {
            "quanta": pauses.quanta,
            "fps": pauses.fps(speed),
            "pause_us": float(pauses.lasting_s(speed)) * 1e6,
            "window_s": self.window_s,
            "frames_due": due_by_window_end(self, window) if self.course.fills_the_line else None,
            "flows": flow_numbers(moments),
        }


def measure(lab: Lab, case: PlanCase, target: Target, before: DutCounters) -> TimingRun:
    """Each storm in turn, with the same data."""
    course = COURSES[case]
    traffic = timed_traffic(lab, course, target)
    phases: dict[str, Stats] = {}
    with sending(lab, traffic):
        for window in course.windows:
            phases |= _send(lab, traffic, window)
    after = settled_counters(lab)
    return TimingRun(lab.subject, before, after, after, target, phases, course, window_s(lab), lab.clock.exact)


def _send(lab: Lab, traffic: Traffic, window: Window) -> dict[str, Stats]:
    """Pauses, a period later data for a window, and what had come by its end; then what was held drains."""
    names = traffic.names(phase=window.phase)
    lab.generator.start(names)
    lab.clock.sleep(lead_s(lab, window.pauses) + window_s(lab))
    at_end = lab.generator.stats(names)
    lab.generator.stop(traffic.names(Role.STORM, phase=window.phase))
    data = traffic.names(Role.TEST, Role.BACKGROUND, phase=window.phase)
    lab.generator.run_out(data, scaled_s(lab.subject, DRAIN_EXACT_S) if lab.clock.exact else DRAIN_S)
    return {window.at_end: at_end, window.drained: drain(lab, names)}


def lead_s(lab: Lab, pauses: Pauses) -> float:
    """How long pauses come before the data of their window."""
    return pauses.period_s(lab.subject.pair.speed_mbps) if lab.clock.exact else DRAIN_S


def timed_traffic(lab: Lab, course: Course, target: Target) -> Traffic:
    """For each window of a course its storm, and data of its own."""
    others = lab.subject.qos.others(target)
    flows: list[FlowPlan] = []
    for window in course.windows:
        loads = [
            DataLoad(f"{role.value} flow", role, priorities, percent, window_s(lab), FRAME_BYTES,
                     delay_s=lead_s(lab, window.pauses))
            for role, priorities, percent in (
                (Role.TEST, target, course.test_percent), (Role.BACKGROUND, others, course.background_percent)
            )
        ]
        own = [*storm_flows(lab, window.pauses, target), *data_flows(lab, loads)]
        flows += later(own, window.phase) if window.phase else own
    return lab.builder.build(flows)


def storm_flows(lab: Lab, pauses: Pauses, target: Target) -> list[FlowPlan]:
    """The flow of pauses, and that of the frames that end them."""
    speed = lab.subject.pair.speed_mbps
    xoff, *xon = _names(lab, pauses)
    fps = pauses.fps(speed)
    frame = pfc_frame(target, pauses.quanta)
    flows = [FlowPlan(xoff, Role.STORM, None, PAUSE_FRAME_BYTES, fps=fps, pause=frame)]
    return flows + [
        FlowPlan(
            name, Role.STORM, None, PAUSE_FRAME_BYTES, fps=fps, pause=pfc_frame(target, 0),
            delay_ns=round(pauses.lasting_s(speed) * 10**9)
        )
        for name in xon
    ]


def _names(lab: Lab, pauses: Pauses) -> list[str]:
    """The storm flows of such pauses."""
    xoff = f"pauses of {pauses.quanta} quanta {pauses.count} in a window"
    return [lab.builder.named(name) for name in ([xoff, f"ends of {xoff}"] if pauses.ended_after else [xoff])]


def scaled_s(subject: PortUnderTest, seconds: float) -> float:
    """A time that is meant for 100 Gb/s, in proportion to the length of a pause at the port's speed."""
    return seconds * 100_000 / subject.pair.speed_mbps


def window_s(lab: Lab) -> float:
    """How long data runs, in seconds of the lab's clock."""
    return scaled_s(lab.subject, float(WINDOW_EXACT_S)) if lab.clock.exact else WINDOW_S


def validity(run: TimingRun) -> Iterator[Check]:
    """The storms came at their rate and stopped, and the load was there."""
    yield from undisturbed(run)
    place = at_port(run.subject)
    for window in run.course.windows:
        for storm in run.flows(window.at_end, Role.STORM):
            least = floor((storm.plan.fps or 0) * run.window_s * (1 - _tolerance(run)))
            yield from storm_sent(place, [storm], least)
        drained = run.flows(window.drained, Role.STORM)
        yield from storm_stopped(place, drained, "the storm stopped when all had drained")
        yield from load_applied(run.subject, run.flows(window.at_end), run.pfc_sent(), "in the window")


def judge(run: TimingRun) -> Iterator[Check]:
    """What each storm must leave of the line, and that all pauses were counted."""
    storms: list[FlowStats] = []
    for window in run.course.windows:
        yield from _of_window(run, window)
        storms += run.flows(window.drained, Role.STORM)
    yield from pauses_counted(run, storms)


def _of_window(run: TimingRun, window: Window) -> Iterator[Check]:
    when = f"in {window.pauses.named(run.subject.pair.speed_mbps)}"
    test, background = (run.flows(window.drained, role) for role in (Role.TEST, Role.BACKGROUND))
    data = run.flows(window.drained, Role.TEST, Role.BACKGROUND)
    yield from never_taken(run.subject, data, run.pfc_sent(), when)
    if run.course.fills_the_line:
        yield from _share_left(run, window, when)
    else:  # what is left of it is more than is asked for: all of it is taken
        yield from all_at_rate("throughput", run.subject, data, when)
    yield from everything_received("nothing-lost", run.subject, test, when)
    yield from everything_received("background-unaffected", run.subject, background, when)


def due_by_window_end(run: TimingRun, window: Window) -> tuple[int, int]:
    """Least and most frames of the tested priority that may have come by the end of a window.

    The window has W seconds and n pauses of P seconds, whole periods of them. Between pauses test traffic has its part
    of the line, as more waits for it than the line takes. What a pause takes from it differs from P by at most the
    response time R (the pause may begin so late after its frame, while its end does not move, and may be so late to
    end) and one frame time F (the frame under way is sent to its end; what was let go waits for the one of another
    priority): W - n (P + R + F) to W - n (P - R - F), times the part of the line. At the window's ends a few frames are
    under way (`EDGE_FRAMES`). Where a full line is loaded with less than 100 % (`tolerances`), that part is between
    what test traffic asks for and what background traffic leaves.

    By a clock that is not exact frames are counted when all is quiet: those that the switch still held at the end of
    the window have come too, at most what its buffer holds, and the generator's own start and clock may cost what
    `tolerances` say.
    """
    speed = run.subject.pair.speed_mbps
    test = run.flows(window.at_end, Role.TEST)[0].plan
    rate = line_rate_fps(test.frame_bytes, speed)
    seconds = Fraction(run.window_s)
    asked = Fraction(test.percent or 0) / 100
    left = 1 - _background_part(run, window, rate * seconds)
    pauses = seconds * window.pauses.fps(speed)
    lasting = window.pauses.lasting_s(speed)
    unsure = response_seconds(speed) + 1 / rate
    least = rate * asked * (seconds - pauses * (lasting + unsure)) - EDGE_FRAMES
    most = rate * left * (seconds - pauses * (lasting - unsure)) + EDGE_FRAMES
    if run.exact:
        return ceil(least), floor(most)
    held = run.subject.buffer.size_bytes // test.frame_bytes
    return ceil(least * (1 - _tolerance(run))), floor(most + held)


def _background_part(run: TimingRun, window: Window, line_frames: Fraction) -> Fraction:
    """The part of the line that background traffic took: what it asked for, or what came of it where that is less
    because frames of it were lost (`background-unaffected` says so)."""
    background = run.flows(window.at_end if run.exact else window.drained, Role.BACKGROUND)
    asked = sum((Fraction(flow.plan.percent or 0) / 100 for flow in background), Fraction(0))
    return min(asked, sum(flow.frames_rx for flow in background) / line_frames)


def _tolerance(run: TimingRun) -> Fraction:
    return Fraction(run.subject.tolerances.load_tolerance_percent) / 100


def _share_left(run: TimingRun, window: Window, when: str) -> Iterator[Check]:
    least, most = due_by_window_end(run, window)
    for flow in run.flows(window.at_end if run.exact else window.drained, Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        yield at_most("paused-long-enough", place, most, f"frames received {when}", flow.frames_rx)
        yield at_least("resumed-in-time", place, least, f"frames received {when}", flow.frames_rx)


def pauses_counted(run: CaseRun, storms: Iterable[FlowStats]) -> Iterator[Check]:
    """The switch counted each pause frame of these storms for the tested priorities, XON too, and held no other
    priority's sender."""
    sent = sum(storm.frames_tx for storm in storms)
    for priority in PRIORITIES:
        yield every_pause_counted(run, priority, sent if priority in run.tested else 0)
        if priority not in run.tested:
            yield from no_pause_sent("no-other-back-pressure", run, [priority])


CASES: Table = {
    ZERO_RESUMES: Procedure(measure, validity, judge, each_lossless),
    PAUSE_LENGTH: Procedure(measure, validity, judge, each_lossless),
    PAUSE_RATE: Procedure(measure, validity, judge, each_lossless),
    THROTTLED: Procedure(measure, validity, judge, all_lossless),
}
