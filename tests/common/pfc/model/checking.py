"""What every check is made of: where it looked, the metric that it counts for, what a flow owes.

A check is about its victim: the priority whose frames or counters are wrong, and its port. Pauses that the switch sends
are of the port that they leave by, a sender that it holds is of the port that the data enters by, and lost data is of
the port that it should have left by, unless the run shows that it was lost where it came in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor

from ..record.case import priorities_text
from ..record.verdict import LOSSLESS, LOSSY, Check, Status
from .arithmetic import MAX_QUANTA, pause_seconds
from .measurement import CaseRun, Measurement, PortUnderTest
from .traffic import FlowPlan, FlowStats

COUNTER = "PFC frames in the receive counter"


@dataclass(frozen=True)
class Place:
    """Where a check looked, the metric that it counts for, and the one priority that it is about, if there is one."""

    where: str
    metric_name: str
    priority: int | None = None


At = Callable[[FlowStats], Place]
"""Where a check of a flow looked."""


def at_priority(subject: PortUnderTest, priority: int, port: str | None = None) -> Place:
    """A priority of a port (None: that under test)."""
    return Place(subject.where(priority, port), metric_of(subject, [priority]), priority)


def at_queue(subject: PortUnderTest, queue: str) -> Place:
    """The priority of a queue, as the watchdog names it: `Ethernet0:3`."""
    port, _, priority = queue.partition(":")
    return at_priority(subject, int(priority), port)


def at_flow(subject: PortUnderTest, flow: FlowStats) -> Place:
    """The priority of a data flow, at the port that it leaves by."""
    return at_priority(subject, priority_of(flow), flow.plan.leaves or None)


def at_sender(subject: PortUnderTest, flow: FlowStats) -> Place:
    """The priority of a data flow, at the port that it enters by: there the switch takes it, or pauses its sender."""
    return at_priority(subject, priority_of(flow), flow.plan.enters or subject.pair.tx.port)


def at_port(subject: PortUnderTest, port: str | None = None) -> Place:
    """A whole port (None: that under test): what is wrong with it concerns the lossless metric, as ERROR the other."""
    return Place(subject.where(port=port), LOSSLESS)


def at_tested(run: Measurement) -> Place:
    """What the storm is about: one priority, several together, or the port under test."""
    if not run.scenario.paused:
        return at_port(run.subject)
    return at_priorities(run.subject, run.scenario.tested)


def at_priorities(subject: PortUnderTest, priorities: Sequence[int], port: str | None = None) -> Place:
    """One priority of a port (None: that under test), or several together: lossless where one of them is."""
    if len(priorities) == 1:
        return at_priority(subject, priorities[0], port)
    return Place(f"{subject.where(port=port)} {priorities_text(priorities)}", metric_of(subject, priorities))


def fail_unless(name: str, place: Place, met: bool, expected: str, seen: int | str) -> Check:
    """A check of the switch: FAIL when it is not met."""
    return _check(name, place, Status.PASS if met else Status.FAIL, expected, seen)


def error_unless(name: str, place: Place, met: bool, expected: str, seen: int | str) -> Check:
    """A check of the measurement itself: ERROR when it is not met."""
    return _check(name, place, Status.PASS if met else Status.ERROR, expected, seen)


def at_least(name: str, place: Place, least: int, what: str, seen: int) -> Check:
    """A check of the switch: `at least 100 frames received`."""
    return fail_unless(name, place, seen >= least, f"at least {least} {what}", seen)


def at_most(name: str, place: Place, most: int, what: str, seen: int) -> Check:
    """A check of the switch: `at most 100 frames received`."""
    return fail_unless(name, place, seen <= most, f"at most {most} {what}", seen)


def none_of(name: str, place: Place, what: str, seen: int) -> Check:
    """A check of the switch: `0 frames received`."""
    return fail_unless(name, place, seen == 0, f"0 {what}", seen)


def priority_of(flow: FlowStats) -> int:
    """The priority of a data flow."""
    assert flow.plan.priority is not None, f"flow {flow.plan.name} carries no priority"
    return flow.plan.priority


def least_load(subject: PortUnderTest, plan: FlowPlan) -> int:
    """Frames that a data flow sends at least when nothing holds it: those that are due, less what the generator's start
    and clock may cost, which is one frame or more."""
    due = plan.due(subject.ports[plan.enters or subject.pair.tx.port].speed_mbps)
    return max(0, min(due - 1, round(due * (100 - subject.tolerances.load_tolerance_percent) / 100)))


def held_by_pauses(place: Place, subject: PortUnderTest, flow: FlowStats, what: str, pauses: int) -> Check:
    """The switch counted as many PFC frames sent as it takes to hold a data flow's sender."""
    least = pauses_to_hold(subject, flow)
    expected = f"at least {least}" if least > 1 else "more than 0"
    return fail_unless("back-pressure", place, pauses >= least, f"{expected} {what}", pauses)


def pauses_to_hold(subject: PortUnderTest, flow: FlowStats) -> int:
    """PFC frames that it takes at least to hold a data flow's sender for so long that the flow lacks what it does: none
    holds it for longer than 65535 quanta (802.3 Annex 31B)."""
    speed = subject.ports[flow.plan.enters or subject.pair.tx.port].speed_mbps
    lacks_s = (least_load(subject, flow.plan) - flow.frames_tx) / flow.plan.rate(speed)
    return max(1, floor(lacks_s / pause_seconds(MAX_QUANTA, speed)))


def sent_as_due(subject: PortUnderTest, flow: FlowStats, pauses: int, meant_to_be_held: bool, when: str) -> Check:
    """A data flow was sent as it was due: ERROR where not. Of one that is meant to be held a single frame is enough.
    One that the switch's own pauses held back, as many as it takes, passes here: `never_taken` judges it. `pauses`: PFC
    frames for its priority that the switch sent to its sender meanwhile; `when`: for the message, `in the storm`."""
    least = 1 if meant_to_be_held else least_load(subject, flow.plan)
    place = at_priority(subject, priority_of(flow))
    if flow.plan.enters and flow.plan.enters != subject.pair.tx.port:
        place = at_sender(subject, flow)
    needed = pauses_to_hold(subject, flow)
    expected = f"at least {least} frames sent {when}"
    expected += f" ({pauses} PFC frames sent to their sender, of {needed} that hold it for so long)" if pauses else ""
    return error_unless("load-applied", place, flow.frames_tx >= least or pauses >= needed, expected, flow.frames_tx)


SentBy = Callable[[str | None], Sequence[int]]
"""PFC frames for priorities 0 to 7 that the switch sent out of a port (None: the tx port), as of `CaseRun.pfc_sent`."""


def never_taken(subject: PortUnderTest, flows: Iterable[FlowStats], sent: SentBy, when: str) -> Iterator[Check]:
    """Flows of which the switch took no frame at all, because it paused their sender from the first one on, as
    `sent_as_due` knows: FAIL. There is no check of any other flow. `sent`: what the switch sent to their senders
    meanwhile; `when`: for the message, `in the storm`."""
    for flow in flows:
        frames = sent(flow.plan.enters or None)[priority_of(flow)]
        if flow.frames_tx == 0 and frames > 0:
            expected = f"frames taken by the switch {when}, which sent {frames} PFC frames to their sender"
            yield fail_unless("load-taken", at_sender(subject, flow), False, expected, 0)


def everything_received(
    name: str, subject: PortUnderTest, flows: Iterable[FlowStats], when: str, at: At | None = None
) -> Iterator[Check]:
    """Every frame that these flows sent was received. `when`: for the message; may be empty. `at`: where each check
    looked; None: at the port that the flow leaves by."""
    for flow in flows:
        expected = f"all {flow.frames_tx} frames {way(flow)}received {when}".rstrip()
        place = at(flow) if at else at_flow(subject, flow)
        yield fail_unless(name, place, flow.frames_rx == flow.frames_tx, expected, flow.frames_rx)


def nothing_received(
    name: str, subject: PortUnderTest, flows: Iterable[FlowStats], when: str, at: At | None = None
) -> Iterator[Check]:
    """No frame of these flows was received. `at`: where each check looked; None: at the port under test."""
    for flow in flows:
        place = at(flow) if at else at_priority(subject, priority_of(flow))
        yield none_of(name, place, f"frames {way(flow)}received {when}", flow.frames_rx)


def all_at_rate(name: str, subject: PortUnderTest, flows: Iterable[FlowStats], when: str) -> Iterator[Check]:
    """As many frames of these flows were received as are sent when nothing holds a sender. One that the switch held
    back sends less and loses nothing: only this notices."""
    for flow in flows:
        least = least_load(subject, flow.plan)
        yield at_least(name, at_flow(subject, flow), least, f"frames received {when}", flow.frames_rx)


def storm_sent(place: Place, storms: Iterable[FlowStats], least: int) -> Iterator[Check]:
    """Each of these storms had so many frames."""
    for storm in storms:
        expected = f"a storm of at least {least} pause frames"
        yield error_unless("storm-ran", place, storm.frames_tx >= least, expected, storm.frames_tx)


def every_pause_counted(run: CaseRun, priority: int, sent: int, when: str = "") -> Check:
    """The switch counted each of `sent` pause frames for a priority; `when` is for the message, `in the end `."""
    frames = run.pfc_received_in_all()[priority]
    tolerances = run.subject.tolerances
    place = at_priority(run.subject, priority)
    expected = f"{sent} {COUNTER} {when}".rstrip() + tolerances.more_or_less
    return fail_unless("every-pause-counted", place, tolerances.alike(frames, sent), expected, frames)


def no_pause_counted(name: str, run: CaseRun, priorities: Iterable[int], why: str = "") -> Iterator[Check]:
    """The switch counted no pause frame for these priorities; `why` is for the message, `, as none enabled it`."""
    for priority in priorities:
        place = at_priority(run.subject, priority)
        frames = run.pfc_received_in_all()[priority]
        yield none_of(name, place, f"{COUNTER}{why}", frames)


def no_pause_sent(name: str, run: CaseRun, priorities: Iterable[int]) -> Iterator[Check]:
    """The switch sent no PFC frame for these priorities out of the tx port, from before the traffic until after it."""
    tx = run.subject.pair.tx.port
    for priority in priorities:
        frames = run.pfc_sent_in_all()[priority]
        yield none_of(name, at_priority(run.subject, priority, tx), f"PFC frames sent out of {tx}", frames)


def way(flow: FlowStats) -> str:
    """Which way a data flow goes, for messages: `from Ethernet64 to Ethernet0 `; empty: to the port under test."""
    plan = flow.plan
    return f"from {plan.enters} to {plan.leaves} " if plan.leaves else ""


def metric_of(subject: PortUnderTest, priorities: Sequence[int]) -> str:
    """The lossless metric where one of these priorities is lossless."""
    return LOSSLESS if any(priority in subject.qos.lossless for priority in priorities) else LOSSY


def _check(name: str, place: Place, status: Status, expected: str, seen: int | str) -> Check:
    return Check(name, place.metric_name, status, expected, seen, place.where, place.priority)
