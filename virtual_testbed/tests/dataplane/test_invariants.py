"""Properties that hold in every testbed, without an oracle."""
from __future__ import annotations

import random
from dataclasses import replace

import pytest

from virtual_testbed.dataplane.network import Network, NetworkError
from virtual_testbed.dataplane.units import Schedule, simplest_rational
from virtual_testbed.faults import parse_fault
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.differential import make_case, read_network


def build(case):
    net = Network([parse_fault(spec) for spec in case.faults])
    for number, name in enumerate(case.config.ports):
        net.add_link(testbeds.location(number), case.config.name, name, case.speeds[number], case.cables[number])
    net.configure_switch(case.config)
    count = len(case.speeds)
    net.set_traffic(testbeds.generator_ports(count, case.honours), testbeds.hosts(count), case.flows)
    return net


def play(case, extra_reads=()):
    """All steps; what can be read after each of the case's own reads."""
    net, found = build(case), []
    commands = {"start": net.start_flows, "stop": net.stop_flows, "configure": net.configure_switch}
    for time_ps, command, argument in sorted([*case.steps, *((t, "look", None) for t in extra_reads)],
                                             key=lambda step: step[0]):
        net.advance_to(time_ps)
        if command in commands:
            commands[command](argument)
        else:
            values = read_network(net, case)
            check_memory(net)
            if command == "read":
                found.append(values)
    return net, found


def check_memory(net):
    """Every byte held by a priority group is held by a queue; lossless drops only with the headroom used."""
    switch = net.switch_counters(testbeds.SWITCH)
    assert sum(g.occupancy_bytes for g in switch.priority_groups.values()) == sum(
        q.occupancy_bytes for q in switch.queues.values())


@pytest.mark.parametrize("seed", range(20))
def test_splitting_a_run_changes_nothing(seed):
    case = make_case(seed, steady=seed % 2 == 0)
    rng = random.Random(seed)
    looks = [rng.randrange(case.steps[-1][0]) for _ in range(30)]
    assert play(case)[1] == play(case, looks)[1]


@pytest.mark.parametrize("seed", range(10))
def test_frames_are_conserved(seed):
    """At the end, flows stopped and drained: sent = received + dropped, nothing held."""
    case = make_case(seed, steady=True)
    net, _ = play(case)
    net.advance_to(net.now_ps + testbeds.SECOND)
    switch = net.switch_counters(testbeds.SWITCH)
    flows = [net.flow_counters(flow.name) for flow in case.flows if flow.name.startswith("d")]
    assert sum(f.frames_tx for f in flows) == sum(f.frames_rx for f in flows) + sum(switch.drops.values()) > 0
    assert all(f.bytes_tx == 1024 * f.frames_tx for f in flows)
    assert all(g.occupancy_bytes == 0 for g in switch.priority_groups.values())
    for number, port in enumerate(switch.ports.values()):
        assert net.generator_counters(f"p{number}").pfc_rx == port.pfc_tx


def test_one_pause_lowers_no_other_class():
    flows = [testbeds.data("test", 1, 0, [3], 3), *testbeds.background(1, 0)]
    received = []
    for pauses in ({3: 0xFFFF}, {7: 0xFFFF}):
        net = testbeds.network(testbeds.switch_config(2), [testbeds.storm("storm", 0, pauses), *flows])
        net.start_flows(testbeds.names([testbeds.storm("storm", 0, pauses), *flows]))
        net.advance_to(testbeds.SECOND)
        received.append([net.flow_counters(flow.name).frames_rx for flow in flows[1:]])
    assert all(paused >= free - 1 for paused, free in zip(*received))


def test_relabelled_ports_give_relabelled_counts():
    def run(a, b):
        flows = [testbeds.storm("storm", b, {3: 0xFFFF}), testbeds.data("test", a, b, [3], 3)]
        net = testbeds.network(testbeds.switch_config(4), flows)
        net.start_flows(["storm", "test"])
        net.advance_to(testbeds.SECOND)
        ports = net.switch_counters(testbeds.SWITCH).ports
        return net.flow_counters("test"), ports[testbeds.port_name(a)], ports[testbeds.port_name(b)]
    assert run(1, 0) == run(2, 3)


def test_an_overbooked_port_is_refused_by_name():
    flows = [testbeds.data("a", 1, 0, [3], 3), testbeds.data("b", 1, 0, [4], 4),
             testbeds.data("c", 1, 0, [0], 1, rate_fps=testbeds.line_rate(1024) / 100)]
    net = testbeds.network(testbeds.switch_config(2), flows)
    with pytest.raises(NetworkError, match="generator port p1: flows a, b, c need 101 % of the line"):
        net.start_flows(["a", "b", "c"])
    net.start_flows(["a", "b"])
    with pytest.raises(NetworkError, match="need 101 %"):
        net.start_flows(["c"])


@pytest.mark.parametrize("change, text", [
    ({"tx_port": "p9"}, "flow test: port 'p9' does not exist: expected one of p0, p1"),
    ({"rate_fps": 0}, "flow test: rate 0 frames/s sends nothing"),
    ({"dscp": ()}, "flow test has no DSCP"),
])
def test_bad_traffic_is_one_sentence(change, text):
    with pytest.raises(NetworkError, match=text):
        testbeds.network(testbeds.switch_config(2), [replace(testbeds.data("test", 1, 0, [3], 3), **change)])


def test_time_does_not_run_backwards():
    net = testbeds.network(testbeds.switch_config(2), [])
    net.advance_to(1001)
    assert net.now_ps == 1001
    with pytest.raises(NetworkError, match="time 1000 ps lies before the present 1001 ps"):
        net.advance_to(1000)


def test_schedule_counts_its_own_instants():
    rng = random.Random(1)
    for _ in range(200):
        schedule = Schedule(rng.randrange(1000), testbeds.Fraction(rng.randrange(10**11, 10**13), rng.randrange(1, 99)))
        instants = [schedule.instant_ps(n) for n in range(50)]
        for _ in range(10):
            until = rng.randrange(-5, instants[40])
            assert schedule.count(until) == sum(instant <= until for instant in instants)


@pytest.mark.parametrize("value, text", [
    (50 / 7, "50/7"), (7.142857074737549, "50/7"), (45.0, "45"), (0.1, "1/10"), (0, "0"), (33.333333333, "100/3"),
    (5960.0, "5960")])
def test_rates_meant(value, text):
    assert str(simplest_rational(value)) == text
