"""What Linux knows of a network interface: index, address, state, speed, and what speaks against a storm from there.

All but the routes and kinds is asked for by ioctl, because /sys shows the interfaces of the network namespace that it
was mounted in, which need not be this process's.
"""
from __future__ import annotations

import array
import ctypes
import fcntl
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pfctest.routes import LONGEST_PREFIX, default_interfaces, lies_on, links

ROUTES = Path("/proc/self/net/route")
ROUTES_6 = Path("/proc/self/net/ipv6_route")
_SIOCGIFFLAGS = 0x8913
_SIOCGIFHWADDR = 0x8927
_SIOCETHTOOL = 0x8946
_ETHTOOL_GSET = 1
_ETHTOOL_GDRVINFO = 3
_IFF_UP = 0x1
_IFF_RUNNING = 0x40
_ARPHRD_ETHER = 1
_RTF_REJECT = 0x0200
_IFREQ = struct.Struct("16s24x")
_NAME_BYTES = 15
_SPEED_UNKNOWN = (0, 0xFFFF, 0xFFFFFFFF)
_DROPPING_DRIVERS = ("i40e", "ice", "iavf")
"""Intel's of 10G to 200G: they set up their NICs to drop pause frames of all senders but the firmware (Linux:
i40e_probe, ice_vsi_setup), those of virtual functions (iavf) too."""
_NO_CABLE_OF_ITS_OWN = ("bond", "bridge", "dummy", "ifb", "macvlan", "macvtap", "team", "vlan", "vrf")
"""Kinds of interfaces whose frames leave with a tag, by one cable of several that has not been chosen, or by none."""


class InterfaceError(Exception):
    """An interface that cannot be used; `str()` is one sentence."""


@dataclass(frozen=True)
class Interface:
    """An Ethernet interface of this machine.

    Attributes:
        name, index: as Linux has them.
        mac: its address, lower case with colons.
        speed_mbps: in Mb/s, None where its driver does not say.
    """

    name: str
    index: int
    mac: str
    speed_mbps: int | None


@dataclass(frozen=True)
class Patience:
    """How long a link is waited for: what was just plugged in, or just brought up, has no carrier for a moment.

    Attributes:
        length_s: seconds until it is given up.
        poll_s: between two looks.
        clock, sleep: as `time.monotonic` and `time.sleep`.
    """

    length_s: float = 1.0
    poll_s: float = 0.01
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def find(name: str, patience: Patience = Patience(), needs_link: bool = True) -> Interface:
    """The interface of this name, its own or an alternative one, which must be an Ethernet interface.

    With `needs_link` it must be up and have a carrier, now or soon.

    Raises:
        InterfaceError: there is none, it is no Ethernet interface, or it is down or without a link.
    """
    if not 0 < len(name.encode()) <= _NAME_BYTES:
        raise InterfaceError(f"'{name}' is no interface name: expected 1 to {_NAME_BYTES} characters")
    try:
        index = socket.if_nametoindex(name)
        name = socket.if_indextoname(index)
    except OSError:
        known = ", ".join(sorted(known for _, known in socket.if_nameindex()))
        raise InterfaceError(f"interface {name} does not exist: this machine has {known or 'none'}") from None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        family, address = struct.unpack_from("H6s", _ask(asking, name, _SIOCGIFHWADDR), 16)
        if family != _ARPHRD_ETHER:
            raise InterfaceError(f"interface {name} is no Ethernet interface (its hardware type is {family}): "
                                 "pause frames exist on Ethernet only")
        if needs_link:
            _await_link(asking, name, patience)
        return Interface(name, index, address.hex(":"), _speed_mbps(asking, name))


def refuse_unfit(interface: Interface) -> None:
    """Refuse an interface from which a storm may do harm, or does not reach the other end of one cable.

    Raises:
        InterfaceError: it is such a one.
    """
    name = interface.name
    kind = next((link.kind for link in links().values() if link.name == name), "")
    if kind in _NO_CABLE_OF_ITS_OWN:
        raise InterfaceError(f"interface {name} is of the kind {kind}, whose frames do not leave as they are by one "
                             "cable: expected the interface that the cable is in, or --force")
    driver = driver_of(name)
    if driver in _DROPPING_DRIVERS:
        raise InterfaceError(f"interface {name} has the driver {driver}, whose NICs drop the pause frames of programs, "
                             "so that none would reach the cable: expected a NIC of another driver, or --force")
    leaving = default_route_by(name)
    if leaving:
        carries = "" if leaving == name else f"carries {leaving}, which "
        raise InterfaceError(f"interface {name} {carries}has a default route, and pausing its peer may cut this "
                             "machine off: expected another one, or --force")


def default_route_by(name: str) -> str:
    """The interface that a default route (IPv4 or IPv6, of any table) leaves by, or a route for half of all addresses:
    this one or one that lies on it. A storm here may then cut off this machine. Empty: no such route.

    The tables in /proc are looked at too. They show less, but are there where rtnetlink is not, and have the interface
    where rtnetlink may name no more than a next hop object (net.ipv4.nexthop_compat_mode 0).
    """
    known = links()
    above = {one for index, link in known.items() if link.name == name for one in lies_on(index, known)}
    leaving = default_interfaces()
    names = [name, *sorted(known[one].name for one in above)]
    return next((one for one in names if one in leaving or _is_in_proc(one)), "")


def _is_in_proc(name: str) -> bool:
    """Whether /proc shows such a route; of IPv4 it has the main table only, and of a multipath route the first hop."""
    old = any(fields[0] == name and bin(int(fields[7], 16)).count("1") <= LONGEST_PREFIX and _leads_on(fields[3])
              for fields in _rows(ROUTES, 8)[1:])
    return old or any(fields[9] == name and int(fields[1], 16) <= LONGEST_PREFIX and _leads_on(fields[8])
                      for fields in _rows(ROUTES_6, 10))


def _leads_on(flags: str) -> bool:
    """Whether a route with these flags (hexadecimal) is one that refuses nothing."""
    return not int(flags, 16) & _RTF_REJECT


def _rows(path: Path, columns: int) -> list[list[str]]:
    """The lines of a routing table, in fields; a kernel without that protocol has none."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return []
    return [fields for fields in map(str.split, lines) if len(fields) >= columns]


def _await_link(asking: socket.socket, name: str, patience: Patience) -> None:
    deadline = patience.clock() + patience.length_s
    while not _has_link(asking, name):
        if patience.clock() >= deadline:
            raise InterfaceError(f"interface {name} is up but has no link: what is plugged in must be up too")
        patience.sleep(patience.poll_s)


def _has_link(asking: socket.socket, name: str) -> bool:
    flags, = struct.unpack_from("H", _ask(asking, name, _SIOCGIFFLAGS), 16)
    if not flags & _IFF_UP:
        raise InterfaceError(f"interface {name} is down: bring it up first (ip link set dev {name} up)")
    return bool(flags & _IFF_RUNNING)


def _ask(asking: socket.socket, name: str, request: int) -> bytes:
    """The answer of an ioctl, as a struct ifreq."""
    try:
        return fcntl.ioctl(asking, request, _IFREQ.pack(name.encode()))
    except OSError as error:
        raise InterfaceError(f"interface {name} cannot be asked: {error.strerror}") from error


def _speed_mbps(asking: socket.socket, name: str) -> int | None:
    """The speed by struct ethtool_cmd; None where the driver does not say."""
    answer = _ask_driver(asking, name, struct.pack("I40x", _ETHTOOL_GSET))
    if answer is None:
        return None
    low, high = struct.unpack_from("H14xH", answer, 12)
    speed = ctypes.c_uint32(high << 16 | low).value
    return None if speed in _SPEED_UNKNOWN else speed


def driver_of(name: str) -> str:
    """The driver by struct ethtool_drvinfo; empty where it does not say."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = _ask_driver(asking, name, struct.pack("I192x", _ETHTOOL_GDRVINFO))
    return "" if answer is None else answer[4:36].split(b"\0")[0].decode(errors="replace")


def _ask_driver(asking: socket.socket, name: str, question: bytes) -> bytes | None:
    """The answer to a question of ethtool's, of the same length; None where the driver gives none."""
    answer = array.array("B", question)
    place, _ = answer.buffer_info()
    try:
        fcntl.ioctl(asking, _SIOCETHTOOL, struct.pack("16sP16x", name.encode(), place))
    except OSError:
        return None
    return answer.tobytes()
