"""Traffic that can only be stepped: an advance ends after so many events, says why, and all goes on from there."""
from __future__ import annotations

from unittest.mock import patch

import pytest

from virtual_testbed.dataplane import advance
from virtual_testbed.dataplane.network import Overrun
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, data, line_rate, names, network, storm,
                                                      switch_config)


def overloaded():
    """Two flows for one port, each in step with nothing, in a queue that a storm on the same lines shuts now and then:
    frames are dropped, and nothing recurs."""
    flows = [data("a", 0, 1, [8], 0, rate_fps=line_rate(1024) * 977 / 1000),
             data("b", 2, 1, [8], 0, rate_fps=line_rate(1024) * 991 / 1000),
             data("c", 1, 0, [8], 0, rate_fps=line_rate(1024) * 983 / 1000), storm("s", 1, {3: 0xFFFF}, 7919)]
    net = network(switch_config(4), flows)
    net.start_flows(names(flows))
    return net, flows


def state(net, flows):
    return [net.flow_counters(name) for name in names(flows)], net.switch_counters(SWITCH).ports


def test_an_advance_ends_when_too_much_has_to_be_stepped():
    net, flows = overloaded()
    with patch.object(advance, "MOST_EVENTS", 20_000):
        net.advance_to(SECOND)
        with pytest.raises(Overrun, match="^computing 0.000000 s to 1.000000 s of simulated time takes too long: .* "
                                          "after 20000 events 0.00[0-9]* s is reached, where time stands now$"):
            net.flow_counters("a")
        reached_ps = net.now_ps
        assert 0 < reached_ps < 10 * MS
        other, _ = overloaded()
        other.advance_to(reached_ps // 2)
        state(other, flows)
        other.advance_to(reached_ps)
        assert state(net, flows) == state(other, flows)
    for each in (net, other):
        each.stop_flows(names(flows))
        each.advance_to(SECOND)
    assert state(net, flows) == state(other, flows)
    assert net.now_ps == SECOND and net.switch_counters(SWITCH).ports["Ethernet4"].tx_packets


def test_what_can_be_skipped_does_not_count():
    flows = [data("a", 0, 1, [3], 3)]
    net = network(switch_config(4), flows)
    net.start_flows(names(flows))
    with patch.object(advance, "MOST_EVENTS", 5000):
        net.advance_to(1000 * SECOND)
        assert net.flow_counters("a").frames_rx > 10**9
