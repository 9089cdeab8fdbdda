"""Data without a storm, as much as the port under test can send or more: what LOAD, M2O and SPEED share. The steps, and
what a load has to come to: nothing lost but what is lossy and too much, PFC for what is lossless and too much and for
nothing else, the line shared as it is configured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from math import floor
from typing import Any

from ..lab.generator import Traffic
from ..lab.lab import Lab
from ..model.arithmetic import line_rate_fps
from ..model.checking import (
    Place, at_least, at_priority, error_unless, fail_unless, least_load, none_of, priority_of,
)
from ..model.counters import DutCounters, changed
from ..model.deviations import Deviation, deviation
from ..model.errors import QualificationError
from ..model.measurement import CaseRun
from ..model.ports import ConnectedPort
from ..model.traffic import FlowPlan, Stats
from ..record.case import Target, priorities_text
from ..record.verdict import LOSSY, Check
from .counted_bytes import byte_bounds
from .engine import Procedure, Targets, sending, settled_counters
from .group_room import GroupRoom, configured_room
from .ingress import (
    FRAME_BYTES, IngressLoad, entered, ingress_applied, ingress_flows, ingress_taken, ingress_undisturbed,
)
from .scheduler_shares import HEAVIEST, Scheduler, divide, read_schedulers, turn_frames
from .switch_counters import (
    DataCounters, at_port_for, data_commands, data_counters, drops_delay_s, own_frames,
)

logger = logging.getLogger(__name__)


DRAIN_S = 1.0  # a shared buffer leaves in milliseconds; a generator's clock is not the lab's
ROOM_S = 5.0  # how long data is sent that the line has room for
EXACT_ROOM_S = 0.004  # ... on an exact clock: 48,000 frames at 100 Gb/s
EXACT_FRAMES = 12_000  # of the line, in which rates are measured on an exact clock
SHARE_TOLERANCE = 0.01  # of a share, where the window is the generator's: its statistics are about a second apart
SHARE_FRAMES = 2 * turn_frames(HEAVIEST, FRAME_BYTES)  # more or less in an exact window: a turn at each end
LOSSY_TOLERANCE = 0.05  # of what lossy priorities get together: see `_shares`
# One sender's least part of an equal one, of a priority that several are held for. No document says how a switch
# divides a line among senders, and on hardware their groups may have different thresholds: there it must not starve.
SENDER_PART = Fraction(1, 50)
EXACT_SENDER_PART = Fraction(1, 4)


@dataclass(frozen=True)
class SteadyWindow:
    """How long data is sent that the line has no room for, and when in it rates are measured.

    Attributes:
        settled_s: from the start until queues are full and rates steady.
        window_s: how long rates are measured then.
    """

    settled_s: float
    window_s: float

    @property
    def data_s(self) -> float:
        """How long data is sent: a tenth longer, so that it does not end before the last reading."""
        return 1.1 * (self.settled_s + self.window_s)


# Flows take up to a second to start, and a generator refreshes its statistics about once a second.
WALL = SteadyWindow(3.0, 10.0)
DEVIATIONS = (
    Deviation(
        "all-drops-read", ("voq", "broadcom-dnx"), "no",
        "virtual output queues are not read, whose drops `show queue counters --voq` has",
        date(2026, 11, 27),
    ),
    Deviation(
        "all-drops-read", (), "yes",
        "what is dropped is counted by ports, queues and priority groups, which are read",
        date(2026, 11, 27),
    ),
)


def room_s(lab: Lab) -> float:
    """How long data is sent that the line has room for."""
    return EXACT_ROOM_S if lab.clock.exact else ROOM_S


def timing(lab: Lab, percent: int) -> SteadyWindow:
    """How long data of `percent` of the line under test is sent.

    Of what the line has no room for a switch holds at most its shared buffer: when that much has come in, queues are
    as full as they get. Simulated time of congestion is dear: no more of it is spent than that takes and rates need.

    Args:
        lab: its clock, the buffer and the line.
        percent: more than 100, where full lines are loaded in full.

    Raises:
        QualificationError: full lines are loaded so little that nothing is too much.
    """
    speed_mbps = lab.subject.pair.speed_mbps
    loaded = percent * _of_full(lab)
    if loaded <= 100:
        raise QualificationError(
            f"{lab.subject.where()}: the testbed's pfc_conditions have line_percent"
            f" {lab.subject.tolerances.line_percent:g}, which makes {float(loaded):g} % of the line out of {percent} %:"
            " expected more than 100 %, or nothing is congested"
        )
    if not lab.clock.exact:
        return WALL
    surplus = speed_mbps * 10**6 * (loaded - 100) / 800
    return SteadyWindow(
        float(lab.subject.buffer.size_bytes / surplus), float(EXACT_FRAMES / line_rate_fps(FRAME_BYTES, speed_mbps))
    )


def _of_full(lab: Lab) -> Fraction:
    """What the testbed has for a full line, as a part of it."""
    return Fraction(lab.subject.tolerances.line_percent) / 100


@dataclass(frozen=True)
class OfferedLoad:
    """What is sent, and what it has to come to.

    Attributes:
        loads: the data.
        wanted: priority -> how much of the line under test its data would take.
        given: priority -> how much of it the switch's schedulers give it.
        mix: sizes of frames and their weights; empty: one size.
        timing: when rates are measured; None: they are not.
    """

    loads: tuple[IngressLoad, ...]
    wanted: Mapping[int, Fraction]
    given: Mapping[int, Fraction]
    mix: tuple[tuple[int, int], ...] = ()
    timing: SteadyWindow | None = None

    @property
    def congested(self) -> tuple[int, ...]:
        """Priorities that want more than they get, ascending."""
        return tuple(sorted(priority for priority, wanted in self.wanted.items() if wanted > self.given[priority]))

    @property
    def ports(self) -> tuple[ConnectedPort, ...]:
        """The ports that data enters by."""
        return entered(self.loads)


@dataclass(frozen=True)
class LoadRun(CaseRun):
    """One run of a load; its phase `sent` is when all was over.

    Attributes:
        offered: what was sent.
        rates: priority -> frames received in the window in which rates were steady; empty: they were not measured.
        drops: what the switch counted as dropped; None: nothing had to be, and it was not read.
        exact: whether the clock was.
        by_sender: priority and port that data enters by -> of `rates` those of that sender.
        rooms: priority and port that data enters by -> what its priority group takes before XOFF, where that is known.
    """

    offered: OfferedLoad
    rates: Mapping[int, int]
    drops: DataCounters | None
    exact: bool
    by_sender: Mapping[tuple[int, str], int] = field(default_factory=dict)
    rooms: Mapping[tuple[int, str], GroupRoom | None] = field(default_factory=dict)

    @property
    def lossy(self) -> list[int]:
        """Congested priorities that are lossy."""
        return [priority for priority in self.offered.congested if priority not in self.subject.qos.lossless]

    @property
    def held(self) -> list[int]:
        """Congested priorities that are lossless."""
        return [priority for priority in self.offered.congested if priority in self.subject.qos.lossless]

    @property
    def received(self) -> int:
        """Frames of all flows that were received."""
        return sum(flow.frames_rx for flow in self.flows("sent"))

    @property
    def uncongested(self) -> dict[int, Fraction]:
        """Priorities that the line has room for, with their part of it."""
        return {one: part for one, part in self.offered.given.items() if one not in self.offered.congested}

    @property
    def lost_elsewhere(self) -> int:
        """Lost frames in whose place others may have left by the line: those lost of priorities that it has room for,
        and those of a lossy priority of which not one came through."""
        lost = sum(sent - got for sent, got in map(self.frames, self.uncongested))
        return lost + sum(sent for sent, got in map(self.frames, self.lossy) if not got)

    def only_entry(self, priority: int) -> str | None:
        """The port whose data of a priority was lost, where that of other ports was not; None: there is no such one."""
        flows = [flow for flow in self.flows("sent") if priority_of(flow) == priority]
        losing = {flow.plan.enters for flow in flows if flow.frames_rx < flow.frames_tx}
        return losing.pop() or None if len(losing) == 1 < len({flow.plan.enters for flow in flows}) else None

    def frames(self, priority: int) -> tuple[int, int]:
        """Frames of a priority that were sent and received."""
        flows = [flow for flow in self.flows("sent") if priority_of(flow) == priority]
        return sum(flow.frames_tx for flow in flows), sum(flow.frames_rx for flow in flows)

    def details(self) -> dict[str, Any]:
        """What the line was offered, and what came of it."""
        return {
            "pfc_sent": {port.port: list(self.pfc_sent_in_all(port.port)) for port in self.offered.ports},
            "wanted_percent": {priority: float(100 * part) for priority, part in self.offered.wanted.items()},
            "given_percent": {priority: float(100 * part) for priority, part in self.offered.given.items()},
            "received_in_window": dict(self.rates),
            "received_by_sender": {f"{port} {priority}": got for (priority, port), got in self.by_sender.items()},
            **({} if self.drops is None else _dropped(self.drops)),
        }


LoadMaker = Callable[[Lab, Target], OfferedLoad]


def load_case(offered: LoadMaker, targets: Targets) -> Procedure[LoadRun]:
    """A case that is one load, which `offered` makes for a port and a case's target."""
    return Procedure(
        lambda lab, target, before: measure(lab, offered(lab, target), target, before), validity, judge, targets
    )


def offered_load(
    lab: Lab, loads: Sequence[IngressLoad], mix: tuple[tuple[int, int], ...] = (), times: SteadyWindow | None = None
) -> OfferedLoad:
    """What these loads have to come to on the port under test when all of them run: where they are too much for its
    line, what its schedulers make of them.

    Raises:
        QualificationError: a queue has no scheduler from which its share would follow.
    """
    wanted: dict[int, Fraction] = {}
    for load in loads:
        share = Fraction(load.percent * load.enters.speed_mbps, 100 * lab.subject.pair.speed_mbps) * _of_full(lab)
        for priority in load.priorities:
            wanted[priority] = wanted.get(priority, Fraction(0)) + share / len(load.priorities)
    schedulers: Mapping[int, Scheduler] = {}
    if sum(wanted.values()) > 1:
        schedulers = read_schedulers(lab.config_db, lab.subject.qos)
    return OfferedLoad(tuple(loads), wanted, divide(wanted, schedulers), mix, times)


def measure(lab: Lab, offered: OfferedLoad, target: Target, before: DutCounters) -> LoadRun:
    """Sends a load and counts: the counters before, the rates once they are steady, everything when all is over.
    `before`: the switch's counters, read when all earlier traffic was in them.

    Raises:
        QualificationError: a step could not be done. No traffic runs on, however this ends.
    """
    rx = lab.subject.pair.rx.port
    loses = any(priority not in lab.subject.qos.lossless for priority in offered.congested)
    also, wait_s = (data_commands(rx), drops_delay_s(lab)) if loses else ({}, lab.delays.port_s)
    if loses:
        before = settled_counters(lab, wait_s, also)
    traffic = lab.builder.build(ingress_flows(lab, offered.loads, offered.mix))
    with sending(lab, traffic):
        logger.info(
            "%s: data of %s, too much of %s", lab.subject.where(), list(offered.wanted), list(offered.congested)
        )
        senders, during = _send(lab, traffic, offered)
    lab.clock.sleep(wait_s)  # what the switch holds leaves meanwhile, and is counted
    sent = lab.generator.stats(traffic.flows)
    after = lab.dut.counters(also=also)
    drops = _counted(lab, offered, after).since(_counted(lab, offered, before)) if loses else None
    rates = {one: sum(got for (priority, _), got in senders.items() if priority == one) for one, _ in senders}
    return LoadRun(
        lab.subject, before, during or after, after, target, {"sent": sent}, offered, rates, drops, lab.clock.exact,
        senders, _rooms(lab, offered),
    )


def _rooms(lab: Lab, offered: OfferedLoad) -> dict[tuple[int, str], GroupRoom | None]:
    """`rooms` of a run, of its lossless priorities."""
    qos = lab.subject.qos
    return {(priority, port.port): configured_room(lab.config_db, qos.device, port.port, priority)
            for priority in offered.wanted if priority in qos.lossless for port in offered.ports}


def _counted(lab: Lab, offered: OfferedLoad, reading: DutCounters) -> DataCounters:
    return data_counters(reading.printed, lab.port, [port.port for port in offered.ports])


def _send(
    lab: Lab, traffic: Traffic, offered: OfferedLoad
) -> tuple[dict[tuple[int, str], int], DutCounters | None]:
    """Sends all flows until they end.

    Returns:
        Frames of each priority and sender that were received in the window, where rates are measured; and the counters
        when the short loads were over, where some go on.
    """
    names = list(traffic.flows)
    ends = sorted({load.delay_s + load.seconds for load in offered.loads})
    lab.generator.start(names)
    rates: dict[tuple[int, str], int] = {}
    during = None
    spent_s = 0.0
    if offered.timing is not None:
        lab.clock.sleep(offered.timing.settled_s)
        early = _received(lab.generator.stats(names))
        lab.clock.sleep(offered.timing.window_s)
        late = _received(lab.generator.stats(names))
        rates = {sender: frames - early[sender] for sender, frames in late.items()}
        spent_s = offered.timing.settled_s + offered.timing.window_s
    elif len(ends) > 1:
        spent_s = ends[-2] + DRAIN_S + lab.delays.port_s
        lab.clock.sleep(spent_s)
        if not lab.clock.exact:  # a generator that counts frames, not time, still sends those that pauses held
            lab.generator.stop([name for name, flow in traffic.flows.items() if _ends_s(flow) < ends[-1]])
            lab.clock.sleep(DRAIN_S + lab.delays.port_s)
            spent_s += DRAIN_S + lab.delays.port_s
        during = lab.dut.counters()
    lab.generator.run_out(names, ends[-1] - spent_s)
    return rates, during


def _ends_s(flow: FlowPlan) -> float:
    """When a flow's time is over, in seconds from the start of all."""
    return flow.delay_ns / 1e9 + (flow.seconds or 0)


def _received(stats: Stats) -> dict[tuple[int, str], int]:
    """Priority and port that data enters by -> frames received."""
    frames: dict[tuple[int, str], int] = {}
    for flow in stats.values():
        sender = priority_of(flow), flow.plan.enters
        frames[sender] = frames.get(sender, 0) + flow.frames_rx
    return frames


def validity(run: LoadRun) -> Iterator[Check]:
    """Whether it was a measurement, best cause first: what was due must have been sent."""
    yield from ingress_undisturbed(run, run.offered.ports)
    yield from ingress_applied(run, "sent", "in all")


def judge(run: LoadRun) -> Iterator[Check]:
    """All checks of a run that was a measurement."""
    yield from ingress_taken(run, "sent", "in all")
    yield from _nothing_lost(run)
    yield from _throughput(run)
    yield from _back_pressure(run)
    yield from _no_back_pressure(run)
    if run.offered.timing is not None:
        yield from _shares(run)
        yield from _shares_of_senders(run)
        yield _line_full(run, run.offered.timing)
    if run.during is not run.after:
        yield from _pfc_stops(run)
    if run.drops is not None:
        yield from _drops_counted(run, run.drops)
        yield from _drop_bytes_agree(run, run.drops)


def _nothing_lost(run: LoadRun) -> Iterator[Check]:
    """Every frame arrives, of lossless priorities whatever comes in, of lossy ones where the line has room for them."""
    for priority in sorted(set(run.offered.wanted) - set(run.lossy)):
        sent, got = run.frames(priority)
        place = at_priority(run.subject, priority, run.only_entry(priority))
        yield fail_unless("nothing-lost", place, got == sent, f"all {sent} frames received", got)


def _throughput(run: LoadRun) -> Iterator[Check]:
    """What the line has room for comes through at its rate: a sender that was held back without need sends less, and
    loses nothing."""
    for priority in sorted(set(run.offered.wanted) - set(run.offered.congested)):
        flows = [flow.plan for flow in run.flows("sent") if priority_of(flow) == priority]
        least = sum(least_load(run.subject, plan) for plan in flows)
        got = run.frames(priority)[1]
        yield at_least("throughput", at_priority(run.subject, priority), least, "frames received", got)


def _back_pressure(run: LoadRun) -> Iterator[Check]:
    """Every sender of a lossless priority that the line has no room for is paused. By an exact clock data may be over
    before a priority that wants little more than it gets has filled its groups: it may come through unpaused then.
    Where frames of other priorities were lost that the line has room for, it may have had room for this one too:
    ERROR."""
    for load in run.offered.loads:
        port = load.enters.port
        for priority in (one for one in load.priorities if one in run.held):
            frames = run.pfc_sent_in_all(port)[priority]
            expected = f"more than 0 PFC frames sent out of {port} to hold the sender"
            place = at_priority(run.subject, priority, port)
            sent, got = run.frames(priority)
            is_whole = got == sent
            if frames == 0 and is_whole and run.lost_elsewhere:
                expected += f", unless the {run.lost_elsewhere} frames lost of others left it room"
                yield error_unless("back-pressure", place, False, expected, frames)
                continue
            needs_none = is_whole and _has_room(run, priority, port)
            if needs_none:
                expected += ", or none, as its priority group has room for all that is too much"
            yield fail_unless("back-pressure", place, frames > 0 or needs_none, expected, frames)


def _has_room(run: LoadRun, priority: int, port: str) -> bool:
    """Whether the group of a priority takes all that is too much of it where it enters a port before it has to send
    XOFF; only where it is known for how long data came."""
    room = run.rooms.get((priority, port))
    if room is None or run.offered.timing is None or not run.exact:
        return False
    bytes_per_line = line_rate_fps(FRAME_BYTES, run.subject.pair.speed_mbps) * FRAME_BYTES
    in_all = bytes_per_line * Fraction(run.offered.timing.data_s)
    taken = {one: in_all * (run.offered.wanted[one] - run.offered.given[one]) / len(run.offered.ports)
             for one in run.held}
    return room.holds(taken[priority], list(taken.values()) * len(run.offered.ports))


def _no_back_pressure(run: LoadRun) -> Iterator[Check]:
    """No other sender is paused: no lossy priority, however much of it comes in, no lossless one that the line has room
    for, and no port that data does not enter by."""
    name = "no-other-back-pressure" if run.held else "no-back-pressure"
    for port in (*run.offered.ports, run.subject.pair.rx):
        for priority, frames in enumerate(run.pfc_sent_in_all(port.port)):
            if priority in run.held and port in run.offered.ports:
                continue
            place = at_priority(run.subject, priority, port.port)
            yield none_of(name, place, f"PFC frames sent out of {port.port}", frames)


def _shares(run: LoadRun) -> Iterator[Check]:
    """While rates were steady, each congested priority got the part of the line that the schedulers give it.

    Where lossless priorities are congested too, what they hold in the buffer leaves lossy frames little room where they
    enter, in a priority group that all lossy priorities share: which of them is dropped there is chance, and one whose
    queue runs dry leaves its turn to all others, in proportion to their weights. So a lossless priority gets its share
    or more then, and the lossy ones are judged together. What priorities lack that the line has room for
    (`nothing-lost`) is the others' gain.
    """
    each_alone = not run.lossy or not run.held
    in_all = sum(run.rates.values())
    spared = sum(max(0.0, float(part) * in_all - run.rates[one]) for one, part in run.uncongested.items())
    for priority in run.offered.congested if each_alone else run.held:
        due = float(run.offered.given[priority]) * in_all
        got = run.rates[priority]
        near = _near(run, due)
        met = got >= due - near and (got <= due + spared + _near(run, due + spared) or not each_alone)
        expected = f"{due:.0f}{'' if each_alone else ' or more'} of {in_all} frames received by weight"
        expected += f" ({near:.0f} more or less)"
        yield fail_unless("share-by-weight", at_priority(run.subject, priority), met, expected, got)
    if not each_alone:
        due = in_all * float(sum(run.offered.given[priority] for priority in run.lossy))
        got = sum(run.rates[priority] for priority in run.lossy)
        expected = f"{due:.0f} or more of {in_all} frames received by weight ({100 * LOSSY_TOLERANCE:.0f} % less)"
        place = Place(f"{run.subject.where()} {priorities_text(run.lossy)}", LOSSY)
        yield fail_unless("share-by-weight", place, got >= due * (1 - LOSSY_TOLERANCE), expected, got)


def _shares_of_senders(run: LoadRun) -> Iterator[Check]:
    """Of several senders that a lossless priority is held for none starves: each one goes on when the others do."""
    several = len(run.offered.ports) > 1
    for priority, port in run.by_sender if several else ():
        if priority in run.held:
            equal = Fraction(run.rates[priority], len(run.offered.ports))
            least = floor(equal * (EXACT_SENDER_PART if run.exact else SENDER_PART))
            what = f"of the {run.rates[priority]} frames received in the window that enter by {port}"
            place = at_priority(run.subject, priority, port)
            yield at_least("share-of-sender", place, least, what, run.by_sender[priority, port])


def _near(run: LoadRun, due: float) -> float:
    """How many frames a share may be off."""
    return SHARE_FRAMES if run.exact else due * SHARE_TOLERANCE


def _line_full(run: LoadRun, times: SteadyWindow) -> Check:
    """The line never stood still; if it did, for want of those priorities that had less than their part. On an exact
    clock frames are counted in the window; else in all, because reading a generator's statistics takes time (and in
    seconds what leaves the buffer afterwards is nothing)."""
    seconds = times.window_s
    got = sum(run.rates.values())
    plan = run.flows("sent")[0].plan
    if not run.exact:  # in whole seconds, where the generator takes no others
        seconds = plan.seconds or times.data_s
        got = run.received
    carried = line_rate_fps(plan.mean_bytes, run.subject.pair.speed_mbps) * Fraction(seconds)
    least = floor(carried * (1 - Fraction(run.subject.tolerances.load_tolerance_percent) / 100)) - 1  # one under way
    line = line_rate_fps(plan.mean_bytes, run.subject.pair.speed_mbps) * Fraction(times.window_s)
    short = [priority for priority, part in sorted(run.offered.given.items())
             if run.rates.get(priority, 0) < part * line * Fraction(1 - LOSSY_TOLERANCE)]
    place = at_port_for(run.subject, [] if got >= least else short)
    return at_least("line-full", place, least, "frames received, a full line", got)


def _pfc_stops(run: LoadRun) -> Iterator[Check]:
    """Once there is room again, nobody is paused any more."""
    for port in run.offered.ports:
        for priority, frames in enumerate(changed(run.during.pfc_tx, run.after.pfc_tx, port.port)):
            place = at_priority(run.subject, priority, port.port)
            yield none_of("back-pressure-ends", place, f"PFC frames sent out of {port.port} afterwards", frames)


def _dropped(counted: DataCounters) -> dict[str, Any]:
    """The drops, for the record."""
    return {
        "queue_drops": dict(counted.queue_drops),
        "queue_drop_bytes": dict(counted.queue_drop_bytes),
        "group_drops": {port: dict(counts) for port, counts in counted.group_drops.items()},
        "tx_drp": counted.leaving.tx_dropped,
        "rx_drp": {port: counts.rx_dropped for port, counts in counted.entering.items()},
    }


def _drops_counted(run: LoadRun, drops: DataCounters) -> Iterator[Check]:
    """What the line has no room for is counted as dropped, by port and by queue (or by priority group, where a frame
    was dropped as it entered). On hardware frames of the switch's own may be among them."""
    missing = sum(flow.frames_tx for flow in run.flows("sent")) - run.received
    allowed = own_frames(run.exact)
    read = deviation("all-drops-read", run.subject.asic, DEVIATIONS)
    for name, what, seen, priority in (
        ("port-drops-counted", "ports (TX_DRP, RX_DRP)", drops.drops_by_port, None),
        ("queue-drops-counted", "queues and priority groups", drops.drops_by_queue, _uncounted(run, drops)),
    ):
        expected = f"{missing} frames counted as dropped by {what}" + (f" (or up to {allowed} more)" if allowed else "")
        met = 0 <= seen - missing <= allowed
        place = Place(run.subject.where(port=None if met else _silent(drops)), LOSSY)
        if not met and priority is not None:
            place = at_priority(run.subject, priority)
        if seen < missing and read.value == "no":
            yield error_unless(name, place, False, expected, f"{seen}, and {read.reason}")
        else:
            yield fail_unless(name, place, met, expected, seen)


def _drop_bytes_agree(run: LoadRun, drops: DataCounters) -> Iterator[Check]:
    """The bytes that a queue counts as dropped are those of as many frames as it does, of the sizes that were sent."""
    allowed = own_frames(run.exact)
    for priority in sorted(set(run.offered.wanted) & set(drops.queue_drop_bytes)):
        plans = [flow.plan for flow in run.flows("sent") if priority_of(flow) == priority]
        sizes = [size for plan in plans for size in ([one for one, _ in plan.mix] or [plan.frame_bytes])]
        frames = drops.queue_drops.get(priority, 0)
        sent = max(0, frames - allowed)
        least = byte_bounds(sent, sent * min(sizes))[0]
        most = byte_bounds(frames, frames * max(sizes), allowed)[-1]
        counted = drops.queue_drop_bytes[priority]
        expected = f"from {least} to {most} bytes more in Drop/bytes of queue UC{priority}, as {frames} frames have"
        place = at_priority(run.subject, priority)
        yield fail_unless("drop-bytes-agree", place, least <= counted <= most, expected, counted)


def _uncounted(run: LoadRun, drops: DataCounters) -> int | None:
    """The only priority that lost more than its queue and all priority groups together counted as dropped; None: none,
    or several."""
    by_groups = drops.drops_by_queue - sum(drops.queue_drops.values())
    found = []
    for priority in run.offered.wanted:
        sent, got = run.frames(priority)
        if sent - got > drops.queue_drops.get(priority, 0) + by_groups:
            found.append(priority)
    return found[0] if len(found) == 1 else None


def _silent(drops: DataCounters) -> str | None:
    """The only one of the ports that counted no drop at all; None: none, or several."""
    counted: dict[str | None, int] = {None: drops.leaving.tx_dropped + sum(drops.queue_drops.values())}
    for port, counts in drops.entering.items():
        counted[port] = counts.rx_dropped + sum(drops.group_drops[port].values())
    silent = [port for port, frames in counted.items() if not frames]
    return silent[0] if len(silent) == 1 else None
