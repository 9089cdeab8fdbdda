"""Flows whose frames take turns with many DSCPs recur with each frame, and are at the right turn after a jump."""
from __future__ import annotations

from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward.partition import Partition
from virtual_testbed.dataplane.fast_forward.recurrence import Recurrence
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, US, data, generator_ports, hosts, line_rate,
                                                      names, network, storm, switch_config)

MANY = [dscp for dscp in range(64) if dscp not in (3, 4, 5, 8, 46, 48)]  # all lead to queue 1
QUEUES = {1: MANY, 0: [8], 2: [5], 3: [3], 4: [4], 5: [46], 6: [48]}


def full_lines(pairs, sizes=(1024,)):
    """Flows in all queues, first the one whose frames take turns, that fill the line of each pair's port together."""
    rate = line_rate(sum(sizes) // len(sizes)) / len(QUEUES)
    return [data(f"{queue} of {number}", 2 * number, 2 * number + 1, dscp, queue, rate_fps=rate, sizes=sizes)
            for number in range(pairs) for queue, dscp in QUEUES.items()]


def counters(net, flows):
    """All that may differ."""
    switch = net.switch_counters(SWITCH)
    return ([net.flow_counters(name) for name in names(flows)], switch.ports,
            [(queue.packets, queue.bytes, queue.occupancy_bytes) for queue in switch.queues.values()])


def run(flows, pairs, span_ps):
    """A network that has been computed up to the end of the span."""
    net = network(switch_config(2 * pairs), flows)
    net.start_flows(names(flows))
    net.advance_to(span_ps)
    net.statistics()
    return net


@pytest.mark.parametrize("pairs", [1, 2, 5])
def test_pairs_that_fill_their_lines_recur_together(pairs):
    """Apart each could go on for tens of microseconds only, which are as many jumps as there are such times."""
    net = run(full_lines(pairs), pairs, 5 * SECOND)
    found = net.statistics()
    assert found.picoseconds_skipped > 5 * SECOND * 99 // 100 and found.instants_stepped < 10_000


@pytest.mark.parametrize("sizes", [(1024,), (64, 1500, 64, 300)])
@pytest.mark.parametrize("span_ps", [MS, MS + 3_456_789])
def test_a_jump_leaves_the_turns_where_they_would_be(plain, sizes, span_ps):
    flows = full_lines(2, sizes)
    jumped = run(flows, 2, span_ps)
    with patch.object(Recurrence, "at_sample", lambda *_: None), patch.object(Partition, "advance", lambda *_: False):
        stepped = run(flows, 2, span_ps)
    assert jumped.statistics().cycles_skipped > 100 and not stepped.statistics().jumps
    assert counters(jumped, flows) == counters(stepped, flows)
    seen = []
    for net in (jumped, stepped):
        net.start_capture("p1", 400)
        net.advance_to(span_ps + 40 * US)
        seen.append(net.capture("p1"))
    assert len(seen[0]) > 100 and seen[0] == seen[1]


def test_a_capture_that_pauses_alone_have_filled_slows_nothing_down():
    """What the switch pauses the sender with is all that reaches its port."""
    flows = [data("d", 0, 1, [3], 3, rate_fps=line_rate(1024)), storm("s", 1, {3: 0xFFFF})]
    net = network(switch_config(2), flows)
    net.start_flows(names(flows))
    net.start_capture("p0", 40)
    net.advance_to(SECOND)
    assert len(net.capture("p0")) == 40, "the capture is full"
    found = net.statistics()
    net.advance_to(2 * SECOND)
    later = net.statistics()
    assert later.picoseconds_skipped - found.picoseconds_skipped > SECOND * 99 // 100, later
    assert later.instants_stepped - found.instants_stepped < 10_000, later


def test_a_capture_slows_no_later_configuration_down(plain):
    """While there is one, frames of each DSCP are told apart; that lasted for ever."""
    flows = [*full_lines(2), storm("a storm", 1, {3: 0xFFFF})]
    net = network(switch_config(4), flows)
    net.start_capture("p1", 40)
    net.start_flows(names(flows))
    net.advance_to(MS)
    net.stop_capture("p1")
    net.set_traffic(generator_ports(4), hosts(4), flows)
    before = net.statistics()
    net.start_flows(names(flows))
    net.advance_to(net.now_ps + SECOND)
    found = net.statistics()
    assert found.picoseconds_skipped - before.picoseconds_skipped > SECOND * 99 // 100
    assert found.instants_stepped - before.instants_stepped < 10_000


def under_way(net):
    """By generator port: the data frames on line and cable with the DSCP of each, and whose turn is next."""
    return [([(time_ps, frame.dscp) for time_ps, frame in side.line.flight],
             [(flow.position, [lane.launched for lane in flow.kinds]) for flow in side.flows])
            for side in net._cabling.sides.values()]


def test_frames_under_way_after_a_jump_are_those_whose_turn_it_was():
    flows, seen = full_lines(1), []
    with patch.object(Recurrence, "at_sample", lambda *_: None):
        stepped = run(flows, 1, 100 * US)
        for place in range(15):  # together a cycle
            stepped.advance_to(100 * US + 41_000 * place)
            stepped.statistics()
            seen.append(under_way(stepped))
    jumped = [run(flows, 1, 100 * US + 41_000 * place) for place in range(15)]
    assert all(net.statistics().jumps for net in jumped) and not stepped.statistics().jumps
    assert [under_way(net) for net in jumped] == seen
