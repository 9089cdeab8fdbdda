"""Rows of CONFIG_DB as they are read: one that is malformed is named, and counts as it was read last."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from virtual_testbed.sonic.databases import Config, Row
from virtual_testbed.sonic.profile import Profile

Parsed = TypeVar("Parsed")


class RowError(Exception):
    """A row that cannot be applied; the text says what is wrong with it."""


Memory = dict[tuple[str, int], dict[str, Any]]
"""Rows as they were read: table and how often it was read before -> key -> what was made of the row."""


@dataclass
class Reader:
    """The configuration and what was found wrong with it so far. `before`: rows as they were read last; `parsed`: as
    they are now.
    """

    config: Config
    problems: list[str] = field(default_factory=list)
    before: Memory = field(default_factory=dict)
    parsed: Memory = field(default_factory=dict)

    def rows(self, table: str, parse: Callable[[str, Row], Parsed], keeps: bool = True) -> dict[str, Parsed]:
        """Each row of a table through `parse`; those that raise RowError are named. They are as they were read last if
        the table `keeps` that, else left out.
        """
        place = table, sum(name == table for name, _ in self.parsed)
        last = self.before.get(place, {}) if keeps else {}
        parsed: dict[str, Parsed] = {}
        for key, row in self.config.get(table, {}).items():
            try:
                parsed[key] = parse(key, row)
                continue
            except RowError as error:
                self.problems.append(f"{table}|{key} ignored: {error}")
            except (AttributeError, TypeError, ValueError):  # such as a list where a text belongs
                self.problems.append(f"{table}|{key} ignored: a field has the wrong form")
            if key in last:
                parsed[key] = last[key]
        self.parsed[place] = parsed
        return parsed

    def complain(self, text: str) -> None:
        """Note a problem that is not a row's own."""
        self.problems.append(text)


def number_of(row: Row, name: str, default: int | None = None) -> int:
    """A field that is a whole number. Raises RowError, also when it is missing and there is no default."""
    text = row.get(name)
    if text is None:
        if default is None:
            raise RowError(f"{name} is missing")
        return default
    if not re.fullmatch(r"-?\d+", str(text)):
        raise RowError(f"{name} must be a whole number, found {text!r}")
    return int(text)


def within(row: Row, name: str, low: int, high: int) -> int:
    """A field that is a number of this range. Raises RowError."""
    value = number_of(row, name)
    if not low <= value <= high:
        raise RowError(f"{name} must be {low}..{high}, found {value}")
    return value


def reference(text: str) -> str:
    """A referenced row's name; older images write `[TABLE|name]`."""
    return text.strip("[]").split("|")[-1]


def number_range(text: str, high: int = 7) -> range:
    """The numbers of `3` or `3-4`. Raises RowError."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if not found:
        raise RowError(f"expected a number or a range such as 3-4, found {text!r}")
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last <= high:
        raise RowError(f"expected numbers 0..{high}, found {text!r}")
    return range(first, last + 1)


def priorities_of(text: str, strict: bool = True) -> frozenset[int]:
    """The priorities of `3,4`. Raises RowError for what is none, unless not `strict`: that is left out then."""
    parts = [part.strip() for part in str(text).split(",") if part.strip()]
    bad = [part for part in parts if part not in "01234567" or len(part) != 1]
    if bad and strict:
        raise RowError(f"priorities must be numbers 0..7 separated by commas, found {text!r}")
    return frozenset(int(part) for part in parts if part not in bad)


def known_ports(text: str, hardware: Profile) -> list[str]:
    """The ports of `Ethernet0,Ethernet4`. Raises RowError for one that the switch does not have."""
    names = text.split(",")
    unknown = [name for name in names if name not in hardware.ports]
    if unknown:
        raise RowError(f"this switch has no port {unknown[0] or '(empty)'}")
    return names
