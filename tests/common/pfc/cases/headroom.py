"""HEAD-1 to HEAD-3: senders that go on for a while after a pause reached them. Headroom is for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..lab.counter_polling import watermark_delay_s
from ..lab.lab import Lab
from ..model.checking import Place, at_priority, error_unless, fail_unless, priority_of
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSLESS, Check
from .engine import Finding, OldProcedure as Procedure
from .headroom_limits import (
    CELL_BYTES, FRAME_BYTES, Delays, Headroom, delays, headroom_command, least_used, read_headroom,
)
from .hold_in_storm import HeldRun, Hold, hold_s, measure, storm_ran, taken
from .ingress_load import (
    LOSSLESS_REACHED, IngressLoad, all_reached_lossless, each_reached_lossless, several_reached_lossless,
)
from .engine import unmet
from .switch_counters import GROUPS, HEADROOM, drops_delay_s, group_drops, headroom_used
from .validity import counters_kept, links_kept, watchdog_stopped

SINGLE = PlanCase("headroom-single-lossless", "HEAD-1", (LOSSLESS,))
SEVERAL = PlanCase("headroom-several-lossless", "HEAD-2", (LOSSLESS,))
OVERFLOW = PlanCase("headroom-overflow", "HEAD-3", (LOSSLESS,))


@dataclass(frozen=True)
class HeadroomRun:
    """One run.

    Attributes:
        held: what was sent, and the counters.
        tested: the priorities that were paused.
        headroom: priority -> its headroom where data entered.
        limits: priority -> how long a sender may go on.
        used: priority -> the most bytes that its headroom has had in it, by the switch's watermark.
        dropped: priority -> frames that its priority group dropped; empty: none are due to be, and it was not read.
    """

    held: HeldRun
    tested: Target
    headroom: Mapping[int, Headroom]
    limits: Mapping[int, Delays]
    used: Mapping[int, int]
    dropped: Mapping[int, int]

    @property
    def subject(self) -> PortUnderTest:
        """What was measured."""
        return self.held.subject

    def place(self, priority: int) -> Place:
        """A priority of the port where data entered."""
        return Place(self.subject.where(priority, self.subject.pair.tx.port), LOSSLESS, priority)

    def frames(self, priority: int) -> tuple[int, int]:
        """Frames of a priority that were sent and received."""
        flow = next(flow for flow in self.held.data if priority_of(flow) == priority)
        return flow.frames_tx, flow.frames_rx

    def missing(self, priority: int) -> int:
        """Frames of a priority that were sent and never received."""
        sent, got = self.frames(priority)
        return sent - got

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            **self.held.evidence(),
            "headroom": {
                priority: {
                    "profile": self.headroom[priority].profile,
                    "xoff_bytes": self.headroom[priority].xoff_bytes,
                    "cable_m": self.headroom[priority].cable_m,
                    "covered_quanta": self.limits[priority].covered,
                    "beyond_quanta": self.limits[priority].beyond,
                    "watermark_bytes": self.used[priority],
                    "dropped_frames": self.dropped.get(priority),
                }
                for priority in self.tested
            },
        }


def covered(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Senders that go on for as long as headroom is for: nothing is lost."""
    run = _measure(lab, target, before, beyond=False)
    invalid = unmet([*_validity(run), *_used(run)])
    checks = [*taken(run.held), *_nothing_lost(run), *_back_pressure(run)]
    return Finding([] if invalid else checks, invalid, run.evidence(), run.held.after)


def overflow(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """Senders that go on for longer: headroom is filled to the last frame, and what it has no room for is counted."""
    run = _measure(lab, target, before, beyond=True)
    invalid = unmet([*_validity(run), *_overflowed(run)])
    checks = [*taken(run.held), *_back_pressure(run), *_counted(run), *_limit(run), *_full(run)]
    return Finding([] if invalid else checks, invalid, run.evidence(), run.held.after)


def _measure(lab: Lab, target: Target, before: DutCounters | None, beyond: bool) -> HeadroomRun:
    """Reads the headroom behind the tx port, then fills it: a storm at the port under test shuts its queues, and a full
    line of the paused priorities comes in. Drops are read where there have to be some.

    Raises:
        QualificationError: a step cannot be done, or the headroom leaves too little time to show anything.
    """
    subject, tx = lab.subject, lab.subject.pair.tx
    drops, drops_s = ({"group_drops": GROUPS}, drops_delay_s(lab)) if beyond else ({}, lab.delays.port_s)
    if before is None or beyond:
        lab.clock.sleep(drops_s)
    before = lab.dut.counters(also={"headroom": headroom_command(tx.port), **drops})
    headroom = read_headroom(before.printed["headroom"], lab.config_db, subject.qos, tx.port)
    line_percent = subject.tolerances.line_percent
    limits = {priority: delays(headroom[priority], tx.speed_mbps, len(target), line_percent) for priority in target}
    quanta = max(limit.beyond for limit in limits.values()) if beyond else min(one.covered for one in limits.values())
    if not beyond and not least_used(quanta, len(target), line_percent):
        raise QualificationError(too_little(subject, headroom[target[0]], quanta))
    age_s = max(watermark_delay_s(lab.config_db, subject.qos.device), drops_s)
    stream = IngressLoad(tx, target, 100, hold_s(lab))
    held = measure(
        lab, Hold(target, (stream,), age_s, quanta, FRAME_BYTES, {"headroom_used": HEADROOM, **drops}), before
    )
    groups = {priority: headroom[priority].group for priority in target}
    used = headroom_used(held.after.printed["headroom_used"], tx.port)
    dropped = _dropped(held, tx.port) if beyond else ()
    return HeadroomRun(
        held, target, headroom, limits, {priority: used[group] for priority, group in groups.items()},
        {priority: dropped[group] for priority, group in groups.items() if dropped},
    )


def too_little(subject: PortUnderTest, headroom: Headroom, quanta: int) -> str:
    """Why nothing can be shown where headroom leaves senders hardly more time than the standard allows them anyway."""
    return (
        f"{subject.where(port=subject.pair.tx.port)}: the headroom of {headroom.profile}, {headroom.xoff_bytes} bytes,"
        f" lets a sender go on for {quanta} quanta longer than the standard allows: expected enough for two frames of"
        f" {FRAME_BYTES} bytes of each priority, or nothing shows that it did"
    )


def _dropped(held: HeldRun, port: str) -> tuple[int, ...]:
    """Frames that each priority group of a port dropped."""
    early, late = (group_drops(one.printed["group_drops"], port) for one in (held.before, held.after))
    return tuple(now - before for now, before in zip(late, early, strict=True))


def _validity(run: HeadroomRun) -> Iterator[Check]:
    yield from watchdog_stopped(run.held)
    yield from links_kept(run.held)
    yield from counters_kept(run.held)
    yield from storm_ran(run.held)


def _used(run: HeadroomRun) -> Iterator[Check]:
    """Where nothing was lost the sender must have gone on as it was told to, or nothing was shown. (The watermark is
    that since the switch started: an earlier run may have raised it.)"""
    least = least_used(run.held.hold.reaction_quanta, len(run.tested), run.subject.tolerances.line_percent)
    for priority in run.tested:
        if not run.missing(priority):
            expected = f"at least {least} bytes in the headroom after {run.held.hold.reaction_quanta} quanta"
            used = run.used[priority]
            yield error_unless("headroom-used", run.place(priority), used >= least, expected, used)


def _overflowed(run: HeadroomRun) -> Iterator[Check]:
    """Where nothing was lost although headroom held no more than its profile gives, the sender did not go on as it was
    told to."""
    for priority in run.tested:
        if run.used[priority] > run.headroom[priority].xoff_bytes:
            continue
        expected = f"more than 0 frames too many for the headroom after {run.held.hold.reaction_quanta} quanta"
        missing = run.missing(priority)
        yield error_unless("headroom-overflowed", run.place(priority), missing > 0, expected, missing)


def _nothing_lost(run: HeadroomRun) -> Iterator[Check]:
    for priority in run.tested:
        sent, got = run.frames(priority)
        expected = f"all {sent} frames received, senders going on for {run.held.hold.reaction_quanta} quanta"
        yield fail_unless("nothing-lost", at_priority(run.subject, priority), got == sent, expected, got)


def _back_pressure(run: HeadroomRun) -> Iterator[Check]:
    port = run.subject.pair.tx.port
    for priority, frames in enumerate(run.held.pfc_sent()):
        held = priority in run.tested
        name = "back-pressure" if held else "no-other-back-pressure"
        expected = f"{'more than 0' if held else '0'} PFC frames sent out of {port}"
        place = run.place(priority)
        yield fail_unless(name, place, (frames > 0) == held, expected, frames)


def _counted(run: HeadroomRun) -> Iterator[Check]:
    """What is lost is counted as dropped by the priority group."""
    for priority in run.tested:
        group, missing = run.headroom[priority].group, run.missing(priority)
        expected = f"{missing} frames counted as dropped by priority group PG{group}"
        dropped = run.dropped[priority]
        yield fail_unless("group-drops-counted", run.place(priority), dropped == missing, expected, dropped)


def _limit(run: HeadroomRun) -> Iterator[Check]:
    """No more headroom is used than the profile gives, the rest of its last cell apart."""
    for priority in run.tested:
        headroom, used = run.headroom[priority], run.used[priority]
        most = headroom.xoff_bytes + CELL_BYTES - 1
        expected = f"no more than the {headroom.xoff_bytes} bytes of {headroom.profile} used"
        yield fail_unless("headroom-limit", run.place(priority), used <= most, expected, used)


def _full(run: HeadroomRun) -> Iterator[Check]:
    """A frame is dropped only when headroom has less than a frame's room left."""
    for priority in run.tested:
        least, used = run.headroom[priority].xoff_bytes - FRAME_BYTES - CELL_BYTES, run.used[priority]
        expected = f"at least {least} of the {run.headroom[priority].xoff_bytes} bytes used before frames are dropped"
        yield fail_unless("headroom-full", run.place(priority), used >= least, expected, used)


CASES: Mapping[PlanCase, Procedure] = {
    SINGLE: Procedure(covered, each_reached_lossless, LOSSLESS_REACHED),
    SEVERAL: Procedure(covered, several_reached_lossless, "several lossless priorities that DSCP values lead to"),
    OVERFLOW: Procedure(overflow, all_reached_lossless, LOSSLESS_REACHED),
}
