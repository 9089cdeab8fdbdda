"""What one port of one switch is measured with, and where the pauses of its storms come from: flows of the traffic
generator, or what an option brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..model.checking import at_tested, every_pause_counted, none_of, storm_sent
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import Measurement, PortUnderTest
from ..model.qos import ConfigDb
from ..model.traffic import Role
from ..record.verdict import Check
from .clock import Clock
from .counter_polling import PollDelays
from .dut import Dut, Host
from .generator import Generator
from .observer import RunObserver
from .otg_config import TrafficBuilder


class PauseSource:
    """The traffic generator, whose flows the pauses are: it counts what it sent, and knows its frames where they come
    out. An option that has another source (`PortPlan.pauses`) says by these methods what differs."""

    def driver(self, made: type[Generator]) -> type[Generator]:
        """What drives the traffic with pauses from here, where `made` drives that of the traffic generators alone."""
        return made

    def arrived(self, lab: Lab, before: DutCounters) -> DutCounters:
        """Shows that pauses from here arrive at the port under test, where that is not known otherwise. Takes and
        returns the switch's counters with everything in them that came before.

        Raises:
            QualificationError: they do not arrive.
        """
        return before

    def confirmed(self, lab: Lab, run: Measurement) -> Measurement:
        """A run that has just ended, with what can only be found out now: whether its pauses arrived."""
        return run

    def storm_ran(self, run: Measurement) -> Iterator[Check]:
        """Whether the storm had so many pause frames that the pause cannot have lapsed on average: ERROR where not."""
        least = run.scenario.least_storm_frames(run.subject.pair.speed_mbps)
        yield from storm_sent(at_tested(run), run.flows("paused", Role.STORM), least)

    def every_pause_counted(self, run: Measurement, priority: int) -> Check:
        """Whether the switch counted as many pauses for a priority as were sent: FAIL where not."""
        return every_pause_counted(run, priority, run.pauses_sent(priority), "once the storm had stopped ")

    def none_forwarded(self, run: Measurement) -> Iterator[Check]:
        """Whether none of the pauses came out of another port: FAIL where one did."""
        forwarded = sum(stopped.frames_rx for _, stopped in run.storms)
        what = f"pause frames forwarded to {run.subject.pair.tx.port}"
        yield none_of("pause-not-forwarded", at_tested(run), what, forwarded)


@dataclass(frozen=True)
class Lab:
    """Everything that one port of one switch is measured with.

    Attributes:
        subject: what is measured.
        dut: the switch.
        generator: what sends and counts.
        builder: builds what is sent.
        clock: what to wait on.
        delays: how old the switch's counters are.
        others: the other switches of the port's plan, by name.
        config_db: the switch's CONFIG_DB as it was found.
        observers: who looks on.
        pause_source: where pauses come from.
    """

    subject: PortUnderTest
    dut: Dut
    generator: Generator
    builder: TrafficBuilder
    clock: Clock
    delays: PollDelays
    others: Mapping[str, Dut] = field(default_factory=dict)
    config_db: ConfigDb = field(default_factory=dict)
    observers: Sequence[RunObserver] = ()
    pause_source: PauseSource = PauseSource()

    @property
    def port(self) -> str:
        """Name of the port under test."""
        return self.subject.pair.rx.port


HostOf = Callable[[str], Host]
"""Makes the host object of a host of the inventory."""
OpenPauses = Callable[[HostOf, Clock], PauseSource]
"""Opens the source of the pauses for one port under test; raises QualificationError where it cannot send."""


def no_host(name: str) -> Host:
    """Where there is no inventory; raises QualificationError."""
    raise QualificationError(f"{name}: pauses are to come from there, and no way to reach it was given")
