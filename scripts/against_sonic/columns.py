"""Reads a table that a command printed without this suite's own reader: each word of a row belongs to the column that
it stands under. What the suite makes of the same text is compared with that."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_WORDS = re.compile(r"\S+(?: \S+)*")
_RULE = re.compile(r"-+(?: +-+)*")
_COUNT = re.compile(r"-?\d+")
_UNICAST = ("UC", "ALL", "VOQ")

Row = Mapping[str, str]
Key = tuple[object, ...]
Numbers = dict[Key, set[int]]
"""What a number is of, `("Ethernet0", "PFC Rx", 3)`, and the numbers that the text has for it: several, where it says
it more than once."""


class _Column(NamedTuple):
    name: str
    begin: int
    end: int


def rows(text: str) -> list[Row]:
    """The rows of all tables: column -> cell, empty ones left out. A line that has a word under no column, or two under
    one, is no row."""
    return [row for table in _tables(text) for row in table]


def _tables(text: str) -> Iterator[list[Row]]:
    lines = text.split("\n")
    for number in range(1, len(lines)):
        if not _RULE.fullmatch(lines[number].strip()):
            continue
        rules = list(re.finditer("-+", lines[number]))
        names = [match.group() for match in _WORDS.finditer(lines[number - 1])]
        if len(names) == len(rules):
            columns = [_Column(name, *rule.span()) for name, rule in zip(names, rules, strict=True)]
            yield list(_rows(lines[number + 1:], columns))


def _rows(lines: Iterable[str], columns: list[_Column]) -> Iterator[Row]:
    for line in lines:
        if not line.strip():
            return
        found = [(column.name, match.group()) for match in _WORDS.finditer(line)
                 for column in columns if match.start() < column.end and column.begin < match.end()]
        if len(found) == len(_WORDS.findall(line)) == len(dict(found)):
            yield dict(found)


def _count(cell: str) -> int | None:
    """A number, with commas or without; None: anything else."""
    digits = cell.replace(",", "")
    return int(digits) if _COUNT.fullmatch(digits) else None


def _collect(cells: Iterable[tuple[Key, str]]) -> Numbers:
    found: Numbers = {}
    for key, cell in cells:
        count = _count(cell)
        if count is not None:
            found.setdefault(key, set()).add(count)
    return found


def pfc(text: str, direction: str) -> Numbers:
    """(port, priority) -> PFC frames; of ports with a number for each priority only."""
    label = f"Port {direction}"
    whole = [row for row in rows(text)
             if label in row and all(_count(row.get(f"PFC{n}", "")) is not None for n in range(8))]
    return _collect(((row[label], n), row[f"PFC{n}"]) for row in whole for n in range(8))


def queues(text: str, column: str) -> Numbers:
    """(port, unicast queue) -> what a column says."""
    return _collect(((row["Port"], number), row[column]) for row in rows(text)
                    if "Port" in row and column in row
                    for number in _numbered(row.get("TxQ", ""), _UNICAST))


def ports(text: str, columns: Iterable[str]) -> Numbers:
    """(port, column) -> what it says."""
    wanted = list(columns)
    return _collect(((row["IFACE"], column), row[column]) for row in rows(text) if "IFACE" in row
                    for column in wanted if column in row)


def groups(text: str, prefixes: tuple[str, ...]) -> Numbers:
    """(port, number of a priority group or queue) -> what its column says."""
    return _collect(((row["Port"], number), cell) for row in rows(text) if "Port" in row
                    for name, cell in row.items() for number in _numbered(name, prefixes))


def watchdog(text: str, columns: Iterable[str]) -> Numbers:
    """(queue, column, 0 or 1) -> the number before or after the stroke."""
    wanted = list(columns)
    return _collect(((row["QUEUE"], column, side), part) for row in rows(text) if "QUEUE" in row
                    for column in wanted if column in row for side, part in enumerate(row[column].split("/")))


def states(text: str) -> Numbers:
    """(port, what) -> 1 or 0 for `Oper` and `Admin` that are up or not, and `Speed` in Mb/s, 0 where there is none."""
    units = {"G": 1000, "M": 1}
    found: Numbers = {}
    for row in rows(text):
        if {"Interface", "Oper", "Admin", "Speed"} <= row.keys():
            speed = _count(row["Speed"][:-1]) or 0
            for what, value in (("Oper", row["Oper"] == "up"), ("Admin", row["Admin"] == "up"),
                                ("Speed", speed * units.get(row["Speed"][-1], 0))):
                found.setdefault((row["Interface"], what), set()).add(int(value))
    return found


def _numbered(name: str, prefixes: tuple[str, ...]) -> Iterator[int]:
    """The number after one of these prefixes."""
    for prefix in prefixes:
        if name.startswith(prefix) and name[len(prefix):].isdigit():
            yield int(name[len(prefix):])
