"""Flows of test cases: each is started once, under a name that every generator takes; counts begin where a push left
them."""

import re
from dataclasses import replace

import pytest

from tests.common.pfc.cases.data_loads import DataLoad, data_flows
from tests.common.pfc.cases.flows import RESUMED, again, later
from tests.common.pfc.cases.plan import port_cases, targets
from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, SINGLE_LOSSLESS, pause_lossless
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.cases.storm_sequence import scenario_traffic
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.generator import Generator
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.checking import never_taken, sent_as_due
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port

TESTER_PORTS = [
    ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000),
]
DATA = FlowPlan("Data", Role.TEST, 3, 1024, 50.0, seconds=1)


def test_frames_due():
    """Half the line rate for five seconds; a rate in frames a second; so many frames."""
    plans = (replace(DATA, seconds=5), replace(DATA, percent=None, fps=5960, seconds=2.5), replace(DATA, frames=7))
    seen = [plan.due(100_000) for plan in plans]
    assert seen == [29932950, 14900, 7], seen


def make_lab(world=None):
    """The fake lab's port."""
    world = world or FakeWorld()
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    return open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))


@pytest.mark.parametrize("family", ["PFC", "SIZE", "TIME", "CLASS", "SENT", "WD"])
def test_a_lossless_priority_that_no_dscp_value_reaches_is_named(family):
    """Nothing can be sent of it, whatever the case of a family that is there."""
    lab = make_lab()
    watched = {"PORT_QOS_MAP": {lab.subject.qos.port: {"pfcwd_sw_enable": "3,4,7"}}}
    subject = replace(lab.subject, qos=replace(lab.subject.qos, lossless=(3, 4, 7), config_db=watched))
    qualifier = Qualifier(replace(lab, subject=subject, builder=replace(lab.builder, subject=subject)))
    told = {}
    for case in port_cases():
        about = [target for target in targets(case, subject) if case.family == family and 7 in target]
        if about and case.plan_id != "WD-14":  # it needs a switch that is reserved
            verdicts = qualifier.qualify(case, about[0]).verdicts
            told[case.plan_id] = {message for verdict in verdicts for message in verdict.messages}
    reason = "vtb-t0-01 Ethernet0 priority 7: no DSCP value reaches it, DSCP_TO_TC_MAP|AZURE leads to"
    assert told or family not in {case.family for case in port_cases()}, "it has no case about lossless priorities"
    assert all(any(one.startswith(reason) for one in said) for said in told.values()), told


def test_a_load_is_a_flow_for_each_priority_in_equal_parts():
    flows = data_flows(make_lab(), [DataLoad("Test Flow", Role.TEST, (3, 4), 50, 2.0, 1024, delay_s=1.5)])
    assert [(flow.priority, flow.percent, flow.seconds, flow.delay_ns) for flow in flows] == [
        (3, 25.0, 2.0, 1_500_000_000), (4, 25.0, 2.0, 1_500_000_000)], flows
    assert flows[0].name == f"Test Flow Prio 3 {DEVICE} Ethernet0", flows[0].name


def test_the_same_traffic_again_is_a_second_set_of_flows():
    """They begin at once; everything else is as before."""
    first = data_flows(make_lab(), [DataLoad("Test Flow", Role.TEST, (3,), 50, 2.0, 1024, delay_s=1)])
    second = again(first)
    assert [(flow.name, flow.phase, flow.delay_ns) for flow in second] == [
        (f"{RESUMED} {first[0].name}", RESUMED, 0)], second
    assert [flow.delay_ns for flow in later(first, "Window 2")] == [1_000_000_000], "another phase keeps its delays"


class CountedGenerator(Generator):
    """Keeps what it is told to start since the last push."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.started = []
        self.twice = []

    def push(self, traffic):
        """A new configuration."""
        self.started = []
        super().push(traffic)

    def start(self, names):
        """Flows begin."""
        self.twice += [name for name in names if name in self.started]
        self.started += names
        super().start(names)


@pytest.mark.parametrize(("case", "target"), [(SINGLE_LOSSLESS, (3,)), (GLOBAL_PAUSE, ())])
def test_no_flow_is_started_twice(monkeypatch, case, target):
    """On every case this is what `finished-flows-stay-started` shows on a virtual testbed."""
    monkeypatch.setattr("tests.common.pfc.lab.planning.Generator", CountedGenerator)
    monkeypatch.setattr("tests.common.pfc.lab.planning.options", lambda: ())  # none has a generator of its own
    lab = make_lab()
    outcome = Qualifier(lab).qualify(case, target)
    assert all(verdict.status is Status.PASS for verdict in outcome.verdicts), outcome.verdicts
    assert lab.generator.started and not lab.generator.twice, lab.generator.twice


def test_data_is_started_with_its_storm_and_comes_later():
    lab = make_lab()
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    first = [traffic.flows[name] for name in traffic.names()]
    delays = {flow.role: flow.delay_ns for flow in first}
    assert delays == {Role.STORM: 0, Role.TEST: 10**9, Role.BACKGROUND: 10**9}, delays
    assert {traffic.flows[name].delay_ns for name in traffic.names(phase=RESUMED)} == {0}, "the time after the storm"


@pytest.mark.parametrize("device", ["dut-1.lab.example", "dut,2", "dut_3"])
def test_names_have_no_sign_that_a_generator_trips_over(device):
    """A hostname may have dots."""
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    builder = open_lab(plan, Dut(FakeHost(FakeWorld())), FakeApi(FakeWorld()), FakeClock(FakeWorld())).builder
    builder._pair.rx.__dict__["device"] = device
    try:
        name = builder.flow_name("pauses of 4096 quanta, 96 in a window")
        assert re.fullmatch(r"[A-Za-z0-9 _-]+", name), name
        assert name.endswith(builder.flow_name("")), "whoever looks for the flows of a port finds them by the end"
    finally:
        builder._pair.rx.__dict__["device"] = DEVICE


def stats(frames_tx):
    """Of a flow that sent so much."""
    return FlowStats(DATA, False, frames_tx, 0)


@pytest.mark.parametrize(("frames_tx", "pushed", "held", "status", "taken"), [
    (6_000_000, 0, False, Status.PASS, []),
    (12, 0, False, Status.ERROR, []),
    (12, 0, True, Status.PASS, []),
    (0, 0, True, Status.ERROR, []),
    (12, 2980, False, Status.PASS, []),
    (12, 2979, False, Status.ERROR, []),
    (0, 2980, False, Status.PASS, [Status.FAIL]),
    (0, 2980, True, Status.PASS, [Status.FAIL]),
    (0, 2979, False, Status.ERROR, [Status.FAIL]),
    (0, 2979, True, Status.ERROR, [Status.FAIL]),
])
def test_what_was_never_sent_is_the_generators_or_the_switchs(frames_tx, pushed, held, status, taken):
    """ERROR where nothing explains it, FAIL where the switch paused the sender for all of the second that it lacks: by
    2980 frames, each of which holds it for 0.34 ms at most. What is ERROR is not judged."""
    subject = make_lab().subject
    found = sent_as_due(subject, stats(frames_tx), pushed, held, "in the storm")
    assert found.status is status, found.message
    judged = list(never_taken(subject, [stats(frames_tx)], lambda _: (0, 0, 0, pushed, 0, 0, 0, 0), "in the storm"))
    assert [check.status for check in judged] == taken, judged


def test_a_flow_of_so_many_frames_lacks_time_too():
    """Half of a line of 1024-byte frames, a second's: by 2980 pauses, not by one."""
    subject = make_lab().subject
    plan = replace(DATA, seconds=None, percent=50.0, frames=DATA.due(100_000))
    found = [sent_as_due(subject, FlowStats(plan, False, 0, 0), pauses, False, "in all") for pauses in (1, 2979, 2980)]
    assert [one.status for one in found] == [Status.ERROR, Status.ERROR, Status.PASS], found
    assert "(2979 PFC frames sent to their sender, of 2980 that hold it for so long)" in found[1].message, found[1]


def test_counts_begin_where_the_push_left_them(monkeypatch):
    """A generator that kept the counts of an earlier configuration; one that cleared them when flows were started."""
    lab = make_lab()
    kept = {"frames": 500}
    read = Generator._metrics

    def late(self, names):
        found = read(self, names)
        return {name: type(one)(one.transmitting, one.frames_tx + kept["frames"], one.frames_rx + kept["frames"])
                for name, one in found.items()}

    monkeypatch.setattr(Generator, "_metrics", late)
    traffic = scenario_traffic(lab, pause_lossless((3,), lab.subject.qos))
    lab.generator.push(traffic)
    name = traffic.names(Role.TEST)[0]
    assert lab.generator.stats([name])[name].frames_tx == 0, "what came before does not count"
    kept["frames"] = 3
    assert lab.generator.stats([name])[name].frames_tx == 3, "fewer than at the push: they were cleared"
