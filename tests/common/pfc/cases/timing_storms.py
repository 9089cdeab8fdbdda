"""TIME-5: pause storms that hit running traffic, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ..lab.generator import AT_ONCE, GeneratorTiming, Traffic
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES, line_rate_fps, pause_seconds, storm_fps
from ..model.cables import cable_metres, cable_seconds, said_cable_length
from ..model.checking import (
    at_least, at_most, at_port, at_priorities, at_priority, at_sender, error_unless, everything_received, fail_unless,
    never_taken, priority_of,
)
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import CaseRun
from ..model.response_time import response_seconds
from ..model.traffic import FlowStats, Role, Stats
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .engine import Procedure, Table, sending, settled_counters
from .data_loads import DataLoad, data_flows
from .scheduler_shares import HEAVIEST, divide_beside, read_scheduler, turn_frames
from .storm_length import storm_held
from .storm_sequence import drain, pause_storm
from .pause_counts import pauses_counted
from .timing import EDGE_FRAMES, load_tolerance, staggered
from .targets import all_lossless
from .validity import load_applied, storm_stopped, undisturbed

STORMS = PlanCase("pause-storms-repeated", "TIME-5")
TIMES = 3
STORM_NAMES = tuple(f"storm {number}" for number in range(1, TIMES + 1))
FRAME_BYTES = 1024
LOAD_PERCENT = 50  # for test and background traffic each: the line is full
REFRESHES = 2
CABLE_M = 40  # where the switch does not say: generators stand nearer
TURN_FRAMES = 2  # of a queue that is served in turns, where its weight is not known: 15 x 128 bytes are two frames
LOOKS = 4  # at the flows, for each storm: one before it is started
START_LAG_S = 1  # of a generator whose flows do not start at the instant at which they are told to


@dataclass(frozen=True)
class Times:
    """How long things last, in seconds of the lab's clock.

    Attributes:
        lead, storm, gap: data before the first storm, each storm, the time after each.
        settled: time from a storm's beginning to the first count; 0: counted at the instant at which it begins.
        late: how late the generators are in all, for each storm: they start it and stop it, and are read four times.
    """

    lead: float
    storm: float
    gap: float
    settled: float
    late: float = 0.0

    @property
    def data(self) -> float:
        """How long data runs; where what is told takes its time, a while longer for each storm."""
        return self.lead + TIMES * (self.storm + self.gap + self.settled + self.late)


def times(speed_mbps: int, exact: bool, timing: GeneratorTiming = AT_ONCE) -> Times:
    """By an exact clock multiples of the longest pause: a storm of three fills a switch's buffer (100 Gb/s: 1 ms, 6 MB
    of test traffic), in six it has had time to let go. By any other clock seconds, as generators start flows late."""
    if not exact:
        late_s = timing.start_s + timing.stop_s + LOOKS * timing.refresh_s
        return Times(lead=2.0, storm=3.0, gap=3.0, settled=float(START_LAG_S), late=late_s)
    pause = float(pause_seconds(MAX_QUANTA, speed_mbps))
    return Times(2 * pause, 3 * pause, 6 * pause, 0.0)


def held_s(speed_mbps: int, lasting: Times, frames: int) -> Fraction:
    """Seconds from a storm's end to when the time of the last of its `frames` pauses is over, from its first bit on."""
    last = Fraction(frames - 1, storm_fps(MAX_QUANTA, speed_mbps, REFRESHES))
    return last + pause_seconds(MAX_QUANTA, speed_mbps) - Fraction(lasting.storm)


def lapsed_s(speed_mbps: int, lasting: Times, frames: int) -> Fraction:
    """Seconds from a storm's end to when the last of its `frames` pauses has lapsed and the port has had its response
    time."""
    return held_s(speed_mbps, lasting, frames) + response_seconds(speed_mbps)


def sender_let_go_s(speed_mbps: int, lasting: Times, frames: int) -> float:
    """Seconds from a storm's end to when its sender must have been let go: when the last of its `frames` pauses has
    lapsed (`lapsed_s`), and a quarter of the longest pause P has drained enough for XON (100 Gb/s: 0.5 MB of test
    traffic). Without XON the sender goes on when its own last pause lapses; such frames come every half P, so that is
    half P after the switch had room, or later."""
    return float(lapsed_s(speed_mbps, lasting, frames) + pause_seconds(MAX_QUANTA, speed_mbps) / 4)


@dataclass(frozen=True)
class StormsRun(CaseRun):
    """One run. Around each storm, `storm 1`, flows are looked at when counting began (`storm 1 begun`), when it was
    stopped (`stopped`), when the time of its last pause was over (`held`, by an exact clock only), when its sender must
    have been let go (`let_go`, likewise), and at the end of the gap (`over`); and at the end when all have drained
    (`drained`).

    Attributes:
        times: how long things lasted.
        exact: whether they lasted exactly so long.
        cable_m: length of the cable of the port under test.
        turn_frames: the most frames that a turn of a tested queue has.
        parts: priority -> its part of the line while all tested ones have more than enough waiting; empty: not known.
    """

    times: Times
    exact: bool
    cable_m: int = CABLE_M
    turn_frames: int = TURN_FRAMES
    parts: Mapping[int, Fraction] = field(default_factory=dict)

    @property
    def storms(self) -> list[FlowStats]:
        """All storms, each when it was over."""
        return [flow for storm in STORM_NAMES for flow in self.flows(f"{storm} over", Role.STORM)]

    def details(self) -> dict[str, Any]:
        """How long things lasted, and how many pause frames there were."""
        frames = sum(storm.frames_tx for storm in self.storms)
        return {"exact_clock": self.exact, "times": vars(self.times), "storm_frames": frames}


def measure(lab: Lab, target: Target, before: DutCounters) -> StormsRun:
    """Data, and storms in it."""
    lasting = times(lab.subject.pair.speed_mbps, lab.clock.exact, lab.generator.timing)
    traffic = storm_traffic(lab, target, lasting)
    phases: dict[str, Stats] = {}
    data = traffic.names(Role.TEST, Role.BACKGROUND)
    with sending(lab, traffic):
        lab.generator.start(data)
        lab.clock.sleep(lasting.lead)
        for storm, flow in zip(STORM_NAMES, traffic.names(Role.STORM), strict=True):
            looks = _send(lab, traffic, lasting, flow)
            phases |= {f"{storm} {moment}": stats for moment, stats in looks.items()}
        lab.generator.run_out(data, float(START_LAG_S))
        phases["drained"] = drain(lab, data)
    after = settled_counters(lab)
    cable_m = cable_metres(said_cable_length(lab.config_db, lab.port))
    return StormsRun(
        lab.subject, before, after, after, target, phases, lasting, lab.clock.exact,
        CABLE_M if cable_m is None else cable_m, longest_turn(lab, target),
        divide_beside(lab.config_db, lab.subject.qos, target, LOAD_PERCENT)
    )


def longest_turn(lab: Lab, target: Target) -> int:
    """The most frames that a turn of these priorities' queues has at the port under test, by the switch's schedulers.
    After the first storm more of these wait than the line takes, and a turn of a heavy one goes before others."""
    try:
        own = [read_scheduler(lab.config_db, lab.subject.qos, priority) for priority in target]
    except QualificationError:
        return TURN_FRAMES
    # a strict queue takes as much as the heaviest one
    return turn_frames(max(HEAVIEST if one.strict else one.weight for one in own), FRAME_BYTES)


def storm_traffic(lab: Lab, target: Target, lasting: Times) -> Traffic:
    """A storm for each time, and data that fills the line."""
    data = staggered(lab, data_flows(lab, [
        DataLoad(f"{role.value} flow", role, priorities, LOAD_PERCENT, lasting.data, FRAME_BYTES)
        for role, priorities in ((Role.TEST, target), (Role.BACKGROUND, lab.subject.qos.others(target)))
    ]))
    storm = pause_storm(lab, target)
    storms = [replace(storm, name=f"{number} {storm.name}") for number in range(1, TIMES + 1)]
    return lab.builder.build([*storms, *data])


def _send(lab: Lab, traffic: Traffic, lasting: Times, storm: str) -> dict[str, Stats]:
    """One storm, which is started beside the running data that it must hit, and the time after it: moment -> flows."""
    names = [storm, *traffic.names(Role.TEST, Role.BACKGROUND)]
    looks: dict[str, Stats] = {}
    if not lasting.settled:
        looks["begun"] = lab.generator.stats(names)
    lab.generator.start([storm])
    if lasting.settled:
        lab.clock.sleep(lasting.settled)
        looks["begun"] = lab.generator.stats(names)
    lab.clock.sleep(lasting.storm - lasting.settled)
    looks["stopped"] = lab.generator.stats(names)
    lab.generator.stop([storm])
    let_go_s = 0.0
    if lab.clock.exact:
        speed = lab.subject.pair.speed_mbps
        frames = looks["stopped"][storm].frames_tx
        until_held_s = float(held_s(speed, lasting, frames))
        let_go_s = sender_let_go_s(speed, lasting, frames)
        lab.clock.sleep(until_held_s)
        looks["held"] = lab.generator.stats(traffic.names(Role.TEST))
        lab.clock.sleep(let_go_s - until_held_s)
        looks["let_go"] = lab.generator.stats(traffic.names(Role.TEST))
    lab.clock.sleep(lasting.gap - let_go_s)
    looks["over"] = lab.generator.stats(names)
    return looks


def validity(run: StormsRun) -> Iterator[Check]:
    """Whether the run was a measurement; the watchdog is stopped."""
    yield from undisturbed(run)
    yield from storms_and_load(run)


def storms_and_load(run: StormsRun) -> Iterator[Check]:
    """Each storm held for its time and was stopped, and the load was there."""
    place = at_port(run.subject)
    for storm in STORM_NAMES:
        yield from storm_held(run, place, run.flows(f"{storm} stopped", Role.STORM), run.times.storm)
        yield from storm_stopped(place, run.flows(f"{storm} over", Role.STORM), "the storm stopped after its time")
    if not run.exact:
        lasts = all(flow.transmitting for flow in run.flows(f"{STORM_NAMES[-1]} over", Role.TEST))
        yield error_unless("load-lasted", place, lasts, "data that outlasts the storms", "its end: they came late")
    yield from load_applied(run.subject, run.flows("drained"), run.pfc_sent, "in and between the storms")


def judge(run: StormsRun) -> Iterator[Check]:
    """What each storm does; and when all are over nothing is lost, and every pause was counted."""
    for storm in STORM_NAMES:
        yield from _around(run, storm)
    test, background = (run.flows("drained", role) for role in (Role.TEST, Role.BACKGROUND))
    yield from never_taken(run.subject, run.flows("drained"), run.pfc_sent, f"in {TIMES} storms")
    yield from everything_received("nothing-lost", run.subject, test, f"after {TIMES} storms")
    yield from everything_received("background-unaffected", run.subject, background, f"in and after {TIMES} storms")
    yield from pauses_counted(run, run.storms)


def _around(run: StormsRun, storm: str) -> Iterator[Check]:
    """The storm holds the priority in time, and afterwards it goes on."""
    stopped, over = (run.phases[f"{storm} {moment}"] for moment in ("stopped", "over"))
    begun = run.flows(f"{storm} begun", Role.TEST)
    in_storm = f"frames received from the beginning of {storm} to its end"
    passed_in_all = sum(stopped[flow.plan.name].frames_rx - flow.frames_rx for flow in begun)
    tested = at_priorities(run.subject, run.tested)
    yield at_most("stopped-in-time", tested, most_passed_in_all(run, storm), in_storm, passed_in_all)
    for flow in begun:
        name = flow.plan.name
        place = at_priority(run.subject, priority_of(flow))
        passed = stopped[name].frames_rx - flow.frames_rx
        yield at_most("stopped-in-time", place, most_passed(run, flow), in_storm, passed)
        least = least_resumed(run, storm, flow)
        passed = over[name].frames_rx - stopped[name].frames_rx
        yield at_least("resumed", place, least, f"frames received within {run.times.gap:.4f} s after {storm}", passed)
        if run.exact:
            early = run.phases[f"{storm} held"][name].frames_rx - stopped[name].frames_rx
            what = f"frames received from the end of {storm} to that of its last pause's time"
            yield at_most("held-to-the-end", place, 0, what, early)
        if run.exact and drains_in_time(run, flow):
            sent = run.phases[f"{storm} let_go"][name].frames_tx - stopped[name].frames_tx
            expected = f"frames sent soon after {storm}, as XON lets the sender go before its pause lapses"
            yield fail_unless("sender-resumed", at_sender(run.subject, flow), sent > 0, expected, sent)


def drains_in_time(run: StormsRun, flow: FlowStats) -> bool:
    """Whether what waits of a priority leaves as soon as `sender_let_go_s` reckons: it has the part of the line that is
    its own where all that are tested have as much. By their weights, or behind a strict one, it may have less, and no
    instant is known at which XON alone would have let its sender go."""
    equal = Fraction(LOAD_PERCENT, 100 * len(run.tested))
    return run.parts.get(priority_of(flow), equal) >= equal


def response_s(run: StormsRun) -> Fraction:
    """The time from a storm's beginning in which frames may still arrive: that of its first pause frame on the line,
    the response time, and both ways of the cable."""
    speed = run.subject.pair.speed_mbps
    return response_seconds(speed) + 2 * cable_seconds(run.cable_m) + 1 / line_rate_fps(PAUSE_FRAME_BYTES, speed)


def most_passed(run: StormsRun, flow: FlowStats) -> int:
    """Frames of a tested flow that may arrive after a storm began: what its own rate brings in that time, or, where
    light background leaves it more, its part of the line, as some may wait since the storm before; one turn of its
    queue, as queues are served in turns and not at once, and the frame that is under way at the end. By a clock that is
    not exact they are counted when the storm has lasted for a while: none."""
    if not run.exact:
        return 0
    speed = run.subject.pair.speed_mbps
    part = run.parts.get(priority_of(flow), Fraction(0)) * line_rate_fps(FRAME_BYTES, speed)
    return floor(response_s(run) * max(flow.plan.rate(speed), part)) + run.turn_frames + 1


def most_passed_in_all(run: StormsRun, storm: str) -> int:
    """The same of all tested flows together: what the line takes in that time and the frame that is under way, less the
    whole frames that background sends in it at its rate or, if that is less, by its part of the line; one turn of a
    queue for those that come late. A frame of each tested flow may come first at the sender, whose line is
    full: while these leave, background waits."""
    if not run.exact:
        return 0
    speed = run.subject.pair.speed_mbps
    line = line_rate_fps(FRAME_BYTES, speed)
    others = [min(flow.plan.rate(speed), run.parts.get(priority_of(flow), Fraction(1)) * line)
              for flow in run.flows(f"{storm} begun", Role.BACKGROUND)]
    waiting = ceil(len(run.tested) * sum(others) / line)
    sent_by_others = floor(response_s(run) * sum(others)) - waiting
    return floor(response_s(run) * line) + run.turn_frames + 1 - max(0, sent_by_others)


def least_resumed(run: StormsRun, storm: str, flow: FlowStats) -> int:
    """Frames of a flow that must arrive in the gap after a storm: what it sends, or less where its part of the line is
    less while others have enough waiting, from when the last pause has
    lapsed and the port has had its response time; more of it waits than the line takes. The last of several tested
    queues waits for a turn of each other one. By a clock that is not exact the last pause may have come as the storm
    ended, and the generator may have stopped it a second late."""
    speed = run.subject.pair.speed_mbps
    part = run.parts.get(priority_of(flow), Fraction(1)) * line_rate_fps(FRAME_BYTES, speed)
    rate = min(flow.plan.rate(speed), part)
    if run.exact:
        frames = run.flows(f"{storm} over", Role.STORM)[0].frames_tx
        lost = held_s(speed, run.times, frames) + response_s(run)
        of_turn = ceil(Fraction(run.turn_frames * (len(run.tested) - 1), len(run.tested)))
        return ceil(rate * (Fraction(run.times.gap) - lost)) - EDGE_FRAMES - of_turn
    lost = pause_seconds(MAX_QUANTA, speed) + response_seconds(speed) + START_LAG_S
    return ceil(rate * (Fraction(run.times.gap) - lost) * (1 - load_tolerance(run))) - EDGE_FRAMES


CASES: Table = {STORMS: Procedure(measure, validity, judge, all_lossless)}
