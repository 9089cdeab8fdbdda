"""Watchdog: detection, actions, restoration, statistics, configuration while traffic runs."""
from __future__ import annotations

from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, change_port, data, network, storm,
                                                      switch_config, with_watchdog)

KEY = ("Ethernet0", 3)


def start(config, duration=Duration(), rate=5960, traffic=True):
    flows = [storm("storm", 0, {3: 0xFFFF}, rate, duration=duration), data("test", 1, 0, [3], 3),
             data("other", 1, 0, [4], 4)]
    net = network(config, flows)
    net.start_flows(["storm", "test", "other"] if traffic else ["storm"])
    return net


def state(net, key=KEY):
    return net.switch_states(SWITCH).watchdog[key]


def test_storm_is_detected_within_the_promised_time_and_dropped():
    net = start(with_watchdog(switch_config(2), "Ethernet0"))
    net.advance_to(200 * MS)
    assert state(net).status == "operational" and net.flow_counters("test").held_by == {3}
    net.advance_to(400 * MS)
    assert (state(net).status, state(net).detected) == ("stormed", 1)
    held = net.flow_counters("test").frames_tx
    net.advance_to(SECOND)
    flow = net.flow_counters("test")
    assert flow.held_by == frozenset() and flow.frames_tx > held + 3_000_000 and flow.frames_rx < 10
    switch = net.switch_counters(SWITCH)
    assert state(net).tx_dropped == state(net).tx_dropped_last == switch.queues[KEY].dropped_packets > 3_000_000
    assert net.flow_counters("other").frames_rx >= net.flow_counters("other").frames_tx - 2
    assert state(net, ("Ethernet0", 4)).detected == 0


def test_restoration_after_the_storm():
    net = start(with_watchdog(switch_config(2), "Ethernet0"), Duration(time_ps=SECOND))
    net.advance_to(SECOND)
    assert state(net).status == "stormed"
    net.advance_to(2 * SECOND)
    assert (state(net).status, state(net).detected, state(net).restored) == ("operational", 1, 1)
    received = net.flow_counters("test").frames_rx
    net.advance_to(3 * SECOND)
    assert abs(net.flow_counters("test").frames_rx - received - 5_986_590) < 3


def test_never_restored_without_a_restoration_time():
    net = start(with_watchdog(switch_config(2), "Ethernet0", restoration_ms=None), Duration(time_ps=SECOND))
    net.advance_to(60 * SECOND)
    assert state(net).status == "stormed"


@pytest.mark.parametrize("action, received", [("forward", True), ("alert", False)])
def test_other_actions(action, received):
    net = start(with_watchdog(switch_config(2), "Ethernet0", action))
    net.advance_to(SECOND)
    assert state(net).status == "stormed"
    assert (net.flow_counters("test").frames_rx > 1_000_000) == received
    assert (net.flow_counters("test").held_by == {3}) == (action == "alert")
    assert not net.switch_counters(SWITCH).drops


@pytest.mark.parametrize("action, counts", [("drop", True), ("forward", True), ("alert", False)])
def test_the_action_alert_counts_no_frames(action, counts):
    """What was held leaves when the storm ends, before the poll that sees it."""
    net = start(with_watchdog(switch_config(2), "Ethernet0", action), Duration(time_ps=SECOND))
    net.advance_to(3 * SECOND)
    found = state(net)
    assert (found.detected, found.restored, found.tx_packets + found.tx_dropped > 0) == (1, 1, counts)


def test_a_storm_that_lapses_is_not_one_for_broadcom():
    net = start(with_watchdog(switch_config(2), "Ethernet0"), rate=1000, traffic=False)
    net.advance_to(5 * SECOND)
    assert state(net).detected == 0


@pytest.mark.parametrize("asic, traffic, detected", [
    ("broadcom", False, 1), ("mellanox", False, 0), ("mellanox", True, 1), ("vs", False, 1), ("vs", True, 1)])
def test_personalities(asic, traffic, detected):
    config = replace(with_watchdog(switch_config(2), "Ethernet0", restoration_ms=None), asic_type=asic)
    net = start(config, traffic=traffic)
    net.advance_to(2 * SECOND)
    assert state(net).detected == detected


def test_stopping_the_watchdog_mid_storm_gives_the_pause_back():
    config = switch_config(2)
    net = start(with_watchdog(config, "Ethernet0"))
    net.advance_to(SECOND)
    net.configure_switch(config)
    assert state(net).status == "operational"
    dropped = net.switch_counters(SWITCH).queues[KEY].dropped_packets
    net.advance_to(2 * SECOND)
    assert net.switch_counters(SWITCH).queues[KEY].dropped_packets == dropped
    assert net.flow_counters("test").held_by == {3} and net.flow_counters("test").frames_rx < 10


def test_starting_the_watchdog_while_traffic_is_held():
    config = switch_config(2)
    net = start(config)
    net.advance_to(SECOND)
    assert not net.switch_states(SWITCH).watchdog
    net.configure_switch(with_watchdog(config, "Ethernet0"))
    net.advance_to(2 * SECOND)
    assert state(net).status == "stormed" and net.flow_counters("test").held_by == frozenset()


def test_only_watched_priorities_and_ports():
    config = change_port(with_watchdog(switch_config(2), "Ethernet0"), "Ethernet0", watchdog_priorities=frozenset({4}))
    net = start(config)
    net.advance_to(SECOND)
    assert set(net.switch_states(SWITCH).watchdog) == {("Ethernet0", 4)}
    assert net.flow_counters("test").held_by == {3}


def test_big_red_switch_drops_on_every_watched_queue():
    config = with_watchdog(switch_config(2), "Ethernet0")
    net = start(config, traffic=False)
    net.configure_switch(replace(config, big_red_switch=True))
    net.start_flows(["test", "other"])
    net.advance_to(SECOND)
    assert net.flow_counters("test").frames_rx == net.flow_counters("other").frames_rx == 0
    net.configure_switch(config)
    assert state(net).status == "operational"


def test_storm_on_the_tx_ports_ingress_is_dropped_on_the_way_in():
    """A stormed port also drops what comes in on it with the stormed class."""
    flows = [storm("storm", 0, {3: 0xFFFF}), data("back", 0, 1, [3], 3)]
    net = network(with_watchdog(switch_config(2), "Ethernet0"), flows)
    net.start_flows(["storm", "back"])
    net.advance_to(SECOND)
    assert state(net).rx_dropped == net.switch_counters(SWITCH).ports["Ethernet0"].rx_drops > 1_000_000
