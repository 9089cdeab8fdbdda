"""TIME-1 to TIME-4: pauses that come at a fixed rate and are over before the next one. What they leave of the line says
how long each of them lasted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from ..lab.clock import wait_for
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES
from ..model.counters import DutCounters
from ..model.measurement import PortUnderTest
from ..model.traffic import FlowPlan, Role, pfc_frame
from ..record.case import PlanCase, Target
from . import timing_storms
from .engine import Finding, OldProcedure as Procedure
from .targets import all_lossless, each_lossless
from .flows import DataLoad, data_flows, later
from .timing_checks import Pauses, Phase, TimingRun, judge, validity

logger = logging.getLogger(__name__)

ZERO_RESUMES = PlanCase("pause-zero-resumes", "TIME-1")
PAUSE_LENGTH = PlanCase("pause-length", "TIME-2")
PAUSE_RATE = PlanCase("pause-rate", "TIME-3")
THROTTLED = PlanCase("pause-throttles", "TIME-4")
FRAME_BYTES = 1024
# By an exact clock a window of 12 of the longest pauses is enough, and costs little; by any other one flows start and
# end when they like, within some hundred milliseconds, and only seconds say something. Both hold whole periods of the
# pauses, so that it does not matter where in a period they begin.
WINDOW_EXACT_S = 0.004  # at 100 Gb/s, in proportion to a pause at other speeds
WINDOW_S = 2.0
DRAIN_EXACT_S = 0.002  # at 100 Gb/s: 16 MB take 1.3 ms
DRAIN_S = 1.0
DRAIN_DEADLINE_S = 10.0


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
    def fills_the_line(self) -> bool:
        """Whether test traffic waits for the line after each pause, so that what it gets of it can be computed."""
        return self.test_percent + self.background_percent == 100


COURSES: Mapping[PlanCase, Course] = {
    ZERO_RESUMES: Course((Pauses(MAX_QUANTA, 6, ended_after=40),)),
    PAUSE_LENGTH: Course((Pauses(MAX_QUANTA, 6), Pauses(16_384, 24), Pauses(4_096, 96))),
    PAUSE_RATE: Course((Pauses(16_384, 8), Pauses(16_384, 32))),
    THROTTLED: Course((Pauses(16_384, 12),), test_percent=50, background_percent=25),
}


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Runs the course of a case and judges it."""
    run = measure(lab, COURSES[case], target, before)
    invalid = validity(run)
    return Finding([] if invalid else judge(run), invalid, run.evidence(), run.after)


CASES: Mapping[PlanCase, Procedure] = {
    ZERO_RESUMES: Procedure(carry_out, each_lossless),
    PAUSE_LENGTH: Procedure(carry_out, each_lossless),
    PAUSE_RATE: Procedure(carry_out, each_lossless),
    THROTTLED: Procedure(carry_out, all_lossless),
    **timing_storms.CASES,
}


def measure(lab: Lab, course: Course, target: Target, before: DutCounters | None) -> TimingRun:
    """Each storm in turn, with the same data.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    traffic = timed_traffic(lab, course, target)
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    lab.generator.push(traffic)
    try:
        phases = [_phase(lab, traffic, number, pauses) for number, pauses in enumerate(course.pauses)]
    finally:
        lab.generator.stop()
    lab.clock.sleep(lab.delays.port_s)
    after = lab.dut.counters()
    return TimingRun(lab.subject, before, after, after, target, phases, course.fills_the_line, lab.clock.exact)


def _phase(lab: Lab, traffic: Traffic, number: int, pauses: Pauses) -> Phase:
    """Pauses, a period later data for a window, and what had come by its end; then what was held drains."""
    names = traffic.names(phase=_window(number))
    storm = traffic.names(Role.STORM, phase=_window(number))
    data = traffic.names(Role.TEST, Role.BACKGROUND, phase=_window(number))
    lab.generator.start(names)
    lab.clock.sleep(lead_s(lab, pauses))
    lab.clock.sleep(window_s(lab))
    at_end = lab.generator.stats(names)
    lab.generator.stop(storm)
    lab.generator.run_out(data, scaled_s(lab.subject, DRAIN_EXACT_S) if lab.clock.exact else DRAIN_S)
    wait_for(lambda: timing_storms.is_empty(lab, data), DRAIN_DEADLINE_S, lab.clock)
    return Phase(pauses, window_s(lab), at_end, lab.generator.stats(names))


def _window(number: int) -> str:
    """The phase of a window of the course; the first is the case's first."""
    return f"Window {number + 1}" if number else ""


def lead_s(lab: Lab, pauses: Pauses) -> float:
    """How long pauses come before the data of their window."""
    return pauses.period_s(lab.subject.pair.speed_mbps) if lab.clock.exact else DRAIN_S


def timed_traffic(lab: Lab, course: Course, target: Target) -> Traffic:
    """For each window of a course its storm, and data of its own."""
    others = tuple(priority for priority in lab.subject.qos.reachable if priority not in target)
    flows: list[FlowPlan] = []
    for number, pauses in enumerate(course.pauses):
        loads = [
            DataLoad(f"{role.value} flow", role, priorities, percent, window_s(lab), FRAME_BYTES,
                     delay_s=lead_s(lab, pauses))
            for role, priorities, percent in (
                (Role.TEST, target, course.test_percent), (Role.BACKGROUND, others, course.background_percent)
            )
        ]
        own = [*storm_flows(lab, pauses, target), *data_flows(lab, loads)]
        flows += later(own, _window(number)) if number else own
    return lab.builder.build(flows)


def storm_flows(lab: Lab, pauses: Pauses, target: Target) -> list[FlowPlan]:
    """The flow of pauses, and that of the frames that end them."""
    speed = lab.subject.pair.speed_mbps
    xoff, *xon = _names(lab, pauses)
    fps, frame = pauses.fps(speed), pfc_frame(target, pauses.quanta)
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
    return scaled_s(lab.subject, WINDOW_EXACT_S) if lab.clock.exact else WINDOW_S
