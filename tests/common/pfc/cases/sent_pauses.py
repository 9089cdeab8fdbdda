"""SENT: the pause frames that the switch sends while a lossless priority is congested, as a traffic generator captured
them. They must be right in every field, and come in time: IEEE 802.1Q clause 36 and IEEE 802.3 annex 31D."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any

from ..lab.capture import MAC_CONTROL, PFC_OPERATION, Capture, ControlFrame
from ..lab.generator import Traffic
from ..lab.generator_ports import capturing, end_capture, start_capture
from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA, pause_seconds
from ..model.checking import (
    Place, at_flow, at_least, at_port, at_priority, at_sender, error_unless, everything_received, fail_unless, none_of,
    priority_of, sent_as_due,
)
from ..model.counters import DutCounters
from ..model.deviations import Deviation, deviation
from ..model.errors import QualificationError
from ..model.measurement import CaseRun
from ..model.traffic import PAUSE_ADDRESS, FlowPlan, FlowStats, Role, Stats
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from . import targets
from .buffer_threshold import threshold_lowered
from .changed_switch import changeable, inside
from .engine import Procedure, Table, sending, settled_counters, unmet
from .data_loads import DataLoad, data_flows
from .group_profiles import profiles_command, read_profile
from .resume_level import Resumption
from .storm_length import storm_held
from .storm_sequence import pause_storm
from .switch_counters import priority_groups
from .validity import storm_stopped, undisturbed

logger = logging.getLogger(__name__)

SINGLE = PlanCase("sent-pauses-single", "SENT-1")
SEVERAL = PlanCase("sent-pauses-several", "SENT-2")
OTHERWISE = PlanCase("sent-pauses-threshold-changed", "SENT-3")
LOAD_PERCENT = 50
FRAME_BYTES = 1024
STORM_LEAD_S = 1.0
# A capture holds so many frames and no more, and a switch sends thousands of pauses a second: data and capture last no
# longer than it takes to see XOFF, some refreshes and XON. By an exact clock 5 ms fill the buffer (100 Gb/s: 3 MB a
# millisecond) and leave ten refreshes. Other generators take their time to stop a storm: it ends by itself there, when
# half of a capture is full of pauses, two in the longest time of one.
REFRESHES_EXACT_S = 0.005
HOLD_S = 1.0
STORM_S = 2
START_LAG_S = 1.0
LARGEST_CAPTURE = 16_384  # a capture of as many frames may have been full before the last ones came
FRAME_LENGTH = 60  # of MAC control, without FCS
FCS_BYTES = 4
XON_OFFSETS = 4  # of the headroom: what a group of SENT-3 has to drain is more than what came after XOFF
XON_EARLIER_NS = 10_000  # than the first frame that leaves is captured XON may be: both are on their way for a moment
ZERO_MAC = "00:00:00:00:00:00"
PORT_ADDRESSES = 1024  # of the block that a switch's own address begins: as many as the largest has ports

DEVIATIONS = (
    Deviation(
        "sent-pause-source", ("mellanox",), "unicast",
        "each port of a Spectrum has a MAC address of its own (register PPAD), which CONFIG_DB does not name",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-source", (), "own",
        "a MAC control frame has the sender's own address (IEEE 802.3 31.3), which SONiC makes that of the switch on"
        " all ports; sonic-mgmt's test_valid_src_mac_pfc_frame.py, for cisco-8000 only, expects it",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-unused-times", ("cisco-8000",), "any",
        "sonic-mgmt's CiscoPFCPacket allows times of priorities whose enable bit is not set",
        date(2026, 11, 21),
    ),
    Deviation(
        "sent-pause-unused-times", (), "zero",
        "nobody reads the time of a priority whose enable bit is not set; sonic-mgmt's PFCPacket expects 0",
        date(2026, 11, 21),
    ),
)


@dataclass(frozen=True)
class SentRun(CaseRun):
    """One run: flows while the storm ran, and after it, when the capture ended.

    Attributes:
        own_mac: the switch's MAC address.
        capture: what came out of the tx port while data ran, and until the held frames had drained.
        ends_first: the priority whose storm ended before that of the other; empty: there was one storm.
        resumed: congested priority -> what was left of it at XON, where that can be told.
        left_ns: by an exact clock, when the first held frame was captured at the port under test; None: not known.
    """

    own_mac: str
    capture: Capture
    ends_first: Target = ()
    resumed: Mapping[int, Resumption] = field(default_factory=dict)
    left_ns: int | None = None

    @property
    def tx_port(self) -> str:
        """The port that the pause frames come out of."""
        return self.subject.pair.tx.port

    def details(self) -> dict[str, Any]:
        """The frames that were sent."""
        return {
            "dut_pfc_tx_in_all": list(self.pfc_sent_in_all()),
            "own_mac": self.own_mac,
            "capture": self.capture.as_record(),
            "resumed": {priority: one.evidence() for priority, one in self.resumed.items()},
        }

    def pauses_of(self, priority: int) -> list[tuple[int, int]]:
        """Of each captured frame that enables a priority: when (nanoseconds), and its pause time in quanta."""
        frames = ((frame.at_ns, frame.pauses) for frame in self.capture.control if frame.is_pfc)
        return [(at_ns, pauses[priority]) for at_ns, pauses in frames if priority in pauses]


def measure(lab: Lab, target: Target, before: DutCounters) -> SentRun:
    """Storm, later the data, which are captured; then the storm ends (of two classes one's first), held frames
    drain, and the capture ends. Where generators take their time it begins before the storm, and ends before they are
    asked anything: that takes longer than it may last."""
    traffic = congesting_traffic(lab, target)
    ports = _captured_ports(lab)
    seconds = hold_s(lab, target)
    data = traffic.names(Role.TEST)
    first = ending_first(lab, target)
    captured: list[bytes] = []
    phases = {}
    with sending(lab, traffic):
        if not lab.clock.exact:
            start_capture(lab.generator, ports)
        lab.generator.start(traffic.names())
        lab.clock.sleep(STORM_LEAD_S)
        if lab.clock.exact:
            start_capture(lab.generator, ports)
        else:
            lab.clock.sleep(STORM_S - STORM_LEAD_S + seconds + START_LAG_S)
            captured = [end_capture(lab.generator, port) for port in ports]
        if first:
            phases = _end_first(lab, traffic, target)
        else:
            lab.generator.run_out(data, seconds)
            phases["paused"] = lab.generator.stats(traffic.flows)
        logger.info("%s: storm stopped, held frames drain", lab.subject.where())
        lab.generator.stop(traffic.names(Role.STORM))
        lab.clock.sleep(seconds)
        captured = captured or [end_capture(lab.generator, port) for port in ports]
        phases["drained"] = lab.generator.stats(traffic.flows)
    after = settled_counters(lab)
    capture, departed = _read(*captured)
    run = SentRun(lab.subject, before, after, after, target, phases, lab.builder.router_mac, capture, first)
    if not departed:
        return run
    return replace(run, resumed=_resumed(lab, run, departed), left_ns=min(at_ns for at_ns, _ in departed))


def _end_first(lab: Lab, traffic: Traffic, target: Target) -> dict[str, Stats]:
    """By an exact clock: ends the first of two storms once data has been held for long enough. Its own frames drain and
    its sender goes on, until all data ends; the other storm goes on for as long again.

    Returns:
        What flows had come to before (`paused`) and in the end (`alone`).
    """
    lab.clock.sleep(hold_s(lab, target))
    paused = lab.generator.stats(traffic.flows)
    logger.info("%s: the storm on %s stopped, the other goes on", lab.subject.where(), target[0])
    lab.generator.stop(traffic.names(Role.STORM)[:1])
    half_s = gap_s(lab, target) / 2
    lab.generator.run_out(traffic.names(Role.TEST), half_s)
    lab.clock.sleep(half_s)
    return {"paused": paused, "alone": lab.generator.stats(traffic.flows)}


def ending_first(lab: Lab, target: Target) -> Target:
    """By an exact clock, of two priorities the first, whose storm ends before that of the other; none where they share
    their priority group, which is congested as long as either is, or may do so, for want of a map. None of more: as the
    first one's frames leave, the thresholds of all others rise, and what these are let go and paused again fills a
    capture. Other generators may start the later storm so late that it ends first."""
    if not lab.clock.exact or len(target) != 2:
        return ()
    try:
        groups = priority_groups(lab.config_db, lab.dut.name, lab.subject.pair.tx.port)
    except QualificationError:
        return ()
    first, second = (groups.get(priority) for priority in target)
    return target[:1] if first is not None and first != second else ()


def _captured_ports(lab: Lab) -> list[str]:
    """The generator ports that are captured: the one behind the tx port, where pauses come, then by an exact clock the
    one behind the port under test, where data leaves."""
    ports = [lab.subject.pair.tx.port, *([lab.port] if lab.clock.exact else [])]
    return [lab.builder.port_name(port) for port in ports]


def _read(pauses: bytes, data: bytes = b"") -> tuple[Capture, list[tuple[int, int]]]:
    """The frames of two capture files: of the one with pauses, and when frames of which DSCP came in the other, if
    there is one."""
    from ..lab.capture_file import read_capture, read_dscps

    return read_capture(pauses), read_dscps(data) if data else []


def _resumed(lab: Lab, run: SentRun, departed: Sequence[tuple[int, int]]) -> dict[int, Resumption]:
    """Congested priority -> what was left of it at XON. None where no XON was captured after an XOFF, and where the
    level cannot be told: two of them share a priority group, or one group's threshold sinks as another one fills.

    Args:
        departed: when (nanoseconds) a frame of which DSCP left by the port under test.
    """
    printed = lab.dut.ask({"profiles": profiles_command(run.tx_port)})["profiles"]
    groups = priority_groups(lab.config_db, lab.dut.name, run.tx_port)
    found = {}
    for flow in run.flows("paused", Role.TEST):
        priority = priority_of(flow)
        xons_ns = _xons_ns(run.pauses_of(priority))
        if xons_ns:
            place = run.subject.where(priority, run.tx_port)
            profile = read_profile(printed, place, groups.get(priority, priority))
            dscps = run.subject.qos.dscps[priority]
            until_xon = sum(1 for at_ns, dscp in departed if at_ns <= xons_ns[0] and dscp in dscps)
            held = flow.frames_tx - flow.frames_rx
            found[priority] = Resumption(profile, int(flow.plan.mean_bytes), held, until_xon - flow.frames_rx)
    are_apart = len({groups.get(priority, priority) for priority in run.tested}) == len(run.tested)
    are_alike = len({one.profile.fields.get("dynamic_th") for one in found.values()}) <= 1
    return found if are_apart and are_alike else {}


def _xons_ns(pauses: Sequence[tuple[int, int]]) -> list[int]:
    """When (nanoseconds) the end of congestion was told, of pauses as `SentRun.pauses_of` has them."""
    return [at_ns for (_, before), (at_ns, quanta) in pairwise(pauses) if before and not quanta]


def hold_s(lab: Lab, target: Target) -> float:
    """How long held data is paused, and how long it then takes to drain, in seconds of the lab's clock: on an exact one
    until it could have filled the shared buffer, when a switch must have sent XOFF, and some refreshes longer."""
    speed = lab.subject.pair.speed_mbps
    if not lab.clock.exact:
        pauses_fps = 2 * len(target) / float(pause_seconds(MAX_QUANTA, speed))
        return min(HOLD_S, LARGEST_CAPTURE / 2 / pauses_fps)
    bytes_a_second = speed * 10**6 * LOAD_PERCENT / 800
    return lab.subject.buffer.size_bytes / bytes_a_second + REFRESHES_EXACT_S


def gap_s(lab: Lab, target: Target) -> float:
    """How much longer than the first storm the other lasts: until the last pause has lapsed, a whole buffer could have
    left, and some refreshes, which have to be without the first one."""
    if not ending_first(lab, target):
        return 0.0
    speed = lab.subject.pair.speed_mbps
    drain_s = lab.subject.buffer.size_bytes * 8 / (speed * 10**6)
    return float(pause_seconds(MAX_QUANTA, speed)) + drain_s + REFRESHES_EXACT_S


def congesting_traffic(lab: Lab, target: Target) -> Traffic:
    """Storms that hold the priorities of `target`, some time later data of these; the tx port's generator captures.
    Where nobody can stop a storm in time, it ends by itself, and data does when the buffer is full twice: what came
    freely after the storm would only fill the capture."""
    seconds = hold_s(lab, target)
    lead_s = STORM_LEAD_S if lab.clock.exact else STORM_S - seconds
    load_s = seconds + gap_s(lab, target) / 2
    load = DataLoad("Test Flow", Role.TEST, target, LOAD_PERCENT, load_s, FRAME_BYTES, delay_s=lead_s)
    data = data_flows(lab, [load])
    if not lab.clock.exact:
        each = ceil(2 * lab.subject.buffer.size_bytes / FRAME_BYTES / len(data))
        data = [replace(flow, seconds=None, frames=each) for flow in data]
    return capturing(lab.builder.build([*_storms(lab, target), *data]), _captured_ports(lab))


def _storms(lab: Lab, target: Target) -> list[FlowPlan]:
    """One storm on all priorities; or one on that which ends first, and one on the other."""
    first = ending_first(lab, target)
    if not first:
        storm = pause_storm(lab, target)
        return [storm if lab.clock.exact else replace(storm, seconds=STORM_S)]
    return [replace(pause_storm(lab, priorities), name=lab.builder.flow_name(f"Pause Storm {name}"))
            for name, priorities in (("First", first), ("Second", target[1:]))]


def validity(run: SentRun) -> Iterator[Check]:
    """The storm held the priorities when data began, data came, the storm ended, and the capture has all of it."""
    yield from undisturbed(run)
    place = at_port(run.subject)
    yield from storm_held(run, place, run.flows("paused", Role.STORM), STORM_LEAD_S)
    yield from storm_stopped(place, run.flows("drained", Role.STORM), "the storm stopped when the capture ended")
    for flow in run.flows("paused", Role.TEST):  # whatever the switch sent: data has to congest it first
        yield sent_as_due(run.subject, flow, 0, True, "in the storm")
    yield from _captured(run)


def judge(run: SentRun) -> Iterator[Check]:
    """What was sent, its format and its times; and what pauses are for: nothing was lost. What was lost without the
    right pauses was lost where it came in."""
    pauses = [*_sent(run), *(_format(run) if run.capture.control else ()), *_times(run), *_alone(run)]
    yield from pauses
    test = run.flows("drained", Role.TEST)
    when = "once the storm had stopped"
    at = partial(at_sender, run.subject) if unmet(pauses) else None
    yield from everything_received("held-frames-drained", run.subject, test, when, at)


def _captured(run: SentRun) -> Iterator[Check]:
    """The capture must have all of it: what the switch counted as sent, and the end."""
    place = at_port(run.subject, run.tx_port)
    counted = sum(run.pfc_sent_in_all())
    seen = run.capture.frames
    expected = f"frames captured at {run.tx_port}, as the switch counted {counted} PFC frames sent there"
    yield error_unless("captured", place, seen > 0 or not counted, expected, seen)
    expected = f"fewer than {LARGEST_CAPTURE} frames captured, so that the last ones are there"
    yield error_unless("capture-whole", place, seen < LARGEST_CAPTURE, expected, seen)


def _sent(run: SentRun) -> Iterator[Check]:
    """XOFF was sent for each congested priority, none for any other, and the switch counted what it sent. Others may be
    enabled with a time of 0, which resumes what nobody pauses."""
    for priority in run.tested:
        place = at_priority(run.subject, priority, run.tx_port)
        frames = sum(1 for _, time in run.pauses_of(priority) if time)
        yield fail_unless("xoff-sent", place, frames > 0, f"XOFF captured at {run.tx_port}", frames)
    for priority, counted in enumerate(run.pfc_sent_in_all()):
        place = at_priority(run.subject, priority, run.tx_port)
        sent = run.pauses_of(priority)
        if priority not in run.tested:
            pausing = sum(1 for _, time in sent if time)
            what = f"pause frames captured at {run.tx_port} that enable it with a time above 0"
            yield none_of("no-other-enabled", place, what, pausing)
        yield _counted(run, place, [time for _, time in sent], counted)


def _counted(run: SentRun, place: Place, times: list[int], counted: int) -> Check:
    """The switch counted what was captured of a priority; whether a chip counts XON among it differs."""
    xoffs = sum(1 for time in times if time)
    tolerances = run.subject.tolerances
    met = xoffs <= counted <= len(times) or tolerances.alike(counted, xoffs) or tolerances.alike(counted, len(times))
    expected = f"{xoffs} to {len(times)} PFC frames counted as sent out of {run.tx_port}, without and with XON, as"
    return fail_unless("sent-as-counted", place, met, f"{expected} captured{tolerances.more_or_less}", counted)


def _format(run: SentRun) -> Iterator[Check]:
    """Every field of every frame."""
    own = run.own_mac.lower()
    yield _each(run, "destination", f"{PAUSE_ADDRESS} as destination", lambda frame: frame.destination,
                lambda frame: frame.destination == PAUSE_ADDRESS.lower())
    yield _each(run, "source", "a unicast source that is not zero", lambda frame: frame.source, _is_unicast)
    if sends_own_source(run.subject.asic):
        yield _each(run, "source-own", f"the switch's own address {own}, or one of its ports, as source",
                    lambda frame: frame.source, lambda frame: is_own_address(frame.source, own))
    yield _each(run, "ether-type", f"ether type 0x{MAC_CONTROL:04x}", lambda frame: f"0x{frame.ether_type:04x}",
                lambda frame: frame.ether_type == MAC_CONTROL)
    yield _each(run, "operation-code", f"operation code 0x{PFC_OPERATION:04x}",
                lambda frame: f"0x{frame.operation_code:04x}", lambda frame: frame.is_pfc)
    yield _each(run, "enable-vector", "an enable vector of some priorities, its upper byte 0",
                lambda frame: f"0x{frame.enable_vector:04x}", lambda frame: 0 < frame.enable_vector < 0x100)
    yield _each(run, "eight-times", "eight pause times", lambda frame: len(frame.times),
                lambda frame: len(frame.times) == 8)
    if sends_unused_times_as_zero(run.subject.asic):
        yield _each(run, "unused-times", "0 as the time of each priority that it does not enable",
                    lambda frame: str(list(frame.times)), _unused_are_zero)
    yield _each(run, "length", f"{FRAME_LENGTH} bytes and their FCS", lambda frame: f"{frame.length} bytes",
                _is_shortest)
    yield _each(run, "padding", "nothing but zero behind the times", lambda frame: frame.padding.hex(),
                lambda frame: not any(frame.padding))


def _times(run: SentRun) -> Iterator[Check]:
    """While the congestion lasts no pause lapses, and its end is told.

    A pause of q quanta lasts q x 512 bit times (IEEE 802.3 annex 31B) from the frame on; the next frame that names the
    priority, XON too, must have come by then. Both are captured at the same place, so no delay comes into it.
    """
    speed = run.subject.pair.speed_mbps
    for priority in run.tested:
        place = at_priority(run.subject, priority, run.tx_port)
        sent = run.pauses_of(priority)
        lapsed = [
            f"{(late - early) / 1000:.2f} us after a time of {quanta}"
            for (early, quanta), (late, _) in pairwise(sent)
            if quanta and late - early >= pause_seconds(quanta, speed) * 10**9
        ]
        seen = f"{len(lapsed)} too late, the first {lapsed[0]}" if lapsed else "all in time"
        expected = f"each XOFF followed by a pause frame within its time ({MAX_QUANTA} quanta: "
        expected += f"{float(pause_seconds(MAX_QUANTA, speed)) * 1e6:.2f} us)"
        if len(sent) > 1:
            yield fail_unless("refreshed", place, not lapsed, expected, seen)
        if sent:
            seen = f"a time of {sent[-1][1]} in the last of {len(sent)}"
            expected = "XON, a time of 0, as the last pause frame once the storm had stopped"
            yield fail_unless("xon-sent", place, sent[-1][1] == 0, expected, seen)
        if run.left_ns is not None:
            early = sum(1 for at_ns, quanta in sent if not quanta and at_ns < run.left_ns - XON_EARLIER_NS)
            yield none_of("no-xon-in-storm", place, "frames with a time of 0 for it before held frames left", early)
        resumed = run.resumed.get(priority)
        if resumed is not None and resumed.due:
            yield resumed.soon_enough(place)
        if resumed is not None and resumed.most < resumed.held and len(run.tested) == 1:
            yield resumed.late_enough(place)


def _alone(run: SentRun) -> Iterator[Check]:
    """The priority whose storm ended first is told so while others are paused, their refreshes do not pause it again,
    its frames leave and its sender goes on meanwhile.

    What was said last of it counts, when the others were paused for the last time: a pause that it needs again, as its
    sender is faster than its queue for a moment, is over by then.
    """
    later = [one for one in run.tested if one not in run.ends_first]
    others = [at_ns for one in later for at_ns, quanta in run.pauses_of(one) if quanta]
    for priority in run.ends_first:
        told = [quanta for at_ns, quanta in run.pauses_of(priority) if others and at_ns <= max(others)]
        if told:
            expected = "a time of 0 in the last frame for it that came while others were still paused"
            place = at_priority(run.subject, priority, run.tx_port)
            yield fail_unless("xon-sent-alone", place, told[-1] == 0, expected, f"a time of {told[-1]}")
        for held in run.flows("paused", Role.TEST):
            if priority_of(held) == priority:
                yield _went_on(run, held)


def _went_on(run: SentRun, held: FlowStats) -> Check:
    """What was held when the first storm ended was received before the others did, and of what came later half of what
    was due: it takes a moment to go on."""
    plan = held.plan
    later = plan.rate(run.subject.pair.tx.speed_mbps) * Fraction(REFRESHES_EXACT_S) / 2
    least = held.frames_tx + int(later / 2)
    got = run.phases["alone"][plan.name].frames_rx
    return at_least("drained-alone", at_flow(run.subject, held), least, "frames received in the other's storm", got)


def _each(
    run: SentRun,
    name: str,
    expected: str,
    show: Callable[[ControlFrame], int | str],
    is_right: Callable[[ControlFrame], bool],
) -> Check:
    """Whether a field is right in every captured frame."""
    frames = run.capture.control
    wrong = [frame for frame in frames if not is_right(frame)]
    seen = f"{len(wrong)} others, the first with {show(wrong[0])}" if wrong else "that"
    place = at_port(run.subject, run.tx_port)
    return fail_unless(name, place, not wrong, f"{expected} in all {len(frames)} pause frames captured", seen)


def _is_unicast(frame: ControlFrame) -> bool:
    """The lowest bit of the first byte marks a group address."""
    return frame.source != ZERO_MAC and not int(frame.source[:2], 16) & 1


def _is_shortest(frame: ControlFrame) -> bool:
    """MAC control has the length of the shortest frame (802.3 31.4.1). A generator may capture something else instead
    of the FCS."""
    return frame.length == FRAME_LENGTH or not frame.has_fcs and frame.length == FRAME_LENGTH + FCS_BYTES


def _unused_are_zero(frame: ControlFrame) -> bool:
    return not any(time for priority, time in enumerate(frame.times) if not frame.enable_vector >> priority & 1)


def is_own_address(source: str, own: str) -> bool:
    """Whether a MAC address is the switch's, or one of the block of its ports' own, which begins with it."""
    return 0 <= _number(source) - _number(own) < PORT_ADDRESSES


def _number(address: str) -> int:
    return int(address.replace(":", ""), 16)


def sends_own_source(asic: str) -> bool:
    """Whether pause frames come from the switch's MAC address; else from any unicast one."""
    return deviation("sent-pause-source", asic, DEVIATIONS).value == "own"


def sends_unused_times_as_zero(asic: str) -> bool:
    """Whether pause frames have 0 as the time of each priority that they do not enable."""
    return deviation("sent-pause-unused-times", asic, DEVIATIONS).value == "zero"


of_each = Procedure(measure, validity, judge, targets.each_lossless)
CASES: Table = {
    SINGLE: of_each,
    SEVERAL: Procedure(measure, validity, judge, targets.several_lossless),
    OTHERWISE: inside(
        partial(threshold_lowered, xon_offsets=XON_OFFSETS), of_each, changeable(targets.each_lossless)
    ),
}
