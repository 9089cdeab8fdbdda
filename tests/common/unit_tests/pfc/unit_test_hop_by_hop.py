"""Several switches in a row, by the readings of their counters."""

from tests.common.pfc.cases.engine import settled_counters
from tests.common.pfc.cases.pauses import pause_lossless
from tests.common.pfc.cases.storm_sequence import measure
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.switch_chain.cases import hop_checks
from tests.common.pfc.switch_chain.chain import Hop
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def test_hardware_has_a_reading_more():
    """There the counters are read once held frames have drained, too."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    run = measure(lab, pause_lossless((3,), lab.subject.qos), settled_counters(lab))
    onward = "vtb-t0-02"
    counted = [{DEVICE: one, onward: one} for one in (run.before, run.during, run.during, run.after)]
    checks = list(hop_checks([Hop(DEVICE, "Ethernet0", "Ethernet64"), Hop(onward, "Ethernet0", "")], counted, run))
    assert "hop-back-pressure" in {one.name for one in checks if one.status is Status.PASS}, checks
