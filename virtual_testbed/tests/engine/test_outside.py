"""Frames from outside do what the same frames of a traffic generator do."""
from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given, settings, strategies as st

from pfctest.frame import GlobalPauseFrame, encode, pfc_frame
from virtual_testbed.dataplane.model.control_frames import MacControlFrame
from virtual_testbed.dataplane.network import NetworkError
from virtual_testbed.engine.wire import ExternalRx
from virtual_testbed.lab_files.cables import GeneratorLink, WireError, WireLink, wire_link
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.testbeds import MS, US
from virtual_testbed.tests.engine.plant import open_network

PFC_3 = MacControlFrame(encode(pfc_frame("00:00:00:00:00:00", {3: 0xFFFF})))
MIXED = MacControlFrame(encode(pfc_frame("02:00:00:00:00:00", {3: 1000, 4: 0})))
RELEASE = MacControlFrame(encode(pfc_frame("02:00:00:00:00:00", {3: 0})))
GLOBAL = MacControlFrame(encode(GlobalPauseFrame("02:00:00:00:00:00", 0xFFFF)))
RUNT = MacControlFrame(PFC_3.data[:40])
PAUSE_PS = 335_539_200
WAY_PS = 84 * 80 + 5 * 5000
"""From the instant at which a frame comes due to its last bit at the switch: on the line, and 5 m of cable."""


class Given:
    """Frames that were known before."""

    def __init__(self, rx):
        self._rx = rx

    def hear(self, until_ps):
        """What acts by then."""
        return self._rx.receive(until_ps, 0)


def traffic(rate_share=0.3):
    """Data of priorities 3 and 4 and of a lossy one, from p1 to p0."""
    rate = testbeds.line_rate(1024) * int(rate_share * 10) / 10 / 3
    return [testbeds.data(f"data {queue}", 1, 0, [dscp], queue, rate_fps=rate)
            for queue, dscp in ((1, 0), (3, 3), (4, 4))]


def outcome(net, flows):
    """All that can be counted, but for what depends on how much was stepped."""
    found = asdict(net.switch_counters(testbeds.SWITCH))
    for kind in ("queues", "priority_groups"):
        for row in found[kind].values():
            for name in [name for name in row if "watermark" in name]:
                del row[name]
    return found, [net.flow_counters(flow.name) for flow in flows]


def run(arrivals, reads, merged=True):
    """The outcome after frames (instant, frame) have come to p0, counters read at some instants on the way."""
    flows = traffic()
    net, rx = open_network(testbeds.switch_config(2), flows), ExternalRx(testbeds.location(0), 100_000)
    for arrival in arrivals:
        rx.add(arrival[0], arrival[1].data)
    net.outside = Given(rx) if merged else None
    net.start_flows(testbeds.names(flows))
    if not merged:
        for time_ps, frame in arrivals:
            net.advance_to(time_ps)
            net.hear(testbeds.location(0), frame, 1, 0)
    for read in reads if merged else reads[-1:]:
        net.advance_to(read)
        last = outcome(net, flows)
    return last


@pytest.mark.parametrize("rate_fps", [5960, 2000])
def test_a_storm_from_outside_is_one_from_the_generator(rate_fps):
    flows, storm = traffic(), testbeds.storm("storm", 0, {3: 0xFFFF}, rate_fps)
    net = open_network(testbeds.switch_config(2), [*flows, storm])
    net.start_flows([*testbeds.names(flows), "storm"])
    net.advance_to(20 * MS)
    instants = [number * 10**12 // rate_fps + WAY_PS for number in range(rate_fps // 50 + 1)]
    frames = [(time_ps, PFC_3) for time_ps in instants if time_ps <= 20 * MS]
    assert run(frames, [7 * MS, 20 * MS]) == outcome(net, flows)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([1, 100 * US, 167 * US, 336 * US, 700 * US]),
                          st.sampled_from([PFC_3, PFC_3, PFC_3, MIXED, RELEASE, GLOBAL, RUNT])), max_size=25),
       st.integers(0, 10 * MS))
def test_frames_taken_together_do_what_they_do_one_by_one(steps, read_ps):
    arrivals, now = [], 0
    for gap_ps, frame in steps:
        now += gap_ps
        arrivals.append((now, frame))
    end_ps = now + 2 * MS
    assert run(arrivals, [min(read_ps, end_ps), end_ps]) == run(arrivals, [end_ps], merged=False)


def test_a_storm_costs_one_change():
    rx = ExternalRx("there", 100_000)
    for number in range(1000):
        rx.add(number * 167 * US, PFC_3.data)
    heard, = rx.receive(10**12, 500)
    assert (heard.time_ps, heard.frames, heard.span_ps) == (500, 1000, 999 * 167 * US)


def test_what_does_not_act_yet_waits():
    rx = ExternalRx("there", 100_000)
    rx.add(1000, PFC_3.data)
    assert rx.receive(1499, 500) == [] and len(rx.receive(1500, 500)) == 1


def test_a_pause_of_a_port_that_nothing_else_uses_ends_on_time():
    flows = traffic()
    net = open_network(testbeds.switch_config(3), flows)
    net.start_flows(testbeds.names(flows))
    net.advance_to(5 * MS)
    net.hear(testbeds.location(2), PFC_3, 3, 2 * 167 * US)
    net.advance_to(10**12)
    port = net.switch_counters(testbeds.SWITCH).ports["Ethernet8"]
    assert (port.pfc_rx[3], port.pfc_on2off[3]) == (3, 1)
    assert port.pause_duration_us[3] == (2 * 167 * US + PAUSE_PS) // US


def test_what_the_switch_tells():
    flows = traffic(0.9)
    net = open_network(testbeds.switch_config(2), flows)
    assert net.told(testbeds.location(1)) and not any(net.told(testbeds.location(1)).values())
    net.start_flows(testbeds.names(flows))
    net.hear(testbeds.location(0), PFC_3, 1, 100 * PAUSE_PS)
    net.advance_to(30 * MS)
    ports = net.switch_counters(testbeds.SWITCH).ports
    assert ports["Ethernet4"].pfc_tx[3] > 1
    told = net.told(testbeds.location(1))
    assert sum(told.values()) == ports["Ethernet4"].pfc_tx[3]
    assert list(told)[-1] == encode(pfc_frame(testbeds.SWITCH_MAC, {3: 0xFFFF})), "XOFF lasts, so it comes last"
    with pytest.raises(NetworkError, match="location 'nowhere' does not exist: expected one of 127"):
        net.told("nowhere")


LINKS = (GeneratorLink("here", "t0-01", "Ethernet0", 100_000, 5),
         GeneratorLink("there", "t0-02", "Ethernet0", 400_000, 5))


@pytest.mark.parametrize("spec, expected", [
    ("t0-02:Ethernet0=veth9", WireLink("there", 400_000, "veth9")),
    ("Ethernet0=veth9", "more than one generator port is cabled to Ethernet0: expected one of t0-01:Ethernet0, t0-02:"),
    ("Ethernet4=veth9", "no generator port is cabled to Ethernet4: expected one of t0-01:Ethernet0, t0-02:Ethernet0"),
    ("Ethernet0", r"is not understood: expected \[SWITCH:\]PORT=INTERFACE"),
])
def test_wire_ports_by_name(spec, expected):
    if isinstance(expected, WireLink):
        assert wire_link(spec, LINKS) == expected
    else:
        with pytest.raises(WireError, match=expected):
            wire_link(spec, LINKS)
