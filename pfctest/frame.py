"""Codec of MAC control frames: PFC (IEEE 802.1Qbb, opcode 0x0101) and 802.3x PAUSE (opcode 0x0001).

Frames are bytes before the FCS (60 for a frame of 64 on the wire). `decode` says precisely why bytes are not such a
frame.
"""
from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

CONTROL_ADDRESS = "01:80:c2:00:00:01"
CONTROL_ETHERTYPE = 0x8808
OPCODE_PAUSE = 0x0001
OPCODE_PFC = 0x0101
MIN_FRAME_BYTES = 60
CLASSES = 8
VLAN_ETHERTYPE = 0x8100
VLANS = range(4096)
_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}", re.IGNORECASE)


class FrameError(ValueError):
    """Bytes or values that make no MAC control frame; `str()` is one sentence.

    Attributes:
        reason: a short name: `short`, `ethertype`, `opcode`, `destination`, `value`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class PfcFrame:
    """A priority flow control frame.

    Attributes:
        source: MAC address of the sender.
        class_enable: class-enable vector, 16 bits; bit n enables class n, the high byte is reserved.
        quanta: pause time of classes 0..7, 16 bits each.
        destination: 01:80:c2:00:00:01 unless something is to be proven.
    """

    source: str
    class_enable: int
    quanta: tuple[int, ...]
    destination: str = CONTROL_ADDRESS

    @property
    def pauses(self) -> dict[int, int]:
        """Quanta by enabled class; a class whose bit is not set has no entry, whatever its time says."""
        return {n: self.quanta[n] for n in range(CLASSES) if self.class_enable >> n & 1}


@dataclass(frozen=True)
class GlobalPauseFrame:
    """An 802.3x PAUSE frame (global pause): stops the whole link for `quanta`."""

    source: str
    quanta: int
    destination: str = CONTROL_ADDRESS


def pfc_frame(source: str, pauses: dict[int, int]) -> PfcFrame:
    """A PFC frame that enables exactly the classes of `pauses` ({class: quanta}).

    Raises:
        FrameError: a class is not 0..7.
    """
    wrong = sorted(n for n in pauses if n not in range(CLASSES))
    if wrong:
        raise FrameError("value", f"PFC class {wrong[0]} does not exist: expected 0..7")
    return PfcFrame(source, sum(1 << n for n in pauses), tuple(pauses.get(n, 0) for n in range(CLASSES)))


def encode(frame: PfcFrame | GlobalPauseFrame) -> bytes:
    """The 60 bytes of a frame before its FCS.

    Raises:
        FrameError: an address or a number does not fit its field.
    """
    head = _mac_bytes(frame.destination) + _mac_bytes(frame.source) + CONTROL_ETHERTYPE.to_bytes(2, "big")
    if isinstance(frame, GlobalPauseFrame):
        body = OPCODE_PAUSE.to_bytes(2, "big") + _word(frame.quanta, "pause time")
    else:
        if len(frame.quanta) != CLASSES:
            raise FrameError("value", f"a PFC frame has {len(frame.quanta)} pause times: expected 8")
        body = OPCODE_PFC.to_bytes(2, "big") + _word(frame.class_enable, "class-enable vector")
        body += b"".join(_word(quanta, f"pause time of class {n}") for n, quanta in enumerate(frame.quanta))
    return (head + body).ljust(MIN_FRAME_BYTES, b"\0")


def decode(data: bytes, *, any_destination: bool = False) -> PfcFrame | GlobalPauseFrame:
    """Read a frame (without FCS; longer padding is accepted).

    Args:
        data: from the destination address on.
        any_destination: accept another destination than 01:80:c2:00:00:01, for example a station's own address.

    Raises:
        FrameError: it is no valid MAC control frame; `reason` names the first check that failed.
    """
    for wrong in _no_control_frame(data):
        raise wrong
    destination = _mac_text(data[0:6])
    source = _mac_text(data[6:12])
    if destination != CONTROL_ADDRESS and not any_destination:
        raise FrameError("destination", f"destination {destination} is not the MAC control address: "
                                        f"expected {CONTROL_ADDRESS}")
    words = tuple(int.from_bytes(data[at:at + 2], "big") for at in range(16, 34, 2))
    if _opcode(data) == OPCODE_PAUSE:
        return GlobalPauseFrame(source, words[0], destination)
    return PfcFrame(source, words[0], words[1:], destination)


def _no_control_frame(data: bytes) -> Iterator[FrameError]:
    """All that keeps bytes from being a MAC control frame; the destination apart."""
    if len(data) < MIN_FRAME_BYTES:
        yield FrameError("short", f"frame of {len(data)} bytes before the FCS is too short: "
                                  f"expected {MIN_FRAME_BYTES} or more")
    bare = _bare(data)
    if bare is not data:
        yield FrameError("ethertype", f"the frame has a tag of VLAN {int.from_bytes(data[14:16], 'big') & 0xfff}: "
                                      "expected ethertype 0x8808, MAC control frames are never tagged")
    ethertype = int.from_bytes(bare[12:14], "big")
    if len(bare) >= 14 and ethertype != CONTROL_ETHERTYPE:
        yield FrameError("ethertype", f"ethertype 0x{ethertype:04x} is not MAC control: expected 0x8808")
    elif len(bare) >= 16 and _opcode(bare) not in (OPCODE_PAUSE, OPCODE_PFC):
        yield FrameError("opcode", f"MAC control opcode 0x{_opcode(bare):04x} is neither PFC (0x0101) nor PAUSE "
                                   "(0x0001)")


def _bare(data: bytes) -> bytes:
    """A frame without its VLAN tag; the same object when it has none."""
    return data[:12] + data[16:] if int.from_bytes(data[12:14], "big") == VLAN_ETHERTYPE else data


def _opcode(data: bytes) -> int:
    return int.from_bytes(data[14:16], "big")


def problems(data: bytes) -> list[str]:
    """Every rule of IEEE 802.1Qbb and 802.3 that a frame (without FCS) breaks, one sentence each; none: it is good.

    `decode` accepts what a receiver accepts; this also names what only a correct sender would not do. In a runt only
    the fields that are there are looked at, in a tagged frame those behind the tag.
    """
    found = [str(wrong) for wrong in _no_control_frame(data)]
    destination = data[0:6]
    source = data[6:12]
    if len(destination) == 6 and _mac_text(destination) != CONTROL_ADDRESS:
        found.append(f"destination {_mac_text(destination)} is not the MAC control address: expected {CONTROL_ADDRESS}")
    if len(source) == 6 and not any(source):
        found.append("source 00:00:00:00:00:00 is no station's address: expected the sender's own")
    elif len(source) == 6 and is_group(_mac_text(source)):
        found.append(f"source {_mac_text(source)} is a group address: expected the sender's own")
    return found + _body_problems(_bare(data))


def _body_problems(bare: bytes) -> list[str]:
    """What is wrong behind the opcode of a frame without tag; nothing is known of another kind than these two."""
    if int.from_bytes(bare[12:14], "big") != CONTROL_ETHERTYPE or _opcode(bare) not in (OPCODE_PAUSE, OPCODE_PFC):
        return []
    found = []
    is_pfc = _opcode(bare) == OPCODE_PFC
    if is_pfc and any(bare[16:17]):
        found.append(f"class-enable vector 0x{bare[16:18].hex()} has bits in its high byte, which is reserved: "
                     "expected 0x00..0xff")
    padding = bare[34 if is_pfc else 18:]
    if any(padding):
        found.append(f"padding of {len(padding)} bytes is not all zero")
    return found


def tagged(data: bytes, vlan_id: int, priority: int = 0) -> bytes:
    """A frame with a VLAN tag (IEEE 802.1Q) behind its addresses; it becomes 4 bytes longer.

    Raises:
        FrameError: the VLAN is not 0..4095, or the priority not 0..7.
    """
    if vlan_id not in VLANS:
        raise FrameError("value", f"VLAN {vlan_id} does not exist: expected 0..{VLANS[-1]}")
    if priority not in range(8):
        raise FrameError("value", f"VLAN priority {priority} does not exist: expected 0..7")
    return data[:12] + VLAN_ETHERTYPE.to_bytes(2, "big") + (priority << 13 | vlan_id).to_bytes(2, "big") + data[12:]


def is_group(mac: str) -> bool:
    """Whether a MAC address is a group address, which no frame can come from.

    Raises:
        FrameError: it is no MAC address.
    """
    return bool(_mac_bytes(mac)[0] & 1)


def with_fcs(data: bytes) -> bytes:
    """The frame as on the wire: `data` and its frame check sequence (CRC-32, least significant byte first)."""
    return data + zlib.crc32(data).to_bytes(4, "little")


def fcs_is_good(data: bytes) -> bool:
    """True when the last four bytes of `data` are the frame check sequence of the bytes before them."""
    return len(data) > 4 and with_fcs(data[:-4]) == data


def _word(value: int, what: str) -> bytes:
    if not 0 <= value <= 0xFFFF:
        raise FrameError("value", f"{what} {value} does not fit 16 bits: expected 0..65535")
    return value.to_bytes(2, "big")


def _mac_bytes(text: str) -> bytes:
    if not _MAC.fullmatch(text):
        raise FrameError("value", f"'{text}' is not a MAC address: expected six bytes such as 01:80:c2:00:00:01")
    return bytes.fromhex(text.replace(":", "").replace("-", ""))


def _mac_text(data: bytes) -> str:
    return data.hex(":")
