"""What it takes to carry out a test case: each family's table (`CASES`) has a procedure for each of its cases, and
`plan` finds the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase, Target
from ..record.verdict import Check


@dataclass(frozen=True)
class Finding:
    """What came of carrying out a test case.

    Attributes:
        checks: what was judged.
        invalid: reasons why it was no measurement, best first (status ERROR); then nothing was judged.
        evidence: the numbers behind it, for the record.
        after: the switch's last counters, if everything of this run is in them; None: the next run has to wait and
            read anew.
    """

    checks: Sequence[Check]
    invalid: Sequence[Check]
    evidence: Mapping[str, Any]
    after: DutCounters | None = None


@dataclass(frozen=True)
class Procedure:
    """How a test case is carried out.

    Attributes:
        carry_out: given what to measure with, the case, its target, and counters that have everything in them that came
            before (None: it waits and reads them itself). Raises QualificationError where a step cannot be done; it
            leaves no traffic running and nothing changed on the switch, however it ends.
        targets: what the case is about on a port: once for each target. None: it cannot be carried out there.
        needs: what a port has to have for that, for a note: "several lossless priorities".
    """

    carry_out: Callable[[Lab, PlanCase, Target, DutCounters | None], Finding]
    targets: Callable[[PortUnderTest], list[Target]]
    needs: str = ""


def each_lossless(subject: PortUnderTest) -> list[Target]:
    """Every lossless priority by itself; one that no DSCP value reaches is refused when it is carried out."""
    return [(priority,) for priority in subject.qos.lossless]


def first_lossless(subject: PortUnderTest) -> list[Target]:
    """The first lossless priority by itself: for what is asked of all of them together in another case."""
    return [subject.qos.lossless[:1]]


def all_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, one or more."""
    return [subject.qos.lossless]


def several_lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities together, where there are several."""
    return [subject.qos.lossless] if len(subject.qos.lossless) > 1 else []


def all_lossy(subject: PortUnderTest) -> list[Target]:
    """All lossy priorities that some DSCP value reaches together; perhaps none of them."""
    return [tuple(priority for priority in subject.qos.reachable if priority not in subject.qos.lossless)]


def whole_port(subject: PortUnderTest) -> list[Target]:
    """The whole port."""
    return [()]
