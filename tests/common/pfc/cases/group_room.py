"""How many bytes a lossless priority group takes before it sends XOFF, and how large the cells of a switch are: what
follows from its buffer profile and from the frames that it took.

A group first takes its reserved bytes (`size` of the profile), then shared ones of the pool, as long as it has no more
of them than `2 ** dynamic_th` times what is free (SONiC's `BUFFER_PROFILE`, SAI's dynamic threshold); then XOFF is sent
and headroom begins. Of n groups that fill at the same rate, and nobody else, each has T = size + a P / (1 + n a) by
then, a being that power of two and P the pool's bytes (on some chips without those of its shared headroom, the pool's
`xoff`: what was taken says which). Memory is given out in cells: a frame no larger than the smallest cell takes one, so
F such frames are F cells, and F cells are T and what headroom had in it, but for what is left over of a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_by_key
from ..model.qos import ConfigDb
from .switch_counters import priority_groups

LEAST_CELL_BYTES = 80
MOST_CELL_BYTES = 420
"""Cells of the switches that SONiC runs on: 80 bytes (Tofino) to 420 (Tomahawk 6, sonic-mgmt's qos_params.th6.yaml)."""
BORDER_CELLS = 1
"""Cells that may be left over where shared bytes end: as much as a cell is too large, or another group took before.
(What headroom had in it is known by its watermark.)"""
UNIT_CELLS = 8
"""Some switches keep thresholds in units of so many cells, and round what a profile says up: never less than that."""


@dataclass(frozen=True)
class GroupRoom:
    """What a group may take before XOFF.

    Attributes:
        size_bytes: reserved.
        dynamic_th: its part of the free pool, as a power of two.
        pool_bytes: the pool.
        pool_headroom: its shared headroom, which may be part of it; 0: groups have their own.
    """

    size_bytes: int
    dynamic_th: int
    pool_bytes: int
    pool_headroom: int = 0

    def before_xoff(self, groups: int, frames: int, used: int) -> Fraction:
        """Bytes that each of so many groups alike has taken by then: with the pool's headroom or without, whichever is
        nearer to what was taken.

        Args:
            groups: how many.
            frames: of a priority, each in a cell of its own.
            used: the headroom's watermark.
        """
        part = Fraction(2) ** self.dynamic_th
        pools = (self.pool_bytes, self.pool_bytes - self.pool_headroom)
        possible = [self.size_bytes + part * pool / (1 + groups * part) for pool in pools]
        return min(possible, key=lambda before: abs(off_cells(frames, used, before)))

    def holds(self, taken: Fraction, of_all: Iterable[Fraction]) -> bool:
        """Whether a group need not have sent XOFF when it has taken so many bytes.

        Args:
            taken: by this group.
            of_all: by each group of the pool that is known to have taken some, this one too; one that took more than
                this one has sent XOFF if this one has.
        """
        free = self.pool_bytes - sum(min(other, taken) for other in of_all)
        return taken <= self.size_bytes + Fraction(2) ** self.dynamic_th * free


def room_of(fields: Mapping[str, str], config_db: ConfigDb) -> GroupRoom | None:
    """What a profile with these fields lets its group take before XOFF, where that can be told."""
    pool = re.split(r"[:|]", fields.get("pool", "").strip("[]"))[-1]
    row = config_db.get("BUFFER_POOL", {}).get(pool, {})
    numbers = fields.get("size", ""), fields.get("dynamic_th", ""), str(row.get("size", "")), str(row.get("xoff", 0))
    if not all(re.fullmatch(r"-?\d+", text) for text in numbers):
        return None
    return GroupRoom(*map(int, numbers))


def configured_room(config_db: ConfigDb, device: str, port: str, priority: int) -> GroupRoom | None:
    """What CONFIG_DB lets the group of a priority take before XOFF where it enters a port; None: it does not say it, as
    where the switch computes buffers, or the port has no map to priority groups."""
    try:
        group = priority_groups(config_db, device, port).get(priority)
    except QualificationError:
        return None
    keys = (key for key, groups in numbers_by_key(config_db, "BUFFER_PG", port).items() if group in groups)
    name = next((str(config_db["BUFFER_PG"][key].get("profile")) for key in keys), "").strip("[]").split("|")[-1]
    fields = config_db.get("BUFFER_PROFILE", {}).get(name, {})
    return room_of({field: str(value) for field, value in fields.items()}, config_db)


def cell_bytes(frames: int, used: int, before_xoff: Fraction) -> int | None:
    """The cell that explains best that so many small frames were taken when headroom had `used` bytes in it at most,
    which are whole cells. None: there is no telling.

    Args:
        frames: of a priority, each in a cell of its own.
        used: the headroom's watermark.
        before_xoff: bytes that its group has otherwise.
    """
    mean = (before_xoff + used) / frames if frames else Fraction(0)
    cells = [cell for cell in range(LEAST_CELL_BYTES, MOST_CELL_BYTES + 1) if used and used % cell == 0]
    near = min(cells, key=lambda cell: abs(cell - mean), default=round(mean))
    return near if LEAST_CELL_BYTES <= near <= MOST_CELL_BYTES else None


def off_cells(frames: int, used: int, before_xoff: Fraction) -> Fraction:
    """How many frames more (fewer) were taken than are due, with the cell that explains that best."""
    return frames - (before_xoff + used) / (cell_bytes(frames, used, before_xoff) or MOST_CELL_BYTES)
