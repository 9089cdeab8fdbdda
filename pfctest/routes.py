"""Where default routes leave this machine, asked of the kernel by rtnetlink: of all tables, with every next hop.

A route for half of all addresses counts too: two of them (0.0.0.0/1 and 128.0.0.0/1) do the same as a default route.
What lies on an interface (a bridge, a bond, a VLAN) is asked for too: what leaves by that leaves by the interface.
"""
from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

LONGEST_PREFIX = 1
"""Bits of a destination that still is one half of all addresses."""
_RTM_GETROUTE = 26
_RTN_UNICAST = 1
_RTA_OIF = 4
_RTA_MULTIPATH = 9
_RTM_GETLINK = 18
_IFLA_IFNAME = 3
_IFLA_LINK = 5
_IFLA_MASTER = 10
_IFLA_LINKINFO = 18
_IFLA_LINK_NETNSID = 37
_IFLA_INFO_KIND = 1
_PEERS = ("veth", "netkit")
"""Kinds of interfaces that name the other end of their cable where others name what they lie on."""
_VRF = "vrf"
"""No more than a table of routes: those that leave by it leave by the routes in there, which are asked for too."""
_NLM_F_REQUEST = 0x001
_NLM_F_DUMP = 0x300
_NLMSG_ERROR = 2
_NLMSG_DONE = 3
_MESSAGE = struct.Struct("IHHII")
_ATTRIBUTE = struct.Struct("HH")
_ROUTE = struct.Struct("8BI")
_NEXT_HOP = struct.Struct("HBBi")
_INTERFACE = struct.Struct("BxHiII")
_ANSWER_BYTES = 1 << 16  # the kernel answers in pieces of 32 KiB at most
_PATIENCE_S = 5.0


class KernelLink(NamedTuple):
    """An interface: its kind (empty: a device), and by their indexes the bridge or bond that has it as a member and the
    interface that it lies on (0: none, or none of this namespace)."""

    name: str
    kind: str
    master: int
    lower: int


def links() -> dict[int, KernelLink]:
    """All interfaces by index; none when the kernel cannot be asked."""
    try:
        found = list(_dump(_RTM_GETLINK, _INTERFACE.pack(socket.AF_UNSPEC, 0, 0, 0, 0)))
    except OSError:
        return {}
    return {_INTERFACE.unpack_from(body)[2]: _link(body) for body in found}


def lies_on(index: int, known: Mapping[int, KernelLink]) -> set[int]:
    """The interfaces whose frames may leave by this one: bridges, bonds, VLANs and the like, and what lies on those."""
    found = {index}
    while True:
        masters = {known[one].master for one in found if one in known}
        more = {master for master in masters if master in known and known[master].kind != _VRF}
        more |= {one for one, link in known.items() if link.lower in found}
        if more <= found:
            return found - {index}
        found |= more


def default_interfaces() -> set[str]:
    """Names of the interfaces that default routes (IPv4 or IPv6) leave through, as far as the kernel can be asked."""
    found = set()
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            for route in _dump(_RTM_GETROUTE, _ROUTE.pack(family, *bytes(8))):
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


def _link(body: bytes) -> KernelLink:
    """What is said of an interface (struct ifinfomsg and what follows)."""
    said = {header[1]: value for header, value in _pieces(body[_INTERFACE.size:], _ATTRIBUTE)}
    about = {header[1]: value for header, value in _pieces(said.get(_IFLA_LINKINFO, b""), _ATTRIBUTE)}
    kind = _text(about.get(_IFLA_INFO_KIND, b""))
    is_here = _IFLA_LINK_NETNSID not in said and kind not in _PEERS
    lower = _index(said.get(_IFLA_LINK)) if is_here else 0
    return KernelLink(_text(said.get(_IFLA_IFNAME, b"")), kind, _index(said.get(_IFLA_MASTER)), lower)


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="surrogateescape")


def _index(value: bytes | None) -> int:
    return int(struct.unpack("i", value)[0]) if value else 0


def _dump(kind: int, asked: bytes) -> Iterator[bytes]:
    """All that the kernel has of a kind, by a question. Raises OSError when it does not list them."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asking:
        asking.settimeout(_PATIENCE_S)
        asking.sendto(_MESSAGE.pack(_MESSAGE.size + len(asked), kind, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0) + asked,
                      (0, 0))
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
