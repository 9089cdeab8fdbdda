"""TIME: how long pauses last, one by one and as storms on running traffic. Its page is docs/testplan/time-pauses.md."""

import pytest

from tests.common.pfc.cases import timing, timing_storms

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*timing.CASES, *timing_storms.CASES)
def test_pause_timing(pfc_qualify, plan_case, pfc_target):
    """Each pause takes from the line what its quanta say, and nothing is lost for it.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3`.
    """
    pfc_qualify(plan_case, pfc_target)
