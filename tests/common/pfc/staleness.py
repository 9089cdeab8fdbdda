"""How old the counters are that a switch shows. Hardware counts exactly, but SONiC copies counters into its database
from time to time: what is read sooner than one period after an event may not have it in it."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import QualificationError
from .qos import ConfigDb

LATE_S = 1.0  # reading a whole switch takes time, and a poll may come late
_TABLE = "FLEX_COUNTER_TABLE"
_DEFAULT_MS = {"PORT": 1_000, "QUEUE": 10_000}  # sonic-swss, when CONFIG_DB names no POLL_INTERVAL


@dataclass(frozen=True)
class CounterAges:
    """Seconds after an event from which on a reading of port (queue) counters has it in it."""

    port_s: float
    queue_s: float


def read_counter_ages(config_db: ConfigDb, device: str) -> CounterAges:
    """Reads how often a switch polls its counters.

    Raises:
        QualificationError: it does not poll them, or names no number of milliseconds.
    """
    return CounterAges(*(_period_s(config_db, device, group) + LATE_S for group in ("PORT", "QUEUE")))


def _period_s(config_db: ConfigDb, device: str, group: str) -> float:
    row = config_db.get(_TABLE, {}).get(group, {})
    if row.get("FLEX_COUNTER_STATUS", "enable") != "enable":
        raise QualificationError(
            f"{device}: its {group.lower()} counters are not polled, {_TABLE}|{group} has FLEX_COUNTER_STATUS"
            f" {row['FLEX_COUNTER_STATUS']!r}: expected enable (`counterpoll {group.lower()} enable`)"
        )
    text = str(row.get("POLL_INTERVAL", _DEFAULT_MS[group]))
    if not (text.isascii() and text.isdigit()):
        raise QualificationError(
            f"{device}: {_TABLE}|{group} has POLL_INTERVAL {text!r}: expected a number of milliseconds"
        )
    return int(text) / 1000
