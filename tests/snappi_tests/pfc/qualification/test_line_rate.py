"""A full line without a storm (plan ids LOAD-1 to LOAD-4). docs/testplan/load-full-line.md: what is sent and judged."""

import pytest

from tests.common.pfc.cases.loads import LOADS

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*LOADS)
def test_full_line(pfc_qualify, plan_case, pfc_target):
    """A full line loses nothing, comes through at its rate, and makes the switch pause nobody.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch, and the whole port or a priority, `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)
