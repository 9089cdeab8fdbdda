"""How old the counters are that a switch shows. Hardware counts exactly, but SONiC copies counters into its database
from time to time: what is read sooner than one period after an event may not have it in it."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.errors import QualificationError
from ..model.qos import ConfigDb

LATE_S = 1.0  # reading a whole switch takes time, and a poll may come late
POLL_GRACE_S = 8.0  # for one that comes later still: before a check fails
COUNTER_TABLE = "FLEX_COUNTER_TABLE"
_DEFAULT_MS = {"PORT": 1_000, "QUEUE": 10_000, "PG_DROP": 10_000, "PG_WATERMARK": 60_000, "QUEUE_WATERMARK": 60_000}
"""sonic-swss, when CONFIG_DB names no POLL_INTERVAL."""


@dataclass(frozen=True)
class PollDelays:
    """Seconds after an event from which on a reading of port (queue) counters has it in it."""

    port_s: float
    queue_s: float


def read_poll_delays(config_db: ConfigDb, device: str) -> PollDelays:
    """Reads how often a switch polls its counters; raises QualificationError where it does not poll those of ports or
    queues, or names no number of milliseconds."""
    port_s, queue_s = (period_s(config_db, device, group) + LATE_S for group in ("PORT", "QUEUE"))
    return PollDelays(port_s, queue_s)


def period_s(config_db: ConfigDb, device: str, group: str) -> float:
    """How often a group of counters is polled, seconds; raises QualificationError where it is not, or every so often as
    is no number of milliseconds."""
    row = config_db.get(COUNTER_TABLE, {}).get(group, {})
    if row.get("FLEX_COUNTER_STATUS", "enable") != "enable":
        raise QualificationError(
            f"{device}: its {group.lower()} counters are not polled, {COUNTER_TABLE}|{group} has FLEX_COUNTER_STATUS"
            f" {row['FLEX_COUNTER_STATUS']!r}: expected enable (`counterpoll {group.lower()} enable`)"
        )
    text = str(row.get("POLL_INTERVAL", _DEFAULT_MS[group]))
    if not (text.isascii() and text.isdigit()):
        raise QualificationError(
            f"{device}: {COUNTER_TABLE}|{group} has POLL_INTERVAL {text!r}: expected a number of milliseconds"
        )
    return int(text) / 1000
