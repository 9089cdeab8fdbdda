"""Reading a JSON object field by field: defaults, types, ranges, and a refusal of every field that nobody asked for.

Requests come as plain JSON (64-bit integers as numbers or as strings). A reader never stops at the first mistake: it
notes the problem with its path, hands back the default and goes on, so that one answer names everything that is wrong.
"""
from __future__ import annotations

import ipaddress
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import isclose, isfinite
from typing import Any

from virtual_testbed.dataplane.model.units import simplest_rational

MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
INTEGER = re.compile(r"-?[0-9]{1,20}")
DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")
LARGEST_DENOMINATOR = 10**6
LARGEST_SINGLE = 2**24  # beyond that 32 bits hold no fractions
SINGLE_DIGITS = range(7, 10)  # six always survive 32 bits, nine always tell them
DYADIC = 1024  # multiples of 1/1024 and less need no guess
ROUNDING = 1e-15  # relative; the last digit or two of a double
SHOWN = 40  # a list in a message is cut after this many entries


@dataclass
class Report:
    """What was found wrong (`errors`) or worth saying (`warnings`) in one request."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def listed(names: Iterable[str]) -> str:
    """Names for a message: comma separated, cut when there are very many; `none` when there are none."""
    every = list(names)
    shown = ", ".join(every[:SHOWN]) or "none"
    return shown if len(every) <= SHOWN else f"{shown} and {len(every) - SHOWN} more"


def parse_integer(value: Any) -> int | None:
    """An int from a JSON integer, an integral number, or a decimal string (protobuf's JSON form of 64-bit integers)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and INTEGER.fullmatch(value):
        return int(value)
    return None


def parse_number(value: Any) -> Fraction | None:
    """The number that the sender meant: 33.3 is 333/10 and 7.142857142857143 is 50/7, not the doubles nearest to them.

    So seven flows of 50/7 percent each ask for 50 percent together, not for a little more; a sender may also have
    rounded the double down. Ratios of integers up to a million are at least 1e-12 apart and doubles are far denser, so
    none is mistaken for another. A number that has gone through 32 bits (7.14285707473755, or 7.142857) is read as the
    simplest ratio that 32 bits cannot tell from it. None: no finite number.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float) and isfinite(value):
        return _of_32_bits(value) or _of_64_bits(value)
    if isinstance(value, str) and DECIMAL.fullmatch(value):
        return Fraction(value)
    return None


def _of_64_bits(value: float) -> Fraction:
    simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return simple if isclose(float(simple), value, rel_tol=ROUNDING) else Fraction(repr(value))


def _of_32_bits(value: float) -> Fraction | None:
    """The ratio behind a number rounded to 32 bits, or behind the shortest decimal of one; None: it is no such number.

    Decimals of 7 to 9 digits may also be meant as they are: those are replaced only by a ratio so simple that one as
    near would be there by chance once in a hundred times at most.
    """
    if not 0 < value < LARGEST_SINGLE or Fraction(value).denominator <= DYADIC:
        return None
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    simple = simplest_rational(single) if single else Fraction(0)
    if value == single:
        return simple
    is_shortest = len(Decimal(repr(value)).as_tuple().digits) in SINGLE_DIGITS
    return simple if is_shortest and simple.denominator**2 * single * 2**-23 < 0.01 else None


def parse_mac(value: Any) -> str | None:
    """A MAC address in lower case, or None."""
    return value.lower() if isinstance(value, str) and MAC.fullmatch(value) else None


def parse_ip(value: Any, version: int) -> str | None:
    """An IPv4 or IPv6 address in its canonical text, or None."""
    if not isinstance(value, str):
        return None
    try:
        return str((ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address)(value))
    except ValueError:
        return None


class Fields:
    """One JSON object that is being read.

    Args:
        value: the object; anything else is reported once and read as an empty one.
        path: where it stands in the request, for example `flows[2].packet[0]`; "" for the request itself.
        report: where problems go.
    """

    def __init__(self, value: Any, path: str, report: Report) -> None:
        self.path = path
        self.report = report
        self._asked: dict[str, None] = {}
        self._broken = not isinstance(value, dict)
        self._value: dict[str, Any] = {} if self._broken else value
        if self._broken:
            self.error("", f"{shown(value)} found, a JSON object expected")

    def at(self, name: str) -> str:
        """The path of a field of this object."""
        return f"{self.path}.{name}" if self.path and name else self.path or name or "request"

    def error(self, name: str, sentence: str) -> None:
        """Notes a problem with the field `name` (with the object itself when that is empty)."""
        if not (self._broken and name):  # of what is no object, that is all there is to say
            self.report.errors.append(f"{self.at(name)}: {sentence}")

    def warn(self, name: str, sentence: str) -> None:
        """Notes something that is accepted but not as the sender may think."""
        self.report.warnings.append(f"{self.at(name)}: {sentence}")

    def has(self, name: str) -> bool:
        """True when the field is there and not null."""
        return self._value.get(name) is not None

    def take(self, name: str) -> Any:
        """The raw value of a field, None when it is absent or null."""
        self._asked[name] = None
        return self._value.get(name)

    def require(self, name: str) -> Any:
        """The raw value of a field that must be there."""
        value = self.take(name)
        if value is None and not self._broken:
            self.error(name, "missing")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """A string; a missing one without `default` is an error and read as ""."""
        value = self.take(name) if default is not None else self.require(name)
        if value is None:
            return default or ""
        if not isinstance(value, str) or (default is None and not value):
            self.error(name, f"{shown(value)} found, a text expected")
            return default or ""
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.error(name, f"{shown(value)} found, true or false expected")
            return default
        return value

    def integer(self, name: str, default: int, low: int = 0, high: int = 2**64 - 1) -> int:
        """An integer from `low` to `high`."""
        value = self.take(name)
        if value is None:
            return default
        number = parse_integer(value)
        if number is None or not low <= number <= high:
            self.error(name, f"{shown(value)} found, an integer from {low} to {high} expected")
            return default
        return number

    def number(self, name: str, default: int, low: int = 0, high: int = 10**18) -> Fraction:
        """A number from `low` to `high`, exact."""
        value = self.take(name)
        if value is None:
            return Fraction(default)
        number = parse_number(value)
        if number is None or not low <= number <= high:
            self.error(name, f"{shown(value)} found, a number from {low} to {high} expected")
            return Fraction(default)
        return number

    def one_of(self, name: str, options: Sequence[str], default: str) -> str:
        """One of a list of words; `default` "" makes the field required."""
        value = self.take(name) if default else self.require(name)
        if value is None:
            return default
        if value not in options:
            self.error(name, f"{shown(value)} found, one of {listed(options)} expected")
            return default
        return str(value)

    def mac(self, name: str, default: str) -> str:
        """A MAC address, in lower case; `default` "" makes the field required."""
        value = self.take(name) if default else self.require(name)
        if value is None:
            return default
        address = parse_mac(value)
        if address is None:
            self.error(name, f"{shown(value)} found, a MAC address like 00:11:22:33:44:55 expected")
        return address or default or "00:00:00:00:00:00"

    def ip(self, name: str, version: int) -> str:
        """A required IP address of that version, canonical."""
        value = self.require(name)
        if value is None:
            return "0.0.0.0" if version == 4 else "::"
        address = parse_ip(value, version)
        if address is None:
            self.error(name, f"{shown(value)} found, an IPv{version} address expected")
        return address or ("0.0.0.0" if version == 4 else "::")

    def names(self, name: str, required: bool = False) -> list[str]:
        """A list of names; empty when absent."""
        value = self.require(name) if required else self.take(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            self.error(name, f"{shown(value)} found, a list of names expected")
            return []
        return value

    def child(self, name: str) -> Fields:
        """The object in a field; an absent one is read as empty, which gives its defaults."""
        value = self.take(name)
        return Fields({} if value is None else value, self.at(name), self.report)

    def items(self, name: str) -> list[Fields]:
        """The objects in a list field; empty when absent."""
        value = self.take(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.error(name, f"{shown(value)} found, a list expected")
            return []
        return [Fields(entry, f"{self.at(name)}[{index}]", self.report) for index, entry in enumerate(value)]

    def choice(self, modelled: Sequence[str], default: str) -> str:
        """OTG's `choice` of this object: which one of its branches counts.

        Without `choice` the branch that is there counts, else `default` ("" makes a choice required). A choice that is
        not modelled is refused by its path and read as "".
        """
        value = self._value.get("choice")
        if value is None:
            value = next((name for name in modelled if self.has(name)), default)
        if not value and not self._broken:
            unknown = [name for name in self._value if name != "choice"]
            self.error(unknown[0] if unknown else "choice",
                       f"{'not modelled' if unknown else 'missing'}; modelled are {listed(modelled)}")
        elif value and value not in modelled:
            self.error(str(value), f"not modelled; modelled are {listed(modelled)}")
            value = ""
        if not value:
            self._asked.update(dict.fromkeys(self._value))  # said already: nothing more about what is in here
            return ""
        self._asked["choice"] = None
        for other in modelled:
            if other != value and self.has(other):
                self.error(other, f"given beside the choice {value}")
            self._asked[other] = None
        return str(value)

    def done(self, *unmodelled: str) -> None:
        """Refuses every field that was not asked for; `unmodelled` are fields allowed only while they hold nothing."""
        for name, value in self._value.items():
            empty = name in unmodelled and value in ([], {})
            if name not in self._asked and value is not None and not empty:
                self.error(str(name), f"not modelled; modelled are {listed(sorted(self._asked))}")


def shown(value: Any) -> str:
    """A value for a message, cut when long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
