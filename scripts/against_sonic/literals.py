"""What sonic-utilities' own tests expect its commands to print, read by this suite: it is understood or refused."""
from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

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


def _books(name: str, text: str) -> object:
    """The further counters of a switch one of whose commands printed that."""
    def counters(printed: Mapping[str, str]) -> set[books.Counter]:
        reading = SimpleNamespace(pfc_rx={}, pfc_tx={}, printed=printed)
        return set(books.books_of(cast(DutCounters, reading), 0.0).counts)
    return counters({**_GOOD, name: text}) - counters(_GOOD)


READERS: dict[str, Callable[[str, str], object]] = {
    "show pfc counters, Rx": lambda text, port: cli_text.pfc_counters(text, "Rx"),
    "show pfc counters, Tx": lambda text, port: cli_text.pfc_counters(text, "Tx"),
    "show queue counters": cli_text.queue_packets,
    "show queue counters, drops": switch_counters.queue_drops,
    "show interfaces status": lambda text, port: cli_text.interface_states(text),
    "pfcwd show stats": lambda text, port: cli_text.watchdog_rows(text),
    "show interfaces counters": switch_counters.port_counts,
    "show priority-group drop counters": switch_counters.group_drops,
    "show priority-group watermark headroom": switch_counters.headroom_used,
    "all counters, ports": lambda text, port: _books(books.PORT_COUNTERS, text),
    "all counters, queues": lambda text, port: _books(books.QUEUE_COUNTERS, text),
    "all counters, groups": lambda text, port: _books(books.GROUP_COUNTERS, text),
}
"""What the suite reads a command's output with, of a port."""


class Literal(NamedTuple):
    """A text in a test: where it begins, and it."""

    place: str
    text: str


@dataclass
class LiteralReading:
    """What became of the literals: how many there are, how many each reader understood, and the sentences of those that
    were neither understood nor refused in one sentence.
    """

    literals: int = 0
    understood: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


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
    """Give every literal to every reader, for the ports that it names."""
    reading = LiteralReading(understood=Counter(dict.fromkeys(READERS, 0)))
    for literal in literals(folder):
        reading.literals += 1
        ports = list(dict.fromkeys(_PORT.findall(literal.text)))[:_PORTS_TRIED] or ["Ethernet0"]
        for name in READERS:
            outcomes = [_read(name, literal, port, reading.broken) for port in ports]
            reading.understood[name] += any(outcomes)
    return reading


def _read(name: str, literal: Literal, port: str, broken: list[str]) -> bool:
    """Whether a reader understands a literal."""
    try:
        return bool(READERS[name](literal.text, port))
    except QualificationError as error:
        if "\n" in str(error):
            broken.append(f"{literal.place}: {name} of {port}: not one sentence: {str(error)[:200]!r}")
    except Exception as error:  # whatever it is: it would end a run without a verdict
        broken.append(f"{literal.place}: {name} of {port}: {type(error).__name__}: {error}")
    return False
