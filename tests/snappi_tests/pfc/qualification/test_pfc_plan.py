"""PFC: what a storm holds, and what it must not touch. Its pages are docs/testplan/pfc-*.md."""

import pytest

from tests.common.pfc.cases import pauses

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*pauses.CASES)
def test_pfc_plan(pfc_qualify, plan_case, pfc_target):
    """Lossless priorities are held by pauses of their own, for as long as these last; nothing else disturbs anything.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3`; of the whole port `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)
