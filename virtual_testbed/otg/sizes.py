"""OTG's frame sizes, with FCS: one, a series, or a mix by weights; each as the cycle in which frames take them."""
from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

from virtual_testbed.otg.fields import Fields, listed

SMALLEST_FRAME = 64
LARGEST_FRAME = 14000  # OTG's largest layer1.mtu
LONGEST_CYCLE = 16384
MOST_PAIRS = 256
MIXES = {
    "imix": {64: "7", 570: "4", 1518: "1"},
    "ipsec_imix": {90: "58.67", 92: "2", 594: "23.66", 1418: "15.67"},
    "ipv6_imix": {60: "58.67", 496: "2", 594: "23.66", 1518: "15.67"},
    "standard_imix": {58: "58.67", 62: "2", 594: "23.66", 1518: "15.67"},
    "tcp_imix": {90: "58.67", 92: "2", 594: "23.66", 1518: "15.67"},
}
"""Weight by size of OTG's predefined mixes (OTG's flow/size.yaml, `Flow.SizeWeightPairs.predefined`)."""


def read_sizes(flow: Fields, shortest: int, modelled: tuple[str, ...]) -> tuple[int, ...]:
    """Reads `flow.size`: frame k has `sizes[k % len(sizes)]` bytes, FCS included.

    Args:
        flow: the flow.
        shortest: bytes of its headers and FCS.
        modelled: which of `fixed`, `increment` and `weight_pairs` such a flow can have.
    """
    size = flow.child("size")
    choice = size.choice(modelled, "fixed")
    if choice == "increment":
        sizes = _series(size.child(choice))
    elif choice == "weight_pairs":
        sizes = _mix(size.child(choice))
    else:
        sizes = (size.integer("fixed", SMALLEST_FRAME),) if choice else ()
    size.done()
    shortest = max(SMALLEST_FRAME, shortest)
    wrong = [number for number in sorted(set(sizes)) if not shortest <= number <= LARGEST_FRAME]
    if wrong:
        size.error(choice, f"{listed(map(str, wrong))}: frames with these headers have {shortest} to {LARGEST_FRAME} "
                   "bytes with FCS")
    return sizes or (SMALLEST_FRAME,)


def mean_size(sizes: tuple[int, ...]) -> Fraction:
    """Bytes with FCS of a frame on average, exact."""
    return Fraction(sum(sizes), len(sizes))


def _series(increment: Fields) -> tuple[int, ...]:
    """From `start` by `step` up to `end`, then again from `start`."""
    start = increment.integer("start", 64, 1, LARGEST_FRAME)
    end = increment.integer("end", 1518, SMALLEST_FRAME, LARGEST_FRAME)
    step = increment.integer("step", 1, 1)
    increment.done()
    if end < start:
        increment.error("end", f"{end}: smaller than start {start}")
    return tuple(range(start, end + 1, step))


def _mix(pairs: Fields) -> tuple[int, ...]:
    choice = pairs.choice(("predefined", "custom"), "predefined")
    weights: dict[int, Fraction] = {}
    if choice == "predefined":
        named = MIXES[pairs.one_of("predefined", tuple(MIXES), "imix")]
        weights = {size: Fraction(weight) for size, weight in named.items()}
    elif choice == "custom":
        weights = _custom(pairs)
    pairs.done()
    total, shares = _whole(weights)
    if total > LONGEST_CYCLE:
        pairs.error(choice, f"these weights are kept exactly by {total} frames or multiples of that only; modelled are "
                    f"mixes of up to {LONGEST_CYCLE} frames (weights with fewer digits)")
        return ()
    return _interleaved(shares)


def _custom(pairs: Fields) -> dict[int, Fraction]:
    weights: dict[int, Fraction] = {}
    found = pairs.items("custom")
    if len(found) > MOST_PAIRS:
        pairs.error("custom", f"{len(found)} pairs: not modelled; modelled are up to {MOST_PAIRS}")
    for pair in found[:MOST_PAIRS]:
        size = pair.integer("size", SMALLEST_FRAME, 12, 65535)
        weights[size] = weights.get(size, Fraction(0)) + pair.number("weight", 1)
        pair.done()
    if not any(weights.values()):
        pairs.error("custom", "no pair has a weight above 0, so there is no frame to send")
    return weights


def _whole(weights: dict[int, Fraction]) -> tuple[int, dict[int, int]]:
    """The weights as the smallest whole numbers, before them their sum."""
    unit = lcm(*(weight.denominator for weight in weights.values()))
    whole = {size: int(weight * unit) for size, weight in weights.items() if weight}
    common = gcd(*whole.values()) or 1
    shares = {size: weight // common for size, weight in whole.items()}
    return sum(shares.values()), shares


def _interleaved(shares: dict[int, int]) -> tuple[int, ...]:
    """Each size as often as its share says, spread evenly: the k-th of n stands at (k + 1/2) / n of the cycle."""
    places = [((2 * k + 1) / share, order, size)
              for order, (size, share) in enumerate(shares.items()) for k in range(share)]
    return tuple(size for _, _, size in sorted(places))
