"""How late traffic generators are: measured on a flow of its own, before anything depends on it."""

from __future__ import annotations

import logging
from itertools import pairwise

from ..model.errors import QualificationError
from .clock import Clock, wait_for
from .generator import Generator, GeneratorTiming

logger = logging.getLogger(__name__)

CHANGES = 4
"""How often statistics are seen to change: the longest of three times between."""
POLL_S = 0.2
LONGEST_REFRESH_S = 30.0


def measure_timing(generator: Generator, flow: str) -> GeneratorTiming:
    """Sends a flow of the configuration for as long as it takes to see how late everything is.

    Args:
        generator: what sends it.
        flow: its name; it goes on until it is stopped.

    Raises:
        QualificationError: its statistics do not change.
    """
    clock = generator.clock
    began_s = clock.now()
    generator.start([flow])
    start_s = clock.now() - began_s
    refresh_s = _longest_between_changes(generator, flow, clock)
    began_s = clock.now()
    generator.stop([flow])
    timing = GeneratorTiming(start_s, clock.now() - began_s, refresh_s)
    logger.info(
        "the traffic generator takes %.1f s to start flows, %.1f s to stop them; its statistics are up to %.1f s old",
        timing.start_s, timing.stop_s, timing.refresh_s,
    )
    return timing


def _longest_between_changes(generator: Generator, flow: str, clock: Clock) -> float:
    changes: list[float] = []
    counts: list[int] = []

    def seen_often() -> bool:
        now_s = clock.now()
        sent = generator.stats([flow])[flow].frames_tx
        if not counts or sent != counts[-1]:
            counts.append(sent)
            changes.append(now_s)
        return len(changes) > CHANGES

    if not wait_for(seen_often, CHANGES * LONGEST_REFRESH_S, clock, POLL_S):
        raise QualificationError(
            f"expected the statistics of {flow} to change every {LONGEST_REFRESH_S:.0f} s or sooner while it is sent,"
            f" got {len(changes) - 1} changes in {CHANGES * LONGEST_REFRESH_S:.0f} s"
        )
    return max(later - earlier for earlier, later in pairwise(changes[1:]))
