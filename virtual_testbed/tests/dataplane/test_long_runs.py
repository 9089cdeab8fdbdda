"""Long runs agree with themselves: one leap over an hour, and the same hour in random pieces with reads in between."""
from __future__ import annotations

import random
from fractions import Fraction
from unittest.mock import patch

import pytest

from pfctest.timing import frames_per_second_to_block
from virtual_testbed.dataplane.fast_forward import recurrence
from virtual_testbed.dataplane.model.configuration import PoolConfig
from virtual_testbed.faults import BUILT_IN, Scope
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, data, generator_ports, line_rate, names,
                                                      network, storm, switch_config)

PORTS, SPEED_MBPS, HOUR_PS = 4, 400_000, 3600 * SECOND
DSCP_OF = {0: 8, 1: 0, 2: 5, 3: 3, 4: 4, 5: 46, 6: 48, 7: 1}


def busy_network(lossless_fps):
    """All ports full to 96 % in eight classes, all of them stormed on 3 and 4, and both started."""
    config = switch_config(PORTS, SPEED_MBPS, pools={
        "ingress": PoolConfig(8 << 20), "egress_lossless": PoolConfig(1 << 40), "egress_lossy": PoolConfig(10_000_000)})
    storms = [storm(f"s{n}", n, {3: 0xFFFF, 4: 0xFFFF}, frames_per_second_to_block(SPEED_MBPS)) for n in range(PORTS)]
    full = line_rate(1024, SPEED_MBPS) * Fraction(12, 100)
    flows = [data(f"d{n}.{c}", n, (n + 1) % PORTS, [dscp], c, rate_fps=lossless_fps if c in (3, 4) else full - 17 * c)
             for n in range(PORTS) for c, dscp in DSCP_OF.items()]
    net = network(config, storms + flows)
    net.start_flows(names(storms))
    net.advance_to(MS)
    net.start_flows(names(flows))
    return net, names(storms + flows)


def counters(net, flows):
    """All counters but peaks."""
    switch = net.switch_counters(SWITCH)
    return ([net.flow_counters(name) for name in flows],
            [net.generator_counters(port.name) for port in generator_ports(PORTS)],
            switch.ports, switch.drops, net.switch_states(SWITCH),
            [(q.packets, q.bytes, q.dropped_packets, q.occupancy_bytes) for q in switch.queues.values()],
            [(g.packets, g.bytes, g.dropped_packets, g.occupancy_bytes) for g in switch.priority_groups.values()])


@pytest.mark.parametrize("lossless_fps", [line_rate(1024, SPEED_MBPS) * Fraction(12, 100), Fraction(1, 50)])
def test_an_hour_in_pieces_is_the_same_hour(lossless_fps):
    """Lossless flows fill the buffer at once (12 % of the line each), or go on filling it all the time."""
    rng = random.Random(7)
    whole, flows = busy_network(lossless_fps)
    whole.advance_to(HOUR_PS)
    pieces, _ = busy_network(lossless_fps)
    for time_ps in sorted(rng.choice([rng.randrange(MS, 100 * MS), rng.randrange(MS, HOUR_PS)]) for _ in range(12)):
        pieces.advance_to(time_ps)
        counters(pieces, flows)
    pieces.advance_to(HOUR_PS)
    assert counters(pieces, flows) == counters(whole, flows)
    assert whole.statistics().picoseconds_skipped > HOUR_PS * Fraction(99, 100)
    for net in (whole, pieces):
        net.stop_flows(flows)
        net.advance_to(HOUR_PS + SECOND)
    assert counters(pieces, flows) == counters(whole, flows)


@pytest.mark.parametrize("priority", [0, 3])
def test_full_lines_are_skipped_up_to_a_pause_that_is_sent_seldom(priority):
    """Every 18 ms each port pauses a priority, that of the data or another, although nothing is congested."""
    full = line_rate(1024)
    flows = [data("there", 0, 1, [3], 3, rate_fps=full), data("back", 1, 0, [4], 4, rate_fps=full)]

    def at_the_end():
        net = network(switch_config(PORTS), flows, [BUILT_IN["pfc-unasked"](Scope(priority=priority), period_ms="18")])
        net.start_flows(names(flows))
        net.advance_to(41 * MS)
        return net, counters(net, names(flows))

    net, found = at_the_end()
    assert net.statistics().picoseconds_skipped > 20 * MS
    with patch.object(recurrence, "_silent", lambda control_path, now_ps: []):
        net, stepped = at_the_end()
    assert net.statistics().picoseconds_skipped < 4 * MS
    assert found == stepped
