"""Pauses whose parameters are varied together. docs/testplan/ has a page for them."""

import pytest

from tests.common.pfc.pairs.cases import CASES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*CASES)
def test_pairs_of_parameters(pfc_qualify, plan_case, pfc_target):
    """A storm holds what it pauses and nothing else, whatever two of its parameters are (plan ids PAIRS-1, PAIRS-2).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3`.
    """
    pfc_qualify(plan_case, pfc_target)
