"""A faster port sends into a slower one (plan ids SPEED-1 to SPEED-4). docs/testplan/speed-mixed.md says what is sent
and judged."""

import pytest

from tests.common.pfc.cases.loads import MIXED_SPEED

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*MIXED_SPEED)
def test_mixed_speed(pfc_qualify, plan_case, pfc_target):
    """The faster sender is held back for what is lossless; what is lossy is lost where it is too much.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch, and the whole port, `vtb-mixed-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)
