"""What a simulated traffic generator is told: ports and flows, already free of OTG's syntax.

Times are integer picoseconds, rates exact rationals, sizes bytes with the 4-byte FCS. `virtual_testbed.otg.model`
translates OTG's messages into these and refuses what has no place here.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class GeneratorPort:
    """One port of a traffic generator.

    `pfc_queues` maps a received pause class to the transmit queue it stops (OTG `layer1.flow_control.ieee_802_1qbb`);
    empty: the port does not honour PFC. `honours_global_pause` is OTG's `ieee_802_3x`. `speed_mbps` 0: the speed of the
    link. `response_ps` is the time from a pause frame's last bit to its effect.
    """

    name: str
    location: str
    speed_mbps: int = 0
    pfc_queues: tuple[tuple[int, int], ...] = ()
    honours_global_pause: bool = False
    response_ps: int = 0


@dataclass(frozen=True)
class EmulatedHost:
    """A device behind a generator port: what ARP or neighbour discovery would tell the switch about it."""

    name: str
    port: str
    mac: str
    addresses: tuple[str, ...]
    gateways: tuple[str, ...] = ()


@dataclass(frozen=True)
class Duration:
    """When a flow starts after START (`delay_ps`) and when it ends: by time, by frames, or (both None) by STOP only.

    A flow of fixed time stops by time also while PFC holds it; a flow of fixed frames stays started until they are
    sent. With `burst_frames` > 0 a flow sends bursts of so many frames, the first of each `burst_period_ps` after that
    of the one before (at least the time in which the burst's frames come due).
    """

    delay_ps: int = 0
    time_ps: int | None = None
    frames: int | None = None
    burst_frames: int = 0
    burst_period_ps: int = 0


FIRST_BIT, LAST_BIT = "first bit", "last bit"
"""From which of a frame's bits on its latency is measured, until its first bit is received: RFC 1242 calls these
cut-through and store-and-forward."""


@dataclass(frozen=True)
class DataFlow:
    """Unicast IP frames from one generator port.

    Frame k carries `dscp[k % len(dscp)]` and has `sizes[k % len(sizes)]` bytes. `rate_fps` is frames per second; frames
    come due evenly, whatever their sizes. `vlan_id` None: untagged. `queue` is the transmit queue (OTG
    `pfc_queue`) that received PFC can hold. `rx_ports` are the generator ports where frames count as received.
    `content` makes the bytes of frame k as captures show it (of the flow, k, and the MAC addresses that it has there);
    None: k in 8 bytes, then zeros. `latency` says from which of a frame's bits on its latency is measured: `FIRST_BIT`
    or `LAST_BIT`; None: it is not. `ecn` is that of all frames, None where they differ: a healthy switch does not care.
    """

    name: str
    tx_port: str
    rx_ports: tuple[str, ...]
    source_mac: str
    destination_mac: str
    source_address: str
    destination_address: str
    dscp: tuple[int, ...]
    queue: int
    sizes: tuple[int, ...]
    rate_fps: Fraction
    duration: Duration = Duration()
    vlan_id: int | None = None
    vlan_priority: int = 0
    latency: str | None = None
    ecn: int | None = 0
    content: Callable[[DataFlow, int, str, str], bytes] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PauseFlow:
    """MAC control frames (PFC, 802.3x, or a malformed one) of `len(frame) + 4` bytes from one generator port.

    `frame` is the frame before its FCS; `fcs_error` sends it with a wrong one. Pause frames are link-local: they are
    never forwarded, so `rx_ports` must see none.
    """

    name: str
    tx_port: str
    rx_ports: tuple[str, ...]
    frame: bytes
    rate_fps: Fraction
    duration: Duration = Duration()
    fcs_error: bool = False


Flow = DataFlow | PauseFlow
