"""What a simulated traffic generator is told: ports and flows, already free of OTG's syntax.

Times are integer picoseconds, rates exact rationals, sizes bytes with the 4-byte FCS. `virtual_testbed.otg.model`
translates OTG's messages into these and refuses what has no place here.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class GeneratorPort:
    """One port of a traffic generator.

    `pfc_queues` maps a received pause class to the transmit queue it stops (OTG `layer1.flow_control.ieee_802_1qbb`);
    empty: the port does not honour PFC. `honours_global_pause` is OTG's `ieee_802_3x`. `speed_mbps` 0: the speed of the
    link.
    """

    name: str
    location: str
    speed_mbps: int = 0
    pfc_queues: tuple[tuple[int, int], ...] = ()
    honours_global_pause: bool = False


@dataclass(frozen=True)
class Host:
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
    sent.
    """

    delay_ps: int = 0
    time_ps: int | None = None
    frames: int | None = None


@dataclass(frozen=True)
class DataFlow:
    """Unicast IP frames of one size from one generator port.

    Frame k carries `dscp[k % len(dscp)]`. `rate_fps` is frames per second. `queue` is the transmit queue (OTG
    `pfc_queue`) that received PFC can hold. `rx_ports` are the generator ports where frames count as received.
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
    frame_bytes: int
    rate_fps: Fraction
    duration: Duration = Duration()


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
