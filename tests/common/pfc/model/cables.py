"""How long a port's cable is, and how long light takes in it."""

from __future__ import annotations

import re
from fractions import Fraction

from .qos import ConfigDb

NS_PER_M = 5
"""Nanoseconds a metre: light in glass, or a wave on copper."""


def said_cable_length(config_db: ConfigDb, port: str) -> str:
    """What the switch's `CABLE_LENGTH` has for a port, `5m`; empty: nothing."""
    return next((str(row[port]) for row in config_db.get("CABLE_LENGTH", {}).values() if port in row), "")


def cable_metres(text: str) -> int | None:
    """The metres of `5m`; None: it is no such length."""
    match = re.fullmatch(r"(\d+)m", text)
    return int(match[1]) if match else None


def cable_seconds(metres: int) -> Fraction:
    """How long a bit takes from one end to the other."""
    return Fraction(metres * NS_PER_M, 10**9)
