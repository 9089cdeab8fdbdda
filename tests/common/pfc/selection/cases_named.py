"""Test cases as the user names them."""

from __future__ import annotations

from collections.abc import Iterable

from ..cases.plan import port_cases, sweep_cases
from ..model.errors import QualificationError
from ..record.case import PlanCase


def select(names: Iterable[str]) -> tuple[PlanCase, ...]:
    """The cases that have one of these plan ids, names or families (`PFC`), in the plan's order; no name: the whole
    plan of one port.

    Raises:
        QualificationError: a name that no case has; the sentence lists those that there are.
    """
    wanted = [name for name in names if name]
    every = (*port_cases(), *sweep_cases())
    known = {case: {case.plan_id.lower(), case.name.lower(), case.family.lower()} for case in every}
    for name in wanted:
        if not any(name.lower() in called for called in known.values()):
            raise QualificationError(f"scenario '{name}' is not in the plan; it has {plan_ids()}")
    asked = {name.lower() for name in wanted}
    return tuple(case for case, called in known.items() if called & asked) if wanted else port_cases()


def plan_ids() -> str:
    """`PFC-1 to PFC-4, ...`: what there is to select."""
    names = dict.fromkeys(case.family for case in (*port_cases(), *sweep_cases()))
    families = [[case.plan_id for case in (*port_cases(), *sweep_cases()) if case.family == name] for name in names]
    return ", ".join(ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}" for ids in families)
