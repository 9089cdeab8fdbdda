"""What the preflight finds out before any storm: a lab that cannot measure is refused, a switch that loses frames
fails."""

import dataclasses

import pytest

from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import AT_ONCE
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.preflight import check_path, check_ports, clean_flows, preflight
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort, PortState
from tests.common.pfc.model.traffic import FlowStats
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_measurement import SUBJECT, counters

PORTS = [
    ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000),
]
UP = PortState(True, True, 100000)


class InexactClock(FakeClock):
    """As a wall clock."""

    exact = False


def lab_of(world, clock=FakeClock):
    """What the first port is measured with, planned when nothing was wrong yet."""
    plan = plan_port(Dut(FakeHost(FakeWorld())), PORTS, "Ethernet0", None)
    return open_lab(plan, Dut(FakeHost(world)), FakeApi(world), clock(world), timing=AT_ONCE)


def sent_to(world):
    """Names of the flows that were started."""
    return [name for name, flow in world.flows.items() if flow.started is not None]


def refusal(function, *arguments):
    """The sentence with which something is refused."""
    with pytest.raises(QualificationError) as error:
        function(*arguments)
    return str(error.value)


def test_every_priority_that_data_can_reach_is_tried_without_a_storm():
    """Lossy ones too, and all together with a tenth of the line."""
    world = FakeWorld()
    lab = lab_of(world)
    checks, after = preflight(lab)
    assert [(one.name, one.priority, one.status) for one in checks] == [
        ("clean-flow", priority, Status.PASS) for priority in (0, 1, 2, 3, 4, 5, 6)
    ], checks
    load = sum(flow.percent for flow in clean_flows(lab))
    assert 9.999 < load <= 10 and not world.storm_on(), load
    assert after.queues["Ethernet0"][6] == 1100, "the reading has what was sent in it"


@pytest.mark.parametrize(("faults", "said"), [
    (dict(down=("Ethernet64",)), "preflight: vtb-t0-01 Ethernet64: expected the link up, got down"),
    (dict(resolved=False), "after 60 s not every tester host has resolved its gateway's address: not Ethernet of Host"
                           " Ethernet0, Ethernet of Host Ethernet64"),
    (dict(refuses="no license"), "the traffic generator's API server: no license"),
    (dict(idle=(3,)), "preflight: vtb-t0-01 Ethernet0 priority 3: expected 1000 frames sent by the traffic generator at"
                      " 127.1.0.2;1;1, got 0"),
    (dict(dead_path=True), "preflight: vtb-t0-01 Ethernet0: expected the 7000 frames sent into Ethernet64 to arrive at"
                           " 127.1.0.1;1;1 without any storm, got 0: check cabling, addresses and VLAN"),
    (dict(queue_of={5: 1}), "preflight: vtb-t0-01 Ethernet0 priority 5: expected 1000 frames with DSCP [46] to leave"
                            " through queue UC5, got 0"),
])
def test_a_lab_that_cannot_measure_is_refused(faults, said):
    """In a sentence that says where to look."""
    seen = refusal(preflight, lab_of(FakeWorld(**faults)))
    assert seen == said, seen


def test_nothing_is_sent_where_a_link_is_down():
    world = FakeWorld(down=("Ethernet0",))
    refusal(preflight, lab_of(world))
    assert sent_to(world) == [], world.flows


@pytest.mark.parametrize(("lost", "metric"), [({3: 1}, LOSSLESS), ({6: 1000}, LOSSY)])
def test_a_switch_that_loses_frames_of_some_priorities_fails(lost, metric):
    """Others arrive, so the lab is not to blame; the run goes on."""
    checks, _ = preflight(lab_of(FakeWorld(lost=lost)))
    failed = [(one.priority, one.metric_name, one.required) for one in checks if one.status is Status.FAIL]
    assert failed == [(*lost, metric, True)], failed


def test_frames_that_are_lost_again_on_hardware_fail():
    """What was lost first is a remark beside it."""
    checks, _ = preflight(lab_of(FakeWorld(lost={6: 1}), InexactClock))
    failed = [(one.name, one.priority, one.required) for one in checks if one.status is Status.FAIL]
    assert failed == [("clean-flow", 6, True), ("clean-flow-first", 6, False)], failed


@pytest.mark.parametrize("poll_s", [1.0, 10.0, 12.0])
def test_queue_counters_that_are_polled_late_are_waited_for(poll_s):
    """A healthy switch shows them as of its last poll."""
    checks, after = preflight(lab_of(FakeWorld(queue_poll_s=poll_s)))
    assert {one.status for one in checks} == {Status.PASS}, checks
    assert after.queues["Ethernet0"][3] == 1100, after.queues


def test_a_queue_counter_that_was_cleared_is_no_measurement():
    """It is told as one that fell, not as a number below 0."""
    world = FakeWorld()
    lab = lab_of(world)
    start = world.start

    def start_and_clear(name):
        start(name)
        if "Prio 3" in name:
            world.queue_packets[3] = 40

    world.start = start_and_clear
    said = refusal(preflight, lab)
    assert said.endswith("to leave through queue UC3, got a counter, one that fell by 60"), said


@pytest.mark.parametrize(("port", "state", "said"), [
    ("Ethernet1", None, "vtb-t0-01 Ethernet1: expected the link up, got down"),
    ("Ethernet64", PortState(False, True, 100000), "vtb-t0-01 Ethernet64: expected the link up, got down"),
    ("Ethernet64", PortState(True, True, 40000), "vtb-t0-01 Ethernet64: expected 100000 Mb/s, got 40000 Mb/s"),
    ("Ethernet1", PortState(True, True, 0), "vtb-t0-01 Ethernet1: expected 100000 Mb/s, got 0 Mb/s"),
])
def test_both_ports_are_up_at_their_speed(port, state, said):
    """A port that a switch does not show is down, and one that says no speed has another one."""
    interfaces = {name: one for name, one in {"Ethernet1": UP, "Ethernet64": UP, port: state}.items() if one}
    seen = refusal(check_ports, SUBJECT, dataclasses.replace(counters(), interfaces=interfaces))
    assert seen == f"preflight: {said}", seen


@pytest.mark.parametrize("lost", ["pfc_rx", "pfc_tx"])
def test_both_ports_have_counters(lost):
    """Of both directions; N/A is none, and Ethernet10's are not Ethernet1's."""
    reading = dataclasses.replace(counters(), interfaces={"Ethernet1": UP, "Ethernet64": UP})
    check_ports(SUBJECT, reading)
    without = {"Ethernet10" if port == "Ethernet1" else port: row for port, row in reading.pfc_rx.items()}
    said = refusal(check_ports, SUBJECT, dataclasses.replace(reading, **{lost: without}))
    assert said == "preflight: vtb-t0-01 Ethernet1: expected PFC counters, got none", said


@pytest.mark.parametrize(("sent", "received", "said"), [
    ((1000, 1000), (1000, 0), None),
    ((1000, 1000), (1, 0), None),
    ((1000, 1000), (0, 0), "Ethernet0: expected the 2000 frames sent into Ethernet64 to arrive"),
    ((1000, 999), (1000, 999), "Ethernet0 priority 1: expected 1000 frames sent by the traffic generator at"),
    ((1000, 1001), (1000, 1001), "Ethernet0 priority 1: expected 1000 frames sent by the traffic generator at"),
])
def test_a_path_is_there_as_soon_as_one_frame_arrives(sent, received, said):
    """What is lost on it is the switch's; what was not sent is the generator's."""
    lab = lab_of(FakeWorld())
    stats = {plan.name: FlowStats(plan, False, *counts)
             for plan, *counts in zip(clean_flows(lab)[:2], sent, received, strict=True)}
    if said is None:
        check_path(lab.subject, stats)
        return
    seen = refusal(check_path, lab.subject, stats)
    assert seen.startswith(f"preflight: vtb-t0-01 {said}"), seen
