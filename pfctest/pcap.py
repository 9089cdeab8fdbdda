"""Capture files: the classic pcap format with nanoseconds, Ethernet frames without FCS."""
from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

_MAGIC_NANOSECONDS, _ETHERNET, _SNAP_BYTES = 0xA1B23C4D, 1, 262144


def write(path: Path, frames: Iterable[bytes], time_ns: int) -> None:
    """Write frames, all of one instant (nanoseconds since 1970), to a new file."""
    seconds, nanoseconds = divmod(time_ns, 10**9)
    content = [struct.pack("<IHHiIII", _MAGIC_NANOSECONDS, 2, 4, 0, 0, _SNAP_BYTES, _ETHERNET)]
    for data in frames:
        content += [struct.pack("<IIII", seconds, nanoseconds, len(data), len(data)), data]
    path.write_bytes(b"".join(content))
