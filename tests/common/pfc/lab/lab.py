"""What one port of one switch is measured with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.measurement import PortUnderTest
from ..model.qos import ConfigDb
from .clock import Clock
from .counter_polling import PollDelays
from .dut import Dut
from .generator import Generator
from .observer import RunObserver
from .otg_config import TrafficBuilder
from .pause_source import PauseSource


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
