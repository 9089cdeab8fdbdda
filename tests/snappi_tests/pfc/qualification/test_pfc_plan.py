"""The test plan's cases: what a switch port does with received pause frames. docs/testplan/ has a page for each."""

import pytest

from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, LOSSY, SEVERAL_LOSSLESS, SINGLE_LOSSLESS

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_case(SINGLE_LOSSLESS)
def test_pause_single_lossless_priority(pfc_qualify, pfc_target):
    """A storm on one lossless priority holds that priority, spares every other, and lets go when it stops (plan id
    PFC-1).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        pfc_target: switch and priority, `vtb-t0-01|3`.
    """
    pfc_qualify(SINGLE_LOSSLESS, pfc_target)


@pytest.mark.pfc_case(SEVERAL_LOSSLESS)
def test_pause_several_lossless_priorities(pfc_qualify, pfc_target):
    """A storm on several lossless priorities holds all of them and nothing else (plan id PFC-2).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        pfc_target: switch and priorities, `vtb-t0-01|3,4`.
    """
    pfc_qualify(SEVERAL_LOSSLESS, pfc_target)


@pytest.mark.pfc_case(LOSSY)
def test_pause_lossy_priorities(pfc_qualify, pfc_target):
    """A storm on lossy priorities is counted and disturbs nothing on a full line (plan id PFC-3).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        pfc_target: switch and priorities, `vtb-t0-01|0,1,2,5,6`.
    """
    pfc_qualify(LOSSY, pfc_target)


@pytest.mark.pfc_case(GLOBAL_PAUSE)
def test_global_pause(pfc_qualify, pfc_target):
    """A storm of 802.3x pause frames disturbs nothing on a full line with all 64 DSCP values (plan id PFC-4).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        pfc_target: switch, and the whole port, `vtb-t0-01|all`.
    """
    pfc_qualify(GLOBAL_PAUSE, pfc_target)
