"""Faults of received pauses that take a flap, other frames or time to be seen; pauses sent without congestion; weights.
"""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pfctest.frame import PfcFrame, encode
from pfctest.timing import pause_time_ps
from virtual_testbed.dataplane.model.traffic import Duration, PauseFlow
from virtual_testbed.faults import parse_fault
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, data, line_rate, names, network, storm,
                                                      switch_config)

FULL_US = pause_time_ps(0xFFFF, 100_000) // 10**6


def run(spec, flows, config=None, until_ps=20 * MS):
    """A network in which all flows have run for a while."""
    net = network(config or switch_config(2), flows, [parse_fault(spec)] if spec else [])
    net.start_flows(names(flows))
    net.advance_to(until_ps)
    return net


def port(net, name="Ethernet0"):
    return net.switch_counters(SWITCH).ports[name]


def other_storm(destination="01:80:c2:00:00:01", opcode=0x0101, vector=8):
    """Ten control frames that a healthy port does not take for PFC, unless they are."""
    frame = encode(PfcFrame("00:00:00:00:00:01", vector, (0xFFFF,) * 8, destination))
    frame = frame[:14] + opcode.to_bytes(2, "big") + frame[16:]
    return PauseFlow("storm", "p0", (), frame, Fraction(1000), Duration(frames=10))


# ---- how long a pause lasts

@pytest.mark.parametrize("spec, percent", [
    (None, 100), ("pause-short@Ethernet0", 50), ("pause-short@Ethernet0,percent=10", 10),
    ("pause-short@Ethernet0,priority=4", 100), ("pause-short@Ethernet4", 100), ("pause-long@Ethernet0", 150),
    ("pause-long@Ethernet0,percent=200", 200)])
def test_how_long_a_pause_lasts(spec, percent):
    flows = [storm("storm", 0, {3: 20_000}, 1000, duration=Duration(frames=10)), data("three", 1, 0, [3], 3)]
    net = run(spec, flows)
    paused_ps = 10 * pause_time_ps(20_000 * percent // 100, 100_000)
    assert port(net).pause_duration_us[3] == paused_ps // 10**6 and port(net).pfc_rx[3] == 10
    assert abs(net.flow_counters("three").frames_rx - line_rate(1024) * 20 * MS // (2 * SECOND)) < 3, "nothing is lost"


@pytest.mark.parametrize("spec, outlives", [
    (None, False), ("pause-outlives-flap@Ethernet0", True), ("pause-outlives-flap@Ethernet0,priority=4", False),
    ("pause-outlives-flap@Ethernet4", False)])
def test_pause_outlives_flap(spec, outlives):
    flows = [storm("storm", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3), storm("again", 0, {3: 100}, 1)]
    net = run(spec, flows[:2], until_ps=5 * MS)
    net.set_link("p0", False)
    net.stop_flows(["storm"])
    net.advance_to(10 * MS)
    net.set_link("p0", True)
    before = net.flow_counters("three").frames_rx
    net.advance_to(20 * MS)
    assert (net.flow_counters("three").frames_rx == before == 0) is outlives
    net.add_flows([flows[2]])
    net.start_flows(["again"])
    net.advance_to(21 * MS)
    assert net.flow_counters("three").frames_rx > before, "the next pause frame says how long"


# ---- frames that are no PFC

@pytest.mark.parametrize("frame, fault, other", [
    (dict(opcode=0x0102), "unknown-opcode-honoured", "any-destination-honoured"),
    (dict(destination="00:11:22:33:44:55"), "any-destination-honoured", "unknown-opcode-honoured"),
    (dict(destination="01:80:c2:00:00:0e"), "any-destination-honoured", "unknown-opcode-honoured"),
    (dict(destination="00:00:22:33:44:01"), "any-destination-honoured", "unknown-opcode-honoured")])
def test_other_control_frames(frame, fault, other):
    flows = [other_storm(**frame), data("three", 1, 0, [3], 3)]
    for spec in (None, f"{other}@Ethernet0", f"{fault}@Ethernet4", f"{fault}@Ethernet0,priority=4"):
        healthy = run(spec, flows)
        assert port(healthy).pfc_rx == port(healthy).pause_duration_us == (0,) * 8
        assert (port(healthy).rx_packets, port(healthy).rx_drops) == (10, 10), "discarded"
        assert healthy.generator_counters("p1").frames_rx == 0, "never forwarded"
    faulty = run(f"{fault}@Ethernet0", flows)
    assert port(faulty).pfc_rx == (0, 0, 0, 10, 0, 0, 0, 0) and port(faulty).pause_duration_us[3] == 10 * FULL_US + 5
    assert (port(faulty).rx_packets, port(faulty).rx_drops) == (0, 0)


@pytest.mark.parametrize("destination, counted", [
    ("01:80:c2:00:00:0e", 10), ("01:80:c2:00:00:1e", 0), ("00:11:22:33:44:55", 0)])
def test_frames_to_reserved_addresses_only(destination, counted):
    net = run("any-destination-honoured@Ethernet0,only=reserved", [other_storm(destination=destination)])
    assert port(net).pfc_rx[3] == counted and port(net).rx_drops == 10 - counted


def test_a_global_pause_or_a_short_frame_stays_what_it_is():
    for fault in ("unknown-opcode-honoured", "any-destination-honoured"):
        assert port(run(fault, [other_storm(opcode=1)])).pause_rx == 10
        short = replace(other_storm(opcode=2, destination="02:00:00:00:00:55"), frame=other_storm(opcode=2).frame[:40])
        assert port(run(fault, [short])).rx_errors == 10


@pytest.mark.parametrize("spec, arrived", [
    (None, True), ("storm-never-arrives@Ethernet0", False), ("storm-never-arrives@Ethernet4", True),
    ("storm-never-arrives@Ethernet0,only=other", True), ("storm-never-arrives@Ethernet0,only=global", False)])
def test_a_storm_that_never_arrives_is_sent_and_counted_nowhere(spec, arrived):
    net = run(spec, [other_storm(opcode=1), data("three", 1, 0, [3], 3)])
    assert net.flow_counters("storm").frames_tx == 10, "says the generator"
    found = port(net)
    assert (found.pause_rx, found.rx_smallest) == (10 * arrived, 10 * arrived)
    assert found.rx_packets == found.rx_drops == found.rx_errors == 0 and found.pfc_rx == (0,) * 8


@pytest.mark.parametrize("frame, counted", [(dict(opcode=1), 0), (dict(opcode=2), 0), (dict(opcode=0x101), 10)])
def test_control_uncounted(frame, counted):
    found = port(run("control-uncounted@Ethernet0", [other_storm(**frame)]))
    assert (found.pause_rx, found.rx_packets, found.rx_drops) == (0, 0, 0) and sum(found.pfc_rx) == counted


def test_pfc_counted_as_drop():
    flows = [storm("storm", 0, {3: 0xFFFF, 4: 0xFFFF}, 1000, duration=Duration(frames=10))]
    healthy, faulty = port(run(None, flows)), port(run("pfc-counted-as-drop@Ethernet0", flows))
    assert healthy.rx_drops == 0 and faulty == replace(healthy, rx_drops=10), "by frame, and nothing else changes"


# ---- pauses that nobody asks for, and who sends first

@pytest.mark.parametrize("options, priority, frames", [
    ("", 3, 20), (",priority=4", 4, 20), (",priority=0,period_ms=7", 0, 2), (",from=10ms", 3, 10),
    (",until=10ms", 3, 9)])
def test_pfc_unasked(options, priority, frames):
    flows = [data("mine", 1, 0, [{0: 8}.get(priority, priority)], priority),
             data("other", 1, 0, [5], 2, rate_fps=line_rate(1024) / 4)]
    healthy, net = (run(spec, flows, until_ps=20 * MS + MS // 2) for spec in (None, f"pfc-unasked@Ethernet4{options}"))
    sent = tuple(frames if number == priority else 0 for number in range(8))
    assert port(net, "Ethernet4").pfc_tx == sent == net.generator_counters("p1").pfc_rx
    lost = healthy.flow_counters("mine").frames_tx - net.flow_counters("mine").frames_tx
    assert abs(lost - frames * pause_time_ps(0xFFFF, 100_000) * line_rate(1024) / (2 * SECOND)) <= frames, "it obeys"
    assert abs(net.flow_counters("other").frames_rx - healthy.flow_counters("other").frames_rx) <= 1
    assert not net.switch_counters(SWITCH).drops


def test_unasked_pauses_end_with_the_link():
    net = run("pfc-unasked@Ethernet4", [data("three", 1, 0, [3], 3)], until_ps=5 * MS + MS // 2)
    assert port(net, "Ethernet4").pfc_tx[3] == 5
    net.set_link("p1", False)
    net.advance_to(10 * MS)
    net.set_link("p1", True)
    assert port(net, "Ethernet4").pfc_tx[3] == 5
    net.advance_to(20 * MS + MS // 2)
    assert port(net, "Ethernet4").pfc_tx[3] == 15 and net.generator_counters("p1").pfc_rx[3] == 15


@pytest.mark.parametrize("spec, share", [
    (None, Fraction(15, 29)), ("weights-ignored@Ethernet0", Fraction(1, 2)), ("weights-ignored@Ethernet4", Fraction(
        15, 29)), ("weights-ignored@Ethernet0,order=strict", 1)])
def test_weights_ignored(spec, share):
    """Queues 4 and 2 in overload: 15 and 14 parts of the line."""
    flows = [data("four", 1, 0, [4], 4, rate_fps=line_rate(1024)),
             data("two", 2, 0, [5], 2, rate_fps=line_rate(1024))]
    net = run(spec, flows, switch_config(3))
    queues = net.switch_counters(SWITCH).queues
    four, two = queues["Ethernet0", 4].packets, queues["Ethernet0", 2].packets
    assert abs(Fraction(four, four + two) - share) < Fraction(1, 1000)


def test_what_was_forwarded_stays_counted_when_the_port_that_it_left_by_goes_down():
    flows = [storm("storm", 0, {3: 0xFFFF}, 1000), data("three", 1, 0, [3], 3)]
    net = run("pfc-forwarded@Ethernet0", flows, until_ps=5 * MS)
    forwarded = net.generator_counters("p1").frames_rx
    net.set_link("p1", False)
    net.advance_to(10 * MS)
    assert net.generator_counters("p1").frames_rx == forwarded == 5, "none left while it was down"
    net.set_link("p1", True)
    net.advance_to(15 * MS)
    assert net.generator_counters("p1").frames_rx == forwarded + 5
