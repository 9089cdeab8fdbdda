"""TIME-5: pause storms that hit running traffic, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ..lab.clock import wait_for
from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import (
    MAX_QUANTA, PAUSE_FRAME_BYTES, holding_fps, line_rate_fps, pause_seconds, response_seconds, storm_fps,
)
from ..model.checking import (
    at_port, at_priority, error_unless, everything_received, fail_unless, flows_of, never_taken, priority_of,
    sent_as_due,
)
from ..model.counters import DutCounters
from ..model.measurement import Readings, flow_numbers
from ..model.traffic import FlowPlan, FlowStats, Role
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Finding, OldProcedure as Procedure
from .targets import all_lossless
from .flows import DataLoad, data_flows
from .storm_sequence import pause_storm
from .timing_checks import EDGE_FRAMES, pauses_counted
from .engine import unmet
from .validity import counters_kept, links_kept, watchdog_stopped

STORMS = PlanCase("pause-storms-repeated", "TIME-5")
TIMES = 3
FRAME_BYTES = 1024
LOAD_PERCENT = 50  # for test and background traffic each: the line is full
REFRESHES = 2
CABLE_S = Fraction(4, 10**7)  # 40 m there and back, 5 ns a metre: generators stand nearer
START_LAG_S = 1  # of a generator whose flows do not start at the instant at which they are told to
DRAIN_DEADLINE_S = 10.0


@dataclass(frozen=True)
class Times:
    """How long things last, in seconds of the lab's clock.

    Attributes:
        lead, storm, gap: data before the first storm, each storm, the time after each.
        settled: time from a storm's beginning to the first count; 0: counted at the instant at which it begins.
    """

    lead: float
    storm: float
    gap: float
    settled: float

    @property
    def data(self) -> float:
        """How long data runs."""
        return self.lead + TIMES * (self.storm + self.gap)


def times(speed_mbps: int, exact: bool) -> Times:
    """By an exact clock multiples of the longest pause: a storm of three fills a switch's buffer (100 Gb/s: 1 ms, 6 MB
    of test traffic), in six it has had time to let go. By any other clock seconds, as generators start flows late."""
    if not exact:
        return Times(lead=2.0, storm=3.0, gap=3.0, settled=float(START_LAG_S))
    pause = float(pause_seconds(MAX_QUANTA, speed_mbps))
    return Times(2 * pause, 3 * pause, 6 * pause, 0.0)


def sender_let_go_s(speed_mbps: int, lasting: Times, frames: int) -> float:
    """Seconds from a storm's end to when its sender must have been let go: when the last of its `frames` pauses has
    lapsed, the port has had its response time, and a quarter of the longest pause P has drained enough for XON (100
    Gb/s: 0.5 MB of test traffic). Without XON the sender goes on when its own last pause lapses; such frames come every
    half P, so that is half P after the switch had room, or later."""
    pause = pause_seconds(MAX_QUANTA, speed_mbps)
    last = Fraction(frames - 1, storm_fps(MAX_QUANTA, speed_mbps, REFRESHES))
    return float(last + pause - Fraction(lasting.storm) + response_seconds(speed_mbps) + pause / 4)


@dataclass(frozen=True)
class Burst:
    """Statistics of all flows around one storm: when counting began, when it was stopped, when its sender must have
    been let go (empty: not looked at), and at the end of the gap."""

    begun: Mapping[str, FlowStats]
    stopped: Mapping[str, FlowStats]
    let_go: Mapping[str, FlowStats]
    over: Mapping[str, FlowStats]


@dataclass(frozen=True)
class StormsRun(Readings):
    """One run.

    Attributes:
        target: the paused priorities.
        times: how long things lasted.
        exact: whether they lasted exactly so long.
        bursts: the storms.
        storm_frames: pause frames of all storms.
        drained: flow name -> statistics at the end.
    """

    target: Target
    times: Times
    exact: bool
    bursts: Sequence[Burst]
    storm_frames: int
    drained: Mapping[str, FlowStats]

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        phases = {
            f"storm {number} {moment}": stats
            for number, burst in enumerate(self.bursts, 1)
            for moment, stats in vars(burst).items()
        }
        return {
            **self.counted(),
            "exact_clock": self.exact,
            "times": vars(self.times),
            "storm_frames": self.storm_frames,
            "flows": flow_numbers({**phases, "drained": self.drained}),
        }


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Runs the storms and judges what they did."""
    run = measure(lab, target, before)
    invalid = unmet([*watchdog_stopped(run), *links_kept(run), *counters_kept(run), *_applied(run)])
    return Finding([] if invalid else judge(run), invalid, run.evidence(), run.after)


CASES: Mapping[PlanCase, Procedure] = {STORMS: Procedure(carry_out, all_lossless)}


def measure(lab: Lab, target: Target, before: DutCounters | None) -> StormsRun:
    """Data, and storms in it.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    lasting = times(lab.subject.pair.speed_mbps, lab.clock.exact)
    traffic = storm_traffic(lab, target, lasting)
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    if before is None:
        lab.clock.sleep(lab.delays.port_s)
        before = lab.dut.counters()
    lab.generator.push(traffic)
    try:
        lab.generator.start(data)
        lab.clock.sleep(lasting.lead)
        bursts = [_burst(lab, traffic, lasting, storm) for storm in traffic.names(Role.STORM)]
        lab.generator.run_out(data, float(START_LAG_S))
        wait_for(lambda: is_empty(lab, data), DRAIN_DEADLINE_S, lab.clock)
        drained = lab.generator.stats(data)
    finally:
        lab.generator.stop()
    lab.clock.sleep(lab.delays.port_s)
    after = lab.dut.counters()
    sent = sum(flow.frames_tx for burst in bursts for flow in flows_of(burst.over.values(), Role.STORM))
    return StormsRun(lab.subject, before, after, after, target, lasting, lab.clock.exact, bursts, sent, drained)


def storm_traffic(lab: Lab, target: Target, lasting: Times) -> Traffic:
    """A storm for each time, and data that fills the line."""
    others = tuple(priority for priority in lab.subject.qos.reachable if priority not in target)
    data = data_flows(lab, [
        DataLoad(f"{role.value} flow", role, priorities, LOAD_PERCENT, lasting.data, FRAME_BYTES)
        for role, priorities in ((Role.TEST, target), (Role.BACKGROUND, others))
    ])
    storm = pause_storm(lab, target)
    storms = [replace(storm, name=f"{number} {storm.name}") for number in range(1, TIMES + 1)]
    return lab.builder.build([*storms, *data])


def _burst(lab: Lab, traffic: Traffic, lasting: Times, storm: str) -> Burst:
    """One storm, which is started beside the running data that it must hit, and the time after it."""
    names = [storm, *traffic.names(Role.TEST, Role.BACKGROUND)]
    if not lasting.settled:
        begun = lab.generator.stats(names)
    lab.generator.start([storm])
    if lasting.settled:
        lab.clock.sleep(lasting.settled)
        begun = lab.generator.stats(names)
    lab.clock.sleep(lasting.storm - lasting.settled)
    stopped = lab.generator.stats(names)
    lab.generator.stop([storm])
    frames = stopped[storm].frames_tx
    let_go_s = sender_let_go_s(lab.subject.pair.speed_mbps, lasting, frames) if lab.clock.exact else 0.0
    lab.clock.sleep(let_go_s)
    let_go = lab.generator.stats(traffic.names(Role.TEST)) if lab.clock.exact else {}
    lab.clock.sleep(lasting.gap - let_go_s)
    return Burst(begun, stopped, let_go, lab.generator.stats(names))


def is_empty(lab: Lab, data: list[str]) -> bool:
    """Whether every frame of these flows has arrived."""
    return all(flow.frames_rx >= flow.frames_tx for flow in lab.generator.stats(data).values())


def judge(run: StormsRun) -> list[Check]:
    """All checks of a run that was a measurement."""
    around = [_around(run, burst, f"storm {number}") for number, burst in enumerate(run.bursts, 1)]
    test, background = (flows_of(run.drained.values(), role) for role in (Role.TEST, Role.BACKGROUND))
    return [
        *(check for checks in around for check in checks),
        *never_taken(run.subject, run.drained.values(), run.pfc_sent(), f"in {TIMES} storms"),
        *everything_received("nothing-lost", run.subject, test, f"after {TIMES} storms"),
        *everything_received("background-unaffected", run.subject, background, f"in and after {TIMES} storms"),
        *pauses_counted(run, run.target, run.storm_frames),
    ]


def _around(run: StormsRun, burst: Burst, storm: str) -> Iterator[Check]:
    """The storm holds the priority in time, and afterwards it goes on."""
    for flow in flows_of(burst.begun.values(), Role.TEST):
        name, place = flow.plan.name, at_priority(run.subject, priority_of(flow))
        most, passed = most_passed(run, burst), burst.stopped[name].frames_rx - flow.frames_rx
        expected = f"at most {most} frames received from the beginning of {storm} to its end"
        yield fail_unless("stopped-in-time", place, passed <= most, expected, passed)
        least, passed = least_resumed(run, flow.plan), burst.over[name].frames_rx - burst.stopped[name].frames_rx
        expected = f"at least {least} frames received within {run.times.gap:.4f} s after {storm}"
        yield fail_unless("resumed", place, passed >= least, expected, passed)
        if burst.let_go:
            sent = burst.let_go[name].frames_tx - burst.stopped[name].frames_tx
            expected = f"frames sent soon after {storm}, as XON lets the sender go before its pause lapses"
            yield fail_unless("sender-resumed", place, sent > 0, expected, sent)


def most_passed(run: StormsRun, burst: Burst) -> int:
    """Frames of a tested priority that may arrive after a storm began: what the line takes in the time of a pause
    frame, the response time and both ways of the cable, as far as background traffic leaves it; one more for each of
    its flows, which come as they like in so short a time, and two that are under way at the ends. By a clock that is
    not exact they are counted when the storm has lasted for a while: none."""
    if not run.exact:
        return 0
    speed, background = run.subject.pair.speed_mbps, flows_of(burst.begun.values(), Role.BACKGROUND)
    late = response_seconds(speed) + CABLE_S + 1 / line_rate_fps(PAUSE_FRAME_BYTES, speed)
    left = 1 - sum(Fraction(flow.plan.percent or 0) for flow in background) / 100
    return floor(late * line_rate_fps(FRAME_BYTES, speed) * left) + len(background) + 2


def least_resumed(run: StormsRun, plan: FlowPlan) -> int:
    """Frames of a flow that must arrive in the gap after a storm: its part of the line, from when the last pause has
    lapsed and the port has had its response time; more of it waits than the line takes. By a clock that is not exact a
    second less: the generator stops late."""
    speed = run.subject.pair.speed_mbps
    lost = pause_seconds(MAX_QUANTA, speed) + response_seconds(speed) + (0 if run.exact else START_LAG_S)
    tolerance = Fraction(run.subject.tolerances.load_tolerance_percent) / 100 if not run.exact else Fraction(0)
    part = line_rate_fps(plan.frame_bytes, speed) * Fraction(plan.percent or 0) / 100
    return ceil(part * (Fraction(run.times.gap) - lost) * (1 - tolerance)) - EDGE_FRAMES


def _applied(run: StormsRun) -> Iterator[Check]:
    """Each storm held for its time and was stopped, and the load was there."""
    speed, place = run.subject.pair.speed_mbps, at_port(run.subject, run.subject.pair.rx.port)
    least = floor(holding_fps(MAX_QUANTA, speed) * Fraction(run.times.storm))
    for burst in run.bursts:
        for flow in flows_of(burst.stopped.values(), Role.STORM):
            expected = f"a storm of at least {least} pause frames"
            yield error_unless("storm-ran", place, flow.frames_tx >= least, expected, flow.frames_tx)
        for flow in flows_of(burst.over.values(), Role.STORM):
            seen = "running" if flow.transmitting else "stopped"
            yield error_unless("storm-stopped", place, seen == "stopped", "the storm stopped after its time", seen)
    pushed = run.pfc_sent()
    for flow in run.drained.values():
        yield sent_as_due(run.subject, flow, pushed[priority_of(flow)], False, "in and between the storms")
