"""Other lossless sets than the switch's own: one priority to all eight, configured for the time of a test and put
back."""

import pytest

from tests.common.pfc.cases.reconfigured import (
    EACH, EIGHT, ONE, PUT_BACK, SEVEN, SEVEN_COVERED, SEVEN_SENT, SEVEN_STOPPED, SEVEN_TIMED, SEVEN_WATCHED,
    THREE,
)

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_cases(ONE, THREE, SEVEN)
def test_pauses_of_another_lossless_set(pfc_qualify, plan_case, pfc_target):
    """What is lossless then is held and nothing else is, whatever was lossless before (plan ids LSET-1 to LSET-3).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and the lossless set, `vtb-t0-01|0,1,2`.
    """
    pfc_qualify(plan_case, pfc_target)


@pytest.mark.pfc_cases(EIGHT)
def test_global_pause_with_all_priorities_lossless(pfc_qualify, plan_case, pfc_target):
    """A storm of 802.3x pause frames disturbs nothing where PFC is enabled for all eight priorities (plan id LSET-4).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch, and the whole port, `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)


@pytest.mark.pfc_cases(EACH)
def test_pauses_of_each_priority_alone(pfc_qualify, plan_case, pfc_target):
    """Each priority is held, and nothing else is, while it is the only lossless one (plan id LSET-6).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and the priorities that are lossless one after the other, `vtb-t0-01|0,1,3,4,5,6,7`.
    """
    pfc_qualify(plan_case, pfc_target)


@pytest.mark.pfc_cases(PUT_BACK)
def test_the_switch_s_own_lossless_set_again(pfc_qualify, plan_case, pfc_target):
    """After another set was configured and put back, the switch's own priorities are lossless and no others (plan id
    LSET-5).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch, and the whole port, `vtb-t0-01|all`.
    """
    pfc_qualify(plan_case, pfc_target)


@pytest.mark.pfc_cases(SEVEN_COVERED, SEVEN_SENT, SEVEN_STOPPED, SEVEN_TIMED, SEVEN_WATCHED)
def test_seven_lossless_priorities(pfc_qualify, plan_case, pfc_target):
    """Of seven lossless priorities each has what it has of two: headroom, pause frames that the switch sends, a pause
    that acts in time, and lasts for its own time, and a watchdog (plan ids LSET-7 to LSET-11).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        plan_case: the test case.
        pfc_target: switch and the lossless set, `vtb-t0-01|0,1,2,3,4,5,6`.
    """
    pfc_qualify(plan_case, pfc_target)
