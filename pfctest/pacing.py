"""Sends at absolute deadlines: sleeps until shortly before a deadline, then spins.

When several deadlines have passed, one frame leaves at once and the others are not made up for: a burst would pause
nothing for longer.
"""
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pfctest.gaps import Gaps
from pfctest.realtime import Scheduling
from pfctest.sender import SendError

SECOND_NS = 10**9
SLICE_NS = SECOND_NS // 5
"""How often the pacer looks at itself."""
LONGEST_SLEEP_NS = SECOND_NS // 20
"""A request to stop is heeded after this time at the latest."""
PATIENCE_NS = SECOND_NS
"""How long a driver may refuse a frame of a fixed number of frames."""
BUSIEST = 0.94
"""Share of CPU time above which a real-time pacer rests more often; the kernel stops it above 0.95 of a second."""
SHORT_NS = 100_000
"""Deadlines that are nearer to one another than this are spun for; waking up costs up to a few tens of microseconds."""
REST_EVERY = 2
REST_NS = 9_000
REST_SHARE = 0.4
"""In one short period of so many a real-time pacer sleeps for that long, or that share of the period: falling asleep
and waking up take their part of it, and what is left to others is more than the 5 % that the kernel demands. Short
rests are best: what delays waking up may then take longer before the queue opens."""
REAL_TIME_SPIN_NS = 10_000
ORDINARY_SPIN_NS = 80_000
NEVER_NS = 1 << 62


class FrameSender(Protocol):
    """Sends the frames of one tick."""

    frames: int

    @property
    def names(self) -> Sequence[str]:
        """The interface of each frame."""

    def send(self, first: int = 0) -> int:
        """Send from frame `first` on; how many were accepted."""


@dataclass
class StopRequest:
    """Whether the storm is to end now, and what asked for it."""

    why: str = ""

    def ask(self, why: str) -> None:
        """Says that it is to end now, and why."""
        self.why = why


@dataclass(frozen=True)
class Pace:
    """How fast to send, and until when.

    Attributes:
        period_ns: between two deadlines; 0: as fast as it goes.
        ticks: how often in all; None: until the time is over. `duration_ns`: for how long; None: until all are sent.
    """

    period_ns: int
    ticks: int | None = None
    duration_ns: int | None = None


@dataclass(frozen=True)
class Rhythm:
    """When to sleep: before each `every`-th deadline, until `spin_ns` before it, but for no longer than `most_ns`."""

    every: int
    spin_ns: int
    most_ns: int = NEVER_NS


def rhythm_of(period_ns: int, real_time: bool, rest_every: int = REST_EVERY) -> Rhythm:
    """How to wait for deadlines that far apart.

    With real-time scheduling waking up is precise enough to sleep before each deadline of a long period; in short ones
    the pacer spins, and sleeps just enough for the kernel not to stop it. Without, waking up may take long, so it
    sleeps less.
    """
    if not real_time:
        return Rhythm(1, ORDINARY_SPIN_NS)
    if period_ns >= SHORT_NS:
        return Rhythm(1, REAL_TIME_SPIN_NS)
    return Rhythm(rest_every, 0, min(REST_NS, int(REST_SHARE * period_ns)))


@dataclass
class SendCounts:
    """What a pacer has counted: `frames` sent in all, `refused` ticks that the driver did not take whole, `missed`
    deadlines that passed while it was kept from running; `last_frames` sent in the last tick of which any was, begun
    at `last_ns`; `by_interface` the frames of each interface, known at the end.
    """

    frames: int = 0
    refused: int = 0
    missed: int = 0
    last_frames: int = 0
    last_ns: int = 0
    by_interface: Counter[str] = field(default_factory=Counter)

    def add(self, frames: int, at_ns: int, is_whole: bool) -> None:
        """Counts a tick: so many frames were taken; `is_whole`: all of them."""
        self.frames += frames
        if frames:
            self.last_frames = frames
            self.last_ns = at_ns
        if not is_whole:
            self.refused += 1

    def miss(self, ticks: int) -> None:
        """Counts ticks that came too late to be sent."""
        self.missed += ticks


class Pacer:
    """See the module.

    Args:
        sender: what each tick sends.
        gaps: notes every tick that was sent whole.
        stop: looked at all the time.
        scheduling: given back when the pacer turns out to spin.
    """

    def __init__(self, sender: FrameSender, gaps: Gaps, stop: StopRequest,
                 scheduling: Scheduling | None = None) -> None:
        self._sender = sender
        self._gaps = gaps
        self._stop = stop
        self._scheduling = scheduling
        self._rest_every = REST_EVERY
        self.counts = SendCounts()
        self._lost = dict.fromkeys(sender.names, 0)  # frames that were not taken
        self.clock: Callable[[], int] = time.monotonic_ns
        self.sleep: Callable[[float], None] = time.sleep

    def run(self, pace: Pace) -> str:
        """Send; why it ended: `duration`, `count`, or what asked for it.

        Raises:
            SendError: an interface has failed, or takes none of a fixed number of frames.
        """
        now_ns = self.clock()
        end_ns = now_ns + pace.duration_ns if pace.duration_ns is not None else NEVER_NS
        deadline_ns = now_ns
        left = pace.ticks if pace.ticks is not None else NEVER_NS
        while not self._stop.why and left > 0 and now_ns < end_ns:
            until_ns = min(end_ns, now_ns + SLICE_NS)
            used_ns = time.process_time_ns()
            deadline_ns, left = self._slice(pace, deadline_ns, left, until_ns)
            before_ns = now_ns
            now_ns = self.clock()
            self._look(time.process_time_ns() - used_ns, now_ns - before_ns)
        self._share_out()
        return self._stop.why or ("duration" if left > 0 else "count")

    def _share_out(self) -> None:
        """Reckon the frames of each interface: every tick had as many for each, of which some were lost."""
        each = (self.counts.frames + sum(self._lost.values())) // len(self._lost)
        self.counts.by_interface.update({name: each - lost for name, lost in self._lost.items()})

    def _slice(self, pace: Pace, deadline_ns: int, left: int, until_ns: int) -> tuple[int, int]:
        """Send what is due before `until_ns`; the next deadline, and the ticks left."""
        clock = self.clock
        sender = self._sender
        gaps = self._gaps
        stop = self._stop
        period_ns = pace.period_ns
        rhythm = rhythm_of(period_ns, self._is_real_time, self._rest_every)
        turn = 0
        while left > 0 and deadline_ns < until_ns:
            turn += 1
            now_ns = clock()
            if turn == rhythm.every:
                turn = 0
                if deadline_ns - now_ns > rhythm.spin_ns:
                    self._sleep(min(deadline_ns - now_ns - rhythm.spin_ns, rhythm.most_ns))
                    now_ns = clock()
            while now_ns < deadline_ns and not stop.why:
                now_ns = clock()
            if stop.why or now_ns >= until_ns:
                break
            sent = sender.send()
            if sent < sender.frames:
                sent += self._rest(sent, pace.ticks is not None)
            is_whole = sent == sender.frames
            self.counts.add(sent, now_ns, is_whole)
            if is_whole:
                gaps.add(now_ns, clock())
                left -= 1
            deadline_ns = self._next(deadline_ns, period_ns)
        if left > 0 and not stop.why:
            self._sleep(min(until_ns, deadline_ns) - clock())
        return deadline_ns, left

    def _rest(self, sent: int, insist: bool) -> int:
        """Try again to send what the driver did not take: once, or (`insist`) each frame for a while; how many frames
        it took.

        Raises:
            SendError: one of them it never took.
        """
        if not insist:
            return self._others(sent)
        patient_until_ns = self.clock() + PATIENCE_NS
        more = 0
        while sent + more < self._sender.frames and not self._stop.why:
            taken = self._sender.send(sent + more)
            more += taken
            if taken:
                patient_until_ns = self.clock() + PATIENCE_NS
            elif self.clock() >= patient_until_ns:
                name = self._sender.names[sent + more]
                raise SendError(f"interface {name} took no frame for a second: expected one that has a link")
        self._lose(sent + more, self._sender.frames)
        return more

    def _others(self, first: int) -> int:
        """Send from frame `first` on, without the frames that are refused twice; how many were taken.

        A call ends at the first frame that is refused: one interface without a link would silence all those after it.
        """
        more = 0
        while first < self._sender.frames and not self._stop.why:
            taken = self._sender.send(first)
            more += taken
            if not taken:
                self._lose(first, first + 1)
            first += taken or 1
        self._lose(first, self._sender.frames)
        return more

    def _lose(self, begin: int, end: int) -> None:
        """Count frames of a tick that were not taken, or that no time was left for."""
        for name in self._sender.names[begin:end]:
            self._lost[name] += 1

    def _next(self, deadline_ns: int, period_ns: int) -> int:
        """The deadline after this one, or of those that have passed meanwhile the last."""
        if not period_ns:
            return deadline_ns
        deadline_ns += period_ns
        missed = (self.clock() - deadline_ns) // period_ns
        if missed > 0:
            self.counts.miss(missed)
            deadline_ns += missed * period_ns
        return deadline_ns

    def _sleep(self, length_ns: int) -> None:
        """Sleep for that long, or until asked to stop."""
        while length_ns > 0 and not self._stop.why:
            now_ns = min(length_ns, LONGEST_SLEEP_NS)
            self.sleep(now_ns / SECOND_NS)
            length_ns -= now_ns

    @property
    def _is_real_time(self) -> bool:
        return self._scheduling is not None and self._scheduling.is_real_time

    def _look(self, used_ns: int, passed_ns: int) -> None:
        """Rest more often when the CPU was hardly left; when that is not enough, give real-time scheduling back."""
        if self._scheduling is None or not self._is_real_time or used_ns <= BUSIEST * passed_ns:
            return
        if self._rest_every > 1:
            self._rest_every -= 1
        else:
            self._scheduling.leave_real_time()
