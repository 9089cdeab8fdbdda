"""FLAP: the link of the port under test goes down and comes up again. Its page is docs/testplan/flap-link.md."""

import pytest

from tests.common.pfc.cases.flap import CASES
from tests.common.pfc.cases.restarted_port import SHARED_AFTERWARDS

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*CASES)
def test_link_flap(pfc_qualify, plan_case, pfc_target):
    """A flap leaves nothing behind: no pause, no drop counted late, no storm; and pauses hold as before it.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)


@pytest.mark.pfc_cases(SHARED_AFTERWARDS)
def test_congestion_after_a_shutdown(pfc_qualify, plan_case, pfc_target):
    """A port that was shut down and started shares its line by the queues' weights (plan id FLAP-5).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch, and the whole port, `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)
