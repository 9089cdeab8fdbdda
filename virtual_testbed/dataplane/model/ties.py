"""What faults let one port of a switch do at others: shut their queues, send pauses out of them, count there.

A healthy port has no ties: it sends the pauses of its own priority groups, and nothing else leads from port to port but
data.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from virtual_testbed.dataplane.model.pause_receiver import PauseReceiver


class TiedPort(Protocol):
    """A port of a switch."""

    name: str
    receiver: PauseReceiver

    @property
    def ties(self) -> Ties[Any]:
        """Its own."""


Port = TypeVar("Port", bound=TiedPort)


class Ties(Generic[Port]):
    """The ties of one port.

    Args:
        port: whose they are.

    Attributes:
        shuts: by class, what its pauses shut elsewhere, as (port, mask of queues).
        tells: by priority group, the ports that send its XOFF and XON.
        reached: other ports whose queues its pauses shut; `told` those that send pauses of its groups.
        shut_by: other ports whose pauses shut queues here; `told_by` those whose groups are told of here; `counts_of`
            those whose PFC frames are, or were, counted here.
    """

    def __init__(self, port: Port) -> None:
        self._port = port
        self.shuts: list[list[tuple[Port, int]]] = [[] for _ in range(8)]
        self.tells: list[list[Port]] = [[port] for _ in range(8)]
        self.reached: list[Port] = []
        self.told: list[Port] = []
        self.shut_by: list[Port] = []
        self.told_by: list[Port] = []
        self.counts_of: list[Port] = []

    @property
    def bound(self) -> list[Port]:
        """Other ports that what happens here acts on."""
        return list(dict.fromkeys([*self.reached, *self.told]))

    @property
    def are_none(self) -> bool:
        """Whether nothing leads from here to another port, nor from one to here, and its own groups are told of."""
        return not (self.bound or self.shut_by or self.told_by) and all(found == [self._port] for found in self.tells)

    def tie(self, shuts: Sequence[list[tuple[Port, int]]], tells: Sequence[list[Port]]) -> None:
        """Take what its pauses shut elsewhere, and who tells of its groups."""
        for port in self.reached:
            port.ties.shut_by.remove(self._port)
        for port in self.told:
            port.ties.told_by.remove(self._port)
        self.shuts = list(shuts)
        self.tells = list(tells)
        self.reached = list(dict.fromkeys(port for found in shuts for port, _ in found))
        self.told = [port for port in dict.fromkeys(port for found in tells for port in found)
                     if port is not self._port]
        for port in self.reached:
            port.ties.shut_by.append(self._port)
        for port in self.told:
            port.ties.told_by.append(self._port)

    def shut_from_elsewhere(self) -> int:
        """Mask of the queues that pauses of other ports shut here now."""
        mask = 0
        for other in self.shut_by:
            for priority, since_ps in enumerate(other.receiver.since_ps):
                if since_ps is not None and other.receiver.habits[priority].elsewhere:
                    mask |= sum(queues for port, queues in other.ties.shuts[priority] if port is self._port)
        return mask

    def book(self, source: Port) -> None:
        """PFC frames that come to another port may be counted here."""
        if source not in self.counts_of:
            self.counts_of.append(source)

    def counted_here(self) -> tuple[int, ...]:
        """PFC frames by class that came to other ports and are counted here."""
        return tuple(sum(source.receiver.kinds.get(kind_at(self._port.name, priority), 0) for source in self.counts_of)
                     for priority in range(8))


def kind_at(port: str, priority: int) -> str:
    """Of `PauseReceiver.kinds`: frames that are counted under a class at another port."""
    return f"PFC {priority} at {port}"
