"""What a load has to come to: nothing lost but what is lossy and too much, PFC for what is lossless and too much and
for nothing else, the line shared as it is configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import floor

from ..lab.lab import Lab
from ..model.arithmetic import line_rate_fps
from ..model.checking import Place, at_port, at_priority, fail_unless, least_load, never_taken, priority_of, sent_as_due
from ..model.counters import DutCounters, changed
from ..model.measurement import Readings
from ..model.ports import ConnectedPort, PortPair
from ..record.case import PlanCase, Target, named
from ..record.verdict import LOSSY, Check
from .congestion import WALL, Load, LoadRun, measure
from .engine import Finding
from .engine import unmet
from .switch_counters import own_frames
from .validity import counters_kept, links_kept, watchdog_stopped

SHARE_TOLERANCE = 0.01  # of a share: for a generator's statistics; virtual queues come within 0.1 %
LOSSY_TOLERANCE = 0.05  # of what lossy priorities get together: see `_shares`

LoadMaker = Callable[[Lab, Target], Load]
CarryOut = Callable[[Lab, PlanCase, Target, DutCounters | None], Finding]


def carry_out(load: LoadMaker) -> CarryOut:
    """How a load is measured and judged; `load` makes it for a port and a case's target."""

    def run(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
        return judged(measure(lab, load(lab, target), before))

    return run


def judged(run: LoadRun) -> Finding:
    """What came of a run."""
    invalid = validity(run)
    return Finding([] if invalid else judge(run), invalid, run.evidence(), run.after)


def validity(run: LoadRun) -> list[Check]:
    """Reasons why the run was no measurement: checks with status ERROR only, best cause first. Empty for a good run."""
    ways = [from_port(run, port) for port in run.load.ports]
    made = [*watchdog_stopped(run)]
    for check in (links_kept, counters_kept):
        made += [one for way in ways for one in check(way)]
    return unmet([*made, *_load_applied(run)])


def from_port(run: Readings, port: ConnectedPort) -> Readings:
    """Readings as seen from one of the ports that data entered by, so that it is looked at as the pair's tx port is."""
    pair = PortPair(run.subject.pair.rx, port)
    return Readings(replace(run.subject, pair=pair), run.before, run.during, run.after)


def _load_applied(run: LoadRun) -> Iterator[Check]:
    """What was due must have been sent."""
    for flow in run.sent.values():
        pushed = run.pfc_sent_by(flow.plan.enters)[priority_of(flow)]
        yield sent_as_due(run.subject, flow, pushed, False, "in all")


def judge(run: LoadRun) -> list[Check]:
    """All checks of a run that was a measurement."""
    made = [_taken(run), _nothing_lost(run), _throughput(run), _back_pressure(run), _no_back_pressure(run)]
    if run.load.timing is not None:
        made += [_shares(run), _line_full(run)]
    if run.during is not run.after:
        made += [_pfc_stops(run)]
    if run.drops is not None:
        made += [_drops_counted(run)]
    return [check for checks in made for check in checks]


def _taken(run: LoadRun) -> Iterator[Check]:
    """Some of every flow."""
    for flow in run.sent.values():
        yield from never_taken(run.subject, [flow], run.pfc_sent_by(flow.plan.enters), "in all")


def _nothing_lost(run: LoadRun) -> Iterator[Check]:
    """Every frame arrives, of lossless priorities whatever comes in, of lossy ones where the line has room for them."""
    for priority in sorted(run.load.wanted):
        if priority in run.subject.qos.lossless or priority not in run.load.congested:
            sent, got = run.frames(priority)
            yield fail_unless(
                "nothing-lost", at_priority(run.subject, priority), got == sent, f"all {sent} frames received", got
            )


def _throughput(run: LoadRun) -> Iterator[Check]:
    """What the line has room for comes through at its rate: a sender that was held back without need sends less, and
    loses nothing."""
    for priority in sorted(set(run.load.wanted) - set(run.load.congested)):
        flows = [flow.plan for flow in run.sent.values() if priority_of(flow) == priority]
        least, got = sum(least_load(run.subject, plan) for plan in flows), run.frames(priority)[1]
        expected = f"at least {least} frames received"
        yield fail_unless("throughput", at_priority(run.subject, priority), got >= least, expected, got)


def _back_pressure(run: LoadRun) -> Iterator[Check]:
    """Every sender of a lossless priority that the line has no room for is paused."""
    for stream in run.load.streams:
        for priority in stream.priorities:
            if priority in run.load.congested and priority in run.subject.qos.lossless:
                frames = run.pfc_sent_by(stream.enters.port)[priority]
                expected = f"more than 0 PFC frames sent out of {stream.enters.port} to hold the sender"
                yield fail_unless("back-pressure", at_priority(run.subject, priority), frames > 0, expected, frames)


def _no_back_pressure(run: LoadRun) -> Iterator[Check]:
    """Nothing else is: no lossy priority, however much of it comes in, no lossless one that the line has room for, and
    no port that data does not enter by."""
    held = [priority for priority in run.load.congested if priority in run.subject.qos.lossless]
    name = "no-other-back-pressure" if held else "no-back-pressure"
    for port in (*run.load.ports, run.subject.pair.rx):
        for priority, frames in enumerate(run.pfc_sent_by(port.port)):
            if priority in held and port in run.load.ports:
                continue
            place, expected = at_priority(run.subject, priority), f"0 PFC frames sent out of {port.port}"
            yield fail_unless(name, place, frames == 0, expected, frames)


def _shares(run: LoadRun) -> Iterator[Check]:
    """While rates were steady, each congested priority got the part of the line that the schedulers give it.

    Where lossless priorities are congested too, what they hold in the buffer leaves lossy frames little room where they
    enter, in a priority group that all lossy priorities share: which of them is dropped there is chance, and one whose
    queue runs dry leaves its turn to all others, in proportion to their weights. So a lossless priority gets its share
    or more then, and the lossy ones are judged together.
    """
    lossy = [priority for priority in run.load.congested if priority not in run.subject.qos.lossless]
    exact = len(lossy) == len(run.load.congested) or not lossy
    in_all = sum(run.rates.values())
    for priority in run.load.congested if exact else sorted(set(run.load.congested) - set(lossy)):
        due, got = float(run.load.given[priority]) * in_all, run.rates[priority]
        met = got >= due * (1 - SHARE_TOLERANCE) and (got <= due * (1 + SHARE_TOLERANCE) or not exact)
        expected = f"{due:.0f}{'' if exact else ' or more'} of {in_all} frames received by weight (1 % more or less)"
        yield fail_unless("share-by-weight", at_priority(run.subject, priority), met, expected, got)
    if not exact:
        due, got = in_all * float(sum(run.load.given[one] for one in lossy)), sum(run.rates[one] for one in lossy)
        expected = f"{due:.0f} or more of {in_all} frames received by weight (5 % less)"
        place = Place(f"{run.subject.where()} {named(lossy)}", LOSSY)
        yield fail_unless("share-by-weight", place, got >= due * (1 - LOSSY_TOLERANCE), expected, got)


def _line_full(run: LoadRun) -> Iterator[Check]:
    """The line never stood still. On an exact clock frames are counted in the window; else in all, because reading a
    generator's statistics takes time (and in seconds what leaves the buffer afterwards is nothing)."""
    assert run.load.timing is not None, "no rates were measured"
    seconds, got = run.load.timing.window_s, sum(run.rates.values())
    plan = next(iter(run.sent.values())).plan
    if run.load.timing == WALL:  # in whole seconds, where the generator takes no others
        seconds, got = plan.seconds or run.load.timing.data_s, run.received
    carried = line_rate_fps(plan.mean_bytes, run.subject.pair.speed_mbps) * Fraction(seconds)
    least = floor(carried * (1 - Fraction(run.subject.tolerances.load_tolerance_percent) / 100))
    place, expected = at_port(run.subject, run.subject.pair.rx.port), f"at least {least} frames received, a full line"
    yield fail_unless("line-full", place, got >= least, expected, got)


def _pfc_stops(run: LoadRun) -> Iterator[Check]:
    """Once there is room again, nobody is paused any more."""
    for port in run.load.ports:
        for priority, frames in enumerate(changed(run.during.pfc_tx, run.after.pfc_tx, port.port)):
            place, expected = at_priority(run.subject, priority), f"0 PFC frames sent out of {port.port} afterwards"
            yield fail_unless("back-pressure-ends", place, frames == 0, expected, frames)


def _drops_counted(run: LoadRun) -> Iterator[Check]:
    """What the line has no room for is counted as dropped, by port and by queue (or by priority group, where a frame
    was dropped as it entered). On hardware frames of the switch's own may be among them."""
    assert run.drops is not None, "no drops were read"
    missing = sum(flow.frames_tx for flow in run.sent.values()) - run.received
    allowed = own_frames(run.load.timing != WALL)
    for name, what, seen in (
        ("port-drops-counted", "ports (TX_DRP, RX_DRP)", run.drops.by_port),
        ("queue-drops-counted", "queues and priority groups", run.drops.by_queue),
    ):
        expected = f"{missing} frames counted as dropped by {what}" + (f" (or up to {allowed} more)" if allowed else "")
        yield fail_unless(name, Place(run.subject.where(), LOSSY), 0 <= seen - missing <= allowed, expected, seen)
