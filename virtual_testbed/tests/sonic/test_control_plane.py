"""Frames of control planes in the counters of a switch: as many as are due, while the link is up, and nowhere else."""
from __future__ import annotations

import pytest

from virtual_testbed.dataplane.model.control_plane import ControlProtocol
from virtual_testbed.dataplane.model.counters import PgCounters, QueueCounters, SwitchCounters
from virtual_testbed.faults import parse_fault
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.control_plane import QUEUE, ControlPlane
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME, port_counters
from virtual_testbed.tests.sonic.test_agent import counters

SECOND = 10**12
HELLO = ControlProtocol("hello", 10 * SECOND, (100, 60), (64,))
COUNTED = SwitchCounters(
    {port: port_counters(rx_packets=5, tx_packets=7) for port in ("Ethernet0", "Ethernet4")},
    {("Ethernet0", queue): QueueCounters(packets=queue) for queue in range(8)},
    {("Ethernet0", group): PgCounters() for group in range(8)})


def passed(*moments, running=(HELLO,)):
    """The control plane of a switch after these (second, link of Ethernet0 up)."""
    plane = ControlPlane()
    for second, is_up in moments:
        plane.pass_time(second * SECOND, {"Ethernet0": is_up}, {"Ethernet0": running, "Ethernet4": ()})
    return plane.added_to(COUNTED)


def test_frames_count_at_the_port_and_in_the_queue_of_the_cpu():
    found = passed((0, True), (100, True))
    port, queue = found.ports["Ethernet0"], found.queues["Ethernet0", QUEUE]
    assert (port.tx_packets, port.tx_bytes, port.rx_packets, port.rx_bytes) == (7 + 20, 1600, 5 + 10, 640)
    assert (queue.packets, queue.bytes) == (7 + 20, 1600)
    assert found.ports["Ethernet4"] == COUNTED.ports["Ethernet4"], "no protocol runs there"
    assert {key: one for key, one in found.queues.items() if key[1] != QUEUE} == {
        key: one for key, one in COUNTED.queues.items() if key[1] != QUEUE}
    assert found.priority_groups == COUNTED.priority_groups and found.drops == COUNTED.drops


def test_how_often_somebody_looks_changes_nothing():
    often = passed(*((tenth / 10, True) for tenth in range(1001)))
    assert often == passed((0, True), (100, True))


@pytest.mark.parametrize("moments, times", [
    (((0, True), (40, False), (60, True), (100, True)), 8), (((0, False), (100, False)), 0),
    (((100, True),), 10), (((0, True), (40, True), (40, False), (100, False)), 4)])
def test_a_link_that_is_down_carries_none(moments, times):
    assert passed(*moments).ports["Ethernet0"].rx_packets == 5 + times


def test_a_switch_without_protocols_counts_what_it_did():
    assert ControlPlane().added_to(COUNTED) is COUNTED
    assert passed((0, True), (100, True), running=()) == COUNTED


def minute(redis, network, agent):
    """Frames sent and received by Ethernet0, frames of its queue 7, and those sent by Ethernet4, in COUNTERS_DB."""
    network.now_ps += 60 * SECOND
    agent.publish_counters()
    port, other = (counters(redis, "PORT", name) for name in ("Ethernet0", "Ethernet4"))
    queue = counters(redis, "QUEUE", "Ethernet0:7")
    return [int(found) for found in (
        port["SAI_PORT_STAT_IF_OUT_UCAST_PKTS"], port["SAI_PORT_STAT_IF_IN_UCAST_PKTS"],
        queue["SAI_QUEUE_STAT_PACKETS"], other["SAI_PORT_STAT_IF_OUT_UCAST_PKTS"])]


def test_a_switch_that_chatters_shows_it_where_it_is_told_to(redis, network):
    """148 frames a minute each way; also when its databases were away."""
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, [parse_fault("chatter@Ethernet0")])
    try:
        sent = 60 + 2 + 2 + 4 + 2 * 40
        assert minute(redis, network, agent) == [sent, sent, sent, 0]
        redis.restart()
        agent.apply_configuration()  # notices it
        agent.apply_configuration()  # begins anew
        assert minute(redis, network, agent) == [2 * sent, 2 * sent, 2 * sent, 0]
    finally:
        agent.close()
