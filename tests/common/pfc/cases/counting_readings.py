"""The switch's data counters around a run: of two ports, the queues of one and the priority groups of the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..lab.cli_text import first_line, number, queue_packets, tables
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from .drops import GROUPS, PORTS, group_drops, queue_drops

PORTS_COMMAND = PORTS
COLUMNS = ("RX_OK", "RX_DRP", "TX_OK", "TX_DRP")


@dataclass(frozen=True)
class PortCounts:
    """Frames that a port counted: received as data, dropped on their way in, sent, dropped on their way out."""

    rx_ok: int
    rx_dropped: int
    tx_ok: int
    tx_dropped: int

    def since(self, before: PortCounts) -> PortCounts:
        """What came after an earlier reading."""
        return PortCounts(
            self.rx_ok - before.rx_ok, self.rx_dropped - before.rx_dropped,
            self.tx_ok - before.tx_ok, self.tx_dropped - before.tx_dropped,
        )

    def least(self) -> int:
        """The smallest of them."""
        return min(self.rx_ok, self.rx_dropped, self.tx_ok, self.tx_dropped)


@dataclass(frozen=True)
class DataCounters:
    """One reading.

    Attributes:
        rx, tx: the port under test, and the tx port.
        queues, queue_drops: unicast queue of the port under test -> frames that left through it, that it dropped.
        group_drops: frames dropped in priority groups 0 to 7 of the tx port.
    """

    rx: PortCounts
    tx: PortCounts
    queues: Mapping[int, int]
    queue_drops: Mapping[int, int]
    group_drops: tuple[int, ...]

    def since(self, before: DataCounters) -> DataCounters:
        """What came after an earlier reading."""
        return DataCounters(
            self.rx.since(before.rx),
            self.tx.since(before.tx),
            {queue: count - before.queues.get(queue, 0) for queue, count in self.queues.items()},
            {queue: count - before.queue_drops.get(queue, 0) for queue, count in self.queue_drops.items()},
            tuple(late - early for late, early in zip(self.group_drops, before.group_drops, strict=True)),
        )

    def least(self) -> int:
        """The smallest count of all."""
        return min(
            self.rx.least(), self.tx.least(), *self.queues.values(), *self.queue_drops.values(), *self.group_drops
        )

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return asdict(self)


def commands(subject: PortUnderTest) -> dict[str, str]:
    """What has to be run for a reading; the port counters of all ports are read, as older images cannot filter them."""
    return {
        "data": PORTS_COMMAND,
        "queue": f"show queue counters {subject.pair.rx.port}",
        "groups": GROUPS,
    }


def data_counters(subject: PortUnderTest, reading: DutCounters) -> DataCounters:
    """The data counters of a reading that `commands` were run with.

    Raises:
        QualificationError: a command printed no counts for a port, or for the queue of a priority that data reaches.
    """
    text, pair = reading.printed, subject.pair
    queues, drops = queue_packets(text["queue"], pair.rx.port), queue_drops(text["queue"])
    for priority in subject.qos.reachable:
        if priority not in queues or priority not in drops:
            raise QualificationError(
                f"{subject.where(priority)}: `show queue counters` printed no Counter/pkts and Drop/pkts for queue"
                f" UC{priority}: its counters are not being polled"
            )
    return DataCounters(
        port_counts(text["data"], pair.rx.port),
        port_counts(text["data"], pair.tx.port),
        queues,
        drops,
        group_drops(text["groups"], pair.tx.port),
    )


def port_counts(text: str, port: str) -> PortCounts:
    """`show interfaces counters`: what a port counted.

    Raises:
        QualificationError: it has no row with all these columns, or `N/A` in one.
    """
    for row in (row for table in tables(text) for row in table):
        if row.get("IFACE") == port and all(column in row for column in COLUMNS):
            return PortCounts(*(number(row[column]) for column in COLUMNS))
    raise QualificationError(f"`{PORTS_COMMAND}` printed no {', '.join(COLUMNS)} for {port}: {first_line(text)!r}")
