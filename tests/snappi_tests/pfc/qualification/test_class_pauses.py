"""CLASS: pauses of several lossless priorities that must not touch one another. Its page is
docs/testplan/class-interplay.md."""

import pytest

from tests.common.pfc.cases import class_pauses

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*class_pauses.CASES)
def test_class_pauses(pfc_qualify, plan_case, pfc_target):
    """Each priority is held for its own time, whatever the pauses of the others say.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
