"""A pause storm of many minutes (SOAK-1), where --pfc-soak asks for it. docs/testplan/ has a page for it."""

import pytest

from tests.common.pfc.soak.cases import LONG_STORM

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(LONG_STORM)
def test_soak(pfc_qualify, plan_case, pfc_target):
    """Queues that are held stay shut all the time, nothing leaks and nothing is lost.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
