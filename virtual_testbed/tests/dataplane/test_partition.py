"""Ports that exchange no frames are advanced apart: one that must be stepped costs what it costs alone."""
from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward import partition, skip
from virtual_testbed.dataplane.fast_forward.components import components
from virtual_testbed.dataplane.fast_forward.partition import Partition
from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig
from virtual_testbed.faults import BUILT_IN, Scope
from virtual_testbed.tests.dataplane.testbeds import (MS, SWITCH, US, change_port, data, line_rate, names, network,
                                                      pair, port_name, storm, switch_config)

PAIRS, SPAN_PS = 6, 8 * MS
SLOW_MBPS = 10_000
UNLIMITED = BufferProfile("egress_lossless", 0, None, 1 << 40)


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


# ---- two pairs of ports at 10 Gb/s that share a small pool

def shared(first, second, pool_bytes=1_000_000):
    """The switch; thresholds of the lossless groups of the first and of the second pair (None: static, never met)."""
    pools = {"ingress": PoolConfig(pool_bytes), "egress_lossless": PoolConfig(1 << 40)}
    config = switch_config(4, SLOW_MBPS, pools=pools)
    for number, threshold in enumerate((first, first, second, second)):
        static = 1 << 40 if threshold is None else None
        group = BufferProfile("ingress", 0, threshold, static, 165_568, 2288)
        config = change_port(config, port_name(number), priority_groups={3: group},
                             queues={queue: UNLIMITED for queue in range(8)})
    return config


def slow(name, tx, rx, per_mille, size=1024):
    """A lossless flow at so much of the line."""
    rate = line_rate(size, SLOW_MBPS) * Fraction(per_mille, 1000)
    return data(name, tx, rx, [3], 3, sizes=(size,), rate_fps=rate)


def apart_and_together(config, flows, times, faults=list):
    """Counters of flows and ports at some instants, with components advanced apart and without."""
    def counters():
        net = network(config, flows, faults())
        net.start_flows(names(flows))
        found = []
        for time_ps in times:
            net.advance_to(time_ps)
            found += [*flow_counters(net, flows), net.switch_counters(SWITCH).ports]
        return found, net.statistics().sessions_apart
    with patch.multiple(skip, FIRST_CHECK=10, LONGEST_CHECK=40), patch.object(partition, "SHORTEST_PS", US):
        one, sessions = counters()
        with patch.object(Partition, "advance", lambda self, whole, last_ps: False):
            other, _ = counters()
    assert sessions
    return one, other


@pytest.mark.parametrize(("name", "option"), [("pause-leaks", "period_ms"), ("held-frames-aged", "ms")])
def test_a_leak_that_begins_while_components_are_apart_is_no_date_to_cross(name, option):
    """Nor is the aging of what is held."""
    flows = [slow("a", 0, 1, 397), slow("b", 2, 3, 311), storm("s", 1, {3: 0xFFFF}, 200)]

    def leaks():
        return [BUILT_IN[name](Scope(SWITCH, port_name(1)), **{option: "1"})]
    one, other = apart_and_together(shared(None, None, 16_000_000), flows, [20 * MS], leaks)
    assert one == other


@pytest.mark.parametrize("end_us", [1420, 1470])
def test_what_a_component_takes_itself_lowers_its_own_limit(end_us):
    flows = [slow("a", 0, 1, 937), slow("b", 2, 3, 311, 9000), storm("s", 1, {3: 0x3FFF}, 400)]
    one, other = apart_and_together(shared(-2, -2), flows, [end_us * US])
    assert one == other


@pytest.mark.parametrize("second", [-3, -2])
def test_a_steady_component_whose_limit_sinks_is_not_left_behind(second):
    flows = [slow("a", 0, 1, 499), slow("a2", 0, 1, 491), slow("b", 2, 3, 311, 9000),
             storm("s", 1, {3: 0x3FFF}, 400)]
    one, other = apart_and_together(shared(None, second), flows, [300 * US * number for number in range(1, 20)])
    assert one == other and any(port.pfc_tx[3] for port in one[-1].values())


@pytest.mark.parametrize("per_mille", [20, 35, 50])
def test_a_steady_component_that_fills_is_not_left_behind_when_its_limit_sinks(per_mille):
    flows = [slow("a", 0, 1, 499), slow("a2", 0, 1, 461), slow("b", 2, 3, per_mille), storm("s", 1, {3: 0x37FF}, 400),
             storm("keeps", 3, {3: 0xFFFF}, 5960)]
    one, other = apart_and_together(shared(None, 0), flows, [15 * MS])
    assert one == other
