"""Where a switch's configuration may be changed: on a virtual testbed, and on hardware by option."""

import pytest

from tests.common.pfc.cases.plan import lack_of, targets
from tests.common.pfc.cases.reconfigured import CASES as CHANGING
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import plan_device
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def lab(**entry):
    """A testbed of the fake switch."""
    testbed = {"conf-name": "lab", "duts": [DEVICE], **entry}
    return LabFacts(testbed, lambda name: Dut(FakeHost(FakeWorld())).state(), TESTER_PORTS, {})


@pytest.mark.parametrize(
    ("entry", "option", "may"), [({}, False, False), ({}, True, True), ({"virtual": True}, False, True)]
)
def test_cases_that_change_the_configuration(entry, option, may):
    """Where they may not, they have no target, and a note says what it takes."""
    subject = plan_device(lab(**entry), DEVICE, PortRequest(change_config=option)).subject
    assert subject.changeable is may, subject
    for case in CHANGING:
        assert bool(targets(case, subject)) is may, case
    reasons = [lack for case in CHANGING if (lack := lack_of(case, subject)) is not None]
    assert bool(reasons) is not may and all("--pfc-change-config on hardware" in one for one in reasons), reasons


def test_the_sets_of_sonic_s_default_maps():
    """Lossless are 3 and 4; 7 is reached by no DSCP value before it is configured."""
    subject = plan_device(lab(virtual=True), DEVICE, PortRequest()).subject
    found = {case.plan_id: targets(case, subject) for case in CHANGING}
    assert found == {
        "LSET-1": [(2,)], "LSET-2": [(0, 1, 2)], "LSET-3": [(0, 1, 2, 3, 4, 5, 6)], "LSET-4": [()], "LSET-5": [()],
        "LSET-6": [(0, 1, 3, 4, 5, 6, 7)],
        **dict.fromkeys(("LSET-7", "LSET-8", "LSET-9", "LSET-10", "LSET-11"), [(0, 1, 2, 3, 4, 5, 6)]),
        "TAG-1": [(3, 4)], "TAG-2": [(3, 4)], "TAG-3": [(3, 4)],
    }, found
