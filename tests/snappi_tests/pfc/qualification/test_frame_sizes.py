"""Frames of other sizes, in pauses and without."""

import pytest

from tests.common.pfc.cases.every_size import CASES as EVERY_SIZE
from tests.common.pfc.cases.frames import SIZES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*SIZES)
def test_frame_sizes(pfc_qualify, plan_case, pfc_target):
    """A storm on all lossless priorities holds frames of every size and lets go when it stops (plan ids SIZE-1 to
    SIZE-5).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)


@pytest.mark.pfc_cases(*EVERY_SIZE)
def test_every_frame_size(pfc_qualify, plan_case, pfc_target):
    """Frames of every size arrive, and nobody is held, where nothing is congested (plan id SIZE-6).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and whole port, `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)
