"""Pure arithmetic of pause and load, exact (integers and fractions), with units in the names.

Sources: IEEE 802.1Qbb / 802.3 Annex 31B (one quantum = 512 bit times of the link), 802.3 clause 4 (8 bytes of
preamble and at least 12 bytes of inter-frame gap beside every frame).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, nextafter

QUANTUM_BITS = 512
MAX_QUANTA = 0xFFFF
WIRE_OVERHEAD_BYTES = 20
PAUSE_FRAME_BYTES = 64


def pause_seconds(quanta: int, speed_mbps: int) -> Fraction:
    """How long one pause of `quanta` lasts on a link of `speed_mbps`: 65535 quanta at 100 Gb/s are 335.54
    microseconds."""
    return Fraction(quanta * QUANTUM_BITS, speed_mbps * 10**6)


def holding_fps(quanta: int, speed_mbps: int) -> Fraction:
    """Pause frames a second below which a pause of `quanta` would lapse between two frames (100 Gb/s: 2980.2)."""
    return 1 / pause_seconds(quanta, speed_mbps)


def storm_fps(quanta: int, speed_mbps: int, refreshes: int | Fraction = 2) -> int:
    """Pause frames a second of a storm that renews each pause `refreshes` times before it ends (100 Gb/s, twice:
    5960)."""
    return floor(refreshes * holding_fps(quanta, speed_mbps))


def line_rate_fps(frame_bytes: int | Fraction, speed_mbps: int) -> Fraction:
    """Frames a second of `frame_bytes` (with FCS, of several sizes their mean) that fill a link, preamble and gap
    included."""
    return speed_mbps * 10**6 / (8 * (Fraction(frame_bytes) + WIRE_OVERHEAD_BYTES))


def mean_bytes(mix: Sequence[tuple[int, int]]) -> Fraction:
    """Mean size of frames that come in sizes with weights: 7 of 64, 4 of 570 and 1 of 1518 bytes are 353.83 bytes."""
    return Fraction(sum(size * weight for size, weight in mix), sum(weight for _, weight in mix))


def share_percent(percent: float, parts: int, own: int = 1) -> float:
    """The rate of a flow that has `own` of the `parts` into which `percent` of the line rate is divided.

    OTG takes a percentage as a floating-point number, which may lie above the share: the largest that does not is
    taken, so that all flows together never sum to more than `percent`.
    """
    exact = Fraction(percent) * own / parts
    share = float(exact)
    return share if Fraction(share) <= exact else nextafter(share, 0.0)
