"""Whether a storm that pauses all the time had frames enough for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import floor

from ..model.arithmetic import MAX_QUANTA, holding_fps
from ..model.checking import Place, storm_sent
from ..model.traffic import FlowStats
from ..record.verdict import Check


def storm_held(place: Place, storms: Iterable[FlowStats], speed_mbps: int, seconds: float) -> Iterator[Check]:
    """Each of these storms had so many frames that its pause cannot have lapsed on average in the time that they ran at
    least, on a port of that speed."""
    yield from storm_sent(place, storms, floor(holding_fps(MAX_QUANTA, speed_mbps) * Fraction(seconds)))
