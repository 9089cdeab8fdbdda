"""What latency adds to the core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..lab.clock import Clock
from ..lab.observer import RunObserver
from ..lab.option import Option
from .api import LatencyApi
from .readings import LatencyReadings

PLAIN_OTG = "snappi"
"""The package of the API objects that talk OTG to the generators themselves."""


class LatencyOption(Option):
    """The average latency of data flows is kept with the evidence. No verdict depends on it.

    Attributes:
        is_wanted: the user's word; None: where time is simulated and exact, and the generators speak OTG.
    """

    is_wanted: bool | None = None

    def __init__(self) -> None:
        self._readings = LatencyReadings()

    def observer(self, run_folder: Path) -> RunObserver:
        """Keeps the averages."""
        return self._readings

    def adapted(self, api: Any, clock: Clock) -> Any:
        """The API object with latency, where it is wanted."""
        is_virtual = clock.exact and type(api).__module__.partition(".")[0] == PLAIN_OTG
        is_wanted = is_virtual if self.is_wanted is None else self.is_wanted
        return LatencyApi(api, self._readings) if is_wanted else api


OPTION = LatencyOption()
