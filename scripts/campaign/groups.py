"""Groups of ports of one switch, each with an entry of its own: what one entry breaks is nobody else's bystander, and
nobody looks at the counters of another group."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from scripts.campaign.broken_testbed import KnownDut, connected_ports
from tests.common.pfc.lab.dut import WATCHDOG_STATISTICS
from tests.common.pfc.model.counters import DutCounters
from tests.common.pfc.model.ports import ConnectedPort

LOWER = 3
"""Ports of a group on the first traffic generator: `rx` and a pair of bystanders, `beside` and `opposite`."""
UPPER = 3
"""On the second: `tx`, and two by which further data enters, as test cases with several senders need."""
ROW_OF_PORT = re.compile(r"\s*(Ethernet\d+)[\s:]")


@dataclass(frozen=True)
class PortGroup:
    """The ports that an entry has to itself.

    Attributes:
        ports: all of them.
        roles: role -> name of the port.
    """

    ports: tuple[ConnectedPort, ...]
    roles: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(port.port for port in self.ports)


def port_groups() -> list[PortGroup]:
    """The groups of vtb-t0: as many as its ports allow."""
    ports = connected_ports()
    first = ports[0].generator
    lower = [port for port in ports if port.generator == first]
    upper = [port for port in ports if port.generator != first]
    many = min(len(lower) // LOWER, len(upper) // UPPER)
    return [
        _group(lower[LOWER * number:LOWER * (number + 1)], upper[UPPER * number:UPPER * (number + 1)])
        for number in range(many)
    ]


def _group(lower: Sequence[ConnectedPort], upper: Sequence[ConnectedPort]) -> PortGroup:
    roles = {"rx": lower[0], "beside": lower[1], "opposite": lower[2], "tx": upper[0], "further": upper[1]}
    return PortGroup((*lower, *upper), {role: port.port for role, port in roles.items()})


class GroupDut(KnownDut):
    """A switch as if it had the ports of a group only, so far as counters are concerned."""

    def __init__(self, dut: KnownDut, ports: Collection[str]) -> None:
        """`dut`: the switch, `ports`: the names of the group's."""
        super().__init__(dut.host, dut.observers, dut.reservation)
        self._state = dut.state()
        self._ports = frozenset(ports)

    def counters(
        self, queues_of: Sequence[str] = (), also: Mapping[str, str] = MappingProxyType({}),
        statistics: str = WATCHDOG_STATISTICS,
    ) -> DutCounters:
        """Those of the group's ports."""
        found = super().counters(queues_of, also, statistics)
        return replace(
            found,
            pfc_rx=self._own(found.pfc_rx),
            pfc_tx=self._own(found.pfc_tx),
            watchdog=self._own(found.watchdog),
            watchdog_ports=tuple(port for port in found.watchdog_ports if port in self._ports),
            printed={name: self._rows(text) for name, text in found.printed.items()},
        )

    def _own(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """What a port's name begins: `Ethernet0`, `Ethernet0:3`."""
        return {name: value for name, value in found.items() if name.partition(":")[0] in self._ports}

    def _rows(self, text: str) -> str:
        """A text without lines that begin with the name of another port."""
        rows = ((line, ROW_OF_PORT.match(f"{line} ")) for line in text.splitlines())
        return "\n".join(line for line, of in rows if of is None or of[1] in self._ports)
