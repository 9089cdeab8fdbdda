"""Received pause frames of other kinds: unusual ones that must hold, and those that must change nothing."""

import pytest

from tests.common.pfc.cases.frames import FRAMES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_cases(*FRAMES)
def test_received_frames(pfc_qualify, plan_case, pfc_target):
    """A storm of frames of one kind holds what it names if they are PFC, and nothing if they are not (plan ids
    FRAME-1 to FRAME-10).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(plan_case, pfc_target)
