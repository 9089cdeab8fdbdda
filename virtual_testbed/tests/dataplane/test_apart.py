"""Ports that exchange no frames are advanced apart: one that must be stepped costs what it costs alone."""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from virtual_testbed.dataplane.advance import components
from virtual_testbed.tests.dataplane.testbeds import (MS, background, data, line_rate, names, network, storm,
                                                      switch_config)

PAIRS, SPAN_PS = 6, 8 * MS


def pair(number, storm_fps):
    """Traffic of one port pair, at rates of its own: background and a storm, whose pauses lapse below 2981 frames/s."""
    tx, rx = 2 * number, 2 * number + 1
    rate = line_rate(1024) * Fraction(1000 - 17 * number, 20_000)
    flows = [replace(flow, name=f"{flow.name} of {number}", rate_fps=rate) for flow in background(tx, rx)]
    return [storm(f"storm {number}", rx, {3: 0xFFFF}, storm_fps),
            data(f"test {number}", tx, rx, [3], 3, rate_fps=rate / 10), *flows]


def run(flows, capture=None):
    """A network after the span, with a capture of that generator port."""
    net = network(switch_config(2 * PAIRS), flows)
    if capture is not None:
        net.start_capture(capture, 500)
    net.start_flows(names(flows))
    net.advance_to(SPAN_PS)
    return net


def flow_counters(net, flows):
    return [net.flow_counters(name) for name in names(flows)]


def test_a_storm_that_lapses_makes_no_other_pair_step():
    lapsing, others = pair(0, 2000), [flow for number in range(1, PAIRS) for flow in pair(number, 5960)]
    alone, together, rest = run(lapsing), run(lapsing + others), run(others)
    assert flow_counters(together, lapsing) == flow_counters(alone, lapsing)
    assert flow_counters(together, others) == flow_counters(rest, others)
    apart, most = together.statistics(), alone.statistics().instants_stepped + rest.statistics().instants_stepped
    assert apart.picoseconds_apart > SPAN_PS * 9 // 10 and apart.instants_stepped < 2 * most


def test_a_capture_makes_no_other_pair_step():
    flows = [flow for number in range(PAIRS) for flow in pair(number, 5960)]
    own = [flow for flow in flows if flow.name.endswith("0")]
    together, alone = run(flows, "p1"), run(own, "p1")
    frames = together.capture("p1")
    assert len(frames) == 500 and [frame.time_ps for frame in frames] == [
        frame.time_ps for frame in alone.capture("p1")]
    assert flow_counters(together, flows) == flow_counters(run(flows), flows)
    assert together.statistics().picoseconds_apart > SPAN_PS * 9 // 10
    assert together.statistics().not_skipped["a capture is open"] > 0


@pytest.mark.parametrize("first, second, expected", [((0, 1), (2, 3), 2), ((0, 1), (1, 2), 1), ((0, 1), (2, 0), 1)])
def test_components_are_ports_that_exchange_frames(first, second, expected):
    flows = [data(f"d{tx}", tx, rx, [3], 3) for tx, rx in (first, second)]
    net = network(switch_config(4), flows)
    net.start_flows(names(flows))
    paths = [path for port in net._switches["dut"].ports.values() for path in port.paths]
    ports = list(dict.fromkeys(port for path in paths for port in (path.in_port, path.out)))
    found = components([], ports, paths)
    assert len(found) == expected and sorted(port.name for _, own in found for port in own) == sorted(
        port.name for port in ports)
