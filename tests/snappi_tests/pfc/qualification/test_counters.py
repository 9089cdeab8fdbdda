"""The switch's data counters while pauses come in."""

import pytest

from tests.common.pfc.cases.counting import CASES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*CASES)
def test_counters(pfc_qualify, plan_case, pfc_target):
    """Pauses count neither as data nor as drops, and what the switch counts is what the generators sent and received
    (plan ids COUNT-1 to COUNT-3).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
