"""OTG's durations of a flow: when it begins, its bursts, and when it ends; translated into the data plane's terms."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd

from pfctest.timing import PS_PER_SECOND
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.otg.fields import Fields

LONGEST_SECONDS = 10**6
SMALLEST_GAP = 12  # bytes between two frames, which every line keeps
PREAMBLE_BYTES = 8
PS_OF_UNIT = {"nanoseconds": 10**3, "microseconds": 10**6}
NO_DELAY = {"bytes": Fraction(0), "nanoseconds": Fraction(0), "microseconds": Fraction(0)}
BURST_GAP = {"bytes": Fraction(SMALLEST_GAP), "nanoseconds": Fraction(96), "microseconds": Fraction(96, 1000)}
"""OTG's defaults, by unit."""


@dataclass(frozen=True)
class FlowTiming:
    """The timing of a flow's frames: line speed, sizes, rate.

    Attributes:
        speed_mbps: of the line; 0: unknown, because the flow has errors.
        sizes: the cycle of frame sizes, bytes with FCS.
        rate_fps: frames a second, above 0.
    """

    speed_mbps: int
    sizes: tuple[int, ...]
    rate_fps: Fraction

    def bytes_ps(self, count: Fraction | int) -> Fraction:
        """How long so many bytes take on the line, picoseconds."""
        return Fraction(count) * 8 * 10**6 / self.speed_mbps if self.speed_mbps else Fraction(0)


def read_duration(duration: Fields, timing: FlowTiming) -> Duration:
    """Reads `flow.duration`; by default the flow goes on until it is stopped."""
    choice = duration.choice(("continuous", "fixed_packets", "fixed_seconds", "burst"), "continuous")
    if not choice:
        return Duration()
    branch = duration.child(choice)
    duration.done()
    gap = branch.integer("gap", SMALLEST_GAP)
    if gap > SMALLEST_GAP:
        branch.error("gap", f"{gap}: not modelled; modelled is {SMALLEST_GAP}, the rate spaces the frames")
    if choice == "burst":
        return _read_burst(branch, timing)
    delay = round(_read_time(branch.child("delay"), NO_DELAY, timing))
    packets = branch.integer("packets", 1, 1) if choice == "fixed_packets" else None
    seconds = branch.number("seconds", 1, 0, LONGEST_SECONDS) if choice == "fixed_seconds" else None
    branch.done()
    return Duration(delay, None if seconds is None else round(seconds * PS_PER_SECOND), packets)


def _read_burst(burst: Fields, timing: FlowTiming) -> Duration:
    """Bursts of `packets` frames; 0 bursts: without end."""
    bursts = burst.integer("bursts", 0)
    packets = burst.integer("packets", 1, 1)
    gap_ps = _read_time(burst.child("inter_burst_gap"), BURST_GAP, timing)
    burst.done()
    frames = bursts * packets or None
    period_ps = _burst_period_ps(packets, gap_ps, timing)
    if period_ps <= packets * PS_PER_SECOND / timing.rate_fps:  # the rate alone leaves that gap: one endless burst
        return Duration(frames=frames)
    return Duration(frames=frames, burst_frames=packets, burst_period_ps=ceil(period_ps))


def _burst_period_ps(packets: int, gap_ps: Fraction, timing: FlowTiming) -> Fraction:
    """Time from a burst's first frame to the next one's: its frames at the flow's rate, then the gap.

    The gap begins with the last bit of the largest frame that a burst can end with.
    """
    every = gcd(packets, len(timing.sizes))
    last = max(timing.sizes[every - 1::every])
    return (packets - 1) * PS_PER_SECOND / timing.rate_fps + timing.bytes_ps(PREAMBLE_BYTES + last) + gap_ps


def _read_time(fields: Fields, defaults: dict[str, Fraction], timing: FlowTiming) -> Fraction:
    """Picoseconds of a time in bytes (at line rate), nanoseconds or microseconds."""
    unit = fields.choice(tuple(defaults), "bytes")
    if not unit:
        return Fraction(0)
    value = fields.number(unit, 0) if fields.has(unit) else defaults[unit]
    fields.done()
    time_ps = timing.bytes_ps(value) if unit == "bytes" else value * PS_OF_UNIT[unit]
    if time_ps > LONGEST_SECONDS * PS_PER_SECOND:
        fields.error(unit, f"{float(value):g}: more than {LONGEST_SECONDS} s")
    return time_ps
