"""How many bytes a switch may count of frames whose sizes are known."""

from __future__ import annotations

from .frames import ETHERNET_BYTES, TAG_BYTES

FCS_BYTES = 4
HEADER_BYTES = 40
"""What an ASIC may count of a frame beside its own bytes: preamble and gap, or a header of the switch's fabric."""
LARGEST_BYTES = 9_216 + ETHERNET_BYTES + TAG_BYTES
"""A frame that switch or neighbours may send by themselves: with SONiC's largest `mtu`."""


def byte_bounds(frames: int, their_bytes: int, others: int = 0) -> range:
    """Returns the numbers of bytes that so many frames may be counted as, whether or not the ASIC counts their FCS.

    Args:
        frames: how many there were.
        their_bytes: what they have in all, with FCS.
        others: how many more may have been among them, of any size.
    """
    least = their_bytes - FCS_BYTES * frames
    most = their_bytes + HEADER_BYTES * frames + LARGEST_BYTES * others
    return range(least, most + 1)
