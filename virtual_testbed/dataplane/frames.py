"""Data frames as bytes: what a capture shows of a flow."""
from __future__ import annotations

import ipaddress

from virtual_testbed.dataplane.traffic import DataFlow

FCS_BYTES = 4
VLAN_TYPE, IPV4_TYPE, IPV6_TYPE = 0x8100, 0x0800, 0x86DD
UDP, NO_NEXT_HEADER = 17, 59
DISCARD_PORT = 9
"""UDP source and destination port: the service that throws everything away (RFC 863), which no dissector decodes."""
TTL = 64
UDP_BYTES = 8
NUMBER_BYTES = 8


def data_frame(flow: DataFlow, number: int, source_mac: str, destination_mac: str) -> bytes:
    """Frame `number` (from 0) of a flow, before its FCS: by the flow's own `content`, or else:

    Ethernet, the flow's VLAN tag, IPv4 or IPv6 with the frame's DSCP, and UDP when there is room (in the smallest IPv6
    frames there is none). The payload begins with the frame's number in 8 bytes, most significant first, or in as many
    of the least significant ones as fit; the rest is zero.

    Args:
        flow: the flow; length and DSCP are those that it gives the frame.
        number: the frame's number in the flow.
        source_mac, destination_mac: as the frame carries them where it is seen: a router changes them.
    """
    if flow.content is not None:
        return flow.content(flow, number, source_mac, destination_mac)
    ethernet = _mac_bytes(destination_mac) + _mac_bytes(source_mac)
    if flow.vlan_id is not None:
        ethernet += _word(VLAN_TYPE) + _word(flow.vlan_priority << 13 | flow.vlan_id)
    source, destination = (ipaddress.ip_address(text) for text in (flow.source_address, flow.destination_address))
    type_field = _word(IPV4_TYPE if source.version == 4 else IPV6_TYPE)
    room = flow.sizes[number % len(flow.sizes)] - FCS_BYTES - len(ethernet) - len(type_field)
    make = _ipv4 if source.version == 4 else _ipv6
    return ethernet + type_field + make(flow, number, source.packed + destination.packed, room)


def _ipv4(flow: DataFlow, number: int, addresses: bytes, room: int) -> bytes:
    """An IPv4 packet of `room` bytes; both addresses are packed one behind the other."""
    start = bytes((0x45, flow.dscp[number % len(flow.dscp)] << 2)) + _word(room) + bytes(4) + bytes((TTL, UDP))
    checksum = _word(_checksum(start + bytes(2) + addresses))
    return start + checksum + addresses + _udp(number, addresses, room - len(start) - 2 - len(addresses))


def _ipv6(flow: DataFlow, number: int, addresses: bytes, room: int) -> bytes:
    """An IPv6 packet of `room` bytes."""
    first = 6 << 28 | flow.dscp[number % len(flow.dscp)] << 22
    payload = room - 8 - len(addresses)
    has_udp = payload >= UDP_BYTES
    start = first.to_bytes(4, "big") + _word(payload) + bytes((UDP if has_udp else NO_NEXT_HEADER, TTL))
    return start + addresses + (_udp(number, addresses, payload) if has_udp else _payload(number, payload))


def _udp(number: int, addresses: bytes, length: int) -> bytes:
    ports = 2 * _word(DISCARD_PORT)
    payload = _payload(number, length - UDP_BYTES)
    pseudo_header = addresses + _word(UDP) + _word(length)
    checksum = _checksum(pseudo_header + ports + _word(length) + bytes(2) + payload) or 0xFFFF  # 0 would mean: none
    return ports + _word(length) + _word(checksum) + payload


def _payload(number: int, length: int) -> bytes:
    shown = min(length, NUMBER_BYTES)
    return (number & (1 << 8 * shown) - 1).to_bytes(shown, "big") + bytes(length - shown)


def _checksum(data: bytes) -> int:
    """The internet checksum (RFC 1071) of data not all zero: the one's complement sum is a remainder of 0xFFFF."""
    padded = data + bytes(len(data) % 2)
    return 0xFFFF - (int.from_bytes(padded, "big") % 0xFFFF or 0xFFFF)


def _mac_bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _word(value: int) -> bytes:
    return value.to_bytes(2, "big")
