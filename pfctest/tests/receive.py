"""Receives on an interface: `python -m pfctest.tests.receive INTERFACE`, told by lines on stdin what to do.

`drain` prints what has come as one line of JSON, with the kernel's times; `wait` prints `came` once something has. It
is read only when asked for, so that the reader does not compete with the sender for the CPU.
"""
from __future__ import annotations

import json
import socket
import struct
import sys
from select import select

SO_RCVBUFFORCE, SO_TIMESTAMPNS, ETH_P_ALL, PACKET_OUTGOING = 33, 35, 3, 4
SOL_PACKET, PACKET_STATISTICS = 263, 6
BUFFER_BYTES = 1 << 28
_TIME, _STATISTICS = struct.Struct("qq"), struct.Struct("II")


def drain(opened: socket.socket) -> dict[str, object]:
    """All frames that have come: kinds in hexadecimal, (time in nanoseconds, number of the kind) of each frame."""
    kinds: dict[str, int] = {}
    frames = []
    while True:
        try:
            data, control, _, address = opened.recvmsg(2048, 128, socket.MSG_DONTWAIT)
        except BlockingIOError:
            break
        if address[2] != PACKET_OUTGOING:
            seconds, nanoseconds = _TIME.unpack(control[0][2])
            frames.append((seconds * 10**9 + nanoseconds, kinds.setdefault(data.hex(), len(kinds))))
    _, dropped = _STATISTICS.unpack(opened.getsockopt(SOL_PACKET, PACKET_STATISTICS, _STATISTICS.size))
    return {"kinds": list(kinds), "frames": frames, "dropped": dropped}


def main() -> None:
    """See the module; ends with stdin."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as opened:
        try:
            opened.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        except PermissionError:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        opened.bind((sys.argv[1], ETH_P_ALL))
        print("ready", flush=True)
        for line in sys.stdin:
            if line == "wait\n":
                select([opened], [], [])
                print("came", flush=True)
            else:
                print(json.dumps(drain(opened)), flush=True)


if __name__ == "__main__":
    main()
