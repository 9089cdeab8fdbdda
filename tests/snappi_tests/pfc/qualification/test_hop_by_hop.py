"""Back-pressure over several switches. docs/testplan/ has a page for it."""

import pytest

from tests.common.pfc.switch_chain.cases import HOP_BY_HOP

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(HOP_BY_HOP)
def test_pause_hop_by_hop(pfc_qualify, plan_case, pfc_target):
    """A storm at one end of a row of switches stops the sender at the other, and nothing is lost on the way.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-chain-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
