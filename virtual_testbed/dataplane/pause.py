"""Pause frames: what a received one does, the timers of a port, and the trains of XOFF refreshes it sends.

MAC control frames take no wire time from data and wait for no data frame (docs/data-plane.md gives the reason and the
error), so a storm that never lapses is one edge on and one edge off, and a train of refreshes is a number that
follows from two instants.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pfctest.frame import FrameError, PfcFrame, decode
from virtual_testbed.dataplane.events import CONTROL_AT_GENERATOR, NEVER, Action, EventLoop
from virtual_testbed.dataplane.units import MAX_QUANTA, WIRE_OVERHEAD_BYTES, pause_time_ps, ps_per_byte

FCS_BYTES = 4
CONTROL_FRAME_BYTES = 64
PFC, GLOBAL_PAUSE, ERROR, DISCARD = "pfc", "pause", "error", "discard"


@dataclass(frozen=True)
class Control:
    """What a switch makes of a MAC control frame: its kind, and the quanta by enabled class of a PFC frame."""

    kind: str
    pauses: tuple[tuple[int, int], ...] = ()


def understand(frame: bytes, station_mac: str, fcs_error: bool) -> Control:
    """Validity at the receiver: FCS, length, ethertype, opcode, destination (the group address or the station's own).

    Frames with errors are `error`, valid ones that no rule accepts `discard`; neither pauses nor counts as PFC.
    """
    if fcs_error:
        return Control(ERROR)
    try:
        read = decode(frame, any_destination=frame[:6].hex(":") == station_mac.lower())
    except FrameError as wrong:
        return Control(ERROR if wrong.reason == "short" else DISCARD)
    if isinstance(read, PfcFrame):
        return Control(PFC, tuple(sorted(read.pauses.items())))
    return Control(GLOBAL_PAUSE)


class Train(Protocol):
    """Control frames that come at regular times, which the receiver knows in closed form while they are a level."""

    control: Control

    @property
    def is_running(self) -> bool:
        """True while frames are still to come."""

    def level_frames(self, now_ps: int) -> int:
        """Frames that have come since the train became a level."""

    def leave_level(self, now_ps: int) -> None:
        """Become single frames again: settle counts and timers as of `now_ps`."""


class Peer(Protocol):
    """The other end of the cable: what an XOFF and an XON of each class do there when they arrive."""

    xoff_actions: list[Action]
    xon_actions: list[Action]

    def stop_train(self, priority: int, last_ps: int, lapse_ps: int) -> None:
        """The refreshes of a class end at `last_ps` without an XON; its pause lapses at `lapse_ps`."""


class PauseReceiver:
    """The receiving side of one switch port: timers and counts of eight classes.

    Args:
        set_gate: called with the mask of the queues shut, and now, whenever it may have changed.

    Attributes:
        speed_mbps: speed of the port, which a quantum depends on.
        shuts: queue mask that a pause of each class shuts now (0: the class is not honoured).
        until_ps: end of each class's pause (`NEVER` while a storm that cannot lapse runs), in the past when none.
        counts: PFC frames counted by class (without those of a storm that is a level: see `count`).
        kinds: other control frames by kind.
        on2off, paused_ps: ends of pauses, and time paused up to the last end.
        storms: the trains of pause frames that come to the port.
    """

    def __init__(self, speed_mbps: int, set_gate: Callable[[int, int], None], loop: EventLoop) -> None:
        self.speed_mbps, self.loop = speed_mbps, loop
        self._set_gate = set_gate
        self.shuts = [0] * 8
        self.counted = [True] * 8
        self.until_ps = [0] * 8
        self.since_ps: list[int | None] = [None] * 8
        self.counts, self.on2off, self.paused_ps = [0] * 8, [0] * 8, [0] * 8
        self.kinds = {GLOBAL_PAUSE: 0, ERROR: 0, DISCARD: 0}
        self.storms: Sequence[Train] = ()
        self._expiry_ps = [NEVER] * 8
        self._expire: list[Callable[[int], None]] = [self._expiry_of(priority) for priority in range(8)]

    def gate(self) -> int:
        """Mask of the queues shut now."""
        mask = 0
        for shut, since in zip(self.shuts, self.since_ps):
            if since is not None:
                mask |= shut
        return mask

    def frame(self, control: Control, now_ps: int) -> None:
        """A control frame's last bit has come."""
        self.count_frames(control, 1)
        if control.kind != PFC:
            return
        for priority, quanta in control.pauses:
            if not self.shuts[priority]:
                continue
            if quanta:
                self.hold(priority, now_ps, now_ps + pause_time_ps(quanta, self.speed_mbps))
            else:
                self.end(priority, now_ps)
        self._set_gate(self.gate(), now_ps)

    def count_frames(self, control: Control, frames: int) -> None:
        """Count received control frames."""
        if control.kind != PFC:
            self.kinds[control.kind] += frames
            return
        for priority, _ in control.pauses:
            if self.counted[priority]:
                self.counts[priority] += frames

    def hold(self, priority: int, now_ps: int, until_ps: int) -> None:
        """Set a class's timer (a new value overwrites the old one, also with an earlier end)."""
        if self.since_ps[priority] is None:
            self.since_ps[priority] = now_ps
        self.until_ps[priority] = until_ps
        if until_ps < self._expiry_ps[priority]:
            self._expiry_ps[priority] = until_ps
            self.loop.at(until_ps, self._expire[priority])

    def end(self, priority: int, now_ps: int) -> None:
        """End a class's pause if there is one."""
        since_ps = self.since_ps[priority]
        if since_ps is not None:
            self.on2off[priority] += 1
            self.paused_ps[priority] += now_ps - since_ps
            self.since_ps[priority] = None
        self.until_ps[priority] = 0

    def end_all(self, now_ps: int) -> None:
        """End every pause (the link went down)."""
        for priority in range(8):
            self.end(priority, now_ps)
        self._set_gate(self.gate(), now_ps)

    def configure(self, shuts: list[int], counted: list[bool], now_ps: int) -> None:
        """Take what each class shuts and whether it is counted; a class no longer honoured resumes."""
        self.settle(now_ps)
        self.shuts, self.counted = shuts, counted
        for priority in range(8):
            if not shuts[priority]:
                self.end(priority, now_ps)
        self._set_gate(self.gate(), now_ps)

    def settle(self, now_ps: int) -> None:
        """Turn storms that are levels back into single frames, because something about them may change."""
        for storm in self.storms:
            storm.leave_level(now_ps)

    def count(self, priority: int, now_ps: int) -> int:
        """PFC frames counted for a class at `now_ps`."""
        level = sum(storm.level_frames(now_ps) for storm in self.storms
                    if any(priority == enabled for enabled, _ in storm.control.pauses))
        return self.counts[priority] + (level if self.counted[priority] else 0)

    def kind_count(self, kind: str, now_ps: int) -> int:
        """Control frames of another kind than PFC at `now_ps`."""
        return self.kinds[kind] + sum(storm.level_frames(now_ps) for storm in self.storms if storm.control.kind == kind)

    def duration_ps(self, priority: int, now_ps: int) -> int:
        """How long the class has been paused up to `now_ps`."""
        since_ps = self.since_ps[priority]
        return self.paused_ps[priority] + (now_ps - since_ps if since_ps is not None else 0)

    def is_paused(self, priority: int) -> bool:
        """True while the class is paused."""
        return self.since_ps[priority] is not None

    def _expiry_of(self, priority: int) -> Callable[[int], None]:
        def expire(now_ps: int) -> None:
            self._expiry_ps[priority] = NEVER
            until_ps = self.until_ps[priority]
            if self.since_ps[priority] is None or until_ps >= NEVER:
                return
            if until_ps > now_ps:
                self.hold(priority, now_ps, until_ps)
                return
            self.end(priority, now_ps)
            self._set_gate(self.gate(), now_ps)
        return expire


class PauseSender:
    """The sending side of one switch port: per class XOFF, refreshed at half the pause time, until XON (quanta 0).

    Attributes:
        since_ps: the XOFF decision of each class that is paused, else None.
        sent: frames sent by class, without the open train.
    """

    def __init__(self, loop: EventLoop, index: int) -> None:
        self.loop, self.index = loop, index
        self.since_ps: list[int | None] = [None] * 8
        self.sent = [0] * 8
        self.peer: Peer | None = None
        self.refresh_ps = self.pause_ps = 1
        self.delay_ps = 0

    def connect(self, peer: Peer, speed_mbps: int, propagation_ps: int) -> None:
        """Take the link's other end and its times."""
        self.peer = peer
        self.pause_ps = pause_time_ps(MAX_QUANTA, speed_mbps)
        self.refresh_ps = self.pause_ps // 2
        self.delay_ps = (CONTROL_FRAME_BYTES + WIRE_OVERHEAD_BYTES) * ps_per_byte(speed_mbps) + propagation_ps

    def xoff(self, priority: int, now_ps: int) -> None:
        """Start pausing a class."""
        if self.since_ps[priority] is None and self.peer is not None:
            self.since_ps[priority] = now_ps
            self._deliver(priority, now_ps, self.peer.xoff_actions[priority])

    def xon(self, priority: int, now_ps: int) -> None:
        """Let a class go on; a refresh that would be due at this instant is not sent any more."""
        since_ps = self.since_ps[priority]
        if since_ps is None or self.peer is None:
            return
        self.sent[priority] += (now_ps - 1 - since_ps) // self.refresh_ps + 2 if now_ps > since_ps else 2
        self.since_ps[priority] = None
        self._deliver(priority, now_ps, self.peer.xon_actions[priority])

    def abandon(self, priority: int, now_ps: int) -> None:
        """Stop refreshing without an XON: the other end resumes when its timer runs out."""
        since_ps = self.since_ps[priority]
        if since_ps is None or self.peer is None:
            return
        refreshes = (now_ps - since_ps) // self.refresh_ps
        self.sent[priority] += refreshes + 1
        self.since_ps[priority] = None
        last_arrival_ps = since_ps + refreshes * self.refresh_ps + self.delay_ps
        self.peer.stop_train(priority, last_arrival_ps, last_arrival_ps + self.pause_ps)

    def link_went_down(self, now_ps: int) -> None:
        """Lose what is on the cable; no class is paused any more."""
        for priority in range(8):
            for action in (self.peer.xoff_actions[priority], self.peer.xon_actions[priority]) if self.peer else ():
                self.loop.cancel(action)
            if self.since_ps[priority] is not None:
                self.sent[priority] = self.count(priority, now_ps)
                self.since_ps[priority] = None

    def count(self, priority: int, now_ps: int) -> int:
        """Frames of a class sent (decided) up to `now_ps`."""
        since_ps = self.since_ps[priority]
        return self.sent[priority] + ((now_ps - since_ps) // self.refresh_ps + 1 if since_ps is not None else 0)

    def _deliver(self, priority: int, now_ps: int, action: Callable[[int], None]) -> None:
        number = (self.index * 8 + priority << 40) + self.loop.next_number()
        self.loop.push_traffic((now_ps + self.delay_ps, CONTROL_AT_GENERATOR, number, action))
