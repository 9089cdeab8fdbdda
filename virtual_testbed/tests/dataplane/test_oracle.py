"""The oracle against cases computed by hand. At 100 Gb/s a byte lasts 80 ps, a frame of 1024 bytes 83520 ps, a pause
frame 6720 ps; 10 m of cable are 50000 ps.
"""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from virtual_testbed.dataplane.model.configuration import BufferProfile, SchedulerConfig, VlanConfig
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.oracle import Oracle, OracleFault
from virtual_testbed.tests.dataplane.oracle_clock import ControlItem
from virtual_testbed.tests.dataplane.oracle_control import pfc_bytes
from virtual_testbed.tests.dataplane.oracle_scheduler import Round, served
from virtual_testbed.tests.dataplane.testbeds import MS, US, data, line_rate, names, storm

FRAME, CONTROL, CABLE = 83520, 6720, 50000
TWO_FRAMES = BufferProfile("ingress", 0, None, 2080, 165568)


def build(flows, config=None, faults=(), response_ps=0):
    config = config or testbeds.switch_config(2)
    links = [(testbeds.location(n), config.name, name, 100_000, 10) for n, name in enumerate(config.ports)]
    oracle = Oracle([config], links, [], faults)
    ports = [replace(port, response_ps=response_ps) for port in testbeds.generator_ports(len(links))]
    oracle.set_traffic(ports, testbeds.hosts(len(links)), flows)
    oracle.start_flows(names(flows))
    return oracle


def chain(flows, switches=2, cables=1):
    """Host 0 on the first switch, host 1 on the last; groups take two frames before XOFF; routed."""
    profile = {"priority_groups": {0: BufferProfile("ingress", 0, None, 1 << 40), 3: TWO_FRAMES}}
    configs = [replace(testbeds.switch_config(4, **profile), name=f"sw{n}", mac=f"00:aa:bb:cc:dd:e{n}", vlans=())
               for n in range(switches)]
    links = [(testbeds.location(0), "sw0", "Ethernet0", 100_000, 10),
             (testbeds.location(1), f"sw{switches - 1}", "Ethernet0", 100_000, 10)]
    between = [((f"sw{n}", testbeds.port_name(1 + twin)), (f"sw{n + 1}", testbeds.port_name(3 - twin)), 100_000, 10)
               for n in range(switches - 1) for twin in range(cables)]
    oracle = Oracle(configs, links, between)
    oracle.set_traffic(testbeds.generator_ports(2), testbeds.hosts(2), flows)
    oracle.start_flows(names(flows))
    return oracle


def changes(oracle, key, instants):
    """The value of a counter one picosecond before each instant and at it."""
    found = []
    for instant in instants:
        for time in (instant - 1, instant):
            oracle.advance_to(time)
            found.append(oracle.read()[key])
    return found


def routed(**changes_):
    return data("test", 0, 1, [3], 3, rate_fps=line_rate(1024), destination_mac="00:aa:bb:cc:dd:e0", **changes_)


def test_a_control_frame_waits_for_the_frame_on_the_line_and_goes_ahead_of_the_next():
    flows = [data("test", 0, 1, [3], 3, rate_fps=line_rate(1024)),
             storm("storm", 0, {3: 9}, 1, duration=Duration(delay_ps=1000))]
    oracle = build(flows)
    assert changes(oracle, ("flow", "storm", "frames_tx"), [FRAME + CONTROL]) == [0, 1]
    assert changes(oracle, ("port", "dut", "Ethernet0", "pfc_rx"), [FRAME + CONTROL + CABLE]) == [
        (0,) * 8, (0, 0, 0, 1, 0, 0, 0, 0)]
    assert changes(oracle, ("flow", "test", "frames_tx"), [2 * FRAME + CONTROL]) == [1, 2]


def test_of_control_and_data_due_at_one_instant_control_goes_first():
    flows = [data("test", 0, 1, [3], 3), storm("b", 0, {3: 9}, 1), storm("a", 0, {4: 9}, 1)]
    oracle = build(flows)
    assert changes(oracle, ("flow", "b", "frames_tx"), [CONTROL]) == [0, 1]
    assert changes(oracle, ("flow", "a", "frames_tx"), [2 * CONTROL]) == [0, 1]
    assert changes(oracle, ("flow", "test", "frames_tx"), [2 * CONTROL + FRAME]) == [0, 1]


@pytest.mark.parametrize("response_ps, faults", [(0, []), (500_000, []), (1_500_000, [OracleFault("slow-response")])])
def test_a_pause_acts_after_the_response_time_and_lasts_its_quanta_from_then(response_ps, faults):
    if faults:
        faults = [replace(faults[0], value=3)]
    config = testbeds.switch_config(2, response_ps=response_ps // (3 if faults else 1))
    oracle = build([storm("storm", 0, {3: 100}, 1)], config, faults)
    begins = CONTROL + CABLE + response_ps
    key = "port", "dut", "Ethernet0", "pfc_on2off"
    pauses = oracle.switches["dut"].ports["Ethernet0"].pauses
    oracle.advance_to(begins - 1)
    assert pauses.since[3] is None
    oracle.advance_to(begins)
    assert pauses.since[3] == begins
    assert changes(oracle, key, [begins + 100 * 5120]) == [(0,) * 8, (0, 0, 0, 1, 0, 0, 0, 0)]


def test_xoff_runs_hop_by_hop_through_a_chain():
    """The storm pauses the last hop before the first frame, due at 1 us, gets there. Two frames fit, so frame 2 makes
    the second switch's XOFF, and frame 7 (5 and 6 wait) the first switch's, which comes when frame 9 is on the line.
    """
    oracle = chain([storm("storm", 1, {3: 0xFFFF}), routed(duration=Duration(delay_ps=US))])
    second = US + 4 * FRAME + 2 * CABLE
    assert changes(oracle, ("port", "sw1", "Ethernet12", "pfc_tx"), [second + CONTROL])[1][3] == 1
    assert changes(oracle, ("port", "sw0", "Ethernet4", "pfc_rx"), [second + CONTROL + CABLE]) == [
        (0,) * 8, (0, 0, 0, 1, 0, 0, 0, 0)]
    first = US + 8 * FRAME + CABLE
    assert changes(oracle, ("generator", "p0", "pfc_rx"), [first + CONTROL + CABLE]) == [
        (0,) * 8, (0, 0, 0, 1, 0, 0, 0, 0)]
    oracle.advance_to(first + 10 * FRAME)
    found = oracle.read()
    assert found["port", "sw1", "Ethernet12", "rx_packets"] == found["port", "sw0", "Ethernet4", "tx_packets"] == 5
    assert found["group", "sw1", "Ethernet12", 3, "headroom_watermark_bytes"] == 3 * 1040
    assert found["flow", "test", "held_by"] == frozenset({3})
    assert found["port", "sw0", "Ethernet0", "rx_packets"] == found["flow", "test", "frames_tx"] == 10


def test_the_first_plugged_of_equal_ways_is_taken():
    oracle = chain([routed(duration=Duration(frames=10))], switches=3, cables=2)
    oracle.advance_to(MS)
    found = oracle.read()
    assert found["flow", "test", "frames_rx"] == found["port", "sw0", "Ethernet4", "tx_packets"] == 10
    assert found["port", "sw0", "Ethernet8", "tx_packets"] == 0


def test_deficit_round_robin():
    """Weights 2 and 1 are 256 and 128 bytes a round; frames of 256 bytes."""
    weights = served({1: SchedulerConfig("DWRR", 2), 2: SchedulerConfig("DWRR", 1), 5: SchedulerConfig("STRICT")})
    heads, order = {1: 256, 2: 256}, Round()
    assert [order.choose(heads, weights) for _ in range(7)] == [1, 1, 2, 1, 1, 2, 1]
    assert order.choose({**heads, 5: 64}, weights) == 5 and order.choose({0: 64, 7: 64}, weights) == 7
    assert order.choose({2: 9000}, weights) == 2 and (order.turn, order.deficits) == (2, [0, 0, 128, 0, 0, 0, 0, 0])
    assert order.choose({}, weights) is None and order.turn == 0


def test_a_queue_that_was_alone_has_its_whole_turn():
    """Weights of 8 are 1024 bytes a round, four frames: of these the one that was alone has four, whoever else comes.
    """
    weights = served({1: SchedulerConfig("DWRR", 8), 2: SchedulerConfig("DWRR", 8)})
    order = Round()
    assert order.choose({2: 256}, weights) == 2
    assert [order.choose({1: 256, 2: 256}, weights) for _ in range(9)] == [2, 2, 2, 2, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("response_ps, second", [(0, 304_800 + FRAME), (60_000, 364_800 + FRAME),
                                                 (90_000, 167_040 + FRAME)])
def test_a_frame_due_in_a_pause_slips(response_ps, second):
    """Frames are due each 167040 ps; a pause of 40 quanta (204800 ps) comes at 100000 ps. The one due in it is due at
    its end, and the schedule goes on from there; with the longest response time frame 1 is due first, 2 slips.
    """
    oracle = build([data("test", 0, 1, [3], 3)], response_ps=response_ps)
    oracle.advance_to(100_000)
    oracle.by_name["p0"].receive_control(ControlItem(pfc_bytes(bytes(6), 3, 40), False, lambda: None))
    key = "flow", "test", "frames_tx"
    assert changes(oracle, key, [FRAME] if not oracle.clock.now else [second]) == [1, 2]
    third = second + 167_040 if response_ps < 90_000 else 394_800 + FRAME
    assert changes(oracle, key, [third]) == [2, 3]


def test_a_frame_that_waited_when_the_pause_came_is_sent_after_it_and_the_schedule_does_not_slip():
    """The second flow's frame waits behind the first one's and is held until 152400 ps. Its successor is due at 167040
    ps as if nothing had been, with and behind the first flow's.
    """
    flows = [data("first", 0, 1, [4], 4), data("second", 0, 1, [3], 3)]
    oracle = build(flows)
    oracle.advance_to(50_000)
    oracle.by_name["p0"].receive_control(ControlItem(pfc_bytes(bytes(6), 3, 20), False, lambda: None))
    key = "flow", "second", "frames_tx"
    assert changes(oracle, key, [152_400 + FRAME, 152_400 + 3 * FRAME]) == [0, 1, 1, 2]


def test_bursts_and_sizes_follow_their_formula():
    duration = Duration(burst_frames=2, burst_period_ps=US)
    flow = data("test", 0, 1, [3], 3, sizes=(64, 1500), rate_fps=Fraction(10**12, 200_000), duration=duration)
    oracle = build([flow])
    last_bits = [84 * 80, 200_000 + 1520 * 80, US + 84 * 80, US + 200_000 + 1520 * 80]
    assert changes(oracle, ("flow", "test", "bytes_tx"), last_bits) == [0, 64, 64, 1564, 1564, 1628, 1628, 3128]


def test_the_tag_is_trusted_on_a_port_with_a_dot1p_map():
    config = testbeds.switch_config(2, dot1p_to_tc={n: (n + 1) % 8 for n in range(8)})
    flows = [data("tagged", 0, 1, [4], 4, vlan_id=1000, vlan_priority=2, duration=Duration(frames=5)),
             data("untagged", 0, 1, [4], 4, duration=Duration(frames=7))]
    oracle = build(flows, config)
    oracle.advance_to(MS)
    assert [oracle.read()["queue", "dut", "Ethernet4", q, "packets"] for q in range(8)] == [0, 7, 0, 5, 0, 0, 0, 0]


def test_refreshes_count_from_the_decision_and_xon_ends_them():
    """Half of 65535 quanta is 167769600 ps. Two frames fit; the third, due at 2 periods, is the XOFF. With an XON level
    of 0 the last frame makes the XON.
    """
    config = testbeds.switch_config(2, priority_groups={3: TWO_FRAMES})
    flows = [storm("storm", 1, {3: 0xFFFF}, 1, duration=Duration(frames=1)),
             data("test", 0, 1, [3], 3, duration=Duration(delay_ps=US, frames=4))]
    oracle = build(flows, config)
    xoff = US + 2 * 2 * FRAME + FRAME + CABLE
    key = "port", "dut", "Ethernet0", "pfc_tx"
    found = changes(oracle, key, [xoff + CONTROL, xoff + CONTROL + 167_769_600])
    assert [counts[3] for counts in found] == [0, 1, 1, 2]
    lapse = CONTROL + CABLE + 65535 * 5120
    found = changes(oracle, key, [lapse + 4 * FRAME + CONTROL])
    assert [counts[3] for counts in found] == [2, 3]
    oracle.advance_to(2 * MS)
    assert oracle.read()[key][3] == 3 and oracle.read()["flow", "test", "frames_rx"] == 4


def test_a_link_that_goes_down_loses_what_is_on_it():
    """Frames back to back; frame k leaves the switch from (k + 1) to (k + 2) frame times, 50000 ps later. When the
    receiver's link goes down frames 0 to 2 are there, 3 is on the cable, 4 on the line; 5 to 7 come while it is down.
    """
    config = testbeds.switch_config(2)
    flow = data("test", 0, 1, [3], 3, rate_fps=line_rate(1024))
    oracle = build([flow], replace(config, vlans=(VlanConfig(1000, frozenset(config.ports)),)))
    oracle.advance_to(5 * FRAME + 60_000)
    oracle.set_link("p1", False)
    oracle.advance_to(9 * FRAME)
    found = oracle.read()
    assert found["port", "dut", "Ethernet4", "oper_up"] is False
    assert found["drops", "dut", "Ethernet0", "queue discarded"] == 1
    assert found["drops", "dut", "Ethernet0", "egress port is down"] == 3
    assert found["port", "dut", "Ethernet4", "tx_packets"] == found["flow", "test", "frames_rx"] + 1 == 4
    oracle.set_link("p1", True)
    oracle.advance_to(20 * FRAME)
    assert oracle.read()["flow", "test", "frames_rx"] == 3 + 9
