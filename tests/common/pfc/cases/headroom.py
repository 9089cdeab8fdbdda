"""HEAD-1 to HEAD-4: senders that go on for a while after a pause reached them. Headroom is for that: how long a sender
may go on before the headroom of its priority group is full follows from what the switch says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import partial
from math import floor
from operator import sub
from typing import Any

from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, WIRE_OVERHEAD_BYTES
from ..model.checking import (
    Place, at_least, at_port, at_priority, error_unless, fail_unless, none_of, nothing_received, priority_of,
)
from ..model.counters import DutCounters
from ..model.deviations import Deviation, deviation
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.qos import ConfigDb
from ..model.traffic import FlowStats, Role
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSLESS, Check
from .buffer_threshold import threshold_lowered
from .changed_switch import changeable, inside
from .engine import Procedure, Table, settled_counters
from .frames import SMALLEST_BYTES
from .fresh_watermarks import clear_watermarks
from .group_headroom import FRAME_BYTES, Delays, Headroom, delays, quantum_bytes, read_headroom
from .group_profiles import profiles_command
from .group_room import BORDER_CELLS, LEAST_CELL_BYTES, MOST_CELL_BYTES, UNIT_CELLS, cell_bytes, off_cells
from .hold_in_storm import HeldRun, Hold, back_pressure, hold_s, measure, validity
from .ingress import IngressLoad, ingress_taken
from .switch_counters import (
    GROUPS, HEADROOM, PORTS, QUEUES, SHARED, combined, delay_s, drops_delay_s, group_counts, of_group, of_port,
    owed_delay_s, own_frames, port_counts, queues_used,
)
from .targets import all_reached_lossless, each_reached_lossless, several_reached_lossless

SINGLE = PlanCase("headroom-single-lossless", "HEAD-1", (LOSSLESS,))
SEVERAL = PlanCase("headroom-several-lossless", "HEAD-2", (LOSSLESS,))
OVERFLOW = PlanCase("headroom-overflow", "HEAD-3", (LOSSLESS,))
THRESHOLD_CHANGED = PlanCase("headroom-threshold-changed", "HEAD-4", (LOSSLESS,))

HEADROOM_PART = 2  # in HEAD-4 one in so many bytes of it
EGRESS = "egress"
"""How the name of a pool begins where frames wait at the port by which they leave."""
DEVIATIONS = (
    Deviation(
        "headroom-kept-back-bytes", ("mellanox",), str(123 * 144),
        "the pipeline keeps a part of headroom: 95 cells of 96 bytes to 123 of 144, by ASIC and speed (sonic-mgmt,"
        " tests/qos/files/mellanox/qos_param_generator.py)",
        date(2026, 11, 30),
    ),
    Deviation("headroom-kept-back-bytes", (), "0", "frames have all of the headroom", date(2026, 11, 30)),
    Deviation(
        "headroom-of-others", ("mellanox",), "yes",
        "of a shared pool of headroom a group may take that of others (sonic-mgmt, the same)",
        date(2026, 11, 30),
    ),
    Deviation("headroom-of-others", (), "no", "no group takes more than its profile has", date(2026, 11, 30)),
    Deviation(
        "group-drops-at-port", ("8800_lc_48h",), "no",
        "sonic-mgmt's QoS tests do not ask its ports for what a full lossless priority group drops (`PFCtest`,"
        " Cisco-8800-LC-48H-C48)",
        date(2026, 11, 30),
    ),
    Deviation(
        "group-drops-at-port", (), "yes",
        "what a full lossless priority group drops is in the port's IF_IN_DISCARDS (sonic-mgmt's `PFCtest`)",
        date(2026, 11, 30),
    ),
)


@dataclass(frozen=True)
class Filled:
    """How full the headroom behind a tested priority got.

    Attributes:
        headroom: that headroom, where data entered.
        limits: how long a sender may go on.
        flow: the priority's data, when all was over.
        used: the most bytes that the headroom has had in it, by the switch's watermark.
        dropped: frames that the priority group dropped; None: none are due to be, and it was not read.
        before_xoff: bytes that the group must have taken before; None: nobody knows, or frames were larger than cells.
        queue_used: the most bytes that the priority's queue of the port under test has held, by the switch's watermark;
            None: the switch does not say, or it was not read.
        shared_used: the most shared bytes that the priority group has had, by the switch's watermark; None: likewise.
        kept_back: bytes of the headroom that the switch keeps for itself.
        groups: of how many groups a full one may take the headroom.
    """

    headroom: Headroom
    limits: Delays
    flow: FlowStats
    used: int
    dropped: int | None
    before_xoff: Fraction | None = None
    queue_used: int | None = None
    shared_used: int | None = None
    kept_back: int = 0
    groups: int = 1

    @property
    def missing(self) -> int:
        """Frames that were sent and never received."""
        return self.flow.frames_tx - self.flow.frames_rx

    @property
    def cell(self) -> int | None:
        """The switch's cell, where each frame was in one of its own and that tells; else None."""
        return None if self.before_xoff is None else cell_bytes(self.flow.frames_rx, self.used, self.before_xoff)

    @property
    def off(self) -> Fraction | None:
        """Frames more (fewer) than are due of threshold and headroom; None: nobody knows."""
        return None if self.before_xoff is None else off_cells(self.flow.frames_rx, self.used, self.before_xoff)

    @property
    def rounded_cells(self) -> int:
        """So many cells less may be in headroom than its watermark says: where the watermarks of headroom and shared
        memory both are whole units of cells, it may have been rounded up."""
        unit = UNIT_CELLS * (self.cell or 1)
        are_whole = self.shared_used is not None and self.used % unit == 0 and self.shared_used % unit == 0
        return UNIT_CELLS - 1 if self.cell and are_whole else 0

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "profile": self.headroom.profile,
            "xoff_bytes": self.headroom.xoff_bytes,
            "cable_m": self.headroom.cable_m,
            "covered_quanta": self.limits.covered,
            "beyond_quanta": self.limits.beyond,
            "watermark_bytes": self.used,
            "dropped_frames": self.dropped,
            "cell_bytes": self.cell,
            "queue_watermark_bytes": self.queue_used,
            "shared_watermark_bytes": self.shared_used,
        }


@dataclass(frozen=True)
class HeadroomRun(HeldRun):
    """One run.

    Attributes:
        filled: tested priority -> how full its headroom got.
        others: each other lossless priority, of which nothing came in -> bytes that its headroom has had in it.
        port_dropped: frames that the port where data entered dropped as they came in; None: it was not read.
        own: how many frames more it may have dropped that no flow sent.
    """

    filled: Mapping[int, Filled]
    others: Mapping[int, int]
    port_dropped: int | None = None
    own: int = 0

    def place(self, priority: int) -> Place:
        """A priority of the port where data entered."""
        return at_priority(self.subject, priority, self.subject.pair.tx.port)

    def got_through(self, priority: int) -> bool:
        """Whether frames of a tested priority left while it was paused: a sender that nothing holds fills no
        headroom."""
        return any(flow.frames_rx for flow in self.flows("paused", Role.TEST) if priority_of(flow) == priority)

    def details(self) -> dict[str, Any]:
        """What was sent, and how full headroom got."""
        headroom = {priority: filled.evidence() for priority, filled in self.filled.items()}
        return {**super().details(), "headroom": headroom, "other_headroom_bytes": dict(self.others),
                "port_dropped_frames": self.port_dropped}


def queues_delay_s(subject: PortUnderTest, config_db: ConfigDb) -> float | None:
    """Seconds after which the watermarks of queues are polled; None: they show nothing of what is held, as they are not
    polled, or virtual output queues hold it where it came in."""
    if not subject.buffer.pool.startswith(EGRESS):
        return None
    return delay_s(config_db, subject.qos.device, "QUEUE_WATERMARK")


def measure_headroom(lab: Lab, target: Target, before: DutCounters, beyond: bool) -> HeadroomRun:
    """Reads the headroom behind the tx port, then fills it: a storm at the port under test shuts its queues, and a full
    line of the paused priorities comes in, for as long as headroom is for; `beyond`: for longer. Then there has to be
    no room left, and drops by group and by port, and the watermarks of queues and of shared bytes, are read too.

    Raises:
        QualificationError: a step cannot be done, or the headroom leaves too little time to show anything.
    """
    subject = lab.subject
    tx = subject.pair.tx
    drops, drops_s = ({"group_drops": GROUPS, "data": PORTS}, drops_delay_s(lab)) if beyond else ({}, 0.0)
    queues_s = queues_delay_s(subject, lab.config_db) if beyond else None
    marks = {
        "headroom_used": HEADROOM,
        **({"shared_used": SHARED} if beyond else {}),
        **({} if queues_s is None else {"queues_used": QUEUES}),
    }
    profiles = lab.dut.ask({"profiles": profiles_command(tx.port)})["profiles"]
    headroom = read_headroom(profiles, lab.config_db, subject.qos, tx.port)
    to_the_cell = beyond and lab.clock.exact
    frame_bytes = SMALLEST_BYTES[subject.ip_version] if to_the_cell else FRAME_BYTES
    limits = {
        priority: delays(headroom[priority], tx.speed_mbps, len(target), subject.tolerances.line_percent, frame_bytes)
        for priority in target
    }
    quanta = _quanta(subject, headroom, limits, beyond)
    groups_s = owed_delay_s(lab.config_db, subject.qos.device, "PG_WATERMARK")
    age_s = max(groups_s, lab.delays.port_s, drops_s, queues_s or 0.0)
    groups = {tx.port: [one.group for one in headroom.values()]}
    counted = clear_watermarks(lab, age_s, {
        command: {lab.port: target} if command == QUEUES else groups for command in marks.values()
    })
    if HEADROOM not in counted:
        raise QualificationError(f"{subject.where(port=tx.port)}: the switch counts no watermark of headroom")
    marks = {name: command for name, command in marks.items() if command in counted}
    before = settled_counters(lab, 0, drops)
    load = IngressLoad(tx, target, 100, hold_s(lab))
    held = measure(lab, Hold(target, (load,), age_s, quanta, frame_bytes, {**marks, **drops}), before)
    used = of_port(held.after.printed["headroom_used"], HEADROOM, tx.port)
    others = {priority: used[of.group] for priority, of in headroom.items()
              if priority not in target and of.group in used}
    filled = _filled(held, headroom, limits, used, to_the_cell)
    port_dropped = _port_dropped(held) if beyond else None
    return HeadroomRun(
        **vars(held), filled=filled, others=others, port_dropped=port_dropped, own=own_frames(lab.clock.exact)
    )


def _quanta(
    subject: PortUnderTest, headroom: Mapping[int, Headroom], limits: Mapping[int, Delays], beyond: bool
) -> int:
    """How long senders go on: longer than any headroom of these priorities covers, or as long as each of them does.

    Raises:
        QualificationError: no generator goes on for so long, or it is too short to show anything.
    """
    if beyond:
        longest = max(limits, key=lambda priority: limits[priority].beyond)
        check_reachable(headroom[longest], limits[longest].beyond)
        return limits[longest].beyond
    quanta = min(MAX_QUANTA, *(limit.covered for limit in limits.values()))
    filled = [headroom[priority] for priority in limits]
    check_shared(subject, filled)
    check_shows(subject, filled, quanta)
    return quanta


def _filled(
    held: HeldRun, headroom: Mapping[int, Headroom], limits: Mapping[int, Delays], used: Mapping[int, int],
    to_the_cell: bool,
) -> dict[int, Filled]:
    """Tested priority -> how full its headroom got. `used`: the headroom watermarks of the tx port's groups."""
    tx = held.subject.pair.tx
    asic = held.subject.asic
    takes_others = deviation("headroom-of-others", asic, DEVIATIONS).value == "yes"
    printed = held.after.printed
    dropped = _dropped(held) if "group_drops" in printed else None
    queues = queues_used(printed.get("queues_used", ""), held.subject.pair.rx.port)
    shared = group_counts(printed["shared_used"], SHARED).get(tx.port, {}) if "shared_used" in printed else {}
    flows = {priority_of(flow): flow for flow in held.data}
    all_overfilled = all(flow.frames_rx < flow.frames_tx for flow in held.data)
    alike = to_the_cell and all_overfilled and len({headroom[priority].room for priority in limits}) == 1
    found = {}
    for priority in limits:
        of = headroom[priority]
        used_there = of_group(used, HEADROOM, tx.port, of.group)
        taken = flows[priority].frames_rx
        found[priority] = Filled(
            of, limits[priority], flows[priority], used_there,
            dropped=None if dropped is None else of_group(dropped, GROUPS, tx.port, of.group),
            before_xoff=of.room.before_xoff(len(limits), taken, used_there) if of.room is not None and alike else None,
            queue_used=queues.get(priority),
            shared_used=shared.get(of.group),
            kept_back=int(deviation("headroom-kept-back-bytes", asic, DEVIATIONS).value),
            groups=len(held.subject.qos.lossless) if takes_others and of.room and of.room.pool_headroom else 1,
        )
    return found


def check_reachable(headroom: Headroom, quanta: int) -> None:
    """Raises QualificationError where no delay that a generator can be told would be too much for a headroom."""
    if quanta > MAX_QUANTA:
        raise QualificationError(
            f"the headroom of {headroom.profile}, {headroom.xoff_bytes} bytes, is more than a sender fills in"
            f" {MAX_QUANTA} quanta, the most that a generator goes on after a pause"
        )


def check_shared(subject: PortUnderTest, headrooms: Sequence[Headroom]) -> None:
    """Raises QualificationError where a pool has less headroom for all ports than the profiles of these groups, which
    are filled at once, add up to."""
    due = sum(headroom.xoff_bytes for headroom in headrooms)
    for room in (headroom.room for headroom in headrooms):
        if room is not None and 0 < room.pool_headroom < due:
            raise QualificationError(
                f"{subject.where(port=subject.pair.tx.port)}: the headrooms of {len(headrooms)} lossless priorities are"
                f" {due} bytes: expected as much shared headroom (BUFFER_POOL xoff), got {room.pool_headroom}"
            )


def check_shows(subject: PortUnderTest, headrooms: Sequence[Headroom], quanta: int) -> None:
    """Raises QualificationError where headrooms that are filled at once leave senders hardly more time than the
    standard allows them anyway: nothing would show that they took it."""
    if not least_used(quanta, len(headrooms), subject.tolerances.line_percent):
        first = headrooms[0]
        raise QualificationError(
            f"{subject.where(port=subject.pair.tx.port)}: the headroom of {first.profile}, {first.xoff_bytes} bytes,"
            f" lets a sender go on for {quanta} quanta longer than the standard allows: expected enough for two frames"
            f" of {FRAME_BYTES} bytes of each priority, or nothing shows that it did"
        )


def _dropped(held: HeldRun) -> dict[int, int]:
    """Frames that each priority group of the tx port dropped."""
    port = held.subject.pair.tx.port
    early, late = (of_port(one.printed["group_drops"], GROUPS, port) for one in (held.before, held.after))
    return combined(late, early, sub)


def _port_dropped(held: HeldRun) -> int:
    """Frames that the tx port dropped as they came in."""
    port = held.subject.pair.tx.port
    early, late = (port_counts(one.printed["data"], port) for one in (held.before, held.after))
    return late.since(early).rx_dropped


def was_used(run: HeadroomRun) -> Iterator[Check]:
    """Whether it was a measurement. Where nothing was lost, and the storm held everything, the sender must have gone on
    as it was told to, or nothing was shown. It did where the headroom of another priority shows something."""
    yield from validity(run)
    if any(run.others.values()):
        return
    quanta = run.hold.reaction_quanta
    least = least_used(quanta, len(run.tested), run.subject.tolerances.line_percent)
    expected = f"at least {least} bytes in the headroom after {quanta} quanta"
    for priority, filled in run.filled.items():
        if not filled.missing and not run.got_through(priority):
            yield error_unless("headroom-used", run.place(priority), filled.used >= least, expected, filled.used)


def was_overflowed(run: HeadroomRun) -> Iterator[Check]:
    """Whether it was a measurement. Where nothing was lost, nor got through the storm, although headroom held no more
    than its profile gives, the sender did not go on as it was told to."""
    yield from validity(run)
    expected = f"more than 0 frames too many for the headroom after {run.hold.reaction_quanta} quanta"
    for priority, filled in run.filled.items():
        if filled.used <= filled.headroom.xoff_bytes and not run.got_through(priority):
            missing = filled.missing
            yield error_unless("headroom-overflowed", run.place(priority), missing > 0, expected, missing)


def judge_covered(run: HeadroomRun) -> Iterator[Check]:
    """Nothing is lost, and headroom is that of the priorities that came in."""
    yield from nothing_received("blocked-while-paused", run.subject, run.flows("paused", Role.TEST), "while paused")
    yield from ingress_taken(run, "drained", "in the storm")
    for priority, filled in run.filled.items():
        sent = filled.flow.frames_tx
        got = filled.flow.frames_rx
        expected = f"all {sent} frames received, senders going on for {run.hold.reaction_quanta} quanta"
        yield fail_unless("nothing-lost", run.place(priority), got == sent, expected, got)
    yield from back_pressure(run, run.subject.pair.tx.port, run.place)
    for priority, used in run.others.items():
        yield none_of("other-headroom-unused", run.place(priority), "bytes in headroom that nothing came in for", used)


def judge_overflow(run: HeadroomRun) -> Iterator[Check]:
    """Headroom is filled to the last frame, and what it has no room for is counted."""
    yield from nothing_received("blocked-while-paused", run.subject, run.flows("paused", Role.TEST), "while paused")
    yield from ingress_taken(run, "drained", "in the storm")
    yield from back_pressure(run, run.subject.pair.tx.port, run.place)
    overfilled = {priority: filled for priority, filled in run.filled.items() if filled.missing}
    for judged, of in ((_counted, run.filled), (_limit, run.filled), (_full, overfilled)):
        for priority, filled in of.items():
            yield judged(run.place(priority), filled)
    yield from _counted_by_port(run)
    for priority, filled in overfilled.items():
        yield from _threshold(run.place(priority), filled)
        yield from _queue_shown(run, priority, filled)
        yield from _shared_shown(run, priority, filled)


def _counted(place: Place, filled: Filled) -> Check:
    """What is lost is counted as dropped by the priority group."""
    expected = f"{filled.missing} frames counted as dropped by priority group PG{filled.headroom.group}"
    assert filled.dropped is not None, "its drops were not read"
    return fail_unless("group-drops-counted", place, filled.dropped == filled.missing, expected, filled.dropped)


def _counted_by_port(run: HeadroomRun) -> Iterator[Check]:
    """The port counts what its priority groups drop. On hardware frames of the switch's own may be among them."""
    if run.port_dropped is None or deviation("group-drops-at-port", run.subject.asic, DEVIATIONS).value == "no":
        return
    missing = sum(filled.missing for filled in run.filled.values())
    port = run.subject.pair.tx.port
    expected = f"{missing} frames counted as dropped by {port} (RX_DRP)"
    expected += f" (or up to {run.own} more)" if run.own else ""
    met = 0 <= run.port_dropped - missing <= run.own
    yield fail_unless("port-drops-counted", at_port(run.subject, port), met, expected, run.port_dropped)


def _limit(place: Place, filled: Filled) -> Check:
    """No more headroom is used than the profile gives, the rest of its last unit of cells apart."""
    most = filled.groups * filled.headroom.xoff_bytes
    expected = f"no more than the {most} bytes of {filled.headroom.profile} used"
    met = filled.used < most + UNIT_CELLS * (filled.cell or MOST_CELL_BYTES)
    return fail_unless("headroom-limit", place, met, expected, filled.used)


def _full(place: Place, filled: Filled) -> Check:
    """A frame is dropped only when headroom has less than a frame's room left: a cell, where each frame takes one and
    it is known, else the frame and the rest of the largest cell."""
    xoff_bytes = filled.headroom.xoff_bytes
    frame_bytes = int(filled.flow.plan.mean_bytes)
    beside = 0 if frame_bytes < LEAST_CELL_BYTES else frame_bytes
    least = xoff_bytes - filled.kept_back - beside - (filled.cell or MOST_CELL_BYTES) + 1
    return at_least(
        "headroom-full", place, least, f"of the {xoff_bytes} bytes used before frames are dropped", filled.used
    )


def _threshold(place: Place, filled: Filled) -> Iterator[Check]:
    """XOFF was sent when its threshold was reached, no cell sooner and no unit of cells later: what the group took is
    what it may take before, and what headroom had in it (`group_room`; `Filled.rounded_cells`)."""
    if filled.before_xoff is None or filled.off is None:
        return
    cell = filled.cell or MOST_CELL_BYTES
    due = (filled.before_xoff + filled.used) / cell
    frames = filled.flow.frames_rx
    expected = f"{float(due):.0f} frames taken, of {cell} bytes each, up to the XOFF threshold of"
    less = BORDER_CELLS + filled.rounded_cells
    expected += f" {filled.headroom.profile} and in the headroom ({less} less, {UNIT_CELLS} more)"
    yield fail_unless("xoff-threshold", place, -less <= filled.off <= UNIT_CELLS, expected, frames)


def _queue_shown(run: HeadroomRun, priority: int, filled: Filled) -> Iterator[Check]:
    """The watermark of the paused queue shows at least half of what it held, as a part of that is in reserved memory,
    which a watermark leaves out; and no more than the pool."""
    if filled.queue_used is None:
        return
    held = int(filled.flow.frames_rx * filled.flow.plan.mean_bytes)
    pool = run.subject.buffer
    expected = f"from {held // 2} to {pool.size_bytes} bytes ({pool.pool}) in the watermark of queue UC{priority}"
    expected += f", which held {held}"
    met = held // 2 <= filled.queue_used <= pool.size_bytes
    yield fail_unless("queue-watermark", at_priority(run.subject, priority), met, expected, filled.queue_used)


def _shared_shown(run: HeadroomRun, priority: int, filled: Filled) -> Iterator[Check]:
    """The shared watermark of the group shows what headroom and reserved memory have not taken: to a cell at either
    end where cells explain what was taken, else at least half of it, and no more than the pool."""
    if filled.shared_used is None:
        return
    room = filled.headroom.room
    cell = filled.cell
    if room is None or cell is None or filled.off is None or abs(filled.off) > BORDER_CELLS + filled.rounded_cells:
        reserved = room.size_bytes if room is not None else 0
        due = max(0, int(filled.flow.frames_rx * filled.flow.plan.mean_bytes) - filled.used - reserved)
        least = due // 2
        most = room.pool_bytes if room is not None else run.subject.buffer.size_bytes
    else:
        due = filled.flow.frames_rx * cell - filled.used - room.size_bytes
        least = due - 2 * cell
        most = due + 2 * (1 + filled.rounded_cells) * cell
    expected = f"from {least} to {most} shared bytes in the watermark of PG{filled.headroom.group}, which took"
    expected += f" {filled.flow.frames_rx} frames and had {filled.used} bytes of them in headroom"
    met = least <= filled.shared_used <= most
    yield fail_unless("shared-watermark", run.place(priority), met, expected, filled.shared_used)


def least_used(quanta: int, priorities: int, line_percent: float = 100) -> int:
    """Bytes that each headroom has at least taken when a sender went on for so long that loads its line so much."""
    frames = floor(quanta * quantum_bytes(line_percent) / ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * priorities))
    return max(0, frames - 1) * FRAME_BYTES


overflowing = Procedure(partial(measure_headroom, beyond=True), was_overflowed, judge_overflow, all_reached_lossless)
covered = partial(measure_headroom, beyond=False)
CASES: Table = {
    SINGLE: Procedure(covered, was_used, judge_covered, each_reached_lossless),
    SEVERAL: Procedure(covered, was_used, judge_covered, several_reached_lossless),
    OVERFLOW: overflowing,
    THRESHOLD_CHANGED: inside(
        partial(threshold_lowered, headroom_part=HEADROOM_PART), overflowing, changeable(all_reached_lossless)
    ),
}
