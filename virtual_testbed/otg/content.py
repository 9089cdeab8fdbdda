"""What the frames of a data flow look like: every header field as the request gives it, lengths and checksums right.

Field names are OTG's, but for the two that share an octet (`dscp`, `ecn`) and those that OTG leaves to the sender.
"""
from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from virtual_testbed.dataplane.model.traffic import DataFlow
from virtual_testbed.otg.patterns import Pattern

FCS_BYTES = 4
NUMBER_BYTES = 8
LAYOUTS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "ethernet": (("dst", 48), ("src", 48), ("ether_type", 16)),
    "vlan": (("priority", 3), ("cfi", 1), ("id", 12), ("ether_type", 16)),
    "ipv4": (("version", 4), ("header_length", 4), ("dscp", 6), ("ecn", 2), ("total_length", 16),
             ("identification", 16), ("reserved", 1), ("dont_fragment", 1), ("more_fragments", 1),
             ("fragment_offset", 13), ("time_to_live", 8), ("protocol", 8), ("checksum", 16), ("src", 32), ("dst", 32)),
    "ipv6": (("version", 4), ("dscp", 6), ("ecn", 2), ("flow_label", 20), ("payload_length", 16), ("next_header", 8),
             ("hop_limit", 8), ("src", 128), ("dst", 128)),
    "udp": (("src_port", 16), ("dst_port", 16), ("length", 16), ("checksum", 16)),
    "tcp": (("src_port", 16), ("dst_port", 16), ("seq_num", 32), ("ack_num", 32), ("data_offset", 4), ("unused", 3),
            ("ecn_ns", 1), ("ecn_cwr", 1), ("ecn_echo", 1), ("ctl_urg", 1), ("ctl_ack", 1), ("ctl_psh", 1),
            ("ctl_rst", 1), ("ctl_syn", 1), ("ctl_fin", 1), ("window", 16), ("checksum", 16), ("urgent", 16)),
    "vxlan": (("flags", 8), ("reserved0", 24), ("vni", 24), ("reserved1", 8)),
}
"""Every header's fields in their order on the wire, with their widths in bits."""
HEADER_BYTES = {name: sum(bits for _, bits in layout) // 8 for name, layout in LAYOUTS.items()}
ETHER_TYPES = {"vlan": 0x8100, "ipv4": 0x0800, "ipv6": 0x86DD}
PROTOCOLS = {"udp": 17, "tcp": 6}
VERSIONS = {"ipv4": 4, "ipv6": 6}
INNER_TRAILER_BYTES = 4
"""Behind a packet in a tunnel: the place of the inner frame's FCS, zero. RFC 7348 has none, but testers leave it, and
OTG's conformance tests expect the inner lengths without it."""
TCP_WORDS = 5  # of 32 bits in a header without options
IPV4_WORDS = 5


@dataclass(frozen=True)
class Layer:
    """One header: its name, and what its fields hold from frame to frame. Fields that are not named follow from others.
    """

    name: str
    patterns: Mapping[str, Pattern]


@dataclass(frozen=True)
class FrameContent:
    """The headers of a data flow's frames, outermost first."""

    layers: tuple[Layer, ...]

    @property
    def shortest_frame(self) -> int:
        """Bytes of headers and FCS."""
        return sum(map(_used, self.layers)) + FCS_BYTES

    def frame(self, flow: DataFlow, number: int, source_mac: str, destination_mac: str) -> bytes:
        """Frame `number` (from 0) of a flow, before its FCS.

        The payload begins with the frame's number in 8 bytes, most significant first, or in as many of the least
        significant ones as fit; the rest is zero.

        Args:
            flow: the flow; length and outer IP addresses are those that it gives the frame.
            number: the frame's number in the flow.
            source_mac, destination_mac: as the frame carries them where it is seen: a router changes them.
        """
        length = flow.sizes[number % len(flow.sizes)] - FCS_BYTES
        rooms = accumulate(map(_used, self.layers[:-1]), lambda room, used: room - used, initial=length)
        following = [layer.name for layer in self.layers[1:]]
        headers = [_Header(layer.name, _values(layer, number, room, after))
                   for layer, room, after in zip(self.layers, rooms, [*following, ""])]
        headers[0].values.update(src=_mac(source_mac), dst=_mac(destination_mac))
        outer = next(header for header in headers if header.name in VERSIONS)
        outer.values.update(src=int(ipaddress.ip_address(flow.source_address)),
                            dst=int(ipaddress.ip_address(flow.destination_address)))
        return _joined(headers, _payload(number, length + FCS_BYTES - self.shortest_frame))


@dataclass(frozen=True)
class _Header:
    """A header of one frame."""

    name: str
    values: dict[str, int]

    def packed(self) -> bytes:
        bits = 0
        for name, width in LAYOUTS[self.name]:
            bits = bits << width | self.values.get(name, 0)
        return bits.to_bytes(HEADER_BYTES[self.name], "big")


def _mac(text: str) -> int:
    return int(text.replace(":", ""), 16)


def _used(layer: Layer) -> int:
    """Bytes of a header, and of what belongs to it behind all that follows."""
    return HEADER_BYTES[layer.name] + (INNER_TRAILER_BYTES if layer.name == "vxlan" else 0)


def _values(layer: Layer, number: int, room: int, following: str) -> dict[str, int]:
    """A header's fields, those included that follow from its neighbours; `room`: bytes from its beginning on."""
    automatic: dict[str, int] = {}
    if layer.name in ("ethernet", "vlan"):
        automatic = {"ether_type": ETHER_TYPES[following]}
    elif layer.name == "ipv4":
        automatic = {"version": 4, "header_length": IPV4_WORDS, "total_length": room}
    elif layer.name == "ipv6":
        automatic = {"version": 6, "payload_length": room - HEADER_BYTES["ipv6"]}
    elif layer.name == "udp":
        automatic = {"length": room}
    elif layer.name == "tcp":
        automatic = {"data_offset": TCP_WORDS}
    given = {name: pattern.value(number) for name, pattern in layer.patterns.items()}
    if "monetary" in given:  # the two bits that RFC 791 had where ECN is now
        given["ecn"] = given["monetary"] << 1 | given["unused"]
    return automatic | given


def _joined(headers: list[_Header], payload: bytes) -> bytes:
    """The frame, put together from its end, because checksums cover what follows."""
    data = payload
    for index in range(len(headers) - 1, -1, -1):
        header = headers[index]
        if header.name == "vxlan":
            data += bytes(INNER_TRAILER_BYTES)
        elif header.name == "ipv4":
            header.values["checksum"] = checksum(header.packed())
        elif header.name in PROTOCOLS:
            covered = _pseudo_header(headers[index - 1], header.name, HEADER_BYTES[header.name] + len(data))
            header.values["checksum"] = checksum(covered + header.packed() + data) or (
                0xFFFF if header.name == "udp" else 0)  # a UDP checksum of 0 would mean: none
        data = header.packed() + data
    return data


def _pseudo_header(ip: _Header, transport: str, length: int) -> bytes:
    """What of the IP header the checksums of UDP and TCP cover (RFC 768, 9293, 8200; the order does not matter)."""
    address_bytes = 4 if ip.name == "ipv4" else 16
    return b"".join((ip.values["src"].to_bytes(address_bytes, "big"), ip.values["dst"].to_bytes(address_bytes, "big"),
                     PROTOCOLS[transport].to_bytes(2, "big"), length.to_bytes(2, "big")))


def _payload(number: int, length: int) -> bytes:
    shown = min(length, NUMBER_BYTES)
    return (number & (1 << 8 * shown) - 1).to_bytes(shown, "big") + bytes(length - shown)


def checksum(data: bytes) -> int:
    """The internet checksum (RFC 1071) of data not all zero: the one's complement sum is a remainder of 0xFFFF."""
    padded = data + bytes(len(data) % 2)
    return 0xFFFF - (int.from_bytes(padded, "big") % 0xFFFF or 0xFFFF)
