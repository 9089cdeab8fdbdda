"""The XOFF and XON that a switch port sends: frames, repetition, and what faults make of both."""
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeVar

from pfctest.frame import encode, pfc_frame
from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.model.events import NEVER, EventLoop
from virtual_testbed.dataplane.model.hooks import Fault
from virtual_testbed.dataplane.model.line import ControlItem, Line, Train
from virtual_testbed.dataplane.model.units import MAX_QUANTA, PS_PER_SECOND, Schedule, refresh_period_ps

_Answer = TypeVar("_Answer")


class Asking(Protocol):
    """A port that can ask its faults."""

    def ask(self, priority: int | None, healthy: _Answer, hook: Callable[[Fault, _Answer], _Answer]) -> _Answer:
        """What the faults of the port make of a healthy answer."""


class PauseTransmitter:
    """The sending side of one switch port: per class XOFF, repeated at half the pause time, until XON (quanta 0).

    Args:
        line: where the frames go.
        index: orders the refreshes of ports at one instant.

    Attributes:
        sending: mask of the classes that are paused.
        xoff_items, xon_items: the frames by class.
        tells_xon, repeats: masks of the classes that a healthy port ends with XON, and repeats.
        unasked: XOFF frames by class that a fault sends without congestion, at the multiples of a period.
    """

    def __init__(self, line: Line, index: int, loop: EventLoop) -> None:
        self.line = line
        self.loop = loop
        self.sending = 0
        self.tells_xon = 255
        self.repeats = 255
        idle = ControlItem(MacControlFrame(b""), line)
        self.xoff_items = [idle] * 8
        self.xon_items = [idle] * 8
        self.retired: list[tuple[int, ControlItem]] = []
        rate = Fraction(PS_PER_SECOND, refresh_period_ps(line.speed_mbps))
        self.trains = [Train(idle, Schedule(0, rate), (1 << 30) + 8 * index + priority, loop) for priority in range(8)]
        self.unasked = [Train(idle, Schedule(0, rate), (1 << 31) + 8 * index + priority, loop) for priority in range(8)]
        self._unasked_ps = [0] * 8

    def set_frames(self, xoff: list[MacControlFrame], xon: list[MacControlFrame]) -> None:
        """Take the frames to send by class."""
        for items, frames in ((self.xoff_items, xoff), (self.xon_items, xon)):
            for priority, frame in enumerate(frames):
                if items[priority].frame != frame:
                    self.retired.append((priority, items[priority]))
                    items[priority] = ControlItem(frame, self.line)
        for priority in range(8):
            self.trains[priority].carry(self.xoff_items[priority])
            self.unasked[priority].carry(self.xoff_items[priority])

    def set_habits(self, tells_xon: int, repeats: int, now_ps: int) -> None:
        """Take the classes that a healthy port ends with XON, and repeats, as masks."""
        self.tells_xon = tells_xon
        self.repeats = repeats
        for priority, train in enumerate(self.trains):
            if not repeats >> priority & 1:
                train.stop()
            elif self.sending >> priority & 1 and not train.is_running:
                train.start(train.schedule.base_ps, max(1, train.schedule.count(now_ps - 1)), NEVER)

    @property
    def all_trains(self) -> list[Train]:
        """Refreshes, and frames that nothing asks for."""
        return [*self.trains, *self.unasked] if any(self._unasked_ps) else self.trains

    @property
    def is_quiet(self) -> bool:
        """True while no class is paused, and none will be without congestion."""
        return not (self.sending or any(self._unasked_ps))

    def set_unasked(self, periods_ps: list[int], now_ps: int) -> None:
        """Send XOFF at the multiples of a period by class (0: never), the next one after now."""
        for priority, period_ps in enumerate(periods_ps):
            if period_ps != self._unasked_ps[priority]:
                self._unasked_ps[priority] = period_ps
                self.unasked[priority].stop()
        self.start_unasked(now_ps)

    def start_unasked(self, now_ps: int) -> None:
        """Begin with the frames that nothing asks for, if the link is up."""
        for train, period_ps in zip(self.unasked, self._unasked_ps):
            if period_ps and self.line.is_up and not train.is_running:
                train.schedule = Schedule(0, Fraction(PS_PER_SECOND, period_ps))
                train.start(0, train.schedule.count(now_ps), NEVER)

    def restore(self, sending: int) -> None:
        """Take the mask of the classes that are paused; their trains have a state of their own."""
        self.sending = sending

    def xoff(self, priority: int, now_ps: int) -> None:
        """Start pausing a class."""
        if self.sending >> priority & 1 or not self.line.is_up:
            return
        self.sending |= 1 << priority
        self.loop.watcher.pause_decided(self.line, now_ps)
        self.line.queue(self.xoff_items[priority], now_ps)
        self.trains[priority].start(now_ps, 1, NEVER if self.repeats >> priority & 1 else 1)

    def xon(self, priority: int, now_ps: int) -> None:
        """Let a class go on; a refresh that would be due at this instant is not sent any more."""
        if not self.sending >> priority & 1:
            return
        self.abandon(priority, now_ps)
        if self.tells_xon >> priority & 1:
            self.line.queue(self.xon_items[priority], now_ps)

    def abandon(self, priority: int, now_ps: int) -> None:
        """Stop repeating without an XON: the other end resumes when its timer runs out."""
        self.sending &= ~(1 << priority)
        self.loop.watcher.pause_decided(self.line, now_ps)
        self.trains[priority].stop()

    def link_went_down(self, now_ps: int) -> None:
        """No class is paused any more, nothing waits."""
        for priority in range(8):
            self.abandon(priority, now_ps)
            self.unasked[priority].stop()
        self.line.controls.clear()

    def count(self, priority: int, now_ps: int) -> int:
        """Frames of a class sent by `now_ps`."""
        old = sum(self.line.sent(item, now_ps) for retired, item in self.retired if retired == priority)
        return old + sum(self.line.sent(items[priority], now_ps) for items in (self.xoff_items, self.xon_items))


def teach(sender: PauseTransmitter, port: Asking, source: str, link_losses: int, now_ps: int) -> None:
    """Let a port, whose link has gone down so often, send its pause frames from `source` (a MAC address), and in the
    way that its faults say.
    """
    def frame(priority: int, quanta: int) -> MacControlFrame:
        data = encode(pfc_frame(source, {priority: quanta}))
        return MacControlFrame(port.ask(priority, data, lambda fault, found: fault.emitted(found)))

    def unasked_ps(priority: int) -> int:
        return port.ask(priority, 0, lambda fault, period: fault.unasked_period_ps(priority, period))
    sender.set_frames([frame(p, MAX_QUANTA) for p in range(8)], [frame(p, 0) for p in range(8)])
    tells_xon = sum(port.ask(p, True, lambda fault, sends: fault.sends_xon(p, sends)) << p for p in range(8))
    repeats = sum(port.ask(p, True, lambda fault, does: fault.refreshes(p, link_losses, does)) << p for p in range(8))
    sender.set_habits(tells_xon, repeats, now_ps)
    sender.set_unasked([unasked_ps(p) for p in range(8)], now_ps)
