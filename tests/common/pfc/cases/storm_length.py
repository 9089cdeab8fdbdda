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
    """Each of these storms had so many frames that its pause cannot have lapsed on average in so long a time.

    Args:
        place: where.
        storms: their statistics.
        speed_mbps: of the port that they pause.
        seconds: how long they ran at least.
    """
    yield from storm_sent(place, storms, floor(holding_fps(MAX_QUANTA, speed_mbps) * Fraction(seconds)))
