"""The PFC frames that switches counted over the time of a measurement: made of the readings of counters that the
measurement needs anyway."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..lab.cli_text import pfc_counters
from ..model.errors import QualificationError

COUNTERS = "show pfc counters"
MOST_SERIES = 16
"""Counters of a switch in one direction that are kept of a measurement: those that gained most."""
Counts = Mapping[str, tuple[int, ...]]  # port -> priorities 0 to 7


@dataclass
class _Switch:
    """The readings of one switch: received and sent."""

    before: tuple[Counts, Counts] | None = None
    readings: list[tuple[float, tuple[Counts, Counts]]] = field(default_factory=list)


class PfcReadings:
    """The counters of all switches of a run, measurement by measurement."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._switches: dict[str, _Switch] = {}

    def begin(self) -> None:
        """A measurement begins: the last reading of each switch is the one before it."""
        for switch in self._switches.values():
            switch.before = switch.readings[-1][1] if switch.readings else switch.before
            switch.readings = []

    def read(self, device: str, commands: Mapping[str, str], texts: Mapping[str, str], now_s: float) -> None:
        """Commands of a switch were run in one call; those that read no such counters, or print none, are left out."""
        for name, text in texts.items():
            if commands[name] == COUNTERS:
                with suppress(QualificationError):  # whoever asked for them says so
                    counted = pfc_counters(text, "Rx"), pfc_counters(text, "Tx")
                    self._switches.setdefault(device, _Switch()).readings.append((now_s, counted))

    def evidence(self, first_s: float) -> list[dict[str, Any]]:
        """For each switch whose counters gained something `device`, `at_s` (seconds since `first_s`), `rx` and `tx`:
        `Ethernet0 priority 3` -> PFC frames counted since before the measurement, at each of these times. Where there
        is a reading before the measurement, it is the first, at 0."""
        found = []
        for device, switch in self._switches.items():
            begin_s = min([first_s, *(at_s for at_s, _ in switch.readings[:1])])
            points = [*([(begin_s, switch.before)] if switch.before else []), *switch.readings]
            rx, tx = (_gained([counted[way] for _, counted in points]) for way in (0, 1))
            if len(points) > 1 and (rx or tx):
                times = [round(at_s - first_s, 6) for at_s, _ in points]
                found.append({"device": device, "at_s": times, "rx": rx, "tx": tx})
        return found


def _gained(points: list[Counts]) -> dict[str, list[int]]:
    """The counters that moved, each from its first value on."""
    found = {}
    for port in points[0] if points else ():
        if not all(port in counts for counts in points):
            continue
        for priority, begin in enumerate(points[0][port]):
            gained = [counts[port][priority] - begin for counts in points]
            if any(gained):
                found[f"{port} priority {priority}"] = gained
    return dict(sorted(found.items(), key=lambda one: -max(one[1]))[:MOST_SERIES])
