"""What the clock endpoint beside OTG needs of a testbed's clock; `virtual_testbed.engine.clock` has two of them."""
from __future__ import annotations

from typing import Any, Protocol


class ClockError(Exception):
    """A clock was asked for what it cannot do; `str()` is one sentence."""


class SimulationClock(Protocol):
    """The clock of a simulation, as the engine and the clock endpoint see it."""

    def read(self) -> dict[str, Any]:
        """`{"mode", "now_ns", "lag_ns"}`: `virtual` or `realtime`, simulated time, how far behind the wall clock; and
        `awaited_ns` while a command of a switch waits: until then."""

    def advance(self, request: Any) -> int:
        """Begins to advance by `request["nanoseconds"]`, 0 to 3600 s; returns the simulated time at which that is done
        (nanoseconds), which may be now. Raises ClockError for any other request."""

    def read_awaited(self) -> dict[str, Any]:
        """Reads the clock for whoever waits for a later instant. Raises Late where that takes too long to compute."""

    def settle(self) -> None:
        """Brings simulated time to where it should be before a request is answered."""
