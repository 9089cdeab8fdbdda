"""How much of the runs a page holds, so that its size and the time to make and open it are bounded.

Statuses, and all about records that are not PASS but the evidence, are always there. Evidence and the checks of PASS
records are there as long as they fit; the page says what is not, and which query finds it.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select

from tests.common.pfc.record.records import VERDICT
from tests.common.pfc.record.verdict import Status

from .. import schema
from ..json_text import JsonAsText

MOST_EVIDENCE = 32_000_000
"""Characters of JSON; what the suite writes is packed to a tenth or less of that."""
MOST_CHECKS = 1_000_000
"""Checks that are PASS: nearly all that PASS records have, and sooner counted than theirs. As many take some 15 MB of
the page, and some 25 s of making it."""


@dataclass
class PageBudget:
    """What of the runs is in the page; `evidence`: that of all records which are not PASS; `room`: characters left."""

    pass_records: int
    pass_checks: bool
    pass_evidence: bool
    evidence: bool
    room: int

    def takes(self, evidence: str) -> bool:
        """Whether the evidence (JSON text) of one more record fits; it counts from now on."""
        fits = len(evidence) <= self.room
        self.room -= len(evidence) if fits else 0
        return fits


def page_budget_of(connection: Connection, run_ids: Sequence[str]) -> PageBudget:
    """Decide it for these runs: one pass over the sizes of what they hold."""
    table = schema.records.c
    checks = schema.checks.c
    is_pass = case((table.status == Status.PASS.value, 1), else_=0)
    found = connection.execute(
        select(is_pass, func.count(), func.sum(func.length(JsonAsText(table.evidence))))
        .where(table.run_id.in_(run_ids), table.kind == VERDICT).group_by(is_pass)).all()
    sizes = {bool(row[0]): (row[1], row[2]) for row in found}
    passed = connection.scalar(select(func.count()).where(checks.run_id.in_(run_ids),
                                                          checks.status == Status.PASS.value)) or 0
    return PageBudget(pass_records=sizes.get(True, (0, 0))[0], pass_checks=passed <= MOST_CHECKS,
                      pass_evidence=sum(size for _, size in sizes.values()) <= MOST_EVIDENCE,
                      evidence=sizes.get(False, (0, 0))[1] <= MOST_EVIDENCE, room=MOST_EVIDENCE)
