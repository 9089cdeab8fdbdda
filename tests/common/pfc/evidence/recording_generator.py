"""Traffic generators that a witness looks at: what they are told to do, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..host_pauses.generator import HostedGenerator
from ..lab.clock import Clock
from ..lab.generator import Generator, Traffic
from ..model.traffic import FlowStats
from .recorder import EvidenceRecorder


class Stopwatch:
    """A clock that knows its own time where nothing else moves it: a virtual testbed's is asked over HTTP."""

    def __init__(self, clock: Clock) -> None:
        """`clock` is what it shows."""
        self._clock = clock
        self._known_s: float | None = None

    @property
    def exact(self) -> bool:
        """As of the clock."""
        return self._clock.exact

    def now(self) -> float:
        """As of the clock, which is asked."""
        self._known_s = self._clock.now()
        return self._known_s

    def sleep(self, seconds: float) -> None:
        """As of the clock."""
        self._clock.sleep(seconds)
        if self._known_s is not None:
            self._known_s += seconds

    def moment(self) -> float:
        """The time, seconds; the clock is asked unless it is exact and was asked before."""
        return self.now() if self._known_s is None or not self.exact else self._known_s


class WitnessedGenerator(Generator):
    """The generators; or, in front of another class of theirs, those.

    Attributes:
        witness, watch: is told, and when; whoever makes the object sets both.
    """

    recorder: EvidenceRecorder
    watch: Stopwatch

    def push(self, traffic: Traffic) -> None:
        """Replaces the configuration; one that is refused is told too.

        Raises:
            QualificationError: it is refused.
        """
        self.recorder.pushed(traffic, self.watch.moment())
        super().push(traffic)

    def start(self, names: Sequence[str]) -> None:
        """Starts flows.

        Raises:
            QualificationError: they could not be started.
        """
        self.recorder.started([self._flows[name] for name in names if name in self._flows], self.watch.moment())
        super().start(names)

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stops flows; no names: all of them.

        Raises:
            QualificationError: they could not be stopped.
        """
        super().stop(names)
        self.recorder.stopped(names, self.watch.moment())

    def stats(self, names: Iterable[str]) -> dict[str, FlowStats]:
        """Statistics of flows.

        Raises:
            QualificationError: the answer lacks a flow or a counter.
        """
        counted = super().stats(names)
        self.recorder.counted(counted, self.watch.moment())
        return counted

    def captured(self, port_name: str) -> bytes:
        """Ends the capture of a generator port and returns it.

        Raises:
            QualificationError: there is none.
        """
        data = super().captured(port_name)
        self.recorder.captured(data)
        return data


class WitnessedHostedGenerator(WitnessedGenerator, HostedGenerator):
    """The same where pauses come from a host."""
