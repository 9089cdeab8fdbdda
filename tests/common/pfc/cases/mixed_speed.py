"""SPEED-1 to SPEED-4: a port that is faster than the port under test sends into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..lab.lab import Lab
from ..model.checking import at_priority, everything_received, fail_unless, priority_of
from ..model.counters import DutCounters
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .congestion import Load, make_load, room_s, timing
from .congestion_checks import LoadMaker, carry_out, from_port
from .engine import Finding, OldProcedure as Procedure
from .targets import whole_port
from .hold_in_storm import HeldRun, Hold, hold_s, measure, storm_ran, taken
from .ingress_load import IngressLoad, faster_port, lossless_priorities, lossy_priorities
from .engine import unmet
from .validity import counters_kept, links_kept, watchdog_stopped

MOSTLY_LOSSLESS = PlanCase("speed-mostly-lossless", "SPEED-1")
MOSTLY_LOSSY = PlanCase("speed-mostly-lossy", "SPEED-2")
NO_CONGESTION = PlanCase("speed-no-congestion", "SPEED-3")
STORM = PlanCase("speed-storm", "SPEED-4")

LOSSLESS_PERCENT, LOSSY_PERCENT = 56, 36  # of the slower line: it has room for that. Of 400 Gb/s into 100 14 and 9


def too_much(lossless_percent: int) -> LoadMaker:
    """The whole line of the faster port: so much for all lossless priorities together, the rest for all lossy ones."""

    def load(lab: Lab, target: Target) -> Load:
        fast, subject = _faster(lab.subject), lab.subject
        times = timing(lab, 100 * fast.speed_mbps // subject.pair.speed_mbps)
        return make_load(
            lab,
            [
                IngressLoad(fast, lossless_priorities(subject), lossless_percent, times.data_s),
                IngressLoad(fast, lossy_priorities(subject), 100 - lossless_percent, times.data_s),
            ],
            times=times,
        )

    return load


def no_congestion(lab: Lab, target: Target) -> Load:
    """As much as the slower line has room for."""
    return make_load(lab, _with_room(lab, room_s(lab)))


def storm(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """The same while lossless priorities are paused at the port under test."""
    hold = Hold(lossless_priorities(lab.subject), tuple(_with_room(lab, hold_s(lab))), lab.delays.port_s)
    run = measure(lab, hold, before)
    way = from_port(run, _faster(lab.subject))
    invalid = unmet([*watchdog_stopped(run), *links_kept(way), *counters_kept(way), *storm_ran(run)])
    return Finding([] if invalid else list(_judge(run)), invalid, run.evidence(), run.after)


def _judge(run: HeldRun) -> Iterator[Check]:
    subject, fast = run.subject, _faster(run.subject)
    yield from taken(run)
    for flow in (run.paused[name] for name in run.paused if run.paused[name].plan.pause is None):
        priority = priority_of(flow)
        if priority in run.hold.paused:
            expected = "0 frames received while paused"
            place = at_priority(subject, priority)
            yield fail_unless("blocked-while-paused", place, flow.frames_rx == 0, expected, flow.frames_rx)
        else:
            yield from everything_received("background-unaffected", subject, [flow], "in the storm")
    yield from everything_received("nothing-lost", subject, run.data, "once the storm had stopped")
    for priority, frames in enumerate(run.pfc_sent_by(fast.port)):
        held = priority in run.hold.paused
        expected = f"{'more than 0' if held else '0'} PFC frames sent out of {fast.port}"
        name = "back-pressure" if held else "no-other-back-pressure"
        yield fail_unless(name, at_priority(subject, priority), (frames > 0) == held, expected, frames)


def _with_room(lab: Lab, seconds: float) -> list[IngressLoad]:
    fast, subject = _faster(lab.subject), lab.subject
    kinds = (lossless_priorities(subject), LOSSLESS_PERCENT), (lossy_priorities(subject), LOSSY_PERCENT)
    return [
        IngressLoad(fast, priorities, max(1, percent * subject.pair.speed_mbps // fast.speed_mbps), seconds)
        for priorities, percent in kinds
    ]


def _faster(subject: PortUnderTest) -> ConnectedPort:
    fast = faster_port(subject)
    assert fast is not None, "a case of mixed speeds is carried out where a faster port is"
    return fast


def with_faster_port(subject: PortUnderTest) -> list[Target]:
    """The whole port, where a faster one can send into it data of both kinds."""
    both = faster_port(subject) and lossless_priorities(subject) and lossy_priorities(subject)
    return whole_port(subject) if both else []


NEEDS = (
    "a faster tx port: up, on another traffic generator than the port under test, and with the same priorities, some of"
    " them lossless and some lossy"
)
CASES: Mapping[PlanCase, Procedure] = {
    MOSTLY_LOSSLESS: Procedure(carry_out(too_much(88)), with_faster_port, NEEDS),
    MOSTLY_LOSSY: Procedure(carry_out(too_much(40)), with_faster_port, NEEDS),
    NO_CONGESTION: Procedure(carry_out(no_congestion), with_faster_port, NEEDS),
    STORM: Procedure(storm, with_faster_port, NEEDS),
}
