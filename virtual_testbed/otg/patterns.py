"""OTG header fields: a value, a list of values, or a counter."""
from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from virtual_testbed.otg.fields import Fields, parse_integer, parse_mac, shown

LONGEST_COUNTER = 65536
CHOICES = ("value", "values", "increment", "decrement")


@dataclass(frozen=True)
class FieldKind:
    """What one header field holds.

    Attributes:
        bits: width on the wire; counters wrap there.
        expected: the words for an error message.
        parse: the integer behind a JSON value, None when it is not one.
        text: the usual notation of such an integer.
    """

    bits: int
    expected: str
    parse: Callable[[Any], int | None]
    text: Callable[[int], str] = str


def integer_kind(bits: int) -> FieldKind:
    """An unsigned integer of that many bits."""
    def parse(value: Any) -> int | None:
        number = parse_integer(value)
        return number if number is not None and 0 <= number < 1 << bits else None
    return FieldKind(bits, f"an integer from 0 to {(1 << bits) - 1}", parse)


def _mac_number(value: Any) -> int | None:
    text = parse_mac(value)
    return None if text is None else int(text.replace(":", ""), 16)


def _ip_number(cls: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> Callable[[Any], int | None]:
    def parse(value: Any) -> int | None:
        try:
            return int(cls(value)) if isinstance(value, str) else None
        except ValueError:
            return None
    return parse


def mac_text(number: int) -> str:
    """`00:11:22:33:44:55` of its integer."""
    return ":".join(f"{number >> shift & 0xff:02x}" for shift in range(40, -8, -8))


MAC = FieldKind(48, "a MAC address", _mac_number, mac_text)
IPV4 = FieldKind(32, "an IPv4 address", _ip_number(ipaddress.IPv4Address), lambda n: str(ipaddress.IPv4Address(n)))
IPV6 = FieldKind(128, "an IPv6 address", _ip_number(ipaddress.IPv6Address), lambda n: str(ipaddress.IPv6Address(n)))


@dataclass(frozen=True)
class Pattern:
    """What a header field holds from frame to frame: `values` repeated, or `start + k * step` for k below `count`."""

    values: tuple[int, ...] = ()
    start: int = 0
    step: int = 0
    count: int = 0
    bits: int = 0

    def __len__(self) -> int:
        """Frames after which the field repeats."""
        return len(self.values) or self.count

    def value(self, frame: int) -> int:
        """What the frame number `frame` (from 0) carries."""
        if self.values:
            return self.values[frame % len(self.values)]
        return (self.start + frame % self.count * self.step) % (1 << self.bits)

    def every(self) -> tuple[int, ...]:
        """One whole cycle."""
        return tuple(self.value(frame) for frame in range(len(self)))


def read_pattern(header: Fields, name: str, kind: FieldKind, default: int, auto: int | None = None) -> Pattern:
    """Reads one header field.

    Args:
        header: the header's object.
        name: the field; absent means `default`.
        kind: what it holds.
        default: OTG's default of this field.
        auto: what `choice: auto` stands for; None: the field has no such choice.
    """
    if not header.has(name):
        header.take(name)
        return Pattern((default if auto is None else auto,))
    fields = header.child(name)
    choice = fields.choice(CHOICES if auto is None else (*CHOICES, "auto"), "value")
    if choice in ("increment", "decrement"):
        pattern = _counter(fields.child(choice), kind, -1 if choice == "decrement" else 1)
    elif choice == "values":
        pattern = _values(fields, kind, default)
    elif choice == "auto" and auto is not None:
        fields.take("auto")  # OTG lets the server write what it chose here; a request's value means nothing
        pattern = Pattern((auto,))
    else:
        pattern = Pattern((_value(fields, "value", fields.take("value"), kind, default),))
    fields.done("metric_tags")
    return pattern


def _value(fields: Fields, name: str, value: Any, kind: FieldKind, default: int) -> int:
    if value is None:
        return default
    number = kind.parse(value)
    if number is None:
        fields.error(name, f"{shown(value)} found, {kind.expected} expected")
    return default if number is None else number


def _values(fields: Fields, kind: FieldKind, default: int) -> Pattern:
    values = fields.take("values")
    if not isinstance(values, list) or not 0 < len(values) <= LONGEST_COUNTER:
        fields.error("values", f"{shown(values)} found, a list of 1 to {LONGEST_COUNTER} values expected")
        return Pattern((default,))
    return Pattern(tuple(_value(fields, f"values[{index}]", value, kind, default)
                         for index, value in enumerate(values)))


def _counter(counter: Fields, kind: FieldKind, sign: int) -> Pattern:
    start = _value(counter, "start", counter.take("start"), kind, 0)
    step = _value(counter, "step", counter.take("step"), kind, 1)
    count = counter.integer("count", 1, 1, LONGEST_COUNTER)
    counter.done()
    return Pattern(start=start, step=sign * step, count=count, bits=kind.bits)


def constant(header: Fields, name: str, kind: FieldKind, default: int, auto: int | None = None) -> int:
    """A header field that must be the same in every frame, because the forwarding depends on it."""
    pattern = read_pattern(header, name, kind, default, auto)
    values = set(pattern.every())
    if len(values) > 1:
        header.error(name, f"{len(values)} different values: not modelled; modelled is one value for all frames")
    return pattern.value(0)
