"""Traffic that can only be stepped: an advance ends after so many events, says why, and all goes on from there."""
from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.fast_forward import advance
from virtual_testbed.dataplane.fast_forward.ledger import Ledger
from virtual_testbed.dataplane.network import Network, Overrun
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, data, generator_ports, hosts, line_rate,
                                                      location, names, network, port_name, storm, switch_config)

pytestmark = pytest.mark.usefixtures("plain")


def overload():
    """Two flows for one port, each in step with nothing, in a queue that a storm on the same lines shuts now and then:
    frames are dropped, and nothing recurs."""
    return [data("a", 0, 1, [8], 0, rate_fps=line_rate(1024) * 977 / 1000),
            data("b", 2, 1, [8], 0, rate_fps=line_rate(1024) * 991 / 1000),
            data("c", 1, 0, [8], 0, rate_fps=line_rate(1024) * 983 / 1000), storm("s", 1, {3: 0xFFFF}, 7919)]


def overloaded():
    """A switch with that load."""
    flows = overload()
    net = network(switch_config(4), flows)
    net.start_flows(names(flows))
    return net, flows


def state(net, flows):
    return [net.flow_counters(name) for name in names(flows)], net.switch_counters(SWITCH).ports


def test_an_advance_ends_when_too_much_has_to_be_stepped():
    net, flows = overloaded()
    before = net._loop.events
    with patch.object(advance, "MOST_EVENTS", 20_000):
        net.advance_to(SECOND)
        with pytest.raises(Overrun, match="^computing 0.000000 s to 1.000000 s of simulated time takes too long: .* "
                                          "after [0-9]+ events 0.00[0-9]* s is reached, where time stands now$"
                           ) as told:
            net.flow_counters("a")
        assert f"after {net._loop.events - before} events" in str(told.value)
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


def test_the_reason_is_one_of_this_run():
    net, _ = overloaded()
    net._advance.ledger.reasons["of an earlier run"] = 10**9
    with patch.object(advance, "MOST_EVENTS", 5000):
        net.advance_to(SECOND)
        with pytest.raises(Overrun, match=r"one by one \(a line has no idle time\), and"):
            net.flow_counters("a")


def test_no_reason_is_told_where_none_was_counted():
    net, _ = overloaded()
    net._advance.ledger.reasons["of an earlier run"] = 10**9
    with patch.object(advance, "MOST_EVENTS", 5000), patch.object(Ledger, "count"):
        net.advance_to(SECOND)
        with pytest.raises(Overrun, match="one by one, and"):
            net.flow_counters("a")


def with_an_idle_switch():
    """The same beside a second switch with nearly nothing to do: the two are advanced apart."""
    net, second = Network(), replace(switch_config(2), name="second", mac="00:00:22:33:55:00")
    flows = [*overload(), data("quiet", 4, 5, [3], 3, rate_fps=line_rate(1024) / 1000)]
    for number in range(6):
        name, port = (SWITCH, number) if number < 4 else ("second", number - 4)
        net.add_link(location(number), name, port_name(port), 100_000, 5)
    net.configure_switch(switch_config(4))
    net.configure_switch(second)
    net.set_traffic(generator_ports(6), hosts(6), flows)
    net.start_flows(names(flows))
    return net, flows


def test_what_is_stepped_apart_counts_as_well():
    net, flows = with_an_idle_switch()
    with patch.object(advance, "MOST_EVENTS", 20_000):
        net.advance_to(20 * MS)
        with pytest.raises(Overrun):
            net.flow_counters("a")
    assert net._advance.partition.sessions and net._loop.events < 10 * 20_000
    other, _ = with_an_idle_switch()
    other.advance_to(net.now_ps)
    assert state(net, flows) == state(other, flows)
    for each in (net, other):
        each.stop_flows(names(flows))
        each.advance_to(SECOND)
    assert state(net, flows) == state(other, flows)


def test_what_can_be_skipped_does_not_count():
    flows = [data("a", 0, 1, [3], 3)]
    net = network(switch_config(4), flows)
    net.start_flows(names(flows))
    with patch.object(advance, "MOST_EVENTS", 5000):
        net.advance_to(1000 * SECOND)
        assert net.flow_counters("a").frames_rx > 10**9
