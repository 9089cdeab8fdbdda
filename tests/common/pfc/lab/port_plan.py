"""What is going to be measured: one port, as the user asked for it, of a testbed of which this is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, Links
from .counter_polling import PollDelays
from .dut import SwitchState
from .lab import OpenPauses

StateOf = Callable[[str], SwitchState]


@dataclass(frozen=True)
class PortPlan:
    """A port that can be measured.

    Attributes:
        state: the switch as it was found.
        subject: what is measured on it.
        delays: how old its counters are.
        remarks: what is remarkable.
        on_behalf_of: the device that the switch stands for; None: for itself.
        others: other switches that test cases look at.
        first_host: number of the first host behind its ports, where several ports are measured at once.
        pauses: opens the source of the pauses; None: they come from the traffic generator.
    """

    state: SwitchState
    subject: PortUnderTest
    delays: PollDelays
    remarks: tuple[str, ...] = ()
    on_behalf_of: str | None = None
    others: tuple[str, ...] = ()
    first_host: int = 0
    pauses: OpenPauses | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Every switch that is looked at, the one under test first."""
        return self.state.device, *self.others


@dataclass(frozen=True)
class PortRequest:
    """What the user asks to be measured: the port under test (None: the first), the port that data enters (None: chosen
    by `choose_pair`), the IP version of the data; whether the switch's configuration may be changed for that (it is
    put back; a virtual switch's always may); and whether data may enter from the port under test's own traffic
    generator."""

    port_under_test: str | None = None
    tx_port: str | None = None
    ip_version: int = 4
    change_config: bool = False
    same_generator: bool = False


@dataclass(frozen=True)
class LabFacts:
    """What is known of a testbed.

    Attributes:
        testbed: its entry (`tbinfo`).
        state_of: reads a switch of it, by name.
        ports: its switches' ports with a traffic generator behind them.
        links: `device_conn` of `conn_graph_facts`.
    """

    testbed: Mapping[str, Any]
    state_of: StateOf
    ports: Sequence[ConnectedPort]
    links: Links
