"""Priority by VLAN tag (IEEE 802.1p) instead of by DSCP, configured for the time of a test and put back."""

import pytest

from tests.common.pfc.cases.reconfigured import TAGGED, TAGGED_AFTERWARDS, TAGGED_STOPPED

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(TAGGED, TAGGED_AFTERWARDS, TAGGED_STOPPED)
def test_pauses_of_tagged_traffic(pfc_qualify, plan_case, pfc_target):
    """On ports that trust the tag, a pause holds the frames whose tag has its priority and no others, whatever DSCP
    they have (plan ids TAG-1 to TAG-3).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and its lossless priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
