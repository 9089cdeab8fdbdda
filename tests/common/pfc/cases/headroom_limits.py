"""How long a sender may go on after a pause before the headroom of its priority group is full: what the switch says,
and what follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ..model.arithmetic import MAX_QUANTA, PAUSE_FRAME_BYTES, QUANTUM_BITS, WIRE_OVERHEAD_BYTES, response_seconds
from ..model.errors import QualificationError
from ..model.qos import ConfigDb, PortQos, priority_groups

FRAME_BYTES = 4096  # large frames, so that what a switch wastes in the last cell of each is little
CELL_BYTES = 384  # the largest cell of a switch that SONiC runs on (Cisco 8000); most have 96 to 256
OTHER_FRAME_BYTES = 1538  # LLDP, LACP or ARP with preamble and gap, that may be on the line when a pause is due
NS_PER_M = 5  # light in glass or a wave on copper
QUANTUM_BYTES = QUANTUM_BITS // 8


@dataclass(frozen=True)
class Headroom:
    """The headroom behind a lossless priority of a port.

    Attributes:
        group: its priority group.
        profile: its buffer profile.
        xoff_bytes: what it takes once XOFF was sent.
        cable_m: the cable's length.
    """

    group: int
    profile: str
    xoff_bytes: int
    cable_m: int


@dataclass(frozen=True)
class Delays:
    """Times that a sender goes on after a pause reached it, in quanta.

    Attributes:
        covered: whatever else is as slow as it may be, the headroom takes everything.
        beyond: whatever else is as fast as it can be, it does not.
    """

    covered: int
    beyond: int


def headroom_command(port: str) -> str:
    """A shell command that prints, for each row `BUFFER_PG_TABLE:port:groups` of APPL_DB, the row, its profile and the
    profile's `xoff`. Lossless groups are there, whoever made them: CONFIG_DB does not have those that SONiC derives
    from speed and cable."""
    return (
        f"for row in $(sonic-db-cli APPL_DB KEYS 'BUFFER_PG_TABLE:{port}:*'); do"
        " profile=$(sonic-db-cli APPL_DB HGET \"$row\" profile | tr -d '[]' | sed 's/.*://');"
        ' echo "$row $profile $(sonic-db-cli APPL_DB HGET "BUFFER_PROFILE_TABLE:$profile" xoff)"; done'
    )


def read_headroom(printed: str, config_db: ConfigDb, qos: PortQos, port: str) -> dict[int, Headroom]:
    """The headroom of every lossless priority that data can be sent of, on a port that it enters by.

    Args:
        printed: what `headroom_command` printed.
        config_db: CONFIG_DB.
        qos: the lossless priorities.
        port: the port.

    Raises:
        QualificationError: a priority has none, or shares it with another one; or the cable's length is not known.
    """
    groups, cable_m = priority_groups(config_db, qos.device, port), _cable_m(config_db, qos.device, port)
    found: dict[int, Headroom] = {}
    for priority in (one for one in qos.lossless if one in qos.dscps):
        group = groups.get(priority)
        if group is None or group in (other.group for other in found.values()):
            raise QualificationError(
                f"{qos.device} {port} priority {priority}: TC_TO_PRIORITY_GROUP_MAP leads it to group {group}: expected"
                " a priority group of its own, whose headroom nobody else uses"
            )
        profile, xoff_bytes = _profile(printed, f"{qos.device} {port} priority {priority}", group)
        found[priority] = Headroom(group, profile, xoff_bytes, cable_m)
    return found


def _profile(printed: str, where: str, group: int) -> tuple[str, int]:
    """Name and `xoff` of a group's profile."""
    for words in (line.split() for line in printed.splitlines()):
        first, _, last = words[0].split(":")[-1].partition("-") if words else ("", "", "")
        if first.isdigit() and int(first) <= group <= int(last or first):
            if len(words) == 3 and words[2].isdigit() and int(words[2]):
                return words[1], int(words[2])
            raise QualificationError(
                f"{where}: {words[0]} of APPL_DB has profile {' '.join(words[1:]) or 'none'}: expected one with an xoff"
            )
    raise QualificationError(f"{where}: APPL_DB has no BUFFER_PG_TABLE row for priority group {group}: deploy it first")


def _cable_m(config_db: ConfigDb, device: str, port: str) -> int:
    found = [str(row[port]) for row in config_db.get("CABLE_LENGTH", {}).values() if port in row]
    match = re.fullmatch(r"(\d+)m", found[0]) if found else None
    if match is None:
        raise QualificationError(
            f"{device} {port}: CONFIG_DB has CABLE_LENGTH {found[0] if found else 'none'!r} for it: expected metres, as"
            " in 5m"
        )
    return int(match[1])


def delays(headroom: Headroom, speed_mbps: int, priorities: int, line_percent: float = 100) -> Delays:
    """How long a sender may go on, where so many lossless priorities fill its line together, each with a headroom of
    its own.

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

    Raises:
        QualificationError: no delay that a generator can be told would be too much for it.
    """
    frame = FRAME_BYTES + WIRE_OVERHEAD_BYTES
    per_ns = Fraction(speed_mbps, 8000)  # bytes
    fixed = Fraction(OTHER_FRAME_BYTES + priorities * (PAUSE_FRAME_BYTES + WIRE_OVERHEAD_BYTES))
    fixed += 2 * headroom.cable_m * NS_PER_M * per_ns + response_seconds(speed_mbps) * 10**9 * per_ns
    held = headroom.xoff_bytes // (FRAME_BYTES + CELL_BYTES - 1) - 2
    covered = floor((held * frame * priorities - fixed) / QUANTUM_BYTES)
    beyond = ceil((headroom.xoff_bytes // FRAME_BYTES + 2) * frame * priorities / _quantum_bytes(line_percent))
    if beyond > MAX_QUANTA:
        raise QualificationError(
            f"the headroom of {headroom.profile}, {headroom.xoff_bytes} bytes, is more than a sender fills in"
            f" {MAX_QUANTA} quanta, the most that a generator goes on after a pause"
        )
    return Delays(max(0, covered), beyond)


def least_used(quanta: int, priorities: int, line_percent: float = 100) -> int:
    """Bytes that each headroom has at least taken when a sender went on for so long that loads its line so much."""
    frames = floor(quanta * _quantum_bytes(line_percent) / ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * priorities))
    return max(0, frames - 1) * FRAME_BYTES


def _quantum_bytes(line_percent: float) -> Fraction:
    """Bytes of a line that come in one quantum when so much of it is loaded."""
    return QUANTUM_BYTES * Fraction(line_percent) / 100
