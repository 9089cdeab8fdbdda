"""What one port of one switch is measured with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.measurement import PortUnderTest
from ..model.qos import ConfigDb
from ..switch_chain.chain import SwitchChain
from .clock import Clock
from .counter_polling import PollDelays
from .dut import Dut
from .generator import Generator
from .otg_config import TrafficBuilder


@dataclass(frozen=True)
class Lab:
    """Everything that one port of one switch is measured with; where there is a row of switches behind it, also that
    and all switches of it; and the switch's CONFIG_DB as it was found."""

    subject: PortUnderTest
    dut: Dut
    generator: Generator
    builder: TrafficBuilder
    clock: Clock
    delays: PollDelays
    chain: SwitchChain | None = None
    duts: Mapping[str, Dut] = field(default_factory=dict)
    config_db: ConfigDb = field(default_factory=dict)

    @property
    def port(self) -> str:
        """Name of the port under test."""
        return self.subject.pair.rx.port
