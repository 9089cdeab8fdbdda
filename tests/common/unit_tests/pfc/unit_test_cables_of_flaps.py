"""Links that a case takes down are not the cable's fault."""

from tests.common.pfc.cases.flap import CASES as FLAP_CASES
from tests.common.pfc.cases.plan import procedures


def test_links_that_a_case_takes_down_are_not_the_cables_fault():
    """FLAP does that; no auditor looks on there."""
    assert FLAP_CASES and not any(one.is_audited for one in FLAP_CASES.values()), FLAP_CASES
    audited = next(one for case, one in procedures().items() if case.plan_id == "PFC-1")
    assert audited.is_audited, "all others are"
