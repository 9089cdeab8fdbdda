"""Groups of ports of one switch, each with an entry of its own: what one entry breaks is nobody else's bystander, and
nobody looks at the counters of what others break."""

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

GROUPS = 5
"""At once: each needs a port under test and a bystander of its own on the first traffic generator, and on the second
one that data enters and another for further data."""
ROW_OF_PORT = re.compile(r"\s*(Ethernet\d+)[\s:]")


@dataclass(frozen=True)
class PortGroup:
    """The ports that an entry is judged with.

    Attributes:
        ports: all of them: some are nobody else's, the others are healthy bystanders of all groups, and a port by which
            further data enters.
        roles: role -> name of the port.
    """

    ports: tuple[ConnectedPort, ...]
    roles: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(port.port for port in self.ports)


def port_groups() -> list[PortGroup]:
    """The groups of vtb-t0. A group's own bystander, which faults may name, is not the one that is nearest to its port
    under test: beside a case that one always has traffic of all priorities, the others in turn
    (`accounting.bystanders`)."""
    ports = connected_ports()
    first = ports[0].generator
    lower = [port for port in ports if port.generator == first]
    upper = [port for port in ports if port.generator != first]
    beside = lower[-2 - GROUPS:-2]
    common = [port for port in (*lower[GROUPS:], *upper[2 * GROUPS:]) if port not in beside]
    return [
        PortGroup((lower[number], beside[number], upper[number], upper[GROUPS + number], *common), {
            "rx": lower[number].port, "beside": beside[number].port, "tx": upper[number].port,
            "further": upper[GROUPS + number].port, "opposite": upper[2 * GROUPS + 1].port})
        for number in range(GROUPS)
    ]


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
