"""Where a fault can change the data plane.

A fault is a class derived from `Fault` that overrides some of the hooks below. The data plane asks a hook when it is
configured or when a state changes, never once per frame, and gives it the healthy answer; the fault returns another
one. `Hooks` asks the faults whose scope covers the place, in the order in which they were given.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Scope:
    """Where a fault applies; None is everywhere."""

    switch: str | None = None
    port: str | None = None
    priority: int | None = None


class Fault:
    """A healthy switch: every hook returns what it is given. Derive, override, name it.

    Args:
        scope: where it applies; hooks are called inside that scope only.
        options: further `key=value` of its specification, as text.
    """

    name = "none"
    options: tuple[str, ...] = ()

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        self.scope = scope
        self.values = options

    def shut_queues(self, priority: int, queues: frozenset[int]) -> frozenset[int]:
        """Queues that a received pause of `priority` shuts; healthy: its own queue when PFC is enabled for it, else
        none.
        """
        return queues

    def counts_pfc(self, priority: int, counts: bool) -> bool:
        """Whether a received PFC frame is counted for `priority`."""
        return counts

    def sends_xoff(self, priority: int, sends: bool) -> bool:
        """Whether a congested priority group makes the port send pause frames of `priority`."""
        return sends

    def forwards_control(self, forwards: bool) -> bool:
        """Whether MAC control frames received on the port are flooded to the other ports."""
        return forwards

    def drop_one_in(self, queue: int, lossless: bool, frames: int) -> int:
        """Of how many frames leaving through `queue` one is dropped on arrival (0: none is)."""
        return frames

    def leak_period_ps(self, queue: int, period_ps: int) -> int:
        """How often a shut queue lets one frame out, in picoseconds (0: never)."""
        return period_ps

    def watchdog_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Whether removing a port's watchdog configuration takes effect (asked by the SONiC agent)."""
        return reaches


class Hooks:
    """The faults of a testbed, asked by place."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self.faults = tuple(faults)

    def shut_queues(self, place: tuple[str, str], priority: int, queues: frozenset[int]) -> frozenset[int]:
        """See `Fault.shut_queues`; `place` is (switch, port) here and below."""
        return self._ask(place, priority, queues, lambda fault, answer: fault.shut_queues(priority, answer))

    def counts_pfc(self, place: tuple[str, str], priority: int) -> bool:
        """See `Fault.counts_pfc`."""
        return self._ask(place, priority, True, lambda fault, answer: fault.counts_pfc(priority, answer))

    def sends_xoff(self, place: tuple[str, str], priority: int) -> bool:
        """See `Fault.sends_xoff`."""
        return self._ask(place, priority, True, lambda fault, answer: fault.sends_xoff(priority, answer))

    def forwards_control(self, place: tuple[str, str]) -> bool:
        """See `Fault.forwards_control`."""
        return self._ask(place, None, False, lambda fault, answer: fault.forwards_control(answer))

    def drop_one_in(self, place: tuple[str, str], queue: int, lossless: bool) -> int:
        """See `Fault.drop_one_in`; the place is where the frame leaves."""
        return self._ask(place, queue, 0, lambda fault, answer: fault.drop_one_in(queue, lossless, answer))

    def leak_period_ps(self, place: tuple[str, str], queue: int) -> int:
        """See `Fault.leak_period_ps`."""
        return self._ask(place, queue, 0, lambda fault, answer: fault.leak_period_ps(queue, answer))

    def _ask(self, place: tuple[str, str], priority: int | None, healthy: _Answer,
             hook: Callable[[Fault, _Answer], _Answer]) -> _Answer:
        answer = healthy
        for fault in self.faults:
            if covers(fault.scope, place, priority):
                answer = hook(fault, answer)
        return answer


def covers(scope: Scope, place: tuple[str, str], priority: int | None) -> bool:
    """True when `place` (switch, port) and `priority` (None: any) lie in the scope."""
    return (scope.switch in (None, place[0]) and scope.port in (None, place[1])
            and (priority is None or scope.priority in (None, priority)))
