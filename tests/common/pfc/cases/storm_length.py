"""Whether a storm that pauses all the time had frames enough for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import floor

from ..model.arithmetic import MAX_QUANTA, holding_fps
from ..model.checking import Place, storm_sent
from ..model.measurement import CaseRun
from ..model.traffic import FlowStats
from ..record.verdict import Check


def storm_held(run: CaseRun, place: Place, storms: Iterable[FlowStats], seconds: float) -> Iterator[Check]:
    """Each of these storms had so many frames that its pause cannot have lapsed on average in the seconds that it ran
    at least."""
    fps = holding_fps(MAX_QUANTA, run.subject.pair.speed_mbps)
    yield from storm_sent(place, storms, floor(fps * Fraction(seconds)))
