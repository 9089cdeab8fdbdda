"""AFTER: one test case of each kind once more, after all others. Its page is docs/testplan/after-all-others.md."""

import pytest

from tests.common.pfc.cases.afterwards import CASES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(*CASES)
def test_after_all_others(pfc_qualify, plan_case, pfc_target):
    """Nothing that the session did to the switch has left anything behind: pauses hold, hold no others, last and act as
    before; congestion is told to senders as before, with as much headroom; the watchdog acts.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
