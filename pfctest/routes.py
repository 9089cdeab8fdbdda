"""Where default routes leave this machine, asked of the kernel by rtnetlink: of all tables, with every next hop.

A route for half of all addresses counts too: two of them (0.0.0.0/1 and 128.0.0.0/1) do the same as a default route.
"""
from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

LONGEST_PREFIX = 1
"""Bits of a destination that still is one half of all addresses."""
_RTM_GETROUTE, _RTN_UNICAST = 26, 1
_RTA_OIF, _RTA_MULTIPATH = 4, 9
_NLM_F_REQUEST, _NLM_F_DUMP = 0x001, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_MESSAGE, _ATTRIBUTE = struct.Struct("IHHII"), struct.Struct("HH")
_ROUTE = struct.Struct("8BI")
_NEXT_HOP = struct.Struct("HBBi")
_ANSWER_BYTES = 1 << 16  # the kernel answers in pieces of 32 KiB at most
_PATIENCE_S = 5.0


def default_interfaces() -> set[str]:
    """Names of the interfaces that default routes (IPv4 or IPv6) leave through, as far as the kernel can be asked."""
    found = set()
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            for route in _routes(family):
                found |= leaves_by(route)
        except OSError:  # no such socket here, or no such protocol: the other family may answer
            continue
    return {name for index, name in socket.if_nameindex() if index in found}


def leaves_by(route: bytes) -> set[int]:
    """The interfaces (by index) of a route (struct rtmsg and what follows), if it is a default route that leads on."""
    _, prefix_bits, *_, kind, _ = _ROUTE.unpack_from(route)
    if prefix_bits > LONGEST_PREFIX or kind != _RTN_UNICAST:
        return set()
    found = set()
    for attribute, value in _pieces(route[_ROUTE.size:], _ATTRIBUTE):
        if attribute[1] == _RTA_OIF:
            found.add(struct.unpack("i", value)[0])
        elif attribute[1] == _RTA_MULTIPATH:
            found |= {hop[-1] for hop, _ in _pieces(value, _NEXT_HOP)}
    return found


def _routes(family: int) -> Iterator[bytes]:
    """All routes of a family. Raises OSError when the kernel does not list them."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asking:
        asking.settimeout(_PATIENCE_S)
        asking.sendto(_MESSAGE.pack(_MESSAGE.size + _ROUTE.size, _RTM_GETROUTE, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0)
                      + _ROUTE.pack(family, *bytes(8)), (0, 0))
        while True:
            for header, body in _pieces(asking.recv(_ANSWER_BYTES), _MESSAGE):
                if header[1] == _NLMSG_DONE:
                    return
                if header[1] == _NLMSG_ERROR:
                    number = -struct.unpack_from("i", body)[0]
                    raise OSError(number, os.strerror(number))
                yield body


def _pieces(data: bytes, header: struct.Struct) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """What netlink puts one after another: a header that begins with the length of the piece, then its content."""
    place = 0
    while place + header.size <= len(data):
        found = header.unpack_from(data, place)
        length = max(found[0], header.size)
        yield found, data[place + header.size:place + length]
        place += (length + 3) // 4 * 4
