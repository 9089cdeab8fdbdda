"""FRAME and SIZE: PFC-1's steps with other pause frames, and with data frames of other sizes. A pause frame that is
valid, however unusual, holds what it names, whatever size the frames of its queue have; any other changes nothing on a
full line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..lab.lab import Lab
from ..model.arithmetic import MAX_QUANTA
from ..model.errors import QualificationError
from ..model.measurement import Measurement
from ..model.qos import PRIORITIES
from ..model.scenario import Scenario, Storm
from ..model.traffic import PauseFrame, pfc_frame
from ..record.case import PlanCase, Target
from .engine import Procedure, Table, Targets
from .pauses import pause_lossless, storm_case
from .targets import all_lossless, first_lossless, several_lossless

NO_SOURCE = "00:00:00:00:00:00"  # a source says nothing about a pause
RESERVED_BITS = tuple(range(8, 16))  # the vector's upper byte: they enable nobody
UNKNOWN_OPERATION_CODE = 0x0102  # IEEE 802.3, table 31A-1: reserved; PFC is 0x0101
NEIGHBOUR_ADDRESS = "01:80:C2:00:00:0F"  # IEEE 802.1Q, table 8-1: reserved, for nothing; PFC's ends in 01
OTHER_ETHER_TYPE = 0x88B5  # IEEE 802: for local experiments; MAC control is 0x8808

ZERO_SOURCE_SINGLE = PlanCase("zero-source-single", "FRAME-1")
ZERO_SOURCE_SEVERAL = PlanCase("zero-source-several", "FRAME-2")
ALL_ENABLED = PlanCase("all-enabled", "FRAME-3")
NONE_ENABLED_SINGLE = PlanCase("none-enabled-single", "FRAME-4")
NONE_ENABLED_SEVERAL = PlanCase("none-enabled-several", "FRAME-5")
RESERVED_ENABLED = PlanCase("reserved-enabled", "FRAME-6")
UNKNOWN_OPERATION = PlanCase("unknown-operation-code", "FRAME-7")
OTHER_DESTINATION = PlanCase("other-destination", "FRAME-8")
OTHER_TYPE = PlanCase("other-ether-type", "FRAME-9")
NEIGHBOUR = PlanCase("neighbouring-destination", "FRAME-10")

SMALLEST = PlanCase("smallest-frames", "SIZE-1")
MEDIUM = PlanCase("frames-of-512-bytes", "SIZE-2")
ETHERNET = PlanCase("frames-of-1518-bytes", "SIZE-3")
LARGEST = PlanCase("largest-frames", "SIZE-4")
MIXED = PlanCase("imix", "SIZE-5")

SMALLEST_BYTES = {4: 64, 6: 66}  # by IP version: Ethernet's least; Ethernet, IPv6 and UDP headers with FCS
ETHERNET_BYTES = 18  # addresses, type and FCS
TAG_BYTES = 4  # a VLAN tag
IMIX_WEIGHTS = (7, 4, 1)
IMIX_LARGER_BYTES = (570, 1518)

Sizes = tuple[tuple[int, int], ...]  # bytes with FCS and weights

FrameMaker = Callable[[Target, Lab], PauseFrame]


def pfc(named: Sequence[int] | None = None, **fields: Any) -> FrameMaker:
    """PFC of the longest time for some priorities (None: for the target), with other values in some fields."""
    return lambda target, lab: replace(pfc_frame(target if named is None else named, MAX_QUANTA), **fields)


all_times = pfc(PRIORITIES, enabled=())
"""Times for all eight priorities, and no enable bit: no time is valid."""


def other_destination(target: Target, lab: Lab) -> PauseFrame:
    """PFC for the target, to the host behind the tx port: it must neither be obeyed nor forwarded there."""
    return replace(pfc_frame(target, MAX_QUANTA), destination=lab.builder.mac(lab.subject.pair.tx.port))


def valid(frame: FrameMaker, targets: Targets) -> Procedure[Measurement]:
    """A storm of valid pause frames, judged as PFC-1."""

    def scenario(lab: Lab, target: Target) -> Scenario:
        return replace(pause_lossless(target, lab.subject.qos), frame=frame(target, lab))

    return storm_case(scenario, targets)


def invalid(frame: FrameMaker, called: str, targets: Targets) -> Procedure[Measurement]:
    """A storm of frames that pause nobody, judged as PFC-4; `called` so in messages."""

    def scenario(lab: Lab, target: Target) -> Scenario:
        paused = pause_lossless(target, lab.subject.qos)
        return replace(paused, storm=Storm.INVALID, frame=frame(target, lab), called=called)

    return storm_case(scenario, targets)


def smallest(lab: Lab) -> Sizes:
    """The smallest frames that carry UDP."""
    return ((SMALLEST_BYTES[lab.subject.ip_version], 1),)


def largest(lab: Lab) -> Sizes:
    """The largest frames that both ports carry.

    `mtu` in CONFIG_DB's PORT table counts what an Ethernet frame carries; SONiC's `portsorch` gives the port 22 bytes
    more, for addresses, type, FCS and one VLAN tag, which an untagged frame may use. A packet that is routed must not
    exceed `mtu` itself.

    Raises:
        QualificationError: a port has no such number.
    """
    ports = (lab.subject.pair.rx.port, lab.subject.pair.tx.port)
    printed = lab.dut.ask({port: f"sonic-db-cli CONFIG_DB HGET 'PORT|{port}' mtu" for port in ports})
    mtu = min(_mtu(lab, port, printed[port].strip()) for port in ports)
    return ((mtu + ETHERNET_BYTES + (0 if is_routed(lab) else TAG_BYTES), 1),)


def is_routed(lab: Lab) -> bool:
    """Whether data of the pair goes from one segment to another, through the switch's router."""
    hosts = lab.builder.hosts
    return hosts[lab.subject.pair.tx].segment != hosts[lab.subject.pair.rx].segment


def imix(lab: Lab) -> Sizes:
    """The usual mix of Internet traffic, its smallest frames as small as they can be."""
    sizes = (SMALLEST_BYTES[lab.subject.ip_version], *IMIX_LARGER_BYTES)
    return tuple(zip(sizes, IMIX_WEIGHTS, strict=True))


def _mtu(lab: Lab, port: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise QualificationError(
            f"{lab.subject.where(port=port)}: CONFIG_DB has {f'mtu {text!r}' if text else 'no mtu'} in PORT|{port}:"
            " expected a number of bytes, from which the largest frame follows"
        )
    return int(text)


def sized(sizes: Callable[[Lab], Sizes]) -> Procedure[Measurement]:
    """PFC-1's steps and checks for all lossless priorities together, with data frames of these sizes."""

    def scenario(lab: Lab, target: Target) -> Scenario:
        paused = pause_lossless(target, lab.subject.qos)
        found = sizes(lab)
        return replace(paused, mix=found) if len(found) > 1 else replace(paused, frame_bytes=found[0][0])

    return storm_case(scenario, all_lossless)


FRAMES: Table = {
    ZERO_SOURCE_SINGLE: valid(pfc(source=NO_SOURCE), first_lossless),
    ZERO_SOURCE_SEVERAL: valid(pfc(source=NO_SOURCE), several_lossless),
    ALL_ENABLED: valid(pfc(PRIORITIES), all_lossless),  # whether or not data reaches them
    NONE_ENABLED_SINGLE: invalid(pfc(enabled=()), "PFC frames with a time and no enable bit", first_lossless),
    NONE_ENABLED_SEVERAL: invalid(all_times, "PFC frames with eight times and no enable bit", all_lossless),
    RESERVED_ENABLED: invalid(
        pfc(PRIORITIES, enabled=RESERVED_BITS),
        "PFC frames with reserved enable bits only",
        all_lossless,
    ),
    UNKNOWN_OPERATION: invalid(
        pfc(operation_code=UNKNOWN_OPERATION_CODE),
        f"MAC control frames of operation code 0x{UNKNOWN_OPERATION_CODE:04x}",
        all_lossless,
    ),
    OTHER_DESTINATION: invalid(other_destination, "PFC frames to another destination", all_lossless),
    OTHER_TYPE: invalid(
        pfc(ether_type=OTHER_ETHER_TYPE),
        f"frames of ether type 0x{OTHER_ETHER_TYPE:04x} that are PFC otherwise",
        all_lossless,
    ),
    NEIGHBOUR: invalid(pfc(destination=NEIGHBOUR_ADDRESS), f"PFC frames to {NEIGHBOUR_ADDRESS}", all_lossless),
}
SIZES: Table = {
    SMALLEST: sized(smallest),
    MEDIUM: sized(lambda lab: ((512, 1),)),
    ETHERNET: sized(lambda lab: ((1518, 1),)),
    LARGEST: sized(largest),
    MIXED: sized(imix),
}
CASES: Table = {**FRAMES, **SIZES}
