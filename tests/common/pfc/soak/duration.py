"""How long a soak lasts: as the user says it."""

from __future__ import annotations

import re

from ..model.errors import QualificationError

UNITS_S = {"s": 1, "m": 60, "h": 3600}
LEAST_S = 60
MOST_S = 86400


class Soak:
    """The soak that was asked for.

    Attributes:
        seconds: how long it lasts; 0: none was.
    """

    def __init__(self) -> None:
        self.seconds = 0

    def ask(self, text: str) -> None:
        """Takes what the user says, `10m`; empty: nothing.

        Raises:
            QualificationError: it is no time, or too short or long a one.
        """
        self.seconds = parse_duration(text) if text else 0


def parse_duration(text: str) -> int:
    """`10m` in seconds.

    Raises:
        QualificationError: it is no time, or too short or long a one.
    """
    found = re.fullmatch(r"(\d{1,6})([smh])", text)
    seconds = int(found[1]) * UNITS_S[found[2]] if found else 0
    if not LEAST_S <= seconds <= MOST_S:
        raise QualificationError(f"a soak of {text!r}: expected a time from 60s to 24h, such as 90s, 10m or 2h")
    return seconds


SOAK = Soak()
"""Of this session."""
