"""LOAD-1 to LOAD-4: a full line without a storm, from one tx port. Nothing is congested."""

from __future__ import annotations

from collections.abc import Mapping

from ..lab.lab import Lab
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase, Target
from .congestion import Load, make_load, room_s
from .congestion_checks import LoadMaker, carry_out
from .engine import OldProcedure as Procedure
from .targets import whole_port
from .ingress_load import LOSSLESS_REACHED, IngressLoad, each_reached_lossless, lossless_priorities, lossy_priorities
from .frames import imix

MOSTLY_LOSSLESS = PlanCase("load-mostly-lossless", "LOAD-1")
MOSTLY_LOSSY = PlanCase("load-mostly-lossy", "LOAD-2")
ONE_LOSSLESS = PlanCase("load-one-lossless", "LOAD-3")
MIXED_SIZES = PlanCase("load-mixed-sizes", "LOAD-4")


def both_kinds(lossless_percent: int) -> LoadMaker:
    """A full line: so much for all lossless priorities together, the rest for all lossy ones."""
    return lambda lab, target: make_load(lab, _streams(lab, lossless_percent))


def mixed_sizes(lab: Lab, target: Target) -> Load:
    """A full line of small and large frames."""
    return make_load(lab, _streams(lab, 60), imix(lab))


def one_priority(lab: Lab, target: Target) -> Load:
    """A full line of the priority under test alone."""
    return make_load(lab, [IngressLoad(lab.subject.pair.tx, target, 100, room_s(lab))])


def _streams(lab: Lab, lossless_percent: int) -> list[IngressLoad]:
    tx, subject, seconds = lab.subject.pair.tx, lab.subject, room_s(lab)
    return [
        IngressLoad(tx, lossless_priorities(subject), lossless_percent, seconds),
        IngressLoad(tx, lossy_priorities(subject), 100 - lossless_percent, seconds),
    ]


def port_with_both(subject: PortUnderTest) -> list[Target]:
    """The whole port, where DSCP values lead to lossless and to lossy priorities."""
    return whole_port(subject) if lossless_priorities(subject) and lossy_priorities(subject) else []


BOTH = "DSCP values that lead to lossless priorities and ones that lead to lossy priorities"
CASES: Mapping[PlanCase, Procedure] = {
    MOSTLY_LOSSLESS: Procedure(carry_out(both_kinds(88)), port_with_both, BOTH),
    MOSTLY_LOSSY: Procedure(carry_out(both_kinds(40)), port_with_both, BOTH),
    ONE_LOSSLESS: Procedure(carry_out(one_priority), each_reached_lossless, LOSSLESS_REACHED),
    MIXED_SIZES: Procedure(carry_out(mixed_sizes), port_with_both, BOTH),
}
