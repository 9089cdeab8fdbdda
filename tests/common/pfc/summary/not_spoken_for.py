"""What the verdicts of a run do not speak for: test cases and lossless priorities that were not selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..cases.pauses import SINGLE_LOSSLESS
from ..cases.plan import port_cases, sweep_cases
from ..lab.port_plan import PortPlan
from ..record.case import PlanCase, PlannedItem
from .not_carried_out import impossible, summary


@dataclass(frozen=True)
class Unspoken:
    """What is said of it.

    Attributes:
        info: for the report of the run: also what is said of the data, and of the port's configuration.
        notes: for the user.
    """

    info: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def not_spoken_for(planned: Sequence[PlannedItem], chosen: Sequence[PlanCase], plan: PortPlan | None) -> Unspoken:
    """What a run says when it begins.

    Args:
        planned: its items.
        chosen: the test cases that the user chose.
        plan: of the port under test; None: it is not known, or there is not one alone.
    """
    said = Unspoken()
    if plan is not None:
        said.info["ip_version"] = str(plan.subject.ip_version)
        said.info.update({"on_behalf_of": plan.on_behalf_of} if plan.on_behalf_of else {})
        said.info.update({"remarks": "; ".join(plan.remarks)} if plan.remarks else {})
    cases = [case for case in port_cases() if case not in {one.case for one in planned}]
    if cases and not all(one.case in sweep_cases() for one in planned):
        said.info["plan_ids_not_selected"] = ", ".join(case.plan_id for case in cases)
        said.notes.extend(_without_a_verdict(cases, chosen, plan))
    priorities = _priorities_left_out(planned, plan)
    if plan is not None and priorities:
        where = f"{plan.subject.qos.device} {plan.subject.qos.port} priority {priorities}"
        said.info["lossless_priorities_not_selected"] = priorities
        said.notes.append(f"the verdicts do not speak for {where}: lossless, but not selected")
    return said


def _without_a_verdict(cases: Sequence[PlanCase], chosen: Sequence[PlanCase], plan: PortPlan | None) -> list[str]:
    """Why there is no verdict of these test cases."""
    if plan is None:
        return [f"the verdicts do not speak for {summary(cases)}: not selected"]
    reasons = impossible([case for case in cases if case in chosen], plan.subject)
    left = [case for case in cases if case not in chosen or not impossible([case], plan.subject)]
    return ([f"the verdicts do not speak for {summary(left)}: not selected"] if left else []) + reasons


def _priorities_left_out(planned: Sequence[PlannedItem], plan: PortPlan | None) -> str:
    """Lossless priorities that the first test case, where it was selected, should have been carried out for."""
    alone = {one.target for one in planned if one.case is SINGLE_LOSSLESS}
    if plan is None or not alone:
        return ""
    return ", ".join(str(priority) for priority in plan.subject.qos.lossless if (priority,) not in alone)
