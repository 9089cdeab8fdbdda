"""Pause frames that come again and again in the same order: what they say, what they do to a class, their flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from ..lab.lab import Lab
from ..model.arithmetic import PAUSE_FRAME_BYTES, pause_seconds
from ..model.pause_timer import Held, held_in_period
from ..model.qos import PRIORITIES
from ..model.traffic import FlowPlan, PauseFrame, Role, global_pause_frame
from ..record.case import Target

WINDOW_EXACT_S = Fraction(4, 1000)
"""Of a port of 100 Gb/s: periods are counted in it. At other speeds in proportion to the length of a pause."""


@dataclass(frozen=True)
class TimedPause:
    """A pause frame of each period.

    Attributes:
        quanta: class -> its time in the frame; the others' enable bits are not set.
        at_us: when it comes, in microseconds from the beginning of the period, at 100 Gb/s.
        global_quanta: the time of an 802.3x pause frame, which it is instead; None: it is PFC.
    """

    quanta: Mapping[int, int]
    at_us: Fraction = Fraction(0)
    global_quanta: int | None = None

    def at_s(self, speed_mbps: int) -> Fraction:
        """Seconds from the beginning of the period."""
        return self.at_us / 10**6 * 100_000 / speed_mbps

    def frame(self) -> PauseFrame:
        """The frame."""
        if self.global_quanta is not None:
            return global_pause_frame(self.global_quanta)
        times = tuple(self.quanta.get(priority, 0) for priority in PRIORITIES)
        return PauseFrame(times, tuple(sorted(self.quanta)))

    def describe(self) -> str:
        """`65535 quanta for 3 and 16384 quanta for 4`, `0 quanta by 802.3x`."""
        if self.global_quanta is not None:
            return f"{self.global_quanta} quanta by 802.3x"
        classes: dict[int, list[str]] = {}
        for priority, quanta in sorted(self.quanta.items()):
            classes.setdefault(quanta, []).append(str(priority))
        return " and ".join(f"{quanta} quanta for {', '.join(those)}" for quanta, those in classes.items())


@dataclass(frozen=True)
class Pauses:
    """Pauses that repeat.

    Attributes:
        frames: those of a period, in the order in which they come.
        count: periods in 4 ms of a port of 100 Gb/s, and in proportion at other speeds, so that the paused share of
            the time is the same at every speed.
    """

    frames: tuple[TimedPause, ...]
    count: int

    def fps(self, speed_mbps: int) -> int:
        """Periods a second, and so frames of each kind."""
        return floor(self.count * speed_mbps / (WINDOW_EXACT_S * 100_000))

    def held(self, priority: int, speed_mbps: int) -> Held:
        """How long each period is meant to pause a class."""
        own = [(one.at_s(speed_mbps), pause_seconds(one.quanta[priority], speed_mbps))
               for one in self.frames if priority in one.quanta]
        return held_in_period(own, Fraction(1, self.fps(speed_mbps)))

    def describe(self, speed_mbps: int) -> str:
        """For messages: `pauses of 65535 quanta for 3, after 100.0 us 0 quanta for 3, 1500 a second`."""
        first, *others = self.frames
        parts = [f"after {float(one.at_s(speed_mbps)) * 1e6:.1f} us {one.describe()}" for one in others]
        return ", ".join([f"pauses of {first.describe()}", *parts, f"{self.fps(speed_mbps)} a second"])

    def flows(self, lab: Lab) -> list[FlowPlan]:
        """A flow for the frames of each kind; they are started together and keep their distance."""
        speed = lab.subject.pair.speed_mbps
        return [
            FlowPlan(
                lab.builder.flow_name(
                    f"pauses of {one.describe()} after {float(one.at_us):.0f} us {self.count} in a window"
                ),
                Role.STORM, None, PAUSE_FRAME_BYTES, fps=self.fps(speed), pause=one.frame(),
                delay_ns=round(one.at_s(speed) * 10**9),
            )
            for one in self.frames
        ]


def same_classes(target: Target, *timed: tuple[int, int], count: int) -> Pauses:
    """Pauses that name the same classes each time.

    Args:
        target: the classes.
        timed: of each frame its time in quanta, and when it comes (`TimedPause.at_us`).
        count: as of `Pauses`.
    """
    return Pauses(
        tuple(TimedPause(dict.fromkeys(target, quanta), Fraction(at_us)) for quanta, at_us in timed), count
    )


def beside_global(target: Target, quanta: int, at_us: int, global_quanta: int, count: int) -> Pauses:
    """PFC of these classes for `quanta`, and in each period, so much later, an 802.3x pause frame."""
    first = TimedPause(dict.fromkeys(target, quanta))
    return Pauses((first, TimedPause({}, Fraction(at_us), global_quanta)), count)
