"""How full the buffers of a switch have been at most: what its commands print, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cases.switch_counters import HEADROOM, QUEUES, SHARED, group_counts
from ..lab.dut import Dut
from ..model.errors import QualificationError
from ..model.qos import ConfigDb

WATERMARKS = {
    "shared": SHARED,
    "headroom": HEADROOM,
    "queues": QUEUES,
}


@dataclass(frozen=True)
class Pool:
    """The ingress pool of CONFIG_DB: its bytes, and those of its shared headroom (0: groups have their own)."""

    name: str
    size_bytes: int
    headroom_bytes: int


@dataclass(frozen=True)
class Watermarks:
    """Most bytes since they were cleared (those of queues by somebody, the run does not): port -> shared ones of each
    priority group, headroom of each, and each unicast queue's, by number; those that are not counted are absent."""

    shared: Mapping[str, Mapping[int, int]]
    headroom: Mapping[str, Mapping[int, int]]
    queues: Mapping[str, Mapping[int, int]]

    def used(self, port: str, group: int) -> int | None:
        """Shared bytes and headroom of a group together; None: not counted."""
        counts = [kind[port][group] for kind in (self.shared, self.headroom) if group in kind.get(port, {})]
        return sum(counts) if len(counts) == 2 else None

    def counted(self, port: str) -> dict[str, Any]:
        """The numbers of a port, for the record: where they are more than 0."""
        kinds = {"group_shared": self.shared, "group_headroom": self.headroom, "queue": self.queues}
        return {name: {place: most for place, most in kind.get(port, {}).items() if most}
                for name, kind in kinds.items()}


def read_watermarks(dut: Dut) -> Watermarks:
    """What the switch says, as old as its last poll of watermarks.

    Raises:
        QualificationError: a command failed, or printed no table of ports.
    """
    printed = dut.ask(WATERMARKS)
    return Watermarks(**{name: group_counts(printed[name], command) for name, command in WATERMARKS.items()})


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


def together(readings: Mapping[str, Mapping[int, int]], places: Sequence[tuple[str, int]]) -> int:
    """The sum over ports and groups, what is not counted left out."""
    return sum(readings.get(port, {}).get(group, 0) for port, group in places)
