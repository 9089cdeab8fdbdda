"""What a switch counts, as one reading of it has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import QualificationError
from .ports import PortState


@dataclass(frozen=True)
class WatchdogRow:
    """One queue in `pfcwd show stats`: status (`operational`, `stormed`), storms detected and restored since the last
    reset; frames that left through the queue and that it dropped, and that came in for its priority on the port and
    were dropped there, while it was in storm; `last`: the same four of its last storm alone."""

    status: str
    detected: int
    restored: int
    tx_ok: int = 0
    tx_dropped: int = 0
    rx_ok: int = 0
    rx_dropped: int = 0
    last: tuple[int, ...] = field(default=(0, 0, 0, 0), kw_only=True)


@dataclass(frozen=True)
class DutCounters:
    """One reading of the counters that verdicts rest on. They are as old as the switch's last poll
    (`counter_polling`); the watchdog's and the ports' states are not.

    Attributes:
        pfc_rx, pfc_tx: port -> PFC frames counted for priorities 0 to 7.
        queues: each port asked for -> unicast queue -> packets that left.
        watchdog: `Ethernet0:3` -> watchdog statistics; absent: never stormed.
        watchdog_ports: ports that CONFIG_DB's PFC_WD table has.
        interfaces: port -> state.
        printed: what further commands printed that were run in the same call, by name.
    """

    pfc_rx: Mapping[str, tuple[int, ...]]
    pfc_tx: Mapping[str, tuple[int, ...]]
    queues: Mapping[str, Mapping[int, int]]
    watchdog: Mapping[str, WatchdogRow]
    watchdog_ports: tuple[str, ...]
    interfaces: Mapping[str, PortState]
    printed: Mapping[str, str] = field(default_factory=dict)


def fallen(frames: int) -> str:
    """A counter that fell by so many, for messages: by nearly all that 32 or 64 bits can count, it wrapped there."""
    bits = next((bits for bits in (32, 64) if 0 < (1 << bits) - frames <= 1 << bits - 4), None)
    return f"one that fell by {frames}" if bits is None else f"one that wrapped at 2^{bits}: it fell by {frames}"


def changed(before: Mapping[str, tuple[int, ...]], after: Mapping[str, tuple[int, ...]], port: str) -> tuple[int, ...]:
    """What the counters of `port` gained between two readings; raises QualificationError where one lacks the port."""
    if port not in before or port not in after:
        raise QualificationError(f"`show pfc counters` printed no row for {port}, or N/A in it")
    return tuple(late - early for early, late in zip(before[port], after[port], strict=True))
