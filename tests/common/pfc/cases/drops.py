"""Frames that the switch counts as dropped, and how full its headroom has been: what its commands print, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..lab.cli_text import first_line, number, tables
from ..lab.lab import Lab
from ..model.errors import QualificationError

PORTS = "show interfaces counters"
GROUPS = "show priority-group drop counters"
HEADROOM = "show priority-group watermark headroom"


@dataclass(frozen=True)
class Drops:
    """Frames that a switch dropped on their way to one port, since it started (or somebody's clear). It counts them
    twice over: by port, and by queue or priority group.

    Attributes:
        queues: unicast queue of the port where data leaves -> frames.
        groups: port where data enters -> frames of each of its priority groups.
        leaving: frames that the port where data leaves dropped (`TX_DRP`).
        entering: port where data enters -> frames that it dropped (`RX_DRP`).
    """

    queues: Mapping[int, int]
    groups: Mapping[str, tuple[int, ...]]
    leaving: int
    entering: Mapping[str, int]

    @property
    def by_port(self) -> int:
        """Frames that the ports count."""
        return self.leaving + sum(self.entering.values())

    @property
    def by_queue(self) -> int:
        """Frames that queues and priority groups count."""
        return sum(self.queues.values()) + sum(map(sum, self.groups.values()))

    def since(self, before: Drops) -> Drops:
        """What came after an earlier reading."""
        return Drops(
            {queue: count - before.queues.get(queue, 0) for queue, count in self.queues.items()},
            {port: tuple(late - early for late, early in zip(counts, before.groups[port], strict=True))
             for port, counts in self.groups.items()},
            self.leaving - before.leaving,
            {port: count - before.entering[port] for port, count in self.entering.items()},
        )

    def counted(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "queue_drops": dict(self.queues),
            "group_drops": {port: list(counts) for port, counts in self.groups.items()},
            "tx_drp": self.leaving,
            "rx_drp": dict(self.entering),
        }


def drops_delay_s(lab: Lab) -> float:
    """Seconds after an event from which on a reading has it in it.

    Raises:
        QualificationError: the switch does not poll the drops of priority groups.
    """
    if lab.delays.group_s is None:
        raise QualificationError(
            f"{lab.dut.name}: its drops of priority groups are not polled, FLEX_COUNTER_TABLE|PG_DROP is not enabled:"
            " expected enable (`counterpoll pg-drop enable`)"
        )
    return max(lab.delays.port_s, lab.delays.queue_s, lab.delays.group_s)


def drop_commands(leaves: str) -> dict[str, str]:
    """What has to be run beside the counters for `read_drops`; `leaves` is the port where data leaves."""
    return {"queue_drops": f"show queue counters {leaves}", "port_drops": PORTS, "group_drops": GROUPS}


def read_drops(printed: Mapping[str, str], leaves: str, enters: Sequence[str]) -> Drops:
    """The drop counters of the port where data leaves and of those where it enters, as old as the switch's last poll of
    ports, queues and priority groups.

    Args:
        printed: what `drop_commands` printed.
        leaves, enters: the ports.

    Raises:
        QualificationError: a count is missing.
    """
    return Drops(
        queue_drops(printed["queue_drops"]),
        {port: group_drops(printed["group_drops"], port) for port in enters},
        port_drops(printed["port_drops"], leaves, "TX_DRP"),
        {port: port_drops(printed["port_drops"], port, "RX_DRP") for port in enters},
    )


def queue_drops(text: str) -> dict[int, int]:
    """`show queue counters PORT`: unicast queue -> frames dropped; queues that are not counted (`N/A`) are absent.

    Raises:
        QualificationError: no queue has a count.
    """
    rows = [row for table in tables(text) for row in table if row.get("TxQ", "").startswith("UC")]
    counted = [row for row in rows if row.get("Drop/pkts", "N/A") != "N/A"]
    if not counted:
        raise QualificationError(f"`show queue counters` printed no drops of a unicast queue: {first_line(text)!r}")
    return {int(row["TxQ"][2:]): number(row["Drop/pkts"]) for row in counted}


def port_drops(text: str, port: str, way: str) -> int:
    """`show interfaces counters`: frames that a port dropped on their way in (`RX_DRP`) or out (`TX_DRP`).

    Raises:
        QualificationError: the port has no such count.
    """
    for row in (row for table in tables(text) for row in table):
        if row.get("IFACE") == port and way in row:
            return number(row[way])
    raise QualificationError(f"`{PORTS}` printed no {way} for {port}: {first_line(text)!r}")


def group_drops(text: str, port: str) -> tuple[int, ...]:
    """`show priority-group drop counters`: frames dropped in each priority group of a port.

    Raises:
        QualificationError: the port has no such counts.
    """
    return _groups(text, port, GROUPS)


def headroom_used(text: str, port: str) -> tuple[int, ...]:
    """`show priority-group watermark headroom`: the most bytes that each priority group of a port has had in its
    headroom since the switch started (or somebody's clear).

    Raises:
        QualificationError: the port has no such numbers.
    """
    return _groups(text, port, HEADROOM)


def _groups(text: str, port: str, command: str) -> tuple[int, ...]:
    for row in (row for table in tables(text) for row in table):
        if row.get("Port") == port:
            return tuple(number(row.get(f"PG{group}", "")) for group in range(8))
    raise QualificationError(f"`{command}` printed no row for {port}: {first_line(text)!r}")
