"""Drives generators that start no flow while others run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..lab.generator import SETTLE_S, Generator, Traffic
from ..model.errors import QualificationError
from ..model.tolerances import KEY
from ..model.traffic import Role


class LoneGenerator(Generator):
    """The traffic generators: flows beside a case end before further ones of it start."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Nothing is sent yet; arguments as of `Generator`."""
        super().__init__(*arguments, **named)
        self._running: set[str] = set()  # the generators' own flows that were started, and not seen stopped since

    def push(self, traffic: Traffic) -> None:
        """As of `Generator`."""
        super().push(traffic)
        self._running = set()

    def start(self, names: Sequence[str]) -> None:
        """Starts flows, when those beside them that still ran have ended and are counted.

        Raises:
            QualificationError: one could not be started, or would be beside others of the case that run.
        """
        own = self.own(names or self._flows)
        if own:
            self._end_running(own)
            self._running |= {*own, *self._beside}
        super().start(names)

    def stop(self, names: Sequence[str] = ()) -> None:
        """As of `Generator`."""
        super().stop(names)
        self._running.difference_update(names or self._flows)

    def own(self, names: Iterable[str]) -> list[str]:
        """Those of these flows that the traffic generators send: all of them, unless pauses come from elsewhere."""
        return list(names)

    def _end_running(self, next_ones: Sequence[str]) -> None:
        beside = sorted(name for name in self._running if self._flows[name].role is Role.BYSTANDER)
        own = sorted(self._running.difference(beside))
        going_on = [name for name, one in self.counted(own).items() if one.transmitting]
        if going_on:
            others = f" and {len(going_on) - 1} others" if len(going_on) > 1 else ""
            raise QualificationError(
                f"{', '.join(next_ones)} has to start beside {going_on[0]}{others}, and by the testbed's {KEY} its"
                " traffic generators start nothing beside flows that run"
            )
        self._running.difference_update(own)  # one whose counts a start clears is said to run, as it has sent nothing
        if beside:
            self.stop(beside)
            self.clock.sleep(SETTLE_S)
