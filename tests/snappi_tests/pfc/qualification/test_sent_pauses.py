"""SENT: the pause frames that a congested switch sends, captured and read field by field. Its page is
docs/testplan/sent-pause-frames.md."""

import pytest

from tests.common.pfc.cases.sent_pauses import CASES

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(*CASES)
def test_sent_pause_frames(pfc_qualify, plan_case, pfc_target):
    """Every pause frame that holds the sender of congested priorities is right in every field, and in time.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3`.
    """
    pfc_qualify(plan_case, pfc_target)
