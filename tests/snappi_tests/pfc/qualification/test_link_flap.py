"""FLAP: the link of the port under test goes down and comes up again. Its page is docs/testplan/flap-link.md."""

import pytest

from tests.common.pfc.cases import flap, restarted

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(*flap.CASES, *restarted.CASES)
def test_link_flap(pfc_qualify, plan_case, pfc_target):
    """A flap leaves nothing behind: no pause, no drop counted late, no storm; pauses hold as before it, senders are
    held, and queues have the same shares; the watchdog goes on.

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`; of FLAP-5 the whole port, `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)
