"""Reception of pause frames, and what a storm does to traffic."""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pfctest.frame import GlobalPauseFrame, PfcFrame, encode
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, SWITCH_MAC, US, background, change_port, data,
                                                      line_rate, names, network, storm, switch_config)

PAUSE_PS = 65535 * 5120


def rx_side(net):
    return net.switch_counters(SWITCH).ports["Ethernet0"]


def run_storm(flow, config=None, until_ps=10 * MS, traffic=(), faults=()):
    net = network(config or switch_config(2), [flow, *traffic], faults)
    net.start_flows([flow.name, *names(traffic)])
    net.advance_to(until_ps)
    return net


def raw(frame, **changes):
    return replace(storm("storm", 0, {3: 0xFFFF}), frame=frame, **changes)


@pytest.fixture(name="test_flow")
def fixture_test_flow():
    return data("test", 1, 0, [3], 3)


def test_storm_holds_only_its_class(test_flow):
    lossy = data("lossy", 1, 0, [0], 1, rate_fps=line_rate(1024) / 4)
    other = data("other", 1, 0, [4], 4, rate_fps=line_rate(1024) / 4)
    blocker = storm("storm", 0, {3: 0xFFFF})
    net = network(switch_config(2), [blocker, test_flow, lossy, other])
    net.start_flows(["storm"])
    net.advance_to(MS)
    net.start_flows(["test", "lossy", "other"])
    net.advance_to(SECOND)
    assert net.flow_counters("test").frames_rx == 0
    assert net.flow_counters("test").held_by == {3} and net.flow_counters("test").transmit == "started"
    for name in ("lossy", "other"):
        counters = net.flow_counters(name)
        assert counters.frames_rx >= counters.frames_tx - 2 > 2_900_000
        assert counters.held_by == frozenset()
    sent = net.flow_counters("test").bytes_tx
    assert 0 < sent < 12_766_208
    net.stop_flows(["storm"])
    net.advance_to(2 * SECOND)
    net.stop_flows(["test", "lossy", "other"])
    net.advance_to(3 * SECOND)
    for name in ("test", "lossy", "other"):
        counters = net.flow_counters(name)
        assert counters.frames_rx == counters.frames_tx and counters.transmit == "stopped"
    assert not net.switch_counters(SWITCH).drops


def test_counts_are_exact(test_flow):
    net = run_storm(storm("storm", 0, {3: 0xFFFF, 4: 1}, duration=Duration(frames=1000)), until_ps=SECOND)
    assert rx_side(net).pfc_rx == (0, 0, 0, 1000, 1000, 0, 0, 0)
    assert net.flow_counters("storm").frames_tx == 1000 and net.flow_counters("storm").transmit == "stopped"
    assert rx_side(net).rx_packets == 0 and rx_side(net).pfc_tx == (0,) * 8


def test_one_frame_pauses_for_its_quanta(test_flow):
    net = run_storm(storm("storm", 0, {3: 1000}, duration=Duration(frames=1)), traffic=[test_flow])
    port = rx_side(net)
    assert port.pfc_on2off[3] == 1 and port.pause_duration_us[3] == 1000 * 5120 // US


def test_refresh_overwrites_and_zero_resumes():
    long = storm("long", 0, {3: 0xFFFF}, duration=Duration(frames=1))
    short = storm("short", 0, {3: 100}, duration=Duration(delay_ps=10 * US, frames=1))
    zero = storm("zero", 0, {3: 0}, duration=Duration(delay_ps=10 * US, frames=1))
    for second, expected_ps in ((short, 10 * US + 100 * 5120), (zero, 10 * US)):
        net = network(switch_config(2), [long, second])
        net.start_flows(["long", second.name])
        net.advance_to(MS)
        assert rx_side(net).pause_duration_us[3] == expected_ps // US


def test_unset_bit_is_ignored(test_flow):
    frame = encode(PfcFrame("00:00:00:00:00:00", 1 << 4, (0xFFFF,) * 8))
    net = run_storm(raw(frame), traffic=[test_flow])
    assert rx_side(net).pfc_rx[3] == 0 and rx_side(net).pfc_rx[4] > 0
    assert net.flow_counters("test").frames_rx > 50_000


def test_no_bit_set_does_nothing_and_counts_nothing(test_flow):
    net = run_storm(raw(encode(PfcFrame("00:00:00:00:00:00", 0, (0xFFFF,) * 8))), traffic=[test_flow])
    assert rx_side(net).pfc_rx == (0,) * 8 and net.flow_counters("test").frames_rx > 50_000


def test_lossy_priority_is_counted_but_never_pauses():
    lossy = data("lossy", 1, 0, [0], 1)
    net = run_storm(storm("storm", 0, {1: 0xFFFF}), traffic=[lossy])
    assert rx_side(net).pfc_rx[1] > 0 and rx_side(net).pause_duration_us[1] == 0
    assert net.flow_counters("lossy").frames_rx > 50_000


def test_global_pause_is_ignored_and_is_not_pfc(test_flow):
    net = run_storm(raw(encode(GlobalPauseFrame("00:00:00:00:00:00", 0xFFFF))), traffic=[test_flow])
    assert rx_side(net).pfc_rx == (0,) * 8 and rx_side(net).pause_rx == 60
    assert net.flow_counters("test").frames_rx > 50_000


GOOD = storm("storm", 0, {3: 0xFFFF}).frame


@pytest.mark.parametrize("frame, changes, pauses, errors, drops", [
    (GOOD, {}, True, 0, 0),
    (GOOD + bytes(40), {}, True, 0, 0),
    (bytes.fromhex(SWITCH_MAC.replace(":", "")) + GOOD[6:], {}, True, 0, 0),
    (GOOD, {"fcs_error": True}, False, 60, 0),
    (GOOD[:50], {}, False, 60, 0),
    (b"\x02" * 6 + GOOD[6:], {}, False, 0, 60),
    (GOOD[:14] + b"\x01\x02" + GOOD[16:], {}, False, 0, 60),
])
def test_validity(frame, changes, pauses, errors, drops, test_flow):
    net = run_storm(raw(frame, **changes), traffic=[test_flow])
    port = rx_side(net)
    assert port.pfc_rx[3] == (60 if pauses else 0)
    assert (port.rx_errors, port.rx_drops) == (errors, drops)
    assert (net.flow_counters("test").frames_rx < 10) == pauses


def test_control_frames_are_never_forwarded():
    net = run_storm(storm("storm", 0, {3: 0xFFFF}, rx_ports=("p1",)))
    assert net.flow_counters("storm").frames_rx == 0 and net.generator_counters("p1").frames_rx == 0


def test_storm_that_lapses_lets_frames_through(test_flow):
    """1000 frames a second at 100 Gb/s: held 335.5 us of each ms, so nothing may be lost and all pauses end."""
    net = run_storm(storm("storm", 0, {3: 0xFFFF}, 1000), traffic=[test_flow], until_ps=10 * MS)
    assert net.flow_counters("test").frames_rx > 30_000
    port = rx_side(net)
    assert port.pfc_on2off[3] == 10 and port.pause_duration_us[3] == 10 * PAUSE_PS // US


def test_storm_of_exactly_the_pause_time_never_lapses(test_flow):
    for rate, paused in ((Fraction(SECOND, PAUSE_PS), True), (Fraction(SECOND, PAUSE_PS + US), False)):
        net = run_storm(storm("storm", 0, {3: 0xFFFF}, rate), traffic=[test_flow], until_ps=20 * MS)
        assert (rx_side(net).pfc_on2off[3] == 0) == paused
        assert (net.flow_counters("test").frames_rx < 10) == paused


def test_steady_storm_costs_few_events():
    net = run_storm(storm("storm", 0, {3: 0xFFFF}), until_ps=3600 * SECOND)
    assert rx_side(net).pfc_rx[3] == 3600 * 5960 and net.statistics().instants_stepped < 1000


def test_xoff_reaches_the_sender_and_is_refreshed(test_flow):
    net = run_storm(storm("storm", 0, {3: 0xFFFF}), traffic=[test_flow], until_ps=SECOND)
    tx_side = net.switch_counters(SWITCH).ports["Ethernet4"]
    assert 5_900 < tx_side.pfc_tx[3] < 5_961 and tx_side.pfc_tx[:3] == (0, 0, 0)
    assert net.generator_counters("p1").pfc_rx == tx_side.pfc_tx


def test_generator_that_does_not_honour_pfc_overruns_the_headroom(test_flow):
    net = network(switch_config(2), [storm("storm", 0, {3: 0xFFFF}), test_flow], honours=False)
    net.start_flows(["storm", "test"])
    net.advance_to(10 * MS)
    switch = net.switch_counters(SWITCH)
    group = switch.priority_groups["Ethernet4", 3]
    assert group.dropped_packets > 0 and group.headroom_watermark_bytes > 165_568 - 1040
    assert group.dropped_packets == switch.ports["Ethernet4"].rx_drops
    assert group.dropped_packets == switch.drops["Ethernet4", "priority group full"]
    assert net.flow_counters("test").held_by == frozenset()


def test_pfc_disabled_mid_storm_resumes_at_once(test_flow):
    config = switch_config(2)
    net = run_storm(storm("storm", 0, {3: 0xFFFF}), config, traffic=[test_flow])
    assert net.flow_counters("test").frames_rx < 10
    net.configure_switch(change_port(config, "Ethernet0", pfc_priorities=frozenset({4})))
    net.advance_to(20 * MS)
    assert net.flow_counters("test").frames_rx > 50_000 and rx_side(net).pfc_rx[3] == 120
    net.configure_switch(config)
    net.advance_to(21 * MS)
    held_at = net.flow_counters("test").frames_rx
    net.advance_to(30 * MS)
    assert net.flow_counters("test").frames_rx == held_at


def test_background_loses_nothing_on_a_full_line():
    test, others = data("test", 1, 0, [3], 3), background(1, 0)
    net = network(switch_config(2), [test, *others])
    net.start_flows(names([test, *others]))
    net.advance_to(SECOND)
    net.stop_flows(names([test, *others]))
    net.advance_to(2 * SECOND)
    total = 0
    for name in names([test, *others]):
        counters = net.flow_counters(name)
        assert counters.frames_tx == counters.frames_rx
        total += counters.frames_tx
    assert abs(total - line_rate(1024)) < 10 and not net.switch_counters(SWITCH).drops
