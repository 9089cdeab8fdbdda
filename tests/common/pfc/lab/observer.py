"""Who looks on at a run, and is told what happens when it happens. Nothing is changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..model.traffic import FlowPlan, FlowStats
from .clock import Clock


class RunObserver:
    """An observer of a run. Each method here does nothing; an observer overrides those of the events that it keeps.

    Times are seconds of the testbed's clock.
    """

    def session_started(self) -> None:
        """The first switch is about to be taken."""

    def measured_by(self, clock: Clock) -> None:
        """The clock of the testbed is known: what no event tells the time of can be timed by it."""

    def measurement_started(self, name: str, for_all: bool = False) -> None:
        """A measurement begins, called `name`. `for_all`: what comes until the next one is evidence of all measurements
        that follow, too."""

    def configuration_read(self, device: str, moment: str, config_db: Mapping[str, Any]) -> None:
        """The whole CONFIG_DB of a switch was read, `before` or `after` the run."""

    def commands_run(self, device: str, commands: Mapping[str, str], texts: Mapping[str, str]) -> None:
        """A switch's commands were run in one call; `texts` is what each of `commands` printed."""

    def traffic_pushed(self, flows: Iterable[FlowPlan], config: Any, now_s: float) -> None:
        """A traffic configuration of these flows is about to be sent to the generators, in place of the one before;
        also one that they then refuse."""

    def flows_started(self, flows: Sequence[FlowPlan], now_s: float) -> None:
        """Flows are about to be started, some of them beside the case: some generators clear all counts then."""

    def flows_stopped(self, names: Sequence[str], now_s: float) -> None:
        """Flows were told to stop; no names: all."""

    def statistics_read(self, stats: Mapping[str, FlowStats], now_s: float) -> None:
        """Flow statistics were read."""

    def data_in_storm(self, clock: Clock, read: Callable[[], object], seconds: float) -> None:
        """Data has begun for so many seconds of `clock`, in a storm; `read` reads statistics of all flows."""

    def capture_read(self, data: bytes) -> None:
        """A generator port's capture has ended; `data` is a pcap or pcapng file."""

    def evidence(self, flows_of: str = "") -> Mapping[str, Any]:
        """What the record of the measurement says of it; of flows those alone whose names end with `flows_of`."""
        return {}

    def lost(self) -> Sequence[str]:
        """Why something that belongs to a verdict could not be kept: then no verdict that lacks it is PASS."""
        return ()

    def notes(self) -> Sequence[str]:
        """What the user has to be told in the end."""
        return ()


def evidence_of(observers: Iterable[RunObserver], flows_of: str = "") -> dict[str, Any]:
    """What all observers have of the measurement; each has names of its own. `flows_of` as of `RunObserver`."""
    return {name: value for observer in observers for name, value in observer.evidence(flows_of).items()}
