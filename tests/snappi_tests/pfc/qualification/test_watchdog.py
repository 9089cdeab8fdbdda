"""The PFC watchdog (plan ids WD-1 to WD-20). docs/testplan/wd-watchdog.md says what is sent and judged."""

import pytest

from tests.common.pfc.cases.watchdog_cases import CASES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(*CASES)
def test_watchdog(pfc_qualify, plan_case, pfc_target):
    """The watchdog acts on storms, on nothing else, in time, and counts what it does.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
