"""The testbed's clocks: one that stands still until it is advanced, one that follows the wall clock.

Simulated time itself belongs to the data plane; a clock decides when it is advanced and how far. All times are integers
since the start of the testbed.
"""
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from virtual_testbed.otg.simulation_clock import ClockError

PS_PER_NS = 1000
LONGEST_ADVANCE_NS = 3600 * 10**9
LONGEST_STEP_NS = 10**9  # of realtime: requests get their turn between two steps, also when the computation is slow
NOTABLE_LAG_NS = 250 * 10**6
LOG = logging.getLogger(__name__)


class Late(Exception):
    """What was to be advanced takes too long to compute and stands at an earlier instant; `str()` is one sentence."""


class Advanceable(Protocol):
    """What a clock advances: a simulation."""

    @property
    def now_ps(self) -> int:
        """Simulated time."""

    @property
    def awaited_ps(self) -> int | None:
        """Until when a command of a switch waits, the one that waits the least long; None: none does."""

    def advance_to(self, time_ps: int) -> None:
        """Applies configuration changes made so far, then computes up to that instant. Raises Late."""

    def publish(self) -> None:
        """Writes the switches' databases as of now."""


class VirtualClock:
    """Stands still until it is advanced; an advance takes no longer than its computation."""

    def __init__(self, simulation: Advanceable) -> None:
        self._simulation = simulation

    def read(self) -> dict[str, Any]:
        """See SimulationClock."""
        return _reading("virtual", self._simulation, 0)

    def advance(self, request: Any) -> int:
        """See SimulationClock; it is done when this returns."""
        self._simulation.advance_to(self._simulation.now_ps + _asked_ns(request) * PS_PER_NS)
        self._simulation.publish()
        return self._simulation.now_ps // PS_PER_NS

    def read_awaited(self) -> dict[str, Any]:
        """See SimulationClock; there is nothing to wait for."""
        return self.read()

    def settle(self) -> None:
        """Nothing: simulated time is always where it should be."""


class RealtimeClock:
    """Follows the wall clock, as far as the computation keeps up; says how far it is behind.

    Args:
        simulation: advanced by it.
        monotonic_ns: the wall clock, nanoseconds; it starts to count here.
    """

    def __init__(self, simulation: Advanceable, monotonic_ns: Callable[[], int]) -> None:
        self._simulation = simulation
        self._monotonic_ns = monotonic_ns
        self._offset_ns = monotonic_ns() - simulation.now_ps // PS_PER_NS
        self._lagging = False
        self._late: Late | None = None

    def simulated_ps(self, monotonic_ns: int) -> int:
        """Simulated time that belongs to a reading of the wall clock."""
        return (monotonic_ns - self._offset_ns) * PS_PER_NS

    @property
    def lag_ns(self) -> int:
        """How far simulated time is behind the wall clock."""
        return max(0, self._monotonic_ns() - self._offset_ns - self._simulation.now_ps // PS_PER_NS)

    def read(self) -> dict[str, Any]:
        """See SimulationClock."""
        return _reading("realtime", self._simulation, self.lag_ns)

    def advance(self, request: Any) -> int:
        """See SimulationClock; it is done when the wall clock has gone on as far and the computation has kept up."""
        return self._simulation.now_ps // PS_PER_NS + _asked_ns(request)

    def read_awaited(self) -> dict[str, Any]:
        """See SimulationClock; without that, traffic that can only be stepped would be waited for by the hour."""
        if self._late is not None:
            raise self._late
        return self.read()

    def settle(self) -> None:
        """Advances to the wall clock's time, at most by one second; logs falling behind and catching up.

        What takes too long to compute is lag like any other: operations go on at the instant that was reached, so that
        the traffic that is the reason can be stopped.
        """
        behind = self.lag_ns
        self._late = None
        try:
            self._simulation.advance_to(self._simulation.now_ps + min(behind, LONGEST_STEP_NS) * PS_PER_NS)
        except Late as error:
            self._late = error
            LOG.warning("%s", error)
        lag = self.lag_ns
        if (lag > NOTABLE_LAG_NS) != self._lagging:
            self._lagging = not self._lagging
            LOG.warning("simulated time %s the wall clock (%.3f s behind)",
                        "falls behind" if self._lagging else "has caught up with", lag / 1e9)


def _asked_ns(request: Any) -> int:
    """By how much a request wants to advance. Raises ClockError."""
    nanoseconds = request.get("nanoseconds") if isinstance(request, dict) else None
    if not isinstance(nanoseconds, int) or isinstance(nanoseconds, bool):
        raise ClockError(f'the body is {request!r:.60}, but {{"nanoseconds": <integer>}} is expected')
    if not 0 <= nanoseconds <= LONGEST_ADVANCE_NS:
        raise ClockError(f"nanoseconds is {nanoseconds!r:.40}, but one request advances by 0 to {LONGEST_ADVANCE_NS}")
    return nanoseconds


def _reading(mode: str, simulation: Advanceable, lag_ns: int) -> dict[str, Any]:
    awaited_ps = simulation.awaited_ps
    awaited = {} if awaited_ps is None else {"awaited_ns": awaited_ps // PS_PER_NS}
    return {"mode": mode, "now_ns": simulation.now_ps // PS_PER_NS, "lag_ns": lag_ns, **awaited}
