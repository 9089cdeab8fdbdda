"""A simulation that stops on its way where somebody takes statistics at regular times."""
from __future__ import annotations

from collections.abc import Callable

from virtual_testbed.engine.clock import Advanceable


class RefreshedSimulation:
    """A simulation in which something is done again and again.

    Args:
        simulation: what is advanced.
    """

    def __init__(self, simulation: Advanceable) -> None:
        self._simulation = simulation
        self._refresh: Callable[[], None] = lambda: None
        self._every_ps = 0

    def refresh_with(self, refresh: Callable[[], None], every_ps: int) -> None:
        """From now on this is called at each multiple of that time; 0: never."""
        self._refresh = refresh
        self._every_ps = every_ps

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return self._simulation.now_ps

    @property
    def awaited_ps(self) -> int | None:
        """Until when a command of a switch waits."""
        return self._simulation.awaited_ps

    def advance_to(self, time_ps: int) -> None:
        """Computes up to that instant, with its stops."""
        while self._every_ps and (stop := self.now_ps // self._every_ps * self._every_ps + self._every_ps) <= time_ps:
            self._simulation.advance_to(stop)
            self._refresh()
        self._simulation.advance_to(time_ps)

    def publish(self) -> None:
        """Writes the switches' databases as of now."""
        self._simulation.publish()
