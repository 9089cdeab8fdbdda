"""Test case 1 of the test plan: a switch port obeys PFC for one lossless priority and for nothing else."""

import pytest

from tests.common.pfc.scenario import SINGLE_LOSSLESS

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_case(SINGLE_LOSSLESS)
def test_pause_single_lossless_priority(pfc_qualify, enum_one_dut_lossless_prio):
    """A storm on one lossless priority holds that priority, spares every other, and lets go when it stops (plan id
    PFC-1).

    Args:
        pfc_qualify: carries out a test case on the port under test.
        enum_one_dut_lossless_prio: switch and priority, `vtb-t0-01|3`.
    """
    pfc_qualify(SINGLE_LOSSLESS, enum_one_dut_lossless_prio)
