"""How full the buffers of a switch have been at most: what its commands print, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cases.switch_counters import HEADROOM, table_rows
from ..lab.cli_text import first_line, number
from ..lab.dut import Dut
from ..model.errors import QualificationError
from ..model.qos import ConfigDb

WATERMARKS = {
    "shared": "show priority-group watermark shared",
    "headroom": HEADROOM,
    "queues": "show queue watermark unicast",
}
NOT_COUNTED = "N/A"


@dataclass(frozen=True)
class Pool:
    """The ingress pool of CONFIG_DB: its bytes, and those of its shared headroom (0: groups have their own)."""

    name: str
    size_bytes: int
    headroom_bytes: int


@dataclass(frozen=True)
class Watermarks:
    """Most bytes since the switch started (or somebody's clear): port -> shared ones of each priority group, headroom
    of each, and each unicast queue's; None: not counted."""

    shared: Mapping[str, tuple[int | None, ...]]
    headroom: Mapping[str, tuple[int | None, ...]]
    queues: Mapping[str, tuple[int | None, ...]]

    def used(self, port: str, group: int) -> int | None:
        """Shared bytes and headroom of a group together; None: not counted."""
        parts = [kind[port][group] for kind in (self.shared, self.headroom) if group < len(kind.get(port, ()))]
        counted = [part for part in parts if part is not None]
        return sum(counted) if len(counted) == 2 else None

    def counted(self, port: str) -> dict[str, Any]:
        """The numbers of a port, for the record: where they are more than 0."""
        kinds = {"group_shared": self.shared, "group_headroom": self.headroom, "queue": self.queues}
        return {name: {place: most for place, most in enumerate(kind.get(port, ())) if most}
                for name, kind in kinds.items()}


def read_watermarks(dut: Dut) -> Watermarks:
    """What the switch says, as old as its last poll of watermarks.

    Raises:
        QualificationError: a command failed, or printed no table of ports.
    """
    printed = dut.ask(WATERMARKS)
    return Watermarks(**{name: watermarks(printed[name], command) for name, command in WATERMARKS.items()})


def watermarks(text: str, command: str) -> dict[str, tuple[int | None, ...]]:
    """One of `WATERMARKS`: port -> the numbers of its row; None: not counted.

    Raises:
        QualificationError: there is no such table.
    """
    found = {
        row["Port"]: tuple(None if cell == NOT_COUNTED else number(cell) for name, cell in row.items()
                           if name not in ("Port", ""))
        for row in table_rows(text) if row.get("Port")
    }
    if not found:
        raise QualificationError(f"`{command}` printed no port: {first_line(text)!r}")
    return found


def ingress_pool(config_db: ConfigDb, device: str) -> Pool:
    """The largest ingress pool.

    Raises:
        QualificationError: CONFIG_DB has none with a size.
    """
    found = [
        Pool(name, int(row["size"]), int(row.get("xoff", 0)))
        for name, row in config_db.get("BUFFER_POOL", {}).items()
        if row.get("type") == "ingress" and str(row.get("size", "")).isdigit() and str(row.get("xoff", 0)).isdigit()
    ]
    if not found:
        raise QualificationError(f"{device}: CONFIG_DB has no BUFFER_POOL of type ingress with a size")
    return max(found, key=lambda pool: pool.size_bytes)


def together(readings: Mapping[str, tuple[int | None, ...]], places: Sequence[tuple[str, int]]) -> int:
    """The sum over ports and groups, what is not counted left out."""
    return sum(readings[port][group] or 0 for port, group in places if group < len(readings.get(port, ())))
