"""Raw frames out of many interfaces with one system call.

A packet socket that is bound to no protocol receives nothing, so that a storm costs no reception; frames pass the
queueing discipline by (PACKET_QDISC_BYPASS), so that what the call accepted has been handed to the driver.
"""
from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Sequence
from typing import Tuple

from pfctest.interface import Interface

SOL_PACKET = 263
PACKET_QDISC_BYPASS = 20
BATCH = 256
"""Frames in one call of a sender that sends as fast as it can; more gains nothing."""
_NOT_NOW = (errno.EAGAIN, errno.ENOBUFS)
_C_LIBRARY = ctypes.CDLL(None, use_errno=True)

Outgoing = Tuple[Interface, bytes]
"""An interface and the frame (before its FCS) that leaves there."""


class SendError(Exception):
    """Frames cannot be sent; `str()` is one sentence."""


class _IoVector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("vector", ctypes.c_void_p),
                ("vectors", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                ("flags", ctypes.c_int)]


class _BatchMessage(ctypes.Structure):
    _fields_ = [("message", _Message), ("sent", ctypes.c_uint)]


class _LinkAddress(ctypes.Structure):
    _fields_ = [("family", ctypes.c_ushort), ("protocol", ctypes.c_ushort), ("index", ctypes.c_int),
                ("hardware", ctypes.c_ushort), ("kind", ctypes.c_ubyte), ("length", ctypes.c_ubyte),
                ("address", ctypes.c_ubyte * 8)]


class Batch:
    """Frames that are sent together, in order, by one call of sendmmsg; `names`: the interface of each.

    Args:
        opened: of `open_socket`; what else sends with it must not be bound to another interface.
        frames: what leaves where.

    Raises:
        SendError: there is no such interface any more.
    """

    def __init__(self, opened: socket.socket, frames: Sequence[Outgoing]) -> None:
        self.frames = len(frames)
        self._descriptor = opened.fileno()
        self.names = [interface.name for interface, _ in frames]
        kinds = {data: place for place, data in enumerate(dict.fromkeys(data for _, data in frames))}
        self._data = [ctypes.create_string_buffer(data, len(data)) for data in kinds]
        self._vectors = (_IoVector * len(kinds))(*(_IoVector(ctypes.addressof(data), len(data)) for data in self._data))
        indexes = {interface.index: place for place, interface in enumerate(dict(frames))}
        self._addresses = (_LinkAddress * len(indexes))(*(
            _LinkAddress(socket.AF_PACKET, 0, index, 0, 0, 6) for index in indexes))
        if len(indexes) == 1:
            _bind(opened, frames[0][0].name)  # cheaper than an address in each message
        self._messages = (_BatchMessage * self.frames)(*(
            _BatchMessage(self._message(None if len(indexes) == 1 else indexes[interface.index], kinds[data]), 0)
            for interface, data in frames))
        self._call = _C_LIBRARY.sendmmsg
        self._call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]
        self._place = ctypes.addressof(self._messages)

    def _message(self, address: int | None, vector: int) -> _Message:
        """A message of one of the frames, to one of the addresses, or to where the socket is bound."""
        place = ctypes.addressof(self._vectors) + vector * ctypes.sizeof(_IoVector)
        if address is None:
            return _Message(None, 0, place, 1, None, 0, 0)
        return _Message(ctypes.addressof(self._addresses) + address * ctypes.sizeof(_LinkAddress),
                        ctypes.sizeof(_LinkAddress), place, 1, None, 0, 0)

    def send(self, first: int = 0) -> int:
        """Send from frame `first` on; how many were accepted (0: the driver takes none now).

        Raises:
            SendError: an interface has gone down, or refuses such frames.
        """
        sent = int(self._call(self._descriptor, self._place + first * ctypes.sizeof(_BatchMessage),
                              self.frames - first, socket.MSG_DONTWAIT))
        if sent >= 0:
            return sent
        number = ctypes.get_errno()
        if number in _NOT_NOW:
            return 0
        raise _refusal(self.names[first], number)


class Single:
    """One frame on one interface, that of `names`: for a lone frame a plain call is faster than a batch."""

    frames = 1

    def __init__(self, opened: socket.socket, outgoing: Outgoing) -> None:
        self.names = [outgoing[0].name]
        self._data = outgoing[1]
        _bind(opened, self.names[0])
        self._send = opened.send

    def send(self, first: int = 0) -> int:
        """See Batch."""
        try:
            self._send(self._data, socket.MSG_DONTWAIT)
        except OSError as error:
            if error.errno in _NOT_NOW:
                return 0
            raise _refusal(self.names[0], error.errno or 0) from error
        return 1


def open_socket() -> socket.socket:
    """A packet socket to send with.

    Raises:
        SendError: this process may not have one.
    """
    try:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise SendError("sending raw frames needs the capability CAP_NET_RAW: run pfctest as root (sudo), or give it "
                        "that one capability") from None
    opened.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    return opened


def sender_of(opened: socket.socket, frames: Sequence[Outgoing]) -> Batch | Single:
    """What sends these frames once, in one call."""
    return Single(opened, frames[0]) if len(frames) == 1 else Batch(opened, frames)


def _bind(opened: socket.socket, name: str) -> None:
    opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # of the interface before, else the first frame is refused
    try:
        opened.bind((name, 0))
    except OSError as error:
        raise _refusal(name, error.errno or 0) from error


def _refusal(name: str, number: int) -> SendError:
    if number == errno.ENETDOWN:
        return SendError(f"interface {name} went down while frames were sent")
    if number in (errno.ENODEV, errno.ENXIO):
        return SendError(f"interface {name} was removed while frames were sent")
    return SendError(f"interface {name} refuses the frame: {os.strerror(number)}")
