"""Every counter that a switch shows of its ports, queues and priority groups, in one reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..cases.switch_counters import GROUPS, PORTS, may_gain
from ..lab.cli_text import NOT_COUNTED, first_line, number, table_rows, unicast_queue
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.qos import PRIORITIES

PORT_COUNTERS = "port_counters"
QUEUE_COUNTERS = "queue_counters"
GROUP_COUNTERS = "group_counters"
COMMANDS = {
    PORT_COUNTERS: PORTS,
    QUEUE_COUNTERS: "show queue counters",
    GROUP_COUNTERS: GROUPS,
}
"""A name -> a command; no name is one that `Dut.counters` has for another command."""
RX_OK = "RX_OK"
TX_OK = "TX_OK"
RX_DRP = "RX_DRP"
TX_DRP = "TX_DRP"
PORT_COLUMNS = (RX_OK, "RX_ERR", RX_DRP, TX_OK, "TX_ERR", TX_DRP)
"""Not RX_OVR and TX_OVR: in these some switches count frames that are longer than 1518 bytes."""
PFC_RX = "PFC Rx"
PFC_TX = "PFC Tx"
SENT = "Counter/pkts"
DROPPED = "Drop/pkts"
GROUP_DROPS = "PG drops"


class Counter(NamedTuple):
    """A counter of a port.

    Attributes:
        port: the port.
        column: what it counts: a column of `show interfaces counters`, `PFC Rx` and `PFC Tx`, `Counter/pkts` and
            `Drop/pkts` of unicast queues, `PG drops`.
        number: the priority, queue or priority group; None: the whole port's.
    """

    port: str
    column: str
    number: int | None = None

    def __str__(self) -> str:
        """As the switch's commands call it: `PFC3 Rx`, `RX_OK`, `Drop/pkts of UC3`, `drops of PG3`."""
        if self.number is None:
            return self.column
        if self.column in (SENT, DROPPED):
            return f"{self.column} of UC{self.number}"
        if self.column == GROUP_DROPS:
            return f"drops of PG{self.number}"
        return self.column.replace(" ", f"{self.number} ")


@dataclass(frozen=True)
class Books:
    """One reading.

    Attributes:
        counts: counter -> what it stands at; what the switch does not count is absent.
        read_s: when it was read, seconds of the testbed's clock.
        received: port under test -> further receive counters of it, by their names in COUNTERS_DB.
    """

    counts: Mapping[Counter, int]
    read_s: float
    received: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def gains(self, before: Books) -> dict[Counter, int]:
        """What each counter that both readings have gained since an earlier one."""
        return {one: count - before.counts[one] for one, count in self.counts.items() if one in before.counts}

    def received_since(self, before: Books, port: str) -> dict[str, int]:
        """The same of a port's further counters; none, where a reading is of other ports."""
        known = before.received.get(port, {})
        return {name: count - known[name] for name, count in self.received.get(port, {}).items() if name in known}


@dataclass(frozen=True)
class Idle:
    """What counters of a switch do while nothing is sent to it.

    Attributes:
        gains: what each gained.
        lasted_s: in how many seconds.
    """

    gains: Mapping[Counter, int]
    lasted_s: float

    def may_gain(self, counter: Counter, lasted_s: float) -> int:
        """How much a counter may gain in so many seconds that no traffic explains."""
        return may_gain(self.gains.get(counter, 0), self.lasted_s, lasted_s)


def books_of(reading: DutCounters, read_s: float) -> Books:
    """The books of a reading that `COMMANDS` were run with.

    Raises:
        QualificationError: there are no counters of ports, or of queues, at all. Those of priority groups need not be
            polled.
    """
    counts: dict[Counter, int] = {}
    for column, by_port in ((PFC_RX, reading.pfc_rx), (PFC_TX, reading.pfc_tx)):
        for port, frames in by_port.items():
            counts |= {Counter(port, column, priority): count for priority, count in enumerate(frames)}
    for name, read in (
        (PORT_COUNTERS, _port_counters), (QUEUE_COUNTERS, _queue_counters), (GROUP_COUNTERS, _group_counters),
    ):
        found = list(read(reading.printed[name]))
        if not found and name != GROUP_COUNTERS:
            said = first_line(reading.printed[name])
            raise QualificationError(f"`{COMMANDS[name]}` printed no counters: {said!r}")
        counts |= dict(_cells(found))
    return Books(counts, read_s)


def _port_counters(text: str) -> Iterator[tuple[Counter, str]]:
    for row in table_rows(text):
        for column in PORT_COLUMNS:
            if "IFACE" in row and column in row:
                yield Counter(row["IFACE"], column), row[column]


def _queue_counters(text: str) -> Iterator[tuple[Counter, str]]:
    for row in table_rows(text):
        queue = unicast_queue(row.get("TxQ", ""))
        for column in (SENT, DROPPED):
            if queue is not None and "Port" in row and column in row:
                yield Counter(row["Port"], column, queue), row[column]


def _group_counters(text: str) -> Iterator[tuple[Counter, str]]:
    for row in table_rows(text):
        for group in PRIORITIES:
            if "Port" in row and f"PG{group}" in row:
                yield Counter(row["Port"], GROUP_DROPS, group), row[f"PG{group}"]


def _cells(found: Iterable[tuple[Counter, str]]) -> Iterator[tuple[Counter, int]]:
    return ((counter, number(text)) for counter, text in found if text != NOT_COUNTED)
