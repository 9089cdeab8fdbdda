"""How a fault is written: `NAME[@[SWITCH:]PORT[,key=value...]]`, or a class of a file in the place of the name.

`pause-ignored@Ethernet0,priority=3` is a built-in fault on one port; `faults/mine.py:Mine@*,speed=400G,from=2.5s` a
class of the user's own on all ports of that speed from then on. `*`, or no place, is every port. All faults take
`priority`, `speed`, `from` and `until`; their own options follow.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from pfctest.timing import RESPONSE_QUANTA
from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.faults.built_in import BUILT_IN
from virtual_testbed.faults.fault_loader import load_class

_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[^:@,]*)(?P<rest>@.*)?", re.DOTALL)
_PS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3}


class FaultError(ValueError):
    """A fault specification that means nothing; `str()` is one sentence."""


@dataclass(frozen=True)
class _Parts:
    """A specification taken apart; `path` is a file's, `name` then its class's."""

    path: str | None
    name: str
    at: bool
    place: str
    pairs: Sequence[str]


def parse_fault(spec: str) -> Fault:
    """The fault that a specification describes. A relative path is looked for in the working directory.

    Raises:
        FaultError: unknown name, a file or class that cannot be used, malformed place, unknown or repeated key, or a
            value that makes no sense.
    """
    parts = _split(spec)
    kind = _class(spec, parts)
    switch, port = _place(spec, parts)
    taken = sorted({*_COMMON} & {*kind.options})
    if taken:
        raise FaultError(f"fault '{spec}': its class has an option '{taken[0]}', which every fault has already")
    options = _options(spec, parts.pairs, (*_COMMON, *kind.options))
    try:
        common = {key: _COMMON[key](options.pop(key)) for key in tuple(options) if key in _COMMON}
        from_ps, until_ps = common.get("from", 0), common.get("until")
        if until_ps is not None and until_ps <= (from_ps or 0):
            raise ValueError("it ends before it begins: expected until later than from")
        scope = Scope(switch, port, common.get("priority"), common.get("speed"), from_ps or 0, until_ps)
        return kind(scope, **options)
    except Exception as error:  # a class of the user's own may raise anything
        raise FaultError(f"fault '{spec}': {' '.join(str(error).split()) or type(error).__name__}") from error


def absolute(spec: str) -> str:
    """The specification with an absolute path where it names a file, so that another process understands it."""
    parts = _split(spec)
    return spec if parts.path is None else f"{Path(parts.path).absolute()}{spec[len(parts.path):]}"


def by_file_name(spec: str) -> str:
    """The specification with a file's name in place of its path: what is said of it elsewhere than on this machine."""
    parts = _split(spec)
    return spec if parts.path is None else f"{Path(parts.path).name}{spec[len(parts.path):]}"


def _split(spec: str) -> _Parts:
    name, at, rest = spec.partition("@")
    path = None
    found = None if name in BUILT_IN else _FILE.fullmatch(spec)
    if found:
        path = found["path"]
        name = found["name"]
        _, at, rest = (found["rest"] or "").partition("@")
    place, *pairs = rest.split(",")
    return _Parts(path, name, bool(at), place, pairs)


def _class(spec: str, parts: _Parts) -> type[Fault]:
    if parts.path is not None:
        try:
            return load_class(Path(parts.path).absolute(), parts.name)
        except ValueError as error:
            raise FaultError(f"fault '{spec}': {error}") from error
    if parts.name not in BUILT_IN:
        raise FaultError(f"fault '{parts.name}' is unknown: expected one of {', '.join(sorted(BUILT_IN))}, "
                         "or path/to/file.py:ClassName")
    return BUILT_IN[parts.name]


def _place(spec: str, parts: _Parts) -> tuple[str | None, str | None]:
    """Switch and port; None: every one."""
    switch, colon, port = parts.place.rpartition(":")
    nowhere = not parts.place and parts.at and not parts.pairs
    if nowhere or (colon and not (switch and port)):
        raise FaultError(f"fault '{spec}' names no port after '@': expected NAME@PORT, NAME@SWITCH:PORT or "
                         "NAME@*,key=value")
    return None if switch in ("", "*") else switch, None if port in ("", "*") else port


def _options(spec: str, pairs: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key not in known:
            raise FaultError(f"fault '{spec}' has no option '{key}': expected {', '.join(known)}")
        if key in options:
            raise FaultError(f"fault '{spec}' gives '{key}' twice")
        options[key] = value
    return options


def _priority(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError(f"'{text}' is no value for priority: expected 0..7")
    if int(text) not in range(8):
        raise ValueError(f"priority {text} does not exist: expected 0..7")
    return int(text)


def _speed(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)(G?)", text)
    speed = 0 if found is None else int(found[1]) * (1000 if found[2] else 1)
    if speed not in RESPONSE_QUANTA:
        speeds = ", ".join(f"{known // 1000}G" for known in sorted(RESPONSE_QUANTA))
        raise ValueError(f"'{text}' is no value for speed: expected one of {speeds}, or the same in Mb/s")
    return speed


def _time(text: str) -> int:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|ms|us|ns)", text)
    time_ps = Fraction(0) if found is None else Fraction(found[1]) * _PS[found[2]]
    if found is None or time_ps.denominator != 1:
        raise ValueError(f"'{text}' is no simulated time: expected such as 2.5s, 200ms, 10us or 500ns, "
                         "in whole picoseconds")
    return int(time_ps)


_COMMON: dict[str, Callable[[str], int]] = {"priority": _priority, "speed": _speed, "from": _time, "until": _time}
