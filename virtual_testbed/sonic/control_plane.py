"""Frames that control planes send one another (`Fault.protocols`), in the counters of a switch.

They are counted where counters are read, by the clock and as long as the link is up. The data plane knows nothing of
them: they take no time on the line and no buffer, no pause holds them, and generators neither count nor capture them.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

from virtual_testbed.dataplane.model.control_plane import ControlProtocol
from virtual_testbed.dataplane.model.counters import PortCounters, QueueCounters, SwitchCounters

QUEUE = 7
"""The unicast queue by which frames from the CPU leave."""


class _Seen(NamedTuple):
    """Up to an instant: frames and bytes that a port has sent and received, and whether its link is up from then on."""

    until_ps: int
    is_up: bool
    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0


class ControlPlane:
    """The frames of one switch's control plane so far, port by port."""

    def __init__(self) -> None:
        """Nothing was sent yet; links are taken to have been up before what is seen first as they are then."""
        self._ports: dict[str, _Seen] = {}

    def pass_time(
        self, now_ps: int, oper_up: Mapping[str, bool], protocols: Mapping[str, Sequence[ControlProtocol]]
    ) -> None:
        """Protocols have run up to now over the links that were up, which now are as `oper_up` says."""
        for port, running in protocols.items():
            is_up = oper_up.get(port, False)
            seen = self._ports.get(port, _Seen(0, is_up))
            if seen.is_up:
                seen = _later(seen, port, now_ps, running)
            self._ports[port] = seen._replace(until_ps=now_ps, is_up=is_up)

    def added_to(self, counters: SwitchCounters) -> SwitchCounters:
        """The counters of ports and queues with these frames."""
        if not self._ports:
            return counters
        ports = {name: self._with_port(name, found) for name, found in counters.ports.items()}
        queues = {key: self._with_queue(key, found) for key, found in counters.queues.items()}
        return replace(counters, ports=ports, queues=queues)

    def _with_port(self, name: str, found: PortCounters) -> PortCounters:
        seen = self._ports.get(name)
        if seen is None:
            return found
        return replace(
            found, rx_packets=found.rx_packets + seen.received, rx_bytes=found.rx_bytes + seen.received_bytes,
            tx_packets=found.tx_packets + seen.sent, tx_bytes=found.tx_bytes + seen.sent_bytes)

    def _with_queue(self, key: tuple[str, int], found: QueueCounters) -> QueueCounters:
        port, queue = key
        seen = self._ports.get(port)
        if seen is None or queue != QUEUE:
            return found
        return replace(found, packets=found.packets + seen.sent, bytes=found.bytes + seen.sent_bytes)


def _later(seen: _Seen, port: str, now_ps: int, protocols: Sequence[ControlProtocol]) -> _Seen:
    """With what the protocols of a port send and receive up to now."""
    for protocol in protocols:
        times = _times(protocol, port, now_ps) - _times(protocol, port, seen.until_ps)
        seen = seen._replace(
            sent=seen.sent + times * len(protocol.sent_bytes),
            sent_bytes=seen.sent_bytes + times * sum(protocol.sent_bytes),
            received=seen.received + times * len(protocol.received_bytes),
            received_bytes=seen.received_bytes + times * sum(protocol.received_bytes))
    return seen


def _times(protocol: ControlProtocol, port: str, until_ps: int) -> int:
    """How often a protocol was due on a port up to an instant: each port begins at another one of its first period."""
    phase_ps = crc32(f"{port} {protocol.name}".encode()) * protocol.period_ps >> 32
    return (until_ps - phase_ps) // protocol.period_ps + 1
