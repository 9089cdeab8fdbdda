"""Traffic of a scenario: which flow has which role, run verbs, typed statistics. Flows are known by role, never by
parts of their names."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .arithmetic import line_rate_fps, mean_bytes

PAUSE_ADDRESS = "01:80:C2:00:00:01"  # of PFC and 802.3x pause alike
PAUSE_SOURCE = "00:00:fa:ce:fa:ce"


class Role(enum.Enum):
    """What a flow is for."""

    STORM = "pause storm"
    TEST = "test"
    BACKGROUND = "background"
    CLEAN = "clean"
    BYSTANDER = "bystander"


@dataclass(frozen=True)
class PauseFrame:
    """What the frames of a pause flow say.

    Attributes:
        quanta: the eight pause times of a PFC frame, or the one of an 802.3x pause frame.
        enabled: the priorities whose enable bits are set; 802.3x has none.
        source, destination: MAC addresses.
        operation_code, ether_type: None: the right one.
    """

    quanta: tuple[int, ...]
    enabled: tuple[int, ...] = ()
    source: str = PAUSE_SOURCE
    destination: str = PAUSE_ADDRESS
    operation_code: int | None = None
    ether_type: int | None = None

    @property
    def is_global(self) -> bool:
        """Whether it is an 802.3x pause frame."""
        return len(self.quanta) == 1


def pfc_frame(priorities: Iterable[int], quanta: int) -> PauseFrame:
    """A PFC frame that pauses these priorities and names no time for others."""
    paused = tuple(sorted(priorities))
    return PauseFrame(tuple(quanta if priority in paused else 0 for priority in range(8)), paused)


def global_pause_frame(quanta: int) -> PauseFrame:
    """An 802.3x pause frame."""
    return PauseFrame((quanta,))


@dataclass(frozen=True)
class FlowPlan:
    """One flow.

    Attributes:
        name: its name in the OTG configuration.
        role: what it is for.
        priority: the priority of its frames; None: pause frames, which have none.
        frame_bytes: size of its frames with FCS.
        percent, fps: its rate, as a share of the line rate or as frames a second.
        seconds, frames: how long it sends, or how much; neither: until it is stopped.
        delay_ns: time from its start to its first frame.
        pause: what its pause frames say; None: it is data.
        enters, leaves: the switch ports where its frames come in and are meant to leave by; empty: data goes from the
            pair's tx port to the port under test, pause frames the other way.
        mix: sizes of its frames with FCS and their weights, instead of `frame_bytes`.
        phase: the phase of the case in which it is started, once; empty: the first.
        needed_s: of a storm that is sent until it is stopped, how long that is at most; 0: however long a flow lasts.
        limit_s: after so many seconds such a storm ends by itself, where it is not made to go on; 0: it does not.
    """

    name: str
    role: Role
    priority: int | None
    frame_bytes: int
    percent: float | None = None
    fps: int | None = None
    seconds: float | None = None
    frames: int | None = None
    delay_ns: int = 0
    pause: PauseFrame | None = None
    enters: str = ""
    leaves: str = ""
    mix: tuple[tuple[int, int], ...] = ()
    needed_s: float = 0.0
    limit_s: int = 0
    phase: str = ""

    @property
    def mean_bytes(self) -> Fraction:
        """Mean size of its frames with FCS."""
        return mean_bytes(self.mix) if self.mix else Fraction(self.frame_bytes)

    def rate(self, speed_mbps: int) -> Fraction:
        """Frames a second that it sends into a link of `speed_mbps` when nothing holds it."""
        if self.percent is None:
            return Fraction(self.fps or 0)
        return line_rate_fps(self.mean_bytes, speed_mbps) * Fraction(self.percent) / 100

    def due(self, speed_mbps: int) -> int:
        """Frames that it sends into a link of `speed_mbps` when nothing holds it; 0 where it goes on until stopped."""
        if self.frames is not None or self.seconds is None:
            return self.frames or 0
        return int(self.rate(speed_mbps) * Fraction(self.seconds))


@dataclass(frozen=True)
class FlowStats:
    """What the traffic generators counted for one flow since it was started.

    Attributes:
        parts: frames that each flow of a storm sent which is made of several; else none.
        gap: why a storm was none without a gap until it was stopped; empty: none was seen.
    """

    plan: FlowPlan
    transmitting: bool
    frames_tx: int
    frames_rx: int
    parts: tuple[int, ...] = ()
    gap: str = ""

    @property
    def bytes_tx(self) -> int:
        """Bytes sent, from the frames: some generators report no bytes. Of a mix of sizes that is the mean."""
        return round(self.frames_tx * self.plan.mean_bytes)

    def numbers(self) -> dict[str, Any]:
        """The counts, for the record: of a storm of several flows also what each of them sent; of data of fixed
        duration the mean receive rate (frames a second), and of all data the loss (percent)."""
        numbers: dict[str, Any] = {"frames_tx": self.frames_tx, "frames_rx": self.frames_rx}
        if len(self.parts) > 1:
            numbers["frames_tx_of_each"] = list(self.parts)
        if self.plan.role is not Role.STORM:
            lost = self.frames_tx - self.frames_rx
            numbers |= {"rx_fps": self.frames_rx / self.plan.seconds} if self.plan.seconds else {}
            numbers["loss_percent"] = 100 * lost / self.frames_tx if self.frames_tx else None
        return numbers


Stats = Mapping[str, FlowStats]
"""Flow name -> what was counted for it at one moment."""
