"""What has to hold before a storm on held senders is judged: storm, load, headroom that leaves senders some time."""


import pytest

from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.ingress import IngressLoad
from tests.common.pfc.cases.hold_in_storm import HeldRun, Hold, storm_ran_and_load_applied
from tests.common.pfc.cases.switch_counters import delay_s, queues_used
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

STORM = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))


def held_run(sent, stops=True):
    """A storm of 2 s on priority 3; priority 0 sent so many frames of the 1,197,318 due in a second at 10 %."""
    host = FakeHost(FakeWorld())
    subject, read = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None).subject, Dut(host).counters()
    tx = subject.pair.tx
    data = [FlowPlan(f"data {n}", Role.TEST, n, 1024, 10.0, seconds=1, enters=tx.port) for n in (0, 3)]
    over = [FlowStats(data[0], False, sent, sent), FlowStats(data[1], False, 1, 1)]
    late = {flow.plan.name: flow for flow in (*over, FlowStats(STORM, not stops, 5960 * 2, 0))}
    in_storm = {**late, "storm": FlowStats(STORM, True, 5960 * 2, 0)}
    hold = Hold((3,), (IngressLoad(tx, (0, 3), 20, 1.0),), 1.0)
    return HeldRun(subject, read, read, read, hold.paused, {"paused": in_storm, "drained": late}, hold)


@pytest.mark.parametrize(("sent", "stops", "lacking"), [
    (1_197_318, True, []), (1, True, ["load-applied"]), (1_197_318, False, ["storm-stopped"]),
])
def test_a_storm_that_goes_on_and_a_load_that_nobody_held_are_no_measurement(sent, stops, lacking):
    """A single frame of background would arrive whole whatever the switch does."""
    assert [check.name for check in unmet(storm_ran_and_load_applied(held_run(sent, stops)))] == lacking, (sent, stops)


def test_watermarks_of_queues_need_not_be_there():
    """Neither polled, nor printed."""
    polled = {"FLEX_COUNTER_TABLE": {"QUEUE_WATERMARK": {"FLEX_COUNTER_STATUS": "enable"}}}
    delays = [delay_s(config_db, "dut", "QUEUE_WATERMARK") for config_db in ({}, polled)]
    assert delays == [None, 65], delays
    text = "Egress shared pool occupancy per unicast queue:\n     Port    UC3    UC4\n---------  -----  -----\n"
    text += "Ethernet0     12    N/A\n"
    found = [queues_used(one, port) for one, port in ((text, "Ethernet0"), (text, "Ethernet4"), ("", "Ethernet0"))]
    assert found == [{3: 12}, {}, {}], found
