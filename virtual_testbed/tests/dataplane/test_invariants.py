"""Properties that hold in every testbed, without an oracle."""
from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from virtual_testbed.dataplane.model.configuration import BufferProfile
from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, PauseFlow
from virtual_testbed.dataplane.model.units import Schedule, simplest_rational
from virtual_testbed.dataplane.network import Network, NetworkError
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.differential import PEAKS, build_network, command, read_network
from virtual_testbed.tests.dataplane.differential_cases import FAMILIES, make_case
from virtual_testbed.tests.dataplane.testbeds import MS, SECOND, US, data, line_rate, storm

WITHOUT_LOSSES_ON_CABLES = sorted(name for name, family in FAMILIES.items() if "down" not in family.changes)
WELL_FORMED = ("general", "steady", "exact", "fill", "lapsing", "watchdog", "chain")
PAUSE_FRAME_PS = 84 * 80


def play(case, extra_reads=()):
    """All steps; what can be read after each of the case's own reads."""
    net, found = build_network(case), []
    looks = [(time, "look", None) for time in extra_reads]
    for time_ps, name, argument in sorted([*case.steps, *looks], key=lambda step: step[0]):
        net.advance_to(time_ps)
        if name in ("read", "look"):
            values = read_network(net, case)
            check_memory(net, case)
            if name == "read":
                found.append(values)
        else:
            command(net, name, argument)
    return net, found


def check_memory(net, case):
    """Every byte held by a priority group is held by a queue; no part holds more than it may; nothing is negative."""
    for config in case.configs:
        switch = net.switch_counters(config.name)
        groups = switch.priority_groups
        assert sum(g.occupancy_bytes for g in groups.values()) == sum(
            q.occupancy_bytes for q in switch.queues.values())
        assert all(count >= 0 for part in (groups, switch.queues) for counters in part.values()
                   for count in vars(counters).values())
        for (port, number), group in groups.items():
            profile = config.ports[port].priority_groups.get(number)
            assert group.headroom_watermark_bytes <= (profile.xoff if profile else 0)
            if profile and profile.static_th is not None:
                assert group.shared_watermark_bytes <= profile.static_th
        used = sum(g.headroom_watermark_bytes for g in groups.values() if g.dropped_packets)
        assert used or not any(group.dropped_packets for (port, number), group in groups.items()
                               if _could_hold_a_frame(case, config.ports[port].priority_groups.get(number)))


def _could_hold_a_frame(case, profile):
    """A lossless group whose headroom is longer than every frame drops only after having used it."""
    longest = max((size for flow in case.flows if isinstance(flow, DataFlow) for size in flow.sizes), default=0)
    if case.faults or "watchdog" in case.family or any(
            pool.xoff for config in case.configs for pool in config.pools.values()):
        return False
    return profile is not None and profile.xoff > longest + 254


def drained(net, case):
    """Counters after everything has been stopped and has left."""
    net.stop_flows([flow.name for flow in case.flows])
    net.advance_to(net.now_ps + SECOND)
    check_memory(net, case)
    return [net.switch_counters(config.name) for config in case.configs]


@pytest.mark.parametrize("family", FAMILIES)
def test_splitting_a_run_changes_nothing(family):
    for seed in range(2):
        case, rng = make_case(seed, family), random.Random(seed)
        looks = [rng.randrange(case.steps[-1][0]) for _ in range(30)]
        assert exact(play(case)[1]) == exact(play(case, looks)[1]), f"make_case({seed}, {family!r})"


def exact(reads):
    """Without watermarks, which may miss peaks where time was skipped, and their bounds."""
    return [{key: value for key, value in read.items() if key[-1] not in {*PEAKS, *PEAKS.values()}} for read in reads]


@pytest.mark.parametrize("family", WITHOUT_LOSSES_ON_CABLES)
def test_frames_are_conserved(family):
    """Stopped and drained: sent = received + dropped with a reason, nothing held, bytes are frames times size."""
    for seed in range(100, 103):
        case = make_case(seed, family)
        net, _ = play(case)
        switches = drained(net, case)
        flows = {flow.name: net.flow_counters(flow.name) for flow in case.flows if isinstance(flow, DataFlow)}
        dropped = sum(count for switch in switches for (_, reason), count in switch.drops.items())
        cleared = any(name == "clear" for _, name, _ in case.steps)
        assert cleared or sum(f.frames_tx - f.frames_rx for f in flows.values()) == dropped
        for flow in case.flows:
            if isinstance(flow, DataFlow) and len(flow.sizes) == 1 and not cleared:
                assert flows[flow.name].bytes_tx == flow.sizes[0] * flows[flow.name].frames_tx
                assert flows[flow.name].bytes_rx == flow.sizes[0] * flows[flow.name].frames_rx
        assert all(g.occupancy_bytes == 0 for switch in switches for g in switch.priority_groups.values())
        assert all(f.transmit == "stopped" for f in flows.values())


@pytest.mark.parametrize("family", WELL_FORMED)
def test_counters_of_one_thing_agree(family):
    """By port and by priority: what the two ends of a cable count, ports and their queues, groups and queues."""
    for seed in range(200, 203):
        case = make_case(seed, family)
        net, _ = play(case)
        switches = dict(zip([config.name for config in case.configs], drained(net, case)))
        for port, (_, switch, name, _, _) in zip(case.ports, case.links):
            _compare_ends(net, case, port.name, switches[switch].ports[name])
        for a, b, _, _ in case.switch_links:
            for (one, other) in ((a, b), (b, a)):
                sent, received = switches[one[0]].ports[one[1]], switches[other[0]].ports[other[1]]
                assert (sent.tx_packets, sent.tx_bytes, sent.pfc_tx) == (
                    received.rx_packets, received.rx_bytes, received.pfc_rx)
        for switch in switches.values():
            _compare_parts(switch)


def _compare_ends(net, case, name, port):
    generator = net.generator_counters(name)
    flows = [flow for flow in case.flows if flow.tx_port == name]
    if not any(step[1] == "clear" for step in case.steps):
        sent = {flow.name: net.flow_counters(flow.name).frames_tx for flow in flows}
        assert generator.frames_tx == sum(sent.values())
        assert port.rx_packets == sum(sent[flow.name] for flow in flows if isinstance(flow, DataFlow))
        for n in range(8):
            assert port.pfc_rx[n] == sum(sent[flow.name] for flow in flows
                                         if isinstance(flow, PauseFlow) and flow.frame[17] >> n & 1)
    assert (generator.frames_rx, generator.bytes_rx) == (port.tx_packets, port.tx_bytes)
    assert generator.pfc_rx == port.pfc_tx


def _compare_parts(switch):
    for name, port in switch.ports.items():
        queues = [switch.queues[name, n] for n in range(8)]
        assert (port.tx_packets, port.tx_bytes) == (sum(q.packets for q in queues), sum(q.bytes for q in queues))
        assert port.tx_drops == sum(q.dropped_packets for q in queues)
        dropped = sum(count for (where, _), count in switch.drops.items() if where == name)
        assert dropped <= port.rx_packets
    received = sum(port.rx_packets for port in switch.ports.values())
    sent = sum(port.tx_packets for port in switch.ports.values())
    assert received == sent + sum(switch.drops.values())
    assert sum(switch.drops.values()) == sum(port.rx_drops + port.tx_drops for port in switch.ports.values())


@pytest.mark.parametrize("response_ps", [0, 2_017_280])
def test_a_paused_class_starts_no_frame(response_ps):
    """From the instant at which a pause acts only the frame on the line is finished, however often one looks."""
    flows = [storm("storm", 0, {3: 0xFFFF}), data("test", 1, 0, [3], 3, rate_fps=line_rate(1024))]
    net = testbeds.network(testbeds.switch_config(2, response_ps=response_ps), flows)
    net.start_flows(["test"])
    net.advance_to(10 * US)
    net.start_flows(["storm"])
    acts = 10 * US + PAUSE_FRAME_PS + 25_000 + response_ps
    net.advance_to(acts)
    before = net.switch_counters(testbeds.SWITCH).queues["Ethernet0", 3].packets
    assert before >= (acts - 3 * US) // 83_520
    for step in range(1, 50):
        net.advance_to(acts + step * 37 * US)
        assert net.switch_counters(testbeds.SWITCH).queues["Ethernet0", 3].packets in (before, before + 1)


@pytest.mark.parametrize("quanta, gap", [(100, 2), (1000, 3), (0xFFFF, 2)])
def test_paused_time_is_the_union_of_the_quanta(quanta, gap):
    """Pauses with gaps between them, and pauses that overlap."""
    pause_ps = quanta * 5120
    apart, overlapping = (Fraction(1, gap), 8 * pause_ps), (Fraction(gap), (8 + gap - 1) * pause_ps // gap)
    for frames_per_pause, expected in (apart, overlapping):
        rate = Fraction(SECOND, pause_ps) * frames_per_pause
        flows = [storm("storm", 0, {3: quanta}, rate, duration=Duration(frames=8))]
        net = testbeds.network(testbeds.switch_config(2), flows)
        net.start_flows(["storm"])
        net.advance_to(SECOND)
        port = net.switch_counters(testbeds.SWITCH).ports["Ethernet0"]
        assert port.pause_duration_us == (0, 0, 0, expected // US, 0, 0, 0, 0)
        assert port.pfc_on2off[3] == (8 if frames_per_pause < 1 else 1)


def test_a_line_with_something_to_send_never_rests():
    """Two ports fill a third: what left and the frame on the line take all the time since the first frame came."""
    flows = [data(f"to {q} from {tx}", tx, 0, [dscp], q, rate_fps=line_rate(1024) / 2)
             for tx in (1, 2) for q, dscp in ((3, 3), (1, 0))]
    net = testbeds.network(testbeds.switch_config(3), flows)
    net.start_flows(testbeds.names(flows))
    for time_ps in range(10 * US, 400 * US, 13 * US):
        net.advance_to(time_ps)
        port = net.switch_counters(testbeds.SWITCH).ports["Ethernet0"]
        busy = ((port.tx_bytes + 20 * port.tx_packets) + 84 * sum(port.pfc_tx)) * 80
        assert 0 <= time_ps - 83_520 - 25_000 - busy < 83_520


def test_xoff_and_xon_alternate():
    """Before the first refresh each second pause frame of a class is an XON: a flow is held exactly after odd ones."""
    flows = [data(f"from {tx}", tx, 0, [3], 3, rate_fps=line_rate(1024)) for tx in (1, 2)]
    net = testbeds.network(testbeds.change_port(testbeds.switch_config(3), "Ethernet4", priority_groups={
        3: BufferProfile("ingress", 0, None, 20_000, 165_568, 10_000)}), flows)
    net.start_flows(testbeds.names(flows))
    last, held = 0, set()
    for time_ps in range(US, 160 * US, 20_000):
        net.advance_to(time_ps)
        count = net.generator_counters("p1").pfc_rx[3]
        assert count - last in (0, 1)
        last = count
        assert (3 in net.flow_counters("from 1").held_by) == (count % 2 == 1)
        held.add(count)
    assert len(held) > 10


def test_slower_links_and_longer_times_give_the_same_counts():
    """Everything four times as slow, at the instant four times as late."""
    def run(factor):
        speed = 100_000 // factor
        net = Network()
        for number in range(3):
            net.add_link(testbeds.location(number), testbeds.SWITCH, testbeds.port_name(number), speed, 10 * factor)
        net.configure_switch(testbeds.switch_config(3, speed, response_ps=500_000 * factor))
        flows = [data(f"{q} from {tx}", tx, 0, [dscp], q, rate_fps=line_rate(1024, speed) / 4)
                 for tx in (1, 2) for q, dscp in ((3, 3), (1, 0), (6, 48))]
        flows.append(storm("storm", 0, {3: 500}, Fraction(SECOND, 5 * US * factor)))
        net.set_traffic(testbeds.generator_ports(3), testbeds.hosts(3), flows)
        net.start_flows(testbeds.names(flows))
        net.advance_to(300 * US * factor)
        counters = net.switch_counters(testbeds.SWITCH)
        ports = {name: replace(port, pause_duration_us=tuple(us // 10 // factor for us in port.pause_duration_us))
                 for name, port in counters.ports.items()}
        return ports, counters.queues, counters.priority_groups, [net.flow_counters(flow.name) for flow in flows]
    assert run(1) == run(4)


@pytest.mark.parametrize("detection_ms", [1, 2, 3, 5])
def test_a_storm_is_detected_after_as_many_positive_polls_as_its_time_takes(detection_ms):
    """Polls each 2 ms; the first only remembers, each after it is positive."""
    config = replace(testbeds.with_watchdog(testbeds.switch_config(2), "Ethernet0", "alert", detection_ms),
                     watchdog_poll_ms=2)
    net = testbeds.network(config, [storm("storm", 0, {3: 0xFFFF})])
    net.start_flows(["storm"])
    detected_ms = 2 + -(-detection_ms // 2) * 2
    for time_ps, detected in ((detected_ms * MS - 1, 0), (detected_ms * MS, 1)):
        net.advance_to(time_ps)
        assert net.switch_states(testbeds.SWITCH).watchdog["Ethernet0", 3].detected == detected


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
