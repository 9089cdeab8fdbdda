"""Frames that a switch counts and drops, and how full its headroom has been at most: what its commands print, as
numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from math import ceil
from operator import sub
from typing import TypeVar

from ..lab.cli_text import NOT_COUNTED, Row, first_line, number, queue_packets, table_rows
from ..lab.counter_polling import COUNTER_TABLE, LATE_S, period_s
from ..lab.lab import Lab
from ..model.checking import Place, at_priority, metric_of
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.qos import ConfigDb, map_of
from ..record.verdict import LOSSLESS

PORTS = "show interfaces counters"
GROUPS = "show priority-group drop counters"
HEADROOM = "show priority-group watermark headroom"
SHARED = "show priority-group watermark shared"
QUEUES = "show queue watermark unicast"
WATERMARKS_LATE_S = 5.0
"""How much later than its poll a watermark may show: all of a switch are read one after the other before any is."""
ENABLED_BY = {"PG_DROP": ("drops", "pg-drop"), "PG_WATERMARK": ("watermarks", "watermark")}
"""Group of counters of priority groups -> what it counts, and what `counterpoll` calls it."""
PORT_COLUMNS = ("RX_OK", "RX_DRP", "TX_OK", "TX_DRP")
IN_OCTETS = "SAI_PORT_STAT_IF_IN_OCTETS"
OUT_OCTETS = "SAI_PORT_STAT_IF_OUT_OCTETS"
OWN_FRAMES = 100  # in a run of a minute, on a port or in a queue: some protocols, none of them twice a second
IDLE_S = 60.0
"""How long an idle switch is watched where waiting costs nothing: what is sent every 30 s, as LLDP, shows twice."""
IDLE_FACTOR = 3
"""How many times as fast as on the idle switch a counter may move beside traffic: protocols send in bursts."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class PortCounts:
    """Frames that a port counted: received as data, dropped on their way in, sent, dropped on their way out."""

    rx_ok: int
    rx_dropped: int
    tx_ok: int
    tx_dropped: int

    def since(self, before: PortCounts) -> PortCounts:
        """What came after an earlier reading."""
        return self.combined(before, sub)

    def each(self, change: Callable[[int], int]) -> PortCounts:
        """With each of them changed."""
        return self.combined(self, lambda count, _: change(count))

    def combined(self, other: PortCounts, of: Callable[[int, int], int]) -> PortCounts:
        """What `of` makes of each of them and the same one of another reading."""
        return PortCounts(*map(of, astuple(self), astuple(other)))

    def least(self) -> int:
        """The smallest of them."""
        return min(self.rx_ok, self.rx_dropped, self.tx_ok, self.tx_dropped)


@dataclass(frozen=True)
class DataCounters:
    """What a switch counts of data on its way to one port, since it started (or somebody's clear). It counts drops
    twice over: by port, and by queue or priority group.

    Attributes:
        leaving: the port where data leaves.
        entering: each port where data enters.
        queues, queue_drops: unicast queue of the port where data leaves -> frames that left through it, that it
            dropped.
        group_drops: port where data enters -> priority group -> frames that it dropped; groups that the switch does
            not count are absent.
        queue_bytes, queue_drop_bytes: unicast queue of the port where data leaves -> bytes of the frames that left
            through it, that it dropped, as the ASIC counts them; queues that the switch counts no bytes of are absent.
    """

    leaving: PortCounts
    entering: Mapping[str, PortCounts]
    queues: Mapping[int, int]
    queue_drops: Mapping[int, int]
    group_drops: Mapping[str, Mapping[int, int]]
    queue_bytes: Mapping[int, int] = field(default_factory=dict)
    queue_drop_bytes: Mapping[int, int] = field(default_factory=dict)

    @property
    def drops_by_port(self) -> int:
        """Frames that the ports count as dropped."""
        return self.leaving.tx_dropped + sum(port.rx_dropped for port in self.entering.values())

    @property
    def drops_by_queue(self) -> int:
        """Frames that queues and priority groups count as dropped."""
        groups = [count for counts in self.group_drops.values() for count in counts.values()]
        return sum(self.queue_drops.values()) + sum(groups)

    def since(self, before: DataCounters) -> DataCounters:
        """What came after an earlier reading."""
        return self.combined(before, sub)

    def each(self, change: Callable[[int], int]) -> DataCounters:
        """With each count changed."""
        return self.combined(self, lambda count, _: change(count))

    def combined(self, other: DataCounters, of: Callable[[int, int], int]) -> DataCounters:
        """What `of` makes of each count and the same one of another reading."""
        return DataCounters(
            self.leaving.combined(other.leaving, of),
            {port: counts.combined(other.entering[port], of) for port, counts in self.entering.items()},
            combined(self.queues, other.queues, of),
            combined(self.queue_drops, other.queue_drops, of),
            {port: combined(counts, other.group_drops[port], of) for port, counts in self.group_drops.items()},
            combined(self.queue_bytes, other.queue_bytes, of),
            combined(self.queue_drop_bytes, other.queue_drop_bytes, of),
        )

    def least(self) -> int:
        """The smallest count of frames. Those of bytes are left out: who clears them clears frames with them."""
        ports = (self.leaving, *self.entering.values())
        groups = [count for counts in self.group_drops.values() for count in counts.values()]
        queues = [*self.queues.values(), *self.queue_drops.values()]
        return min(*(port.least() for port in ports), *queues, *groups)


def own_frames(exact: bool) -> int:
    """Frames that may be counted beside those of the generators' flows, whatever the idle switch counts. Hosts and
    switches send some of their own (ARP, neighbour discovery, LLDP), each seldom, where a single lost burst is far
    more. Where time is exact the idle switch shows all of them (`may_gain`): none."""
    return 0 if exact else OWN_FRAMES


def watch_idle(lab: Lab) -> None:
    """Lets time pass between two readings of an idle switch, where that costs nothing; elsewhere these take some."""
    if lab.clock.exact:
        lab.clock.sleep(IDLE_S)


def may_gain(idle: int, idle_s: float, lasted_s: float) -> int:
    """How much a counter may gain that no traffic explains, by what it gained on the idle switch: what it gained there
    once more, as each protocol may be due at the beginning and at the end, and `IDLE_FACTOR` times its rate. One that
    stood still there may gain nothing.

    Args:
        idle: what it gained on the idle switch.
        idle_s: in how many seconds.
        lasted_s: for how many seconds it may now.
    """
    return idle + ceil(IDLE_FACTOR * idle * lasted_s / idle_s) if idle > 0 else 0


def delay_s(config_db: ConfigDb, device: str, group: str) -> float | None:
    """Seconds after an event from which on a reading of a group of counters that few measurements need has it in it:
    `PG_DROP`, `PG_WATERMARK` or `QUEUE_WATERMARK`. None: they are not polled. Raises QualificationError where they are,
    every so often as is no number of milliseconds."""
    if config_db.get(COUNTER_TABLE, {}).get(group, {}).get("FLEX_COUNTER_STATUS") != "enable":
        return None
    return period_s(config_db, device, group) + (WATERMARKS_LATE_S if group.endswith("WATERMARK") else LATE_S)


def owed_delay_s(config_db: ConfigDb, device: str, group: str) -> float:
    """The same of a group of `ENABLED_BY`; raises QualificationError where it is not polled."""
    seconds = delay_s(config_db, device, group)
    if seconds is None:
        what, command = ENABLED_BY[group]
        raise QualificationError(
            f"{device}: its {what} of priority groups are not polled, {COUNTER_TABLE}|{group} is not enabled:"
            f" expected enable (`counterpoll {command} enable`)"
        )
    return seconds


def drops_delay_s(lab: Lab) -> float:
    """Seconds after an event from which on a reading has it in it; raises QualificationError where the switch does not
    poll the drops of priority groups."""
    return max(lab.delays.port_s, lab.delays.queue_s, owed_delay_s(lab.config_db, lab.dut.name, "PG_DROP"))


def data_commands(leaves: str) -> dict[str, str]:
    """What has to be run beside the counters for `data_counters`; `leaves` is the port where data
    leaves. The counters of all ports are read, as older images cannot filter them."""
    return {"data": PORTS, "queue": f"show queue counters {leaves}", "groups": GROUPS}


def data_counters(printed: Mapping[str, str], leaves: str, enters: Sequence[str]) -> DataCounters:
    """The data counters of the port where data leaves and of those where it enters, as old as the switch's last poll of
    ports, queues and priority groups; `printed`: what `data_commands` printed. Raises QualificationError where a count
    is missing."""
    return DataCounters(
        port_counts(printed["data"], leaves),
        {port: port_counts(printed["data"], port) for port in enters},
        queue_packets(printed["queue"], leaves),
        queue_packets(printed["queue"], leaves, "Drop/pkts"),
        {port: of_port(printed["groups"], GROUPS, port) for port in enters},
        queue_bytes(printed["queue"], leaves, "Counter/bytes"),
        queue_bytes(printed["queue"], leaves, "Drop/bytes"),
    )


def priority_groups(config_db: ConfigDb, device: str, port: str) -> dict[int, int]:
    """Priority -> the priority group that its frames take when they enter a port; raises QualificationError where the
    port has no such map."""
    return map_of(config_db, device, port, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP")[1]


def port_counts(text: str, port: str) -> PortCounts:
    """`show interfaces counters`: what a port counted; raises QualificationError where it has no row with all these
    columns, or `N/A` in one."""
    for row in table_rows(text):
        cells = [row.get(column, NOT_COUNTED) for column in PORT_COLUMNS]
        if row.get("IFACE") == port and NOT_COUNTED not in cells:
            return PortCounts(*map(number, cells))
    raise QualificationError(f"`{PORTS}` printed no {', '.join(PORT_COLUMNS)} for {port}, or N/A: {first_line(text)!r}")


def queue_bytes(text: str, port: str, column: str) -> dict[int, int]:
    """`show queue counters`: unicast queue of a port -> bytes in a column; those that are not counted (`N/A`) are
    absent."""
    try:
        return queue_packets(text, port, column)
    except QualificationError:  # of none: a text without any queue is refused where packets are read
        return {}


def port_hash_command(port: str) -> str:
    """What prints the hash that COUNTERS_DB has of a port: counters that no CLI command shows."""
    name = f"sonic-db-cli COUNTERS_DB HGET COUNTERS_PORT_NAME_MAP {port}"
    return f'sonic-db-cli COUNTERS_DB HGETALL "COUNTERS:$({name})"'


def port_hash(text: str, names: Collection[str]) -> dict[str, int]:
    """The numbers of a hash that `port_hash_command` printed, as far as they have these names; those that the switch
    does not count are absent."""
    fields = re.findall(r"'(SAI_PORT_STAT_\w+)': '(-?[0-9]+)'", text)
    return {name: int(count) for name, count in fields if name in names}


def of_port(text: str, command: str, port: str) -> dict[int, int]:
    """What such a table (`group_counts`) has of a port: number of the group -> its count; those that are not counted
    are absent.

    Raises:
        QualificationError: none is counted.
    """
    counts = group_counts(text, command).get(port, {})
    if not counts:
        raise QualificationError(f"`{command}` printed no numbers for {port}")
    return counts


def queues_used(text: str, port: str) -> dict[int, int]:
    """`show queue watermark unicast`: unicast queue of a port -> the most bytes that it has held since somebody's
    clear; those that are not counted are absent, all of them where there is no row."""
    rows = {row["Port"]: row for row in table_rows(text) if row.get("Port")}
    return _groups(rows[port]) if port in rows else {}


def group_counts(text: str, command: str) -> dict[str, dict[int, int]]:
    """A table with a column for each priority group (`PG0`) or unicast queue (`UC0`): port -> number of the group ->
    its count. Groups that the table does not have (those that are not configured, with
    `create_only_config_db_buffers`) and those that are not counted (`N/A`) are absent.

    Raises:
        QualificationError: there is no row of a port.
    """
    found = {row["Port"]: _groups(row) for row in table_rows(text) if row.get("Port")}
    if not found:
        raise QualificationError(f"`{command}` printed no port: {first_line(text)!r}")
    return found


def _groups(row: Row) -> dict[int, int]:
    """The number at the end of a column's name -> its cell."""
    named = ((re.fullmatch(r"(?:PG|UC|ALL|VOQ)(\d+)", name), cell) for name, cell in row.items())
    return {int(match[1]): number(cell) for match, cell in named if match and cell != NOT_COUNTED}


def of_group(counts: Mapping[int, int], command: str, port: str, group: int) -> int:
    """The count of a priority group that carries data; raises QualificationError where it is not counted."""
    if group not in counts:
        raise QualificationError(f"`{command}` printed no number for PG{group} of {port}, where data enters")
    return counts[group]


def combined(counts: Mapping[Key, int], others: Mapping[Key, int], of: Callable[[int, int], int]) -> dict[Key, int]:
    """What `of` makes of each count and the same one of another reading; one that this does not have was 0 then."""
    return {key: of(count, others.get(key, 0)) for key, count in counts.items()}


def at_port_for(subject: PortUnderTest, priorities: Sequence[int], port: str | None = None) -> Place:
    """The place of a number of a whole port (None: that under test) that these priorities made wrong: that of the
    priority, if it is one; the port, in the lossy metric where all are lossy, and in the lossless one where none are
    known."""
    if len(priorities) == 1:
        return at_priority(subject, priorities[0], port)
    return Place(subject.where(port=port), metric_of(subject, priorities) if priorities else LOSSLESS)
