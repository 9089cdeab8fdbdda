"""Ports whose pauses come from a host are not swept."""

from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.sweep.plan import plan_sweep
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld
from tests.common.unit_tests.pfc.unit_test_pause_entry import SAID, entry
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def test_no_port_is_swept():
    """Storms on all of them are the traffic generator's."""
    facts = LabFacts(entry(SAID), lambda name: Dut(FakeHost(FakeWorld())).state(), TESTER_PORTS, {})
    found = plan_sweep(facts, DEVICE, PortRequest())
    assert not found.plans and set(found.refused) == {port.port for port in TESTER_PORTS}, found
    assert found.refused["Ethernet0"] == (
        f"{DEVICE} Ethernet0: a sweep needs a traffic generator as the source of pauses on every port, and the"
        " testbed's pfc_pause_source names fanout-01"), found.refused
