"""SIZE: PFC-1's steps with frames of other sizes. A pause stops a queue whatever is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..record.case import PlanCase, Target
from .engine import Finding, Procedure, all_lossless
from .pauses import find, pause_lossless

SMALLEST = PlanCase("smallest-frames", "SIZE-1")
MEDIUM = PlanCase("frames-of-512-bytes", "SIZE-2")
ETHERNET = PlanCase("frames-of-1518-bytes", "SIZE-3")
LARGEST = PlanCase("largest-frames", "SIZE-4")
MIXED = PlanCase("imix", "SIZE-5")

SMALLEST_BYTES = {4: 64, 6: 66}  # by IP version: Ethernet's least; Ethernet, IPv6 and UDP headers with FCS
ETHERNET_BYTES, TAG_BYTES = 18, 4  # addresses, type and FCS; a VLAN tag
IMIX_WEIGHTS = (7, 4, 1)
IMIX_LARGER_BYTES = (570, 1518)

Sizes = tuple[tuple[int, int], ...]  # bytes with FCS and weights


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
    return ((mtu + ETHERNET_BYTES + (0 if lab.builder.routes else TAG_BYTES), 1),)


def imix(lab: Lab) -> Sizes:
    """The usual mix of Internet traffic, its smallest frames as small as they can be."""
    sizes = (SMALLEST_BYTES[lab.subject.ip_version], *IMIX_LARGER_BYTES)
    return tuple(zip(sizes, IMIX_WEIGHTS, strict=True))


SIZES: Mapping[PlanCase, Callable[[Lab], Sizes]] = {
    SMALLEST: smallest,
    MEDIUM: lambda lab: ((512, 1),),
    ETHERNET: lambda lab: ((1518, 1),),
    LARGEST: largest,
    MIXED: imix,
}


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """PFC-1's steps and checks for all lossless priorities together, with frames of these sizes."""
    sizes = SIZES[case](lab)
    scenario = pause_lossless(case, target, lab.subject.qos)
    scenario = replace(scenario, mix=sizes) if len(sizes) > 1 else replace(scenario, frame_bytes=sizes[0][0])
    return find(lab, scenario, before)


CASES: Mapping[PlanCase, Procedure] = {case: Procedure(carry_out, all_lossless) for case in SIZES}


def _mtu(lab: Lab, port: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise QualificationError(
            f"{lab.subject.where(port=port)}: CONFIG_DB has {f'mtu {text!r}' if text else 'no mtu'} in PORT|{port}:"
            " expected a number of bytes, from which the largest frame follows"
        )
    return int(text)
