"""Switches in a row behind the port under test, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..lab.counter_polling import PollDelays
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, PlayedHost


@dataclass(frozen=True)
class Hop:
    """A switch of a chain.

    Attributes:
        device: its name.
        leaves: the port by which frames go on towards the port under test; of the first switch that port itself.
        enters: the port where frames come in, and out of which the switch sends its pauses; of the last switch the port
            with the sending traffic generator behind it.
    """

    device: str
    leaves: str
    enters: str


@dataclass(frozen=True)
class SwitchChain:
    """A chain of switches as it was found.

    Attributes:
        hops: its switches, the one under test first.
        subject: what is measured over all of them: the port under test, the tester port at the far end, and the sum of
            their shared buffers.
        hosts: the host behind each of these two ports.
        router_mac: of the switch at the far end.
        delays: how old the counters are of the switch that polls them the least often.
    """

    hops: tuple[Hop, ...]
    subject: PortUnderTest
    hosts: Mapping[ConnectedPort, PlayedHost]
    router_mac: str
    delays: PollDelays
