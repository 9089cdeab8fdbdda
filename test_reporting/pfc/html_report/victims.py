"""Who lost what: a failed check names a place, and a verdict that is FAIL stands there, not at the paused priority."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, select

from tests.common.pfc.record.verdict import Status

from .. import schema
from ..queries import counting
from .texts import shown_json

PLACE = re.compile(r"(?P<port>.+) priority (?P<priority>[0-7])")
"""Where a check looked, `vtb-t0-01 Ethernet8 priority 3`."""
WHOLE = re.compile(r"\d+")


@dataclass(frozen=True)
class Loss:
    """What the failed checks of a verdict come to.

    Attributes:
        victims: the priorities of the port under test where they looked, in order; none: no single one.
        name, expected, seen, place: of the first failed check; of several of that name the one that is farthest off.
    """

    victims: tuple[int, ...]
    name: str
    expected: str
    seen: str
    place: str


class _Row(NamedTuple):
    """A failed check with the port that its verdict is of."""

    record_id: str
    device_id: str
    port_id: str
    name: str
    expected: str
    seen: str
    place: str


def read_losses(connection: Connection, run_id: str) -> dict[str, Loss]:
    """What was lost in each verdict of a run that is not PASS, by `record_id`; those without a check are left out."""
    record = schema.records.c
    check = schema.checks.c
    rows = connection.execute(
        select(check.record_id, record.device_id, record.port_id, check.name, check.expected, check.seen, check.place)
        .join_from(schema.checks, schema.records)
        .where(check.run_id == run_id, check.status == record.status, check.status != Status.PASS.value,
               check.required == 1, counting())
        .order_by(check.record_id, check.position)).all()
    by_record = groupby(map(_Row._make, rows), key=lambda row: row.record_id)
    return {record_id: _loss([*own]) for record_id, own in by_record}


def victims_at(places: Iterable[str], port: str) -> tuple[int, ...]:
    """The priorities of a port (`vtb-t0-01 Ethernet8`) that are among places; none where one is elsewhere alone."""
    found = (PLACE.fullmatch(place) for place in places)
    return tuple(sorted({int(one["priority"]) for one in found if one and one["port"] == port}))


def _loss(rows: Sequence[_Row]) -> Loss:
    first = rows[0]
    victims = victims_at((row.place for row in rows), f"{first.device_id} {first.port_id}")
    worst = max((row for row in rows if row.name == first.name), key=_off)
    return Loss(victims, worst.name, shown_json(worst.expected), shown_json(worst.seen), worst.place)


def _off(row: _Row) -> float:
    """How far off what was seen is, as a share of what was expected; 0: neither is a number."""
    expected, seen = (WHOLE.search(shown_json(text)) for text in (row.expected, row.seen))
    if expected is None or seen is None:
        return 0.0
    due, found = (float(number[0][:300]) for number in (expected, seen))
    return abs(found - due) / max(due, found, 1.0)
