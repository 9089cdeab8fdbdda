"""TIME-1 to TIME-4: one run, whether it was a measurement, and what pauses must leave of the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ..model.arithmetic import line_rate_fps, pause_seconds, response_seconds
from ..model.checking import (
    at_port, at_priority, error_unless, everything_received, fail_unless, flows_of, least_load, never_taken,
    priority_of, sent_as_due,
)
from ..model.counters import changed
from ..model.measurement import Readings, flow_numbers
from ..model.traffic import FlowStats, Role
from ..record.case import Target
from ..record.verdict import Check
from .engine import unmet
from .validity import counters_kept, links_kept, watchdog_stopped

WINDOW_AT_100G_S = Fraction(4, 1000)
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
        return floor(self.count * speed_mbps / (WINDOW_AT_100G_S * 100_000))

    def period_s(self, speed_mbps: int) -> float:
        """Seconds from one pause frame to the next."""
        return 1 / self.fps(speed_mbps)

    def lasting_s(self, speed_mbps: int) -> Fraction:
        """Seconds that each pause is meant to last."""
        if self.ended_after:
            return WINDOW_AT_100G_S * 100_000 / speed_mbps / self.ended_after
        return pause_seconds(self.quanta, speed_mbps)

    def named(self, speed_mbps: int) -> str:
        """For messages."""
        end = f"ended after {float(self.lasting_s(speed_mbps)) * 1e6:.1f} us " if self.ended_after else ""
        return f"pauses of {self.quanta} quanta {end}at {self.fps(speed_mbps)} a second"


@dataclass(frozen=True)
class Phase:
    """One storm and the data in it.

    Attributes:
        pauses: the storm.
        window_s: how long data ran.
        at_end: flow name -> statistics when data ended and the storm still ran.
        drained: the same when the storm was over and what was held had left.
    """

    pauses: Pauses
    window_s: float
    at_end: Mapping[str, FlowStats]
    drained: Mapping[str, FlowStats]


@dataclass(frozen=True)
class TimingRun(Readings):
    """One run.

    Attributes:
        target: the paused priorities.
        phases: its storms.
        fills_the_line: whether data asks for all of the line.
        exact: whether windows begin and end at the instant that they are meant to.
    """

    target: Target
    phases: Sequence[Phase]
    fills_the_line: bool
    exact: bool

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        speed = self.subject.pair.speed_mbps
        return {
            **self.counted(),
            "exact_clock": self.exact,
            "phases": [
                {
                    "quanta": phase.pauses.quanta,
                    "fps": phase.pauses.fps(speed),
                    "pause_us": float(phase.pauses.lasting_s(speed)) * 1e6,
                    "window_s": phase.window_s,
                    "frames_due": due_by_window_end(self, phase) if self.fills_the_line else None,
                    "flows": flow_numbers({"at_end": phase.at_end, "drained": phase.drained}),
                }
                for phase in self.phases
            ],
        }


def validity(run: TimingRun) -> list[Check]:
    """Reasons why the run was no measurement, best cause first; empty for a good run."""
    return unmet([*watchdog_stopped(run), *links_kept(run), *counters_kept(run), *_applied(run)])


def judge(run: TimingRun) -> list[Check]:
    """All checks of a run that was a measurement."""
    storms = [flow for phase in run.phases for flow in flows_of(phase.drained.values(), Role.STORM)]
    counted = pauses_counted(run, run.target, sum(flow.frames_tx for flow in storms))
    return [*(check for phase in run.phases for check in _of_phase(run, phase)), *counted]


def _of_phase(run: TimingRun, phase: Phase) -> Iterator[Check]:
    when = f"in {phase.pauses.named(run.subject.pair.speed_mbps)}"
    drained = phase.drained.values()
    data = flows_of(drained, Role.TEST, Role.BACKGROUND)
    yield from never_taken(run.subject, data, run.pfc_sent(), when)
    yield from _share_left(run, phase, when) if run.fills_the_line else _throughput(run, drained, when)
    yield from everything_received("nothing-lost", run.subject, flows_of(drained, Role.TEST), when)
    yield from everything_received("background-unaffected", run.subject, flows_of(drained, Role.BACKGROUND), when)


def due_by_window_end(run: TimingRun, phase: Phase) -> tuple[int, int]:
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
    speed, test = run.subject.pair.speed_mbps, flows_of(phase.at_end.values(), Role.TEST)[0].plan
    rate, window = line_rate_fps(test.frame_bytes, speed), Fraction(phase.window_s)
    asked, left = Fraction(test.percent or 0) / 100, 1 - _background_part(run, phase, rate * window)
    pauses, lasting = window * phase.pauses.fps(speed), phase.pauses.lasting_s(speed)
    unsure = response_seconds(speed) + 1 / rate
    least = rate * asked * (window - pauses * (lasting + unsure)) - EDGE_FRAMES
    most = rate * left * (window - pauses * (lasting - unsure)) + EDGE_FRAMES
    if run.exact:
        return ceil(least), floor(most)
    held = run.subject.buffer.size_bytes // test.frame_bytes
    return ceil(least * (1 - _tolerance(run))), floor(most + held)


def _background_part(run: TimingRun, phase: Phase, line_frames: Fraction) -> Fraction:
    """The part of the line that background traffic took: what it asked for, or what came of it where that is less
    because frames of it were lost (`background-unaffected` says so)."""
    background = flows_of((phase.at_end if run.exact else phase.drained).values(), Role.BACKGROUND)
    asked = sum((Fraction(flow.plan.percent or 0) / 100 for flow in background), Fraction(0))
    return min(asked, sum(flow.frames_rx for flow in background) / line_frames)


def _tolerance(run: TimingRun) -> Fraction:
    return Fraction(run.subject.tolerances.load_tolerance_percent) / 100


def _share_left(run: TimingRun, phase: Phase, when: str) -> Iterator[Check]:
    least, most = due_by_window_end(run, phase)
    for flow in flows_of((phase.at_end if run.exact else phase.drained).values(), Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        expected = f"at most {most} frames received {when}"
        yield fail_unless("paused-long-enough", place, flow.frames_rx <= most, expected, flow.frames_rx)
        expected = f"at least {least} frames received {when}"
        yield fail_unless("resumed-in-time", place, flow.frames_rx >= least, expected, flow.frames_rx)


def _throughput(run: TimingRun, drained: Iterable[FlowStats], when: str) -> Iterator[Check]:
    """What is left of the line is more than is asked for: all of it is taken."""
    for flow in flows_of(drained, Role.TEST, Role.BACKGROUND):
        place, least = at_priority(run.subject, priority_of(flow)), least_load(run.subject, flow.plan)
        expected = f"at least {least} frames received {when}"
        yield fail_unless("throughput", place, flow.frames_rx >= least, expected, flow.frames_rx)


def pauses_counted(run: Readings, target: Target, sent: int) -> Iterator[Check]:
    """The switch counted each of `sent` pause frames for the priorities of `target`, XON too, and held no other
    priority's sender."""
    tx_port, received = run.subject.pair.tx.port, run.pfc_received_in_all()
    pushed = changed(run.before.pfc_tx, run.after.pfc_tx, tx_port)
    tolerances = run.subject.tolerances
    for priority in range(8):
        place, due = at_priority(run.subject, priority), sent if priority in target else 0
        expected = f"{due} PFC frames in the receive counter ({tolerances.more_or_less})"
        met = tolerances.alike(received[priority], due)
        yield fail_unless("every-pause-counted", place, met, expected, received[priority])
        if priority not in target:
            expected = f"0 PFC frames sent out of {tx_port}"
            yield fail_unless("no-other-back-pressure", place, not pushed[priority], expected, pushed[priority])


def _applied(run: TimingRun) -> Iterator[Check]:
    """The storms must have come at their rate and stopped, and the load must have been there."""
    for phase in run.phases:
        place = at_port(run.subject, run.subject.pair.rx.port)
        for flow in flows_of(phase.at_end.values(), Role.STORM):
            least = floor((flow.plan.fps or 0) * phase.window_s * (1 - _tolerance(run)))
            yield error_unless(
                "storm-ran", place, flow.frames_tx >= least, f"at least {least} pause frames", flow.frames_tx
            )
        for flow in flows_of(phase.drained.values(), Role.STORM):
            seen = "running" if flow.transmitting else "stopped"
            yield error_unless(
                "storm-stopped", place, seen == "stopped", "the storm stopped when all had drained", seen
            )
        pushed = run.pfc_sent()
        for flow in flows_of(phase.at_end.values(), Role.TEST, Role.BACKGROUND):
            yield sent_as_due(run.subject, flow, pushed[priority_of(flow)], False, "in the window")
