"""What can be read of the data plane: immutable values as of one instant, every event at or before it processed.

Frames count at their last bit; bytes include the FCS, not preamble and gap. MAC control frames that a port consumes
are in `pfc_*`, `pause_rx` and `rx_smallest`, never in `rx_packets` or `tx_packets`; those that a faulty switch forwards
are in `tx_packets` of the port that they leave by.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EIGHT_ZEROS = (0,) * 8
STOPPED, STARTED, PAUSED = "stopped", "started", "paused"
"""What `FlowCounters.transmit` says of a flow."""


@dataclass(frozen=True)
class FlowCounters:
    """One flow. `transmit` is started, stopped or paused; `held_by` the received pause classes that hold it now;
    `latency_ps` the sum of the latencies of all frames (None: not measured, or a frame that was sent was not received).
    """

    frames_tx: int
    frames_rx: int
    bytes_tx: int
    bytes_rx: int
    transmit: str
    held_by: frozenset[int] = frozenset()
    latency_ps: int | None = None


@dataclass(frozen=True)
class GeneratorCounters:
    """One generator port: data and pause-flow frames sent, data frames received, pause frames received by class."""

    frames_tx: int
    frames_rx: int
    bytes_tx: int
    bytes_rx: int
    link_up: bool
    speed_mbps: int
    pfc_rx: tuple[int, ...] = EIGHT_ZEROS


@dataclass(frozen=True)
class PortCounters:
    """One switch port. `rx_packets` counts well-formed data frames, also those dropped later; `rx_drops` those
    dropped on the way in (no destination, ingress buffer, watchdog); `tx_drops` those meant to leave here and
    dropped; `pause_rx` is 802.3x; `rx_smallest` counts frames of 64 bytes of any kind, data, MAC control and bad ones.
    """

    rx_packets: int
    rx_bytes: int
    rx_errors: int
    rx_drops: int
    tx_packets: int
    tx_bytes: int
    tx_errors: int
    tx_drops: int
    pfc_rx: tuple[int, ...]
    pfc_tx: tuple[int, ...]
    pause_rx: int
    pfc_on2off: tuple[int, ...] = EIGHT_ZEROS
    pause_duration_us: tuple[int, ...] = EIGHT_ZEROS
    rx_smallest: int = 0


@dataclass(frozen=True)
class QueueCounters:
    """One egress queue: frames sent and dropped, buffer bytes (whole cells) now and at most, and whether it is paused.

    The watermark is the highest level of all instants that were stepped. What it may have been is at most
    `watermark_bound_bytes` (they are equal when everything was stepped).
    """

    packets: int = 0
    bytes: int = 0
    dropped_packets: int = 0
    dropped_bytes: int = 0
    occupancy_bytes: int = 0
    watermark_bytes: int = 0
    watermark_bound_bytes: int = 0
    is_paused: bool = False


@dataclass(frozen=True)
class PgCounters:
    """One ingress priority group: frames accepted and dropped, buffer bytes (whole cells) now, highest shared and
    headroom use; `shared_watermark_bound_bytes` as `QueueCounters.watermark_bound_bytes`.
    """

    packets: int = 0
    bytes: int = 0
    dropped_packets: int = 0
    occupancy_bytes: int = 0
    shared_watermark_bytes: int = 0
    headroom_watermark_bytes: int = 0
    shared_watermark_bound_bytes: int = 0


@dataclass(frozen=True)
class Sample:
    """What a poll of the watchdog reads of one queue."""

    time_ps: int
    pfc_rx: int
    on2off: int
    paused: bool
    packets: int
    occupancy: int
    paused_ps: int


@dataclass(frozen=True)
class WatchdogState:
    """The watchdog of one queue: `operational` or `stormed`, storms so far, and frames seen during storms (and the
    last one), none in those of `alert`.
    """

    status: str = "operational"
    detected: int = 0
    restored: int = 0
    tx_packets: int = 0
    tx_dropped: int = 0
    rx_packets: int = 0
    rx_dropped: int = 0
    tx_packets_last: int = 0
    tx_dropped_last: int = 0
    rx_packets_last: int = 0
    rx_dropped_last: int = 0


PORTS, QUEUES, PRIORITY_GROUPS = "ports", "queues", "priority_groups"
ALL_PARTS = frozenset({PORTS, QUEUES, PRIORITY_GROUPS})


@dataclass(frozen=True)
class SwitchCounters:
    """What of one switch was asked for (`ALL_PARTS`); the other parts are empty. `drops`, which come with the ports,
    counts dropped frames by (port, reason).
    """

    ports: Mapping[str, PortCounters]
    queues: Mapping[tuple[str, int], QueueCounters]
    priority_groups: Mapping[tuple[str, int], PgCounters]
    drops: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class SwitchStates:
    """What of one switch shows at once: which ports have a link, and the watchdog's queues."""

    oper_up: Mapping[str, bool]
    watchdog: Mapping[tuple[str, int], WatchdogState]


@dataclass(frozen=True)
class CapturedFrame:
    """A frame as a generator port received it: instant of the last bit, bytes before the FCS."""

    time_ps: int
    data: bytes


@dataclass(frozen=True)
class Statistics:
    """How the result was computed: instants stepped one by one, skips by regeneration and by recurrence (jumps over so
    many cycles) of all ports together, sessions in which components were advanced apart and how long those were, why
    nothing was skipped where it was not, and how many events compiled code has stepped.
    """

    instants_stepped: int
    regenerations: int
    jumps: int
    cycles_skipped: int
    picoseconds_skipped: int
    sessions_apart: int
    picoseconds_apart: int
    not_skipped: Mapping[str, int]
    compiled_events: int = 0
