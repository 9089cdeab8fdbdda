"""Wire ports: a port of a realtime testbed bound to an Ethernet interface of this machine (a veth).

Pause frames that arrive at the interface act on the switch port behind it, at the simulated instant that belongs to
the time that the kernel noted: exactly, however late they are read. Pause frames that the switch sends leave there, in
bursts: as many as have become due since the last round of the testbed. Data does not pass.
"""
from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pfctest.frame import CONTROL_ETHERTYPE, tagged
from pfctest.interface import find
from pfctest.sender import BATCH, Batch, SendError, open_socket
from virtual_testbed.dataplane.model.control_frames import PFC, MacControlFrame, understand
from virtual_testbed.dataplane.model.events import NEVER
from virtual_testbed.dataplane.outside import OpenNetwork
from virtual_testbed.dataplane.model.units import pause_time_ps
from virtual_testbed.engine.packet_ring import PacketRing
from virtual_testbed.lab_files.cables import WireLink

MOST_KINDS = 1000
"""Kinds of frames that are remembered."""
LOG = logging.getLogger(__name__)


class ReceivedBurst(NamedTuple):
    """Equal frames received in a burst, each while the pause of the one before lasts: the first acts at `time_ps`, the
    last `span_ps` later.
    """

    time_ps: int
    location: str
    frame: MacControlFrame
    frames: int
    span_ps: int


class ControlFrameKind(NamedTuple):
    """Control frames of equal bytes, and how long one pauses at the least (`NEVER`: it pauses nothing)."""

    frame: MacControlFrame
    lasts_ps: int


class ExternalRx:
    """The receiving side of one wire port: frames wait for their instant, and equal ones that follow become a burst.

    Args:
        location: the generator port's. `speed_mbps`: of its link, which the length of a pause depends on.
    """

    def __init__(self, location: str, speed_mbps: int) -> None:
        self._location = location
        self._speed_mbps = speed_mbps
        self._waiting: deque[tuple[int, ControlFrameKind]] = deque()
        self._kinds: dict[bytes, ControlFrameKind] = {}

    def add(self, time_ps: int, data: bytes) -> None:
        """A frame (before its FCS) has arrived, not before those that were added before."""
        kind = self._kinds.get(data)
        if kind is None:
            if len(self._kinds) >= MOST_KINDS:
                self._kinds.clear()
            kind = self._kinds[data] = self._kind(MacControlFrame(data))
        self._waiting.append((time_ps, kind))

    def _kind(self, frame: MacControlFrame) -> ControlFrameKind:
        control = understand(frame, "")
        quanta = min((quanta for _, quanta in control.pauses if quanta), default=0)
        pauses = control.kind == PFC and quanta
        return ControlFrameKind(frame, pause_time_ps(quanta, self._speed_mbps) if pauses else NEVER)

    def receive(self, until_ps: int, response_ps: int) -> list[ReceivedBurst]:
        """What acts, `response_ps` after it has arrived, at or before that instant."""
        found: list[ReceivedBurst] = []
        waiting = self._waiting
        while waiting and waiting[0][0] + response_ps <= until_ps:
            first_ps, kind = waiting.popleft()
            last_ps = first_ps
            frames = 1
            while waiting and waiting[0][1] is kind and waiting[0][0] + response_ps <= until_ps and (
                    waiting[0][0] - last_ps <= kind.lasts_ps):
                last_ps, frames = max(last_ps, waiting.popleft()[0]), frames + 1
            found.append(ReceivedBurst(first_ps + response_ps, self._location, kind.frame, frames, last_ps - first_ps))
        return found


class Wire:
    """One wire port.

    Raises:
        InterfaceError: there is no such interface, or it is down.
        SendError, OSError: this process may not have a packet socket.
    """

    def __init__(self, link: WireLink) -> None:
        self.link, self.interface = link, find(link.interface)
        self._sending = open_socket()
        self._receiving = PacketRing(link.interface, CONTROL_ETHERTYPE)
        self.rx = ExternalRx(link.location, link.speed_mbps)
        self._sent: dict[bytes, int] = {}
        self._is_broken = False

    def read(self, simulated_ps: Callable[[int], int]) -> None:
        """Take what has arrived, each frame at its simulated instant."""
        ahead_ns = time.time_ns() - time.monotonic_ns()
        add = self.rx.add
        for time_ns, data, tag in self._receiving.take():
            add(simulated_ps(time_ns - ahead_ns), data if tag is None else tagged(data, tag & 0xFFF, tag >> 13))
        lost = self._receiving.lost()
        if lost:
            LOG.warning("wire %s: %d frames arrived while the testbed did not keep up, and are lost",
                        self.link.interface, lost)

    def transmit(self, counts: dict[bytes, int]) -> None:
        """Send what the switch has sent since the last call, given how many there have been of each kind."""
        for data, count in counts.items():
            due, self._sent[data] = count - self._sent.get(data, 0), count
            with contextlib.suppress(SendError):
                self._send(data, due)

    def _send(self, data: bytes, count: int) -> None:
        try:
            while count > 0:
                sent = Batch(self._sending, [(self.interface, data)] * min(count, BATCH)).send()
                if not sent:
                    raise SendError(f"interface {self.link.interface} takes no frames")
                count -= sent
            self._is_broken = False
        except SendError as error:
            if not self._is_broken:
                LOG.warning("wire %s: %d pause frames are lost: %s", self.link.interface, count, error)
            self._is_broken = True

    def close(self) -> None:
        """Let go of the interface."""
        self._receiving.close()
        self._sending.close()


class Wires:
    """All wire ports of a testbed.

    Args:
        network: the data plane; from now on it asks for what arrives.
        wires: the ports.
        simulated_ps: simulated time that belongs to a reading of the monotonic clock in nanoseconds.
    """

    def __init__(self, network: OpenNetwork, wires: Sequence[Wire], simulated_ps: Callable[[int], int]) -> None:
        self._network = network
        self._wires = wires
        self._simulated_ps = simulated_ps
        network.outside = self

    def hear(self, until_ps: int) -> list[ReceivedBurst]:
        """What acts at or before that instant, in order."""
        found = []
        for wire in self._wires:
            wire.read(self._simulated_ps)
            found += wire.rx.receive(until_ps, self._network.response_ps(wire.link.location))
        return sorted(found, key=lambda burst: burst.time_ps)

    def transmit(self) -> None:
        """Send what the switches have sent."""
        for wire in self._wires:
            wire.transmit(self._network.told(wire.link.location))

    def close(self) -> None:
        """Let go of all interfaces."""
        for wire in self._wires:
            wire.close()
