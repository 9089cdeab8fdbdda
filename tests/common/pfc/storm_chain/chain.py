"""A pause storm that lasts for as long as it is needed, and ends by itself when nobody is left to stop it.

OTG cannot lengthen a running flow, so where a storm has to end by itself it is a chain: flows of the same frames and of
limited length, each of which is started once, the next one a while before the one before ends. They are started by
whoever waits: `StormClock` wakes up for it. A killed run starts none any more, and the port is quiet when the flow that
was started last has ended: within the length of one flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

from ..lab.clock import Clock
from ..model.errors import QualificationError
from ..model.traffic import FlowPlan

OVERLAP_S = 10.0
"""The next flow is started so long before the one before ends: a run looks at the clock only between two calls, to a
switch (0.3 s over SSH, several seconds where it is busy) or to a generator (which starts flows up to a second late and
shows them as of its last statistics). Meanwhile twice as many frames come, and pause the same."""
MOST_FLOWS = 16
"""Flows of a chain: a port has room for some tens, and a case's data needs them too. 16 flows of 30 s, the shortest
limit, last 330 s; SONiC polls its slowest counters every 60 s unless it is told otherwise."""


@dataclass(frozen=True)
class Chain:
    """The flows that a storm may be made of: their names, the storm's own first, and how long each lasts (seconds)."""

    flows: tuple[str, ...]
    seconds: float


def chain_of(plan: FlowPlan) -> Chain:
    """The chain of a storm: one flow where that lasts, else as many as it takes when each but the last is relieved an
    overlap before its end.

    Args:
        plan: the storm; each of its flows ends by itself (`limit_s`, longer than an overlap).

    Raises:
        QualificationError: it would take too many flows.
    """
    name = plan.name
    needed_s = plan.needed_s
    limit_s = plan.limit_s
    more = ceil(max(0.0, needed_s - limit_s) / (limit_s - OVERLAP_S))
    if more >= MOST_FLOWS:
        least_s = ceil((needed_s + (MOST_FLOWS - 1) * OVERLAP_S) / MOST_FLOWS)
        raise QualificationError(
            f"{name}: a storm of {needed_s:.0f} s takes {more + 1} flows of {limit_s:g} s each, at most {MOST_FLOWS}"
            f" are made: the testbed's pfc_conditions need a storm_limit_s of {least_s} or more"
        )
    return Chain((name, *(f"{name} successor {number}" for number in range(1, more + 1))), limit_s)


class RunningStorm:
    """A chain from the start of its first flow on.

    Attributes:
        stopped: whether it was told to stop.
        gap: why it was no storm without a gap, as far as was seen; empty: it was one.
    """

    def __init__(self, chain: Chain, began_s: float) -> None:
        """`began_s`: the clock just before the first flow was told to start, seconds."""
        self._chain = chain
        self._began = [began_s]
        self.stopped = False
        self.gap = ""

    @property
    def started(self) -> tuple[str, ...]:
        """Names of the flows that were started so far."""
        return self._chain.flows[:len(self._began)]

    @property
    def due_s(self) -> float | None:
        """When the next flow has to be started, seconds of the clock; None: there is none, or no need for it."""
        return None if self.stopped or self.successor is None else self._end_s(-1) - OVERLAP_S

    @property
    def successor(self) -> str | None:
        """The next flow; None: the last one was started."""
        return next(iter(self._chain.flows[len(self._began):]), None)

    def follow(self, began_s: float, now_s: float) -> None:
        """The next flow was told to start at `began_s`, and by `now_s` it runs; the one before must not have ended."""
        if now_s >= self._end_s(-1):
            late_s = now_s - self._end_s(-1)
            self._note(f"{self._chain.flows[len(self._began)]} started {late_s:.1f} s after the end of the one before")
        self._began.append(began_s)

    def look(self, now_s: float, transmitting: Mapping[str, bool], frames: Mapping[str, int]) -> None:
        """Notes a gap. A flow that was told to start transmits for its time, and the last one until it is told to stop.
        One that relieves another is not judged until that one's time is over: until then there is no gap, and
        statistics may not have it yet.

        Args:
            now_s: the clock just after the generator was asked.
            transmitting, frames: what it said of each flow that was started.
        """
        for place, flow in enumerate(self.started):
            if place and now_s < self._end_s(place - 1):
                continue
            is_last = place == len(self._began) - 1
            lasted_s = now_s - self._began[place]
            if not transmitting[flow] and (is_last or lasted_s < self._chain.seconds):
                self._note(f"{flow} not transmitting {lasted_s:.1f} s after its start")
            elif place and not frames[flow]:
                self._note(f"{flow} without a frame {lasted_s:.1f} s after its start")

    def _end_s(self, place: int) -> float:
        """The earliest moment at which a flow that was started ends by itself."""
        return self._began[place] + self._chain.seconds

    def _note(self, gap: str) -> None:
        self.gap = self.gap or gap


class StormClock:
    """A clock on which whoever waits keeps storms going."""

    def __init__(self, clock: Clock, keep: Callable[[], float | None]) -> None:
        """`keep` does what is due, and returns when it wants to be called again (seconds of `clock`; None: never). Each
        moment is later than the one before, and there are finitely many."""
        self._clock = clock
        self._keep = keep

    @property
    def exact(self) -> bool:
        """As the clock has it."""
        return self._clock.exact

    def now(self) -> float:
        """As the clock has it."""
        return self._clock.now()

    def moment(self) -> float:
        """As the clock has it."""
        return self._clock.moment()

    def sleep(self, seconds: float) -> None:
        """Returns when `seconds` have passed, or later where keeping the storms going took longer."""
        due_s = self._keep()
        if due_s is None:
            self._clock.sleep(seconds)
            return
        end_s = self._clock.now() + seconds
        while due_s is not None and due_s < end_s:
            self._clock.sleep(max(0.0, due_s - self._clock.now()))
            due_s = self._keep()
        self._clock.sleep(max(0.0, end_s - self._clock.now()))
