"""Which test cases cannot be carried out on a port, and why: notes for the user."""

from __future__ import annotations

from collections.abc import Iterable

from ..cases.plan import lack_of, port_cases
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase


def impossible(cases: Iterable[PlanCase], subject: PortUnderTest) -> list[str]:
    """Why some of these cases cannot be carried out on a port: a sentence for each reason."""
    without: dict[str, list[PlanCase]] = {}
    for case in cases:
        needs = lack_of(case, subject)
        if needs is not None:
            without.setdefault(needs, []).append(case)
    return [
        f"{subject.where()}: not carried out, for lack of {needs}: {summary(left_out)}"
        for needs, left_out in without.items()
    ]


def summary(cases: Iterable[PlanCase]) -> str:
    """Test cases for a note: whole families by name, others by plan id."""
    left = list(cases)
    parts = []
    for family in dict.fromkeys(case.family for case in left):
        own = [case for case in left if case.family == family]
        whole = len(own) > 1 and len(own) == sum(case.family == family for case in port_cases())
        parts += [f"{family} (all {len(own)})"] if whole else [f"{case.plan_id} ({case.name})" for case in own]
    return ", ".join(parts)
