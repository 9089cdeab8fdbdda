"""Senders that go on after a pause (plan ids HEAD-1 to HEAD-4). docs/testplan/head-response.md says what is sent and
judged."""

import pytest

from tests.common.pfc.cases.headroom import CASES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(*CASES)
def test_headroom(pfc_qualify, plan_case, pfc_target):
    """Nothing is lost for as long as headroom is for, and headroom is as large as its profile says.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
