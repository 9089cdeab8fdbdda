"""What simulated time adds to the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lab.clock import Clock
from ..lab.option import CLOCK_KEYS, EXACT_KEY, Option
from .endpoint_clock import EndpointClock


class SimulatedTimeOption(Option):
    """A testbed's entry may name a clock."""

    def clock(self, testbed: Mapping[str, Any]) -> Clock | None:
        """The clock that the entry names."""
        url = next((testbed[key] for key in CLOCK_KEYS if testbed.get(key)), None)
        return EndpointClock(url, alone=bool(testbed.get(EXACT_KEY, True))) if url else None


OPTION = SimulatedTimeOption()
