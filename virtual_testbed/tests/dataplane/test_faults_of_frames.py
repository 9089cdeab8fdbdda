"""Faults that look at what a frame is: its size, its IP version, its DSCP."""
from __future__ import annotations

import pytest

from virtual_testbed.faults import parse_fault
from virtual_testbed.tests.dataplane.testbeds import SECOND, SWITCH, data, line_rate, names, network, switch_config

RATE = line_rate(1518) / 8


def run(spec, flows):
    """A network in which all flows have run for a while, and ended."""
    net = network(switch_config(2), flows, [parse_fault(spec)] if spec else [])
    net.start_flows(names(flows))
    net.advance_to(SECOND)
    net.stop_flows(names(flows))
    net.advance_to(2 * SECOND)
    return net


@pytest.mark.parametrize("options, dropped", [
    ("min=1500", {1518}), ("max=64", {64}), ("min=65,max=1517", {512}), ("", {64, 512, 1518}), ("min=1519", set())])
def test_size_dropped(options, dropped):
    flows = [data(f"{size}", 1, 0, [3], 3, sizes=(size,), rate_fps=RATE) for size in (64, 512, 1518)]
    flows.append(data("all", 1, 0, [0], 1, sizes=(64, 512, 1518), rate_fps=RATE))
    net = run(f"size-dropped@Ethernet0{',' if options else ''}{options}", flows)
    for size in (64, 512, 1518):
        counts = net.flow_counters(f"{size}")
        assert counts.frames_rx == (0 if size in dropped else counts.frames_tx), size
    counts = net.flow_counters("all")
    assert abs(counts.frames_rx - counts.frames_tx * (3 - len(dropped)) / 3) < 3
    assert net.switch_counters(SWITCH).ports["Ethernet0"].tx_drops == sum(
        net.flow_counters(name).frames_tx - net.flow_counters(name).frames_rx for name in names(flows))


def test_one_in_so_many_of_a_size():
    net = run("size-dropped@Ethernet0,min=1000,one_in=4", [data("d", 1, 0, [3], 3, sizes=(1518,), rate_fps=RATE)])
    counts = net.flow_counters("d")
    assert counts.frames_tx - counts.frames_rx == counts.frames_tx // 4
    assert run("size-dropped@Ethernet0,priority=4", [data("d", 1, 0, [3], 3)]).switch_counters(SWITCH).drops == {}


@pytest.mark.parametrize("spec, queue", [
    (None, {"four": 3, "six": 3, "other": 4}), ("misclassified@Ethernet4,ip=6,to=0", {"four": 3, "six": 0, "other": 4}),
    ("misclassified@Ethernet4,dscp=4,to=3", {"four": 3, "six": 3, "other": 3}),
    ("misclassified@Ethernet4,ip=4,dscp=3,to=1", {"four": 1, "six": 3, "other": 4}),
    ("misclassified@Ethernet4,ip=6,dscp=4,to=1", {"four": 3, "six": 3, "other": 4}),
    ("misclassified@Ethernet4,ip=6,to=0,priority=4", {"four": 3, "six": 3, "other": 4}),
    ("misclassified@Ethernet0,ip=6,to=0", {"four": 3, "six": 3, "other": 4})])
def test_misclassified(spec, queue):
    flows = [data("four", 1, 0, [3], 3, rate_fps=RATE),
             data("six", 1, 0, [3], 3, rate_fps=RATE / 2, source_address="fc02:1000::3",
                  destination_address="fc02:1000::2"),
             data("other", 1, 0, [4], 4, rate_fps=RATE / 4)]
    net = run(spec, flows)
    switch = net.switch_counters(SWITCH)
    for number in range(8):
        frames = sum(net.flow_counters(name).frames_rx for name in queue if queue[name] == number)
        group = sum(net.flow_counters(name).frames_rx for name in queue if (0 if queue[name] in (0, 1) else queue[
            name]) == number)
        assert switch.queues["Ethernet0", number].packets == frames, number
        assert switch.priority_groups["Ethernet4", number].packets == group, number
    assert not switch.drops
