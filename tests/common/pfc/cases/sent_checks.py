"""SENT: one run, whether it was a measurement, and what its capture must show: IEEE 802.1Q clause 36 and IEEE 802.3
annex 31D, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..lab.capture import MAC_CONTROL, PFC_OPERATION, Capture, ControlFrame
from ..model.arithmetic import MAX_QUANTA, holding_fps, pause_seconds
from ..model.checking import (
    Place, at_port, at_priority, error_unless, everything_received, fail_unless, flows_of, priority_of,
)
from ..model.counters import changed
from ..model.deviations import sends_own_source, sends_unused_times_as_zero
from ..model.measurement import Readings, flow_numbers
from ..model.traffic import PAUSE_ADDRESS, FlowStats, Role
from ..record.case import Target
from ..record.verdict import Check
from .engine import unmet
from .validity import counters_kept, links_kept, watchdog_stopped

STORM_LEAD_S = 1.0
LARGEST_CAPTURE = 16_384  # a capture of as many frames may have been full before the last ones came
LEAST_BYTES = 60  # without FCS
ZERO_MAC = "00:00:00:00:00:00"


@dataclass(frozen=True)
class SentRun(Readings):
    """One run.

    Attributes:
        tested: the congested priorities.
        own_mac: the switch's MAC address.
        capture: what came out of the tx port while data ran, and until the held frames had drained.
        held: flow name -> statistics while the storm ran.
        drained: flow name -> statistics after it, when the capture ended.
    """

    tested: Target
    own_mac: str
    capture: Capture
    held: Mapping[str, FlowStats]
    drained: Mapping[str, FlowStats]

    @property
    def tx_port(self) -> str:
        """Where the pause frames come out."""
        return self.subject.pair.tx.port

    def counted_sent(self) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch counted as sent out of the tx port, in all."""
        return changed(self.before.pfc_tx, self.after.pfc_tx, self.tx_port)

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "flows": flow_numbers({"paused": self.held, "drained": self.drained}),
            **self.counted(),
            "dut_pfc_tx_in_all": list(self.counted_sent()),
            "own_mac": self.own_mac,
            "capture": self.capture.as_record(),
        }

    def pauses_of(self, priority: int) -> list[tuple[int, int]]:
        """Of each captured frame that enables a priority: when (nanoseconds), and its pause time in quanta."""
        frames = ((frame.at_ns, frame.pauses) for frame in self.capture.control if frame.is_pfc)
        return [(at_ns, pauses[priority]) for at_ns, pauses in frames if priority in pauses]


def validity(run: SentRun) -> list[Check]:
    """Reasons why the run was no measurement, best cause first; empty for a good run."""
    return unmet([*watchdog_stopped(run), *links_kept(run), *counters_kept(run), *_applied(run), *_captured(run)])


def judge(run: SentRun) -> list[Check]:
    """All checks of a run that was a measurement."""
    frames = run.capture.control
    made = [_sent(run), _format(run) if frames else iter(()), _times(run), _drained(run)]
    return [check for checks in made for check in checks]


def _applied(run: SentRun) -> Iterator[Check]:
    """The storm must have held the priorities when data began, data must have come, and the storm must have ended."""
    place, least = at_port(run.subject, run.subject.pair.rx.port), _least_storm_frames(run)
    for flow in flows_of(run.held.values(), Role.STORM):
        expected = f"a storm of at least {least} pause frames"
        yield error_unless("storm-ran", place, flow.frames_tx >= least, expected, flow.frames_tx)
    for flow in flows_of(run.drained.values(), Role.STORM):
        seen = "running" if flow.transmitting else "stopped"
        yield error_unless("storm-stopped", place, seen == "stopped", "the storm stopped when the capture ended", seen)
    for flow in flows_of(run.held.values(), Role.TEST):
        place = at_priority(run.subject, priority_of(flow))
        yield error_unless(
            "load-applied", place, flow.frames_tx > 0, "at least 1 frame sent in the storm", flow.frames_tx
        )


def _captured(run: SentRun) -> Iterator[Check]:
    """The capture must have all of it: what the switch counted as sent, and the end."""
    place, counted = at_port(run.subject, run.tx_port), sum(run.counted_sent())
    seen = run.capture.frames
    expected = f"frames captured at {run.tx_port}, as the switch counted {counted} PFC frames sent there"
    yield error_unless("captured", place, seen > 0 or not counted, expected, seen)
    expected = f"fewer than {LARGEST_CAPTURE} frames captured, so that the last ones are there"
    yield error_unless("capture-whole", place, seen < LARGEST_CAPTURE, expected, seen)


def _sent(run: SentRun) -> Iterator[Check]:
    """XOFF was sent for each congested priority, nothing for any other, and the switch counted what it sent."""
    for priority in run.tested:
        place, frames = at_priority(run.subject, priority), sum(1 for _, time in run.pauses_of(priority) if time)
        yield fail_unless("xoff-sent", place, frames > 0, f"XOFF captured at {run.tx_port}", frames)
    for priority in range(8):
        place, sent, counted = at_priority(run.subject, priority), run.pauses_of(priority), run.counted_sent()[priority]
        if priority not in run.tested:
            expected = f"0 pause frames captured at {run.tx_port} that enable it"
            yield fail_unless("no-other-enabled", place, not sent, expected, len(sent))
        yield _counted(run, place, [time for _, time in sent], counted)


def _counted(run: SentRun, place: Place, times: list[int], counted: int) -> Check:
    """The switch counted what was captured of a priority; whether a chip counts XON among it differs."""
    xoffs = sum(1 for time in times if time)
    tolerances = run.subject.tolerances
    met = xoffs <= counted <= len(times) or tolerances.alike(counted, xoffs) or tolerances.alike(counted, len(times))
    expected = f"{xoffs} to {len(times)} PFC frames counted as sent out of {run.tx_port}, without and with XON, as"
    return fail_unless("sent-as-counted", place, met, f"{expected} captured ({tolerances.more_or_less})", counted)


def _format(run: SentRun) -> Iterator[Check]:
    """Every field of every frame."""
    own = run.own_mac.lower()
    yield _each(run, "destination", f"{PAUSE_ADDRESS} as destination", lambda frame: frame.destination,
                lambda frame: frame.destination == PAUSE_ADDRESS.lower())
    yield _each(run, "source", "a unicast source that is not zero", lambda frame: frame.source, _is_unicast)
    if sends_own_source(run.subject.asic):
        yield _each(run, "source-own", f"the switch's own address {own} as source", lambda frame: frame.source,
                    lambda frame: frame.source == own)
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
    yield _each(run, "length", f"at least {LEAST_BYTES} bytes and their FCS", lambda frame: f"{frame.length} bytes",
                lambda frame: frame.length >= LEAST_BYTES)
    yield _each(run, "padding", "nothing but zero behind the times", lambda frame: frame.padding.hex(),
                lambda frame: not any(frame.padding))


def _times(run: SentRun) -> Iterator[Check]:
    """While the congestion lasts no pause lapses, and its end is told.

    A pause of q quanta lasts q x 512 bit times (IEEE 802.3 annex 31B) from the frame on; the next frame that names the
    priority, XON too, must have come by then. Both are captured at the same place, so no delay comes into it.
    """
    speed = run.subject.pair.speed_mbps
    for priority in run.tested:
        place, sent = at_priority(run.subject, priority), run.pauses_of(priority)
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


def _drained(run: SentRun) -> Iterator[Check]:
    """What the pauses are for: nothing was lost."""
    test = flows_of(run.drained.values(), Role.TEST)
    yield from everything_received("held-frames-drained", run.subject, test, "once the storm had stopped")


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


def _unused_are_zero(frame: ControlFrame) -> bool:
    return not any(time for priority, time in enumerate(frame.times) if not frame.enable_vector >> priority & 1)


def _least_storm_frames(run: SentRun) -> int:
    """Pause frames below which the storm cannot have held the priorities until data ran."""
    return int(holding_fps(MAX_QUANTA, run.subject.pair.speed_mbps) * STORM_LEAD_S)
