"""The covering array: its parameters, their levels on a port, and the rows.

In the rows every two levels of two parameters come together at least once (but for pairs that cannot be judged). The
array is made without chance: the same levels give the same rows in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from ..cases.frames import RESERVED_BITS
from ..model.arithmetic import MAX_QUANTA, pause_seconds
from ..model.measurement import PortUnderTest
from ..model.qos import PRIORITIES
from ..model.response_time import response_seconds
from ..model.traffic import PAUSE_SOURCE, PauseFrame
from ..record.case import Target

CELLS = (96, 144, 192, 208, 254, 256, 384)
"""Bytes of a buffer's cell on the ASICs of which sonic-mgmt's QoS tests know one. CONFIG_DB does not say which it is,
so a flow has frames for each."""

SMALLEST = "smallest"
CELLS_FILLED = "cells"
ONE_MORE = "cells + 1"
LARGEST = "largest"

OWN = "its own"
OWN_OF_EIGHT_TIMES = "its own, eight times"
WITH_LOSSY = "its own and a lossy one"
WITH_RESERVED = "its own and all reserved ones"
ALL_EIGHT = "all eight, 0 for other lossless ones"

USUAL = PAUSE_SOURCE
NO_SOURCE = "00:00:00:00:00:00"
LOCAL = "02:00:00:00:00:00"
HOST = "the host's"

LEAST_QUANTA = 0x100
REFRESHES = ("1.1", "2", "4")
LOADS = (10, 50, 100)

Level = str | int | Target


@dataclass(frozen=True)
class PairsRow:
    """One row of the array: a level of each parameter.

    Attributes:
        number: its place, from 1 on.
        paused: the priorities that are held.
        size: name of the data frames' size.
        quanta: of each priority that is held.
        enabled: what enable bits the pause frames have, and what times.
        refreshes: pause frames within one pause time, as a decimal fraction.
        load_percent: of the line, half test traffic and half background.
        source: source address of the pause frames.
        ip_version: of the data.
    """

    number: int
    paused: Target
    size: str
    quanta: int
    enabled: str
    refreshes: str
    load_percent: int
    source: str
    ip_version: int

    def levels(self) -> dict[str, str]:
        """Parameter -> its level, in words, for messages and records."""
        return {
            "paused": ", ".join(map(str, self.paused)),
            "quanta": f"0x{self.quanta:04x}",
            "enabled": self.enabled,
            "frames per pause": self.refreshes,
            "data frames": self.size,
            "load %": str(self.load_percent),
            "source": self.source,
            "IP": f"v{self.ip_version}",
        }

    def __str__(self) -> str:
        """`row 7: paused 3; quanta 0x8000; ...`."""
        return f"row {self.number}: " + "; ".join(f"{name} {level}" for name, level in self.levels().items())


def levels_on(subject: PortUnderTest, ip_versions: Sequence[int]) -> dict[str, Sequence[Level]]:
    """The levels of each parameter on a port that has addresses of these IP versions, by the names of `PairsRow`."""
    lossless = subject.qos.reached_lossless
    together = [lossless] if len(lossless) > 1 else []
    lossy = [WITH_LOSSY] if subject.qos.reached_lossy else []
    return {
        "quanta": (least_quanta(subject.pair.speed_mbps), 0x7FFF, 0x8000, MAX_QUANTA),
        "size": (SMALLEST, CELLS_FILLED, ONE_MORE, LARGEST),
        "enabled": (OWN, OWN_OF_EIGHT_TIMES, *lossy, WITH_RESERVED, ALL_EIGHT),
        "load_percent": LOADS,
        "paused": (*((priority,) for priority in lossless), *together),
        "refreshes": REFRESHES,
        "source": (USUAL, NO_SOURCE, LOCAL, HOST),
        "ip_version": tuple(ip_versions),
    }


def rows_on(subject: PortUnderTest, ip_versions: Sequence[int]) -> list[PairsRow]:
    """The rows of the array on a port that has addresses of these IP versions."""
    speed_mbps = subject.pair.speed_mbps

    def is_judged(part: Mapping[str, Any]) -> bool:
        both = {"quanta", "refreshes"} <= part.keys()
        return not both or holds(part["quanta"], part["refreshes"], speed_mbps)

    made = covering(levels_on(subject, ip_versions), is_judged)
    return [PairsRow(number=number, **levels) for number, levels in enumerate(made, 1)]


def covering(
    levels: Mapping[str, Sequence[Level]], is_possible: Callable[[Mapping[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Rows in which every two levels come together that can. Each row begins with the first two that have not come
    together yet; then each parameter has the level that comes together with most others for the first time.

    Args:
        levels: parameter -> its levels, several parameters.
        is_possible: whether these levels of some parameters go together; each level goes with some of every other.
    """
    of_each = {name: [(name, level) for level in found] for name, found in levels.items()}
    pairs = (pair for names in combinations(levels, 2) for pair in product(*(of_each[name] for name in names)))
    missing = dict.fromkeys(frozenset(pair) for pair in pairs if is_possible(dict(pair)))
    rows = []
    while missing:
        row = dict(sorted(next(iter(missing)), key=str))
        for name in levels:
            if name not in row:
                row[name] = max(
                    (level for level in levels[name] if is_possible({**row, name: level})),
                    key=lambda level: _first_times((name, level), row, missing),
                )
        rows.append(row)
        for pair in combinations(row.items(), 2):
            missing.pop(frozenset(pair), None)
    return rows


def _first_times(
    own: tuple[str, Level], row: Mapping[str, Level], missing: Collection[frozenset[tuple[str, Level]]]
) -> tuple[int, int]:
    """With how many levels of a row a level would come together for the first time; and with how many it still has to,
    whatever the row."""
    here = sum(frozenset((own, other)) in missing for other in row.items())
    return here, sum(own in pair for pair in missing)


def holds(quanta: int, refreshes: str, speed_mbps: int) -> bool:
    """Whether a storm must hold without a gap: one pause may take effect at once and the next only after the whole time
    that the standard gives a port to respond, and yet before the first has lapsed."""
    between = 1 / Fraction(refreshes)
    return pause_seconds(quanta, speed_mbps) * (1 - between) >= response_seconds(speed_mbps)


def least_quanta(speed_mbps: int) -> int:
    """The least power of two whose half exceeds the response time; at least 256, where the upper byte of a time
    begins."""
    least = LEAST_QUANTA
    while not holds(least, "2", speed_mbps):
        least *= 2
    return least


def pause_frame(row: PairsRow, subject: PortUnderTest, host_mac: str) -> PauseFrame:
    """What the pause frames of a row say.

    Args:
        row: the row.
        subject: the port.
        host_mac: address of the host behind it.
    """
    qos = subject.qos
    held = dict.fromkeys(row.paused, row.quanta)
    every = dict.fromkeys(PRIORITIES, row.quanta)
    with_lossy = (*row.paused, *qos.reached_lossy[:1])
    timed = [priority for priority in PRIORITIES if priority in row.paused or priority not in qos.lossless]
    said: Mapping[str, tuple[Sequence[int], Mapping[int, int]]] = {  # enable bits, and times
        OWN: (row.paused, held),
        OWN_OF_EIGHT_TIMES: (row.paused, every),
        WITH_LOSSY: (with_lossy, dict.fromkeys(with_lossy, row.quanta)),
        WITH_RESERVED: ((*row.paused, *RESERVED_BITS), held),
        ALL_EIGHT: (PRIORITIES, dict.fromkeys(timed, row.quanta)),
    }
    enabled, times = said[row.enabled]
    source = host_mac if row.source == HOST else row.source
    return PauseFrame(tuple(times.get(priority, 0) for priority in PRIORITIES), tuple(sorted(enabled)), source)


def only_in(failing: Sequence[PairsRow], others: Sequence[PairsRow]) -> list[str]:
    """Levels that all of the failing rows have and none of the others: `quanta 0x8000`. None, where there are not both
    kinds of rows."""
    if not failing or not others:
        return []
    return [
        f"{name} {level}" for name, level in failing[0].levels().items()
        if all(row.levels()[name] == level for row in failing)
        and not any(row.levels()[name] == level for row in others)
    ]
