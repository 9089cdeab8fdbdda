"""How a switch port sends pauses: its frames, and what faults make of its habits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from pfctest.frame import encode, pfc_frame
from virtual_testbed.dataplane.control import ControlFrame
from virtual_testbed.dataplane.hooks import Fault
from virtual_testbed.dataplane.pause import PauseSender
from virtual_testbed.dataplane.units import MAX_QUANTA

_Answer = TypeVar("_Answer")


class Asking(Protocol):
    """A port that can ask its faults."""

    def ask(self, priority: int | None, healthy: _Answer, hook: Callable[[Fault, _Answer], _Answer]) -> _Answer:
        """What the faults of the port make of a healthy answer."""


def teach(sender: PauseSender, port: Asking, source: str, now_ps: int) -> None:
    """Let a port send its pause frames from `source` (a MAC address), and in the way that its faults say."""
    def frame(priority: int, quanta: int) -> ControlFrame:
        data = encode(pfc_frame(source, {priority: quanta}))
        return ControlFrame(port.ask(priority, data, lambda fault, found: fault.emitted(found)))

    def unasked_ps(priority: int) -> int:
        return port.ask(priority, 0, lambda fault, period: fault.unasked_period_ps(priority, period))
    sender.set_frames([frame(p, MAX_QUANTA) for p in range(8)], [frame(p, 0) for p in range(8)])
    tells_xon = sum(port.ask(p, True, lambda fault, sends: fault.sends_xon(p, sends)) << p for p in range(8))
    repeats = sum(port.ask(p, True, lambda fault, does: fault.refreshes(p, does)) << p for p in range(8))
    sender.set_habits(tells_xon, repeats, now_ps)
    sender.set_unasked([unasked_ps(p) for p in range(8)], now_ps)
