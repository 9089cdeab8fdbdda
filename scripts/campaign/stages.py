"""Which test cases an entry is judged by where it names none: stages that do not depend on what is broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scripts.campaign.entries import CampaignEntry
from scripts.qualifying.options import QUICK
from scripts.testbeds import Refusal
from tests.common.pfc.cases.plan import lack_of, port_cases, targets
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.record.case import PlanCase, Target

LONG = ("HOP", "LSET", "SIZE", "PAIRS", "SOAK", "AFTER")
"""Families that take minutes each, and what is repeated after all others; they come last."""
QUICK_STAGES = len(QUICK)
"""So many stages, the first ones, are those of `pfc-qualify --quick`."""
Stage = list[tuple[PlanCase, Target]]


def stages(entry: CampaignEntry, subject: PortUnderTest) -> Iterator[Stage]:
    """What is carried out, one stage after the other until one has something that is not PASS: the cases that the entry
    names; where it names none each family is a stage: PFC, what else `pfc-qualify --quick` has, the rest of the
    plan.

    Raises:
        Refusal: a case that the entry names cannot be carried out on the port.
    """
    if entry.cases:
        yield [(case, _target(case, entry, subject)) for case in named(entry.cases)]
        return
    for family in _families():
        cases = [case for case in port_cases() if case.family == family]
        yield [(case, target) for case in cases for target in targets(case, subject)]


def named(plan_ids: Iterable[str]) -> list[PlanCase]:
    """Test cases by their plan ids."""
    known = {case.plan_id: case for case in port_cases()}
    return [known[plan_id] for plan_id in plan_ids]


def _families() -> list[str]:
    """All of the plan in the order in which they are carried out."""
    others = dict.fromkeys(case.family for case in port_cases() if case.family not in (*QUICK, *LONG))
    return [*QUICK, *others, *LONG]


def _target(case: PlanCase, entry: CampaignEntry, subject: PortUnderTest) -> Target:
    """The first target, or the one of the declared priority alone; raises Refusal where there is none."""
    found = targets(case, subject)
    if not found:
        raise Refusal(f"{entry.key} names {case.plan_id}, which {subject.where()} lacks: {lack_of(case, subject)}")
    declared = tuple(entry.declared.priorities) if entry.declared is not None else ()
    return declared if declared in found else found[0]
