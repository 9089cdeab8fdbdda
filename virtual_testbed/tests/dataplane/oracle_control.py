"""MAC control frames in the oracle's own words: what is in the bytes, and the faults it knows."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

GROUP_ADDRESS = b"\x01\x80\xc2\x00\x00\x01"
SHORTEST = 60


@dataclass(frozen=True)
class OracleFault:
    """A fault by its name; None is everywhere. It lasts from `since` up to, not including, `until`."""

    name: str
    switch: str | None = None
    port: str | None = None
    priority: int | None = None
    since: int = 0
    until: int | None = None
    value: int = 1


class FaultsAt:
    """The faults of one switch port."""

    def __init__(self, faults: Sequence[OracleFault], switch: str, port: str) -> None:
        self.faults = [f for f in faults if f.switch in (None, switch) and f.port in (None, port)]

    def value(self, name: str, now: int, priority: int | None = None) -> int:
        """The value of the fault `name` if the port has it now (for the priority), else 0."""
        for fault in self.faults:
            if fault.name == name and fault.since <= now and (fault.until is None or now < fault.until):
                if priority is None or fault.priority in (None, priority):
                    return fault.value
        return 0


@dataclass
class Reading:
    """What a receiver makes of a control frame: pfc, pause, error or discard; lost: it never came."""

    kind: str
    pauses: dict[int, int] = field(default_factory=dict)


def read_control(data: bytes, fcs_error: bool, station: bytes | None) -> Reading:
    """The reading of a healthy receiver; `station` is its own MAC address, None: it takes the group address only."""
    if fcs_error or len(data) < SHORTEST:
        return Reading("error")
    opcode = data[14:16]
    if data[12:14] != b"\x88\x08" or opcode not in (b"\x01\x01", b"\x00\x01"):
        return Reading("discard")
    if data[:6] != GROUP_ADDRESS and data[:6] != station:
        return Reading("discard")
    if opcode == b"\x00\x01":
        return Reading("pause")
    return Reading("pfc", {n: time_of(data, n) for n in range(8) if data[17] >> n & 1})


def read_with_faults(data: bytes, reading: Reading, fault: Callable[[str, int | None], int]) -> Reading:
    """What a port makes of a frame that a healthy one reads so; `fault`: value of a fault for a priority, or 0."""
    if fault("storm-never-arrives", None):
        return Reading("lost")
    if reading.kind == "pfc" and data[6:12] == bytes(6) and fault("zero-source-ignored", None):
        return Reading("discard")
    if reading.kind == "pfc" and not data[17]:
        times = {n: time_of(data, n) for n in range(8)}
        reading.pauses = {n: quanta for n, quanta in times.items() if quanta and fault("empty-vector-honoured", n)}
    if reading.kind == "pause" and fault("global-pause-honoured", None):
        quanta = data[16] << 8 | data[17]
        reading = Reading("pfc", {n: quanta for n in range(8) if fault("global-pause-honoured", n)})
    if reading.kind == "discard" and data[12:14] == b"\x88\x08":
        found = _disguised(data, fault)
        reading = Reading("pfc", found) if found else reading
    for n, quanta in reading.pauses.items():
        percent = fault("pause-short", n)
        reading.pauses[n] = (quanta * percent // 100 or 1) if percent and quanta else quanta
    reading.pauses = {n: quanta for n, quanta in reading.pauses.items()
                      if quanta or not fault("zero-quanta-ignored", n)}
    return reading


def _disguised(data: bytes, fault: Callable[[str, int | None], int]) -> dict[int, int]:
    """The pauses of a frame that only a faulty port takes for PFC."""
    is_pfc, is_pause, is_ours = data[14:16] == b"\x01\x01", data[14:16] == b"\x00\x01", data[:6] == GROUP_ADDRESS
    enabled = {n: time_of(data, n) for n in range(8) if data[17] >> n & 1}
    if is_ours and not is_pfc and not is_pause:
        return {n: quanta for n, quanta in enabled.items() if fault("unknown-opcode-honoured", n)}
    if is_pfc:
        return {n: quanta for n, quanta in enabled.items() if fault("any-destination-honoured", n)}
    return {}


def time_of(data: bytes, priority: int) -> int:
    """The pause time of a class in a PFC frame."""
    return data[18 + 2 * priority] << 8 | data[19 + 2 * priority]


def pfc_bytes(source: bytes, priority: int, quanta: int) -> bytes:
    """The PFC frame that a switch sends for one class."""
    times = b"".join((quanta if n == priority else 0).to_bytes(2, "big") for n in range(8))
    return (GROUP_ADDRESS + source + b"\x88\x08\x01\x01" + bytes([0, 1 << priority]) + times).ljust(SHORTEST, b"\0")
