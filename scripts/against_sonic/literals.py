"""What sonic-utilities' own tests expect its commands to print, read by this suite: it is understood, and then every
number is the one that the table has there, or it is refused."""
from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

from scripts.against_sonic import columns
from scripts.against_sonic.columns import Key, Numbers
from tests.common.pfc.accounting import books
from tests.common.pfc.cases import switch_counters
from tests.common.pfc.lab import cli_text
from tests.common.pfc.model.counters import DutCounters
from tests.common.pfc.model.errors import QualificationError

_RULE = "---"
_PORT = re.compile(r"Ethernet[\w-]*\d+")
_PORTS_TRIED = 8
_GOOD = {
    books.PORT_COUNTERS: "IFACE      RX_OK\n---------  -----\nEthernet0  1\n",
    books.QUEUE_COUNTERS: "Port       TxQ  Counter/pkts\n---------  ---  ------------\nEthernet0  UC0  1\n",
    books.GROUP_COUNTERS: ""}
"""What the other commands print where one of them is looked at."""
_BOOKED = {
    books.PORT_COUNTERS: books.PORT_COLUMNS,
    books.QUEUE_COUNTERS: (books.SENT, books.DROPPED),
    books.GROUP_COUNTERS: (books.GROUP_DROPS,),
}
"""What each of them counts."""
_GROUPS = ("PG",)
_UNICAST = ("UC", "ALL", "VOQ")

Counts = Mapping[Key, int]


@dataclass(frozen=True)
class LiteralReader:
    """One of the suite's readers, and what a table says independently of it.

    Attributes:
        read: the numbers of a text, of one port where it is read for one; raises QualificationError to refuse it.
        said: all numbers that the text has for such a reader.
        of_one_port: whether it is read for one port: the first part of each key.
    """

    read: Callable[[str, str], Counts]
    said: Callable[[str], Numbers]
    of_one_port: bool = False


def _booked(name: str, text: str) -> Counts:
    """The further counters of a switch one of whose commands printed that."""
    reading = SimpleNamespace(pfc_rx={}, pfc_tx={}, printed={**_GOOD, name: text})
    found = books.books_of(cast(DutCounters, reading), 0.0).counts
    return {(one.port, one.column, one.number): count for one, count in found.items() if one.column in _BOOKED[name]}


def _of_port(port: str, counts: Mapping[int, int]) -> Counts:
    return {(port, number): count for number, count in counts.items()}


def _pfc(text: str, direction: str) -> Counts:
    found = cli_text.pfc_counters(text, direction)
    return {(port, priority): count for port, counts in found.items() for priority, count in enumerate(counts)}


def _ports(text: str, port: str) -> Counts:
    counts = switch_counters.port_counts(text, port)
    numbers = (counts.rx_ok, counts.rx_dropped, counts.tx_ok, counts.tx_dropped)
    return {(port, name): count for name, count in zip(switch_counters.PORT_COLUMNS, numbers, strict=True)}


def _states(text: str) -> Counts:
    return {(port, what): int(value) for port, state in cli_text.interface_states(text).items() for what, value in (
        ("Oper", state.oper_up), ("Admin", state.admin_up), ("Speed", state.speed_mbps))}


def _watchdog(text: str) -> Counts:
    found: dict[Key, int] = {}
    for queue, row in cli_text.watchdog_rows(text).items():
        counts = (row.detected, row.restored, row.tx_ok, row.tx_dropped, row.rx_ok, row.rx_dropped, *row.last)
        places = [(name, side) for name in cli_text.WATCHDOG_COUNTS for side in (0, 1)]
        found |= {(queue, *place): count for place, count in zip(places, counts, strict=True)}
    return found


def _marks(text: str) -> Counts:
    found = switch_counters.group_counts(text, "show queue watermark unicast")
    return {(port, number): count for port, counts in found.items() for number, count in counts.items()}


READERS: dict[str, LiteralReader] = {
    "show pfc counters, Rx": LiteralReader(lambda text, port: _pfc(text, "Rx"), lambda text: columns.pfc(text, "Rx")),
    "show pfc counters, Tx": LiteralReader(lambda text, port: _pfc(text, "Tx"), lambda text: columns.pfc(text, "Tx")),
    "show queue counters": LiteralReader(
        lambda text, port: _of_port(port, cli_text.queue_packets(text, port)),
        lambda text: columns.queues(text, books.SENT), of_one_port=True),
    "show queue counters, drops": LiteralReader(
        lambda text, port: _of_port(port, cli_text.queue_packets(text, port, books.DROPPED)),
        lambda text: columns.queues(text, books.DROPPED), of_one_port=True),
    "show interfaces status": LiteralReader(lambda text, port: _states(text), columns.states),
    "pfcwd show stats": LiteralReader(
        lambda text, port: _watchdog(text), lambda text: columns.watchdog(text, cli_text.WATCHDOG_COUNTS)),
    "show interfaces counters": LiteralReader(
        _ports, lambda text: columns.ports(text, switch_counters.PORT_COLUMNS), of_one_port=True),
    "show priority-group drop counters": LiteralReader(
        lambda text, port: _of_port(port, switch_counters.of_port(text, switch_counters.GROUPS, port)),
        lambda text: columns.groups(text, (*_GROUPS, *_UNICAST)), of_one_port=True),
    "show priority-group watermark headroom": LiteralReader(
        lambda text, port: _of_port(port, switch_counters.of_port(text, switch_counters.HEADROOM, port)),
        lambda text: columns.groups(text, (*_GROUPS, *_UNICAST)), of_one_port=True),
    "show queue watermark unicast": LiteralReader(
        lambda text, port: _marks(text), lambda text: columns.groups(text, (*_GROUPS, *_UNICAST))),
    "all counters, ports": LiteralReader(
        lambda text, port: _booked(books.PORT_COUNTERS, text),
        lambda text: {(*key, None): found for key, found in columns.ports(text, books.PORT_COLUMNS).items()}),
    "all counters, queues": LiteralReader(
        lambda text, port: _booked(books.QUEUE_COUNTERS, text),
        lambda text: {(port, column, queue): found for column in (books.SENT, books.DROPPED)
                      for (port, queue), found in columns.queues(text, column).items()}),
    "all counters, groups": LiteralReader(
        lambda text, port: _booked(books.GROUP_COUNTERS, text),
        lambda text: {(port, books.GROUP_DROPS, group): found
                      for (port, group), found in columns.groups(text, _GROUPS).items() if cast(int, group) < 8}),
}
"""What the suite reads a command's output with, of a port."""


class Literal(NamedTuple):
    """A text in a test: where it begins, and it."""

    place: str
    text: str


@dataclass
class LiteralReading:
    """What became of the literals: how many there are, how many each reader understood and refused, the numbers that
    were compared, and the sentences of those that were neither understood rightly nor refused in one sentence.
    """

    literals: int = 0
    understood: Counter[str] = field(default_factory=Counter)
    numbers: int = 0
    broken: list[str] = field(default_factory=list)

    def take(self, literal: Literal) -> None:
        """Gives a literal to every reader, for the ports that it names."""
        self.literals += 1
        ports = list(dict.fromkeys(_PORT.findall(literal.text)))[:_PORTS_TRIED] or ["Ethernet0"]
        for name, reader in READERS.items():
            outcomes = [self._read(name, literal, port) for port in (ports if reader.of_one_port else ports[:1])]
            self.understood[name] += any(outcomes)

    def _read(self, name: str, literal: Literal, port: str) -> bool:
        """Whether a reader understands a literal."""
        where = f"{literal.place}: {name} of {port}"
        try:
            counts = READERS[name].read(literal.text, port)
        except QualificationError as error:
            if "\n" in str(error):
                self.broken.append(f"{where}: not one sentence: {str(error)[:200]!r}")
            return False
        except Exception as error:  # whatever it is: it would end a run without a verdict
            self.broken.append(f"{where}: {type(error).__name__}: {error}")
            return False
        said = READERS[name].said(literal.text)
        due = {key: found for key, found in said.items() if key[0] == port or not READERS[name].of_one_port}
        self.numbers += len(counts)
        self.broken += [f"{where}: {sentence}" for sentence in misread(counts, due)]
        return bool(counts)


def literals(folder: Path) -> Iterator[Literal]:
    """Texts of several lines with a table in them, in the tests of a checkout; f-strings count by their constants."""
    for path in sorted((folder / "tests").rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue  # vectors for tools of their own
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_table(node.value):
                yield Literal(f"{path.relative_to(folder)}:{node.lineno}", node.value)


def _is_table(text: str) -> bool:
    return text.count("\n") > 1 and _RULE in text


def read_literals(folder: Path) -> LiteralReading:
    """What every reader makes of every literal."""
    reading = LiteralReading(understood=Counter(dict.fromkeys(READERS, 0)))
    for literal in literals(folder):
        reading.take(literal)
    return reading


def misread(counts: Counts, said: Numbers) -> Iterator[str]:
    """What of a reading is not what the text says: one sentence each.

    Args:
        counts: what a reader made of it.
        said: what the text says, all of which is to be read.
    """
    for key in dict.fromkeys((*counts, *said)):
        numbers = sorted(said.get(key, ()))
        if [counts.get(key)] != numbers:
            yield f"{' '.join(map(str, key))}: read {counts.get(key)}, the text has {numbers or 'no number'}"
