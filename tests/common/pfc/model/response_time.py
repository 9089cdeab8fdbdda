"""How soon a port must stop after a pause frame."""

from __future__ import annotations

from fractions import Fraction

from .arithmetic import pause_seconds

RESPONSE_QUANTA = {1_000: 2, 10_000: 67, 25_000: 80, 40_000: 118, 50_000: 147, 100_000: 394, 200_000: 453, 400_000: 905,
                   800_000: 905}
"""Quanta within which a port must stop after a pause frame, by its speed in Mb/s: IEEE 802.3 annex 31B.3.7 as
sonic-swss has it (`buffer_headroom_mellanox.lua`, `pause_quanta_per_speed`; 800 Gb/s as 400)."""


def response_seconds(speed_mbps: int) -> Fraction:
    """How long a port may go on sending after the last bit of a pause frame (100 Gb/s: 394 quanta, 2.02 microseconds);
    of a speed that the table does not have, what the next lower one has (below all of them the lowest)."""
    known = max((speed for speed in RESPONSE_QUANTA if speed <= speed_mbps), default=min(RESPONSE_QUANTA))
    return pause_seconds(RESPONSE_QUANTA[known], speed_mbps)
