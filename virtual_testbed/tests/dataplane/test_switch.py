"""Forwarding, buffers, scheduling, links, counters."""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig, SchedulerConfig
from virtual_testbed.dataplane.model.counters import ALL_PARTS
from virtual_testbed.dataplane.model.port import paths_through
from virtual_testbed.dataplane.model.switch import ConfigurationError
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, SWITCH_MAC, US, change_port, data, line_rate,
                                                      mac, names, network, storm, switch_config)


def run(flows, config=None, until_ps=MS, faults=()):
    net = network(config or switch_config(3), flows, faults)
    net.start_flows(names(flows))
    net.advance_to(until_ps)
    return net


@pytest.mark.parametrize("changes, port", [
    ({}, "p0"),
    ({"destination_mac": SWITCH_MAC}, "p0"),
    ({"destination_mac": SWITCH_MAC.upper(), "destination_address": "fc02:1000::2"}, "p0"),
    ({"destination_mac": mac(2)}, "p2"),
])
def test_frames_go_to_the_host(changes, port):
    net = run([data("flow", 1, 0, [3], 3, duration=Duration(frames=100), **changes)])
    assert {name: net.generator_counters(name).frames_rx for name in ("p0", "p1", "p2")} == {
        "p0": 0, "p1": 0, "p2": 0} | {port: 100}
    assert net.flow_counters("flow").frames_rx == (100 if port == "p0" else 0)


@pytest.mark.parametrize("changes, reason", [
    ({"destination_mac": "00:00:00:00:00:99"}, "unknown destination MAC"),
    ({"destination_mac": SWITCH_MAC, "destination_address": "10.9.9.9"}, "no host has the destination address"),
    ({"destination_mac": mac(1)}, "destination is behind the ingress port"),
    ({"sizes": (9200,)}, "longer than the MTU"),
])
def test_undeliverable_frames_are_dropped_and_counted(changes, reason):
    net = run([data("flow", 1, 0, [3], 3, duration=Duration(frames=100), rate_fps=line_rate(9200), **changes)])
    counters = net.switch_counters(SWITCH)
    assert counters.drops == {("Ethernet4", reason): 100} and counters.ports["Ethernet4"].rx_drops == 100
    assert net.flow_counters("flow").frames_tx == 100 and net.flow_counters("flow").frames_rx == 0


def test_bridging_stays_inside_the_vlan():
    config = switch_config(3)
    config = replace(config, vlans=(replace(config.vlans[0], members=frozenset({"Ethernet4", "Ethernet8"})),))
    flows = [data("bridged", 1, 0, [0], 1), data("routed", 2, 0, [0], 1, destination_mac=SWITCH_MAC)]
    net = run(flows, config)
    assert set(net.switch_counters(SWITCH).drops) == {
        ("Ethernet4", "destination is not in the VLAN of the ingress port")}
    assert net.flow_counters("routed").frames_rx > 0


def test_dscp_chooses_queue_and_group():
    net = run([data("flow", 1, 0, [3, 46, 0], 3, duration=Duration(frames=31))])
    counters = net.switch_counters(SWITCH)
    assert [counters.queues["Ethernet0", q].packets for q in range(8)] == [0, 10, 0, 11, 0, 10, 0, 0]
    assert counters.priority_groups["Ethernet4", 3].packets == 11
    assert counters.priority_groups["Ethernet4", 0].packets == 20
    assert counters.queues["Ethernet0", 3].bytes == 11 * 1024


def test_cells_are_charged_whole():
    config = switch_config(2)
    flow = data("flow", 1, 0, [3], 3, duration=Duration(delay_ps=US, frames=10))
    net = run([storm("storm", 0, {3: 0xFFFF}), flow], config)
    assert net.switch_counters(SWITCH).queues["Ethernet0", 3].occupancy_bytes == 10 * 1040
    assert net.switch_counters(SWITCH).priority_groups["Ethernet4", 3].occupancy_bytes == 10 * 1040


def test_xoff_exactly_at_the_shared_limit():
    """Reserved 1248, limit 10400 static: the frame that does not fit makes XOFF, the frames before it do not."""
    profile = BufferProfile("ingress", 1248, None, 10_400, 165_568, 0, 2080)
    base = switch_config(2)
    config = change_port(base, "Ethernet4", priority_groups={**base.ports["Ethernet4"].priority_groups, 3: profile})
    room = (1248 + 10_400) // 1040
    for frames, xoff in ((room, 0), (room + 1, 1)):
        flow = data("flow", 1, 0, [3], 3, duration=Duration(US, frames=frames))
        net = run([storm("storm", 0, {3: 0xFFFF}), flow], config, 20 * US)
        assert net.switch_counters(SWITCH).ports["Ethernet4"].pfc_tx[3] == xoff
        net.stop_flows(["storm"])
        net.advance_to(10 * MS)
        counters = net.switch_counters(SWITCH)
        assert net.flow_counters("flow").frames_rx == frames
        assert counters.priority_groups["Ethernet4", 3].occupancy_bytes == 0
        assert counters.ports["Ethernet4"].pfc_tx[3] >= 2 * xoff and not counters.drops


def test_lossy_congestion_drops_at_the_tail_and_sends_no_pause():
    flows = [data("a", 1, 0, [0], 1, rate_fps=line_rate(1024)), data("b", 2, 0, [0], 1, rate_fps=line_rate(1024))]
    net = run(flows, until_ps=SECOND // 10)
    counters = net.switch_counters(SWITCH)
    sent = sum(net.flow_counters(name).frames_tx for name in "ab")
    received = sum(net.flow_counters(name).frames_rx for name in "ab")
    queue = counters.queues["Ethernet0", 1]
    assert queue.dropped_packets == counters.ports["Ethernet0"].tx_drops > 1_000_000
    assert 0 <= sent - received - queue.dropped_packets - queue.occupancy_bytes // 1040 < 5
    assert all(port.pfc_tx == (0,) * 8 for port in counters.ports.values())


def test_lossless_congestion_pauses_the_senders_and_loses_nothing():
    flows = [data("a", 1, 0, [3], 3, rate_fps=line_rate(1024)), data("b", 2, 0, [3], 3, rate_fps=line_rate(1024))]
    net = run(flows, until_ps=5 * MS)
    counters = net.switch_counters(SWITCH)
    assert all(counters.ports[port].pfc_tx[3] > 1 for port in ("Ethernet4", "Ethernet8")) and not counters.drops
    received = sum(net.flow_counters(name).frames_rx for name in "ab")
    assert abs(received - line_rate(1024) * 5 / 1000) < 3


@pytest.mark.parametrize("schedulers, shares", [
    ({3: SchedulerConfig("DWRR", 15), 1: SchedulerConfig("DWRR", 5)}, (3, 1)),
    ({3: SchedulerConfig("DWRR", 1), 1: SchedulerConfig("STRICT")}, (0, 1)),
    ({}, (1, 1)),
])
def test_scheduler_shares(schedulers, shares):
    config = switch_config(3, schedulers=schedulers)
    flows = [data("a", 1, 0, [3], 3, rate_fps=line_rate(1024)), data("b", 2, 0, [0], 1, rate_fps=line_rate(1024))]
    net = run(flows, config, 10 * MS)
    queues = net.switch_counters(SWITCH).queues
    three, one = queues["Ethernet0", 3].packets, queues["Ethernet0", 1].packets
    assert abs(three * shares[1] - one * shares[0]) < 0.01 * (three + one) * max(shares)
    assert abs(three + one - line_rate(1024) / 100) < 3


def test_flow_of_fixed_time_stops_by_time_also_when_held():
    timed = data("timed", 1, 0, [3], 3, duration=Duration(time_ps=20 * MS))
    counted = data("counted", 1, 0, [4], 4, duration=Duration(frames=200_000))
    net = run([storm("storm", 0, {3: 0xFFFF, 4: 0xFFFF}), timed, counted], until_ps=19 * MS)
    assert net.flow_counters("timed").transmit == net.flow_counters("counted").transmit == "started"
    net.advance_to(100 * MS)
    assert net.flow_counters("timed").transmit == "stopped" and net.flow_counters("counted").transmit == "started"
    assert net.flow_counters("counted").held_by == {4}
    net.stop_flows(["storm"])
    net.advance_to(SECOND)
    for name in ("timed", "counted"):
        counters = net.flow_counters(name)
        assert counters.transmit == "stopped" and counters.frames_rx == counters.frames_tx
    assert net.flow_counters("counted").frames_tx == 200_000


def test_what_a_pause_costs_is_not_made_up():
    """Slip: after a hold of 5 ms the flow goes on at its rate; only frames that waited are sent back to back."""
    flow = data("flow", 1, 0, [3], 3)
    net = network(switch_config(2), [storm("storm", 0, {3: 0xFFFF}), flow])
    net.start_flows(["storm", "flow"])
    net.advance_to(5 * MS)
    net.stop_flows(["storm"])
    held = net.flow_counters("flow").frames_tx
    net.advance_to(15 * MS)
    gained = net.flow_counters("flow").frames_tx - held
    assert gained < line_rate(1024) / 2 / 100 + 2


def test_pause_and_resume_by_command():
    net = run([data("flow", 1, 0, [3], 3)])
    net.pause_flows(["flow"])
    net.advance_to(2 * MS)
    held = net.flow_counters("flow").frames_tx
    assert net.flow_counters("flow").transmit == "paused"
    net.advance_to(3 * MS)
    assert net.flow_counters("flow").frames_tx == held
    net.resume_flows(["flow"])
    net.advance_to(4 * MS)
    assert net.flow_counters("flow").frames_tx > held


def test_rates_are_exact():
    """7.14... % of the line for ten seconds: floor(rate * time) + 1 frames, the first at the start."""
    rate = line_rate(1024) / 14
    net = run([data("flow", 1, 0, [3], 3, rate_fps=rate, duration=Duration(time_ps=10 * SECOND))], until_ps=20 * SECOND)
    assert net.flow_counters("flow").frames_tx == -(-rate * 10 // 1)


def test_counters_can_be_cleared():
    net = run([data("flow", 1, 0, [3], 3)])
    before = net.flow_counters("flow").frames_tx
    net.clear_flow_counters(["flow"])
    assert net.flow_counters("flow").frames_tx == 0
    net.advance_to(2 * MS)
    assert abs(net.flow_counters("flow").frames_tx - before) < 3


def test_what_flows_that_are_gone_have_counted_is_kept_apart():
    """Counters have it, in whatever order sizes come; nothing that computes traffic looks at it."""
    net = run([data("first", 1, 0, [3], 3, sizes=(64, 512, 1024))])
    sent = []
    for number, sizes in enumerate([(65, 513), (64, 512), (66,), (512, 1518)]):
        before = net.switch_counters(SWITCH).ports["Ethernet0"]
        flows = [data(f"flow {number}", 1, 0, [3], 3, sizes=sizes, duration=Duration(frames=100))]
        net.remove_flows(["first" if number == 0 else f"flow {number - 1}"])
        net.add_flows(flows)
        net.start_flows(names(flows))
        net.advance_to((2 + number) * MS)
        after = net.switch_counters(SWITCH).ports["Ethernet0"]
        sent.append((after.tx_packets - before.tx_packets, after.tx_bytes - before.tx_bytes))
    assert sent[1:] == [(100, 50 * (64 + 512)), (100, 100 * 66), (100, 50 * (512 + 1518))], sent
    ports = list(net._switches[SWITCH].ports.values())
    assert len(paths_through(ports)) <= 2 * len(ports), "those of the last flow, and of frames sent last"
    assert len({path.frame_bytes for port in ports for path in port.past}) >= 5, "one of each size is past"


def test_link_down_loses_frames_and_counts_them():
    net = run([data("flow", 1, 0, [3], 3)], until_ps=SECOND)
    net.set_link("p0", False)
    assert not net.switch_states(SWITCH).oper_up["Ethernet0"] and not net.generator_counters("p0").link_up
    net.advance_to(2 * SECOND)
    net.set_link("p0", True)
    net.advance_to(3 * SECOND)
    net.stop_flows(["flow"])
    net.advance_to(4 * SECOND)
    flow, switch = net.flow_counters("flow"), net.switch_counters(SWITCH)
    dropped = sum(switch.drops.values())
    assert switch.drops["Ethernet4", "egress port is down"] > 5_000_000
    assert 0 <= flow.frames_tx - flow.frames_rx - dropped <= 2  # those that were on the cable
    assert net.switch_states(SWITCH).oper_up["Ethernet0"] and switch.ports["Ethernet4"].rx_packets == flow.frames_tx


def test_parts_of_the_counters_are_those_of_all():
    net = run([data("flow", 1, 0, [3], 3)], until_ps=SECOND)
    every = net.switch_counters(SWITCH)
    assert every.ports["Ethernet0"].tx_packets > 1000
    for part in ALL_PARTS:
        found = net.switch_counters(SWITCH, {part})
        assert getattr(found, part) == getattr(every, part)
        assert not any(getattr(found, other) for other in ALL_PARTS - {part})


def test_admin_down_and_speed_mismatch_take_the_link_down():
    config = switch_config(3)
    net = run([data("flow", 1, 0, [3], 3)], config)
    net.configure_switch(change_port(config, "Ethernet4", admin_up=False))
    net.advance_to(2 * MS)
    switch = net.switch_counters(SWITCH)
    assert not net.switch_states(SWITCH).oper_up["Ethernet4"] and not net.generator_counters("p1").link_up
    assert net.flow_counters("flow").frames_tx > switch.ports["Ethernet4"].rx_packets + 5000
    net.configure_switch(change_port(config, "Ethernet4", speed_mbps=40_000))
    assert not net.switch_states(SWITCH).oper_up["Ethernet4"]
    net.configure_switch(config)
    assert net.switch_states(SWITCH).oper_up["Ethernet4"]


def test_a_flapping_link_ends_a_storm_that_does_not_come_back():
    net = run([storm("storm", 0, {3: 0xFFFF}, duration=Duration(time_ps=2 * MS)), data("flow", 1, 0, [3], 3)])
    net.set_link("p0", False)
    net.advance_to(3 * MS)
    net.set_link("p0", True)
    net.advance_to(4 * MS)
    assert net.flow_counters("flow").frames_rx > 5000
    assert 6 <= net.switch_counters(SWITCH).ports["Ethernet0"].pfc_rx[3] <= 7


def test_an_unknown_pool_is_one_sentence():
    profile = BufferProfile("nowhere", 0, 0)
    with pytest.raises(ConfigurationError, match="buffer pool 'nowhere' does not exist: expected one of egress_lo"):
        network(switch_config(2, priority_groups={3: profile}), [])


def test_shared_headroom_pool_bounds_all_groups():
    pools = {"ingress": PoolConfig(100_000, 50_000), "egress_lossless": PoolConfig(1 << 40),
             "egress_lossy": PoolConfig(10**7)}
    net = network(switch_config(3, pools=pools), [storm("storm", 0, {3: 0xFFFF}), data("a", 1, 0, [3], 3),
                                                  data("b", 2, 0, [3], 3)], honours=False)
    net.start_flows(["storm", "a", "b"])
    net.advance_to(MS)
    groups = net.switch_counters(SWITCH).priority_groups
    total = sum(groups[port, 3].headroom_watermark_bytes for port in ("Ethernet4", "Ethernet8"))
    assert 50_000 - 1040 < total <= 50_000


@pytest.mark.parametrize("weights", [(100, 93), (15, 14), (120, 80)])
@pytest.mark.parametrize("percent", [90, 100])
def test_shares_are_the_weights_also_where_a_queue_empties_within_its_turn(weights, percent):
    """A turn of weight 100 is twelve frames, in which a queue at 90 % empties that has waited for as many."""
    config = switch_config(3)
    schedulers = config.ports["Ethernet8"].schedulers | {
        queue: SchedulerConfig("DWRR", weight) for queue, weight in zip((1, 2), weights)}
    rate = line_rate(1024) * Fraction(percent, 100)
    flows = [data("one", 0, 2, [1], 1, rate_fps=rate), data("two", 1, 2, [5], 2, rate_fps=rate)]
    net = network(change_port(config, "Ethernet8", schedulers=schedulers), flows)
    net.start_flows(names(flows))
    net.advance_to(20 * MS)
    one, two = (net.flow_counters(name).frames_rx for name in names(flows))
    assert one / two == pytest.approx(weights[0] / weights[1], rel=0.002)
