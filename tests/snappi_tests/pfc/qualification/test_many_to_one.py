"""Two ports send into one (plan ids M2O-1 to M2O-7). docs/testplan/m2o-many-to-one.md says what is sent and judged."""

import pytest

from tests.common.pfc.cases import reweighted
from tests.common.pfc.cases.loads import MANY_TO_ONE

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(*MANY_TO_ONE, *reweighted.CASES)
def test_many_to_one(pfc_qualify, plan_case, pfc_target):
    """What is lossless and too much is held back, what is lossy and too much is dropped, and nothing else is either.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch, and the whole port, or the priority that is paused, `vtb-t0-01|all`, `vtb-t0-01|3`.
    """
    pfc_qualify(plan_case, pfc_target)
