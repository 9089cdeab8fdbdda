"""Pause arithmetic in exact integers: picoseconds, bytes, quanta.

A pause quantum is 512 bit times of the link on which the frame is received (IEEE 802.3 annex 31B, 802.1Q clause 36),
which is 64 byte times; a byte lasts an integer number of picoseconds at every Ethernet speed from 1 to 800 Gb/s.
"""
from __future__ import annotations

PS_PER_SECOND = 10**12
BYTES_PER_QUANTUM = 64
MAX_QUANTA = 0xFFFF
WIRE_OVERHEAD_BYTES = 20
"""Preamble and start delimiter (8 bytes) and the minimum gap between frames (12 bytes)."""

RESPONSE_QUANTA = {1_000: 2, 10_000: 67, 25_000: 80, 40_000: 118, 50_000: 147, 100_000: 394, 200_000: 453, 400_000: 905,
                   800_000: 905}
"""Quanta within which a receiver must stop after a pause frame, by speed in Mb/s.

IEEE 802.3 annex 31B.3.7 as sonic-swss uses it (`buffer_headroom_mellanox.lua`, `pause_quanta_per_speed`). Other
sources give 60 at 10 Gb/s; SONiC reuses the 400 Gb/s number at 800 Gb/s.
"""


class TimingError(ValueError):
    """A speed or a pause that has no meaning; `str()` is one sentence."""


def ps_per_byte(speed_mbps: int) -> int:
    """Duration of one byte in picoseconds.

    Args:
        speed_mbps: link speed in Mb/s, for example 100000.

    Raises:
        TimingError: the speed is not positive or a byte would not last an integer number of picoseconds.
    """
    if speed_mbps <= 0 or 8_000_000 % speed_mbps:
        raise TimingError(f"speed {speed_mbps} Mb/s is not an Ethernet speed: "
                          "expected one that divides 8000000, such as 2500, 100000 or 1600000")
    return 8_000_000 // speed_mbps


def quantum_ps(speed_mbps: int) -> int:
    """Duration of one pause quantum in picoseconds (5120 at 100 Gb/s)."""
    return BYTES_PER_QUANTUM * ps_per_byte(speed_mbps)


def pause_time_ps(quanta: int, speed_mbps: int) -> int:
    """How long a pause of `quanta` (0..65535) lasts in picoseconds (65535 at 100 Gb/s: 335539200).

    Raises:
        TimingError: the quanta do not fit 16 bits, or the speed is none.
    """
    if not 0 <= quanta <= MAX_QUANTA:
        raise TimingError(f"pause of {quanta} quanta does not fit 16 bits: expected 0..{MAX_QUANTA}")
    return quanta * quantum_ps(speed_mbps)


def frame_time_ps(frame_bytes: int, speed_mbps: int) -> int:
    """Wire time of a frame of `frame_bytes` (with FCS) in picoseconds, its preamble and gap included."""
    return (frame_bytes + WIRE_OVERHEAD_BYTES) * ps_per_byte(speed_mbps)


def frames_per_second_to_block(speed_mbps: int, quanta: int = MAX_QUANTA, per_pause: int = 2) -> int:
    """Whole frames a second that keep a class paused without a gap: `per_pause` frames in each pause time.

    Rounded down as sonic-mgmt does (`calc_pfc_pause_flow_rate`; 5960 at 100 Gb/s).

    Raises:
        TimingError: `quanta` is 0 (it resumes), or fewer than one frame in each pause time is asked for.
    """
    pause_ps = pause_time_ps(quanta, speed_mbps)
    if not pause_ps:
        raise TimingError("a pause of 0 quanta resumes at once and cannot block: expected 1..65535")
    if per_pause < 1:
        raise TimingError(f"{per_pause} frames in each pause time leave gaps: expected 1 or more")
    return per_pause * PS_PER_SECOND // pause_ps


def frames_per_second_needed(speed_mbps: int, quanta: int = MAX_QUANTA, links: int = 1) -> int:
    """Fewest whole frames a second that can keep a class of `links` links paused (64 links of 100 Gb/s: 190738).

    Raises:
        TimingError: as `frames_per_second_to_block`, or fewer than one link.
    """
    if links < 1:
        raise TimingError(f"{links} links need no frames: expected 1 or more")
    pause_ps = pause_time_ps(quanta, speed_mbps)
    if not pause_ps:
        raise TimingError("a pause of 0 quanta resumes at once and cannot block: expected 1..65535")
    return -(-links * PS_PER_SECOND // pause_ps)


def response_allowance_ps(speed_mbps: int) -> int:
    """Time a receiver has to stop after the last bit of a pause frame, in picoseconds (100 Gb/s: 2017280).

    Raises:
        TimingError: no allowance is known for the speed.
    """
    if speed_mbps not in RESPONSE_QUANTA:
        raise TimingError(f"no pause response time is known at {speed_mbps} Mb/s: "
                          f"expected one of {sorted(RESPONSE_QUANTA)}")
    return pause_time_ps(RESPONSE_QUANTA[speed_mbps], speed_mbps)
