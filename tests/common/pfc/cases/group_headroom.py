"""The headroom behind the lossless priorities of a port, by the profiles that the switch has for it: how long a sender
may go on after a pause reached it before that is full."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ..model.arithmetic import PAUSE_FRAME_BYTES, QUANTUM_BITS, WIRE_OVERHEAD_BYTES
from ..model.cables import NS_PER_M, cable_metres, said_cable_length
from ..model.errors import QualificationError
from ..model.qos import ConfigDb, PortQos
from ..model.response_time import response_seconds
from .group_profiles import read_profile
from .group_room import MOST_CELL_BYTES, GroupRoom, room_of
from .switch_counters import priority_groups

FRAME_BYTES = 4096  # large frames, so that what a switch wastes in the last cell of each is little
OTHER_FRAME_BYTES = 1538  # LLDP, LACP or ARP with preamble and gap, that may be on the line when a pause is due
QUANTUM_BYTES = QUANTUM_BITS // 8


@dataclass(frozen=True)
class Headroom:
    """The headroom behind a lossless priority of a port.

    Attributes:
        group: its priority group.
        profile: its buffer profile.
        xoff_bytes: what it takes once XOFF was sent.
        cable_m: the cable's length.
        room: what the group takes before; None: it has no dynamic threshold, or CONFIG_DB no size of its pool.
    """

    group: int
    profile: str
    xoff_bytes: int
    cable_m: int
    room: GroupRoom | None = None


@dataclass(frozen=True)
class Delays:
    """Times that a sender goes on after a pause reached it, in quanta.

    Attributes:
        covered: whatever else is as slow as it may be, the headroom takes everything.
        beyond: whatever else is as fast as it can be, it does not.
    """

    covered: int
    beyond: int


def read_headroom(printed: str, config_db: ConfigDb, qos: PortQos, port: str) -> dict[int, Headroom]:
    """The headroom of every lossless priority that data can be sent of, on a port that it enters by; `printed`: what
    `profiles_command` printed.

    Raises:
        QualificationError: a priority has none, or shares it with another one; or the cable's length is not known.
    """
    groups = priority_groups(config_db, qos.device, port)
    cable_m = _cable_m(config_db, qos.device, port)
    found: dict[int, Headroom] = {}
    for priority in (one for one in qos.lossless if one in qos.dscps):
        group = groups.get(priority)
        if group is None or group in (other.group for other in found.values()):
            raise QualificationError(
                f"{qos.device} {port} priority {priority}: TC_TO_PRIORITY_GROUP_MAP leads it to group {group}: expected"
                " a priority group of its own, whose headroom nobody else uses"
            )
        profile = read_profile(printed, f"{qos.device} {port} priority {priority}", group)
        found[priority] = Headroom(group, profile.name, profile.xoff_bytes, cable_m, room_of(profile.fields, config_db))
    return found


def _cable_m(config_db: ConfigDb, device: str, port: str) -> int:
    said = said_cable_length(config_db, port)
    metres = cable_metres(said)
    if metres is None:
        raise QualificationError(
            f"{device} {port}: CONFIG_DB has CABLE_LENGTH {said or 'none'!r} for it: expected metres, as in 5m"
        )
    return metres


def delays(
    headroom: Headroom, speed_mbps: int, priorities: int, line_percent: float = 100, beyond_bytes: int = FRAME_BYTES,
    frame_bytes: int = FRAME_BYTES,
) -> Delays:
    """How long a sender may go on, where so many priorities fill its line together, the lossless ones each with a
    headroom of its own.

    From the XOFF on, headroom takes (of the line's bytes, as long as it is at full rate): the frame that made it
    necessary; what comes while another frame and the pauses of the other priorities leave before it, while it is on the
    line, twice the cable, while the sender takes as long to respond as the standard allows, then for the quanta
    looked for, and the frame that the sender has begun. A frame takes its size in buffer, and at most the rest of a
    cell. `beyond` has none of these: only what comes in those quanta at the rate at which the sender really sends, and
    two frames so that it is surely too much.

    Args:
        headroom: of one of the priorities.
        speed_mbps: of the port.
        priorities: how many.
        line_percent: what the sender's full line is loaded with.
        beyond_bytes: size of the frames that are to be too much, with FCS.
        frame_bytes: of those that it is to cover.
    """
    frame = frame_bytes + WIRE_OVERHEAD_BYTES
    per_ns = Fraction(speed_mbps, 8000)  # bytes
    fixed = Fraction(OTHER_FRAME_BYTES + priorities * (PAUSE_FRAME_BYTES + WIRE_OVERHEAD_BYTES))
    fixed += 2 * headroom.cable_m * NS_PER_M * per_ns + response_seconds(speed_mbps) * 10**9 * per_ns
    held = headroom.xoff_bytes // (frame_bytes + MOST_CELL_BYTES - 1) - 2
    covered = floor((held * frame * priorities - fixed) / QUANTUM_BYTES)
    too_many = (headroom.xoff_bytes // beyond_bytes + 2) * (beyond_bytes + WIRE_OVERHEAD_BYTES) * priorities
    beyond = ceil(too_many / quantum_bytes(line_percent))
    return Delays(max(0, covered), beyond)


def quantum_bytes(line_percent: float) -> Fraction:
    """Bytes of a line that come in one quantum when so much of it is loaded."""
    return QUANTUM_BYTES * Fraction(line_percent) / 100
