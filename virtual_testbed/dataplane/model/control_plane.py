"""What the control planes of a switch and of what is plugged into it send one another."""
from __future__ import annotations

from typing import NamedTuple


class ControlProtocol(NamedTuple):
    """A protocol that runs over a link.

    Attributes:
        name: its name, unlike those of others on the same link.
        period_ps: how often each end sends.
        sent_bytes, received_bytes: sizes with FCS of the frames that the switch sends each time, and receives.
    """

    name: str
    period_ps: int
    sent_bytes: tuple[int, ...]
    received_bytes: tuple[int, ...]
