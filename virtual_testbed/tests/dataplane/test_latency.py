"""The latency of flows: by hand, and the same however the time was computed."""
from __future__ import annotations

from fractions import Fraction
from functools import cache
from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.compiled import Compiled
from virtual_testbed.dataplane.fast_forward import skip
from virtual_testbed.dataplane.fast_forward.steady_latency import SteadyLatency
from virtual_testbed.dataplane.model.traffic import FIRST_BIT, LAST_BIT, Duration
from virtual_testbed.faults import BUILT_IN, Scope
from virtual_testbed.tests.dataplane.testbeds import (BACKGROUND_DSCPS, MS, SECOND, US, data, line_rate, names, network,
                                                      storm, switch_config)

FRAME_PS, CABLE_PS = 1044 * 80, 25_000
UNDISTURBED_PS = 2 * CABLE_PS
FULL = line_rate(1024)
TIMES_PS = MS, 4 * MS


def advanced(flows, *times_ps, ports=2, faults=()):
    """A network that was read at these instants, in which all flows have started and the last frames have come."""
    net = network(switch_config(ports), flows, faults)
    net.start_flows(names(flows))
    for time_ps in times_ps:
        net.advance_to(time_ps)
        net.flow_counters(flows[0].name)
    net.stop_flows(names(flows))
    net.advance_to(times_ps[-1] + SECOND)
    return net


def stepped(flows, *times_ps, **how):
    """The same, each frame stepped."""
    with patch.object(skip.Skip, "at_check", lambda self, last_ps: self.loop.check_after(1 << 30)):
        return advanced(flows, *times_ps, **how)


def eight_classes(tx, rx, share, **changes):
    """A flow of each class, all of one size, that ask for so much of a line together."""
    return [data(f"d{tx}.{queue}", tx, rx, [dscp[0]], queue, rate_fps=FULL * Fraction(share) / 8 - 3 * queue,
                 latency=FIRST_BIT, **changes) for queue, dscp in BACKGROUND_DSCPS.items()]


@pytest.mark.parametrize(("bit", "expected_ps"), [(FIRST_BIT, UNDISTURBED_PS + FRAME_PS), (LAST_BIT, UNDISTURBED_PS)])
def test_a_frame_that_meets_nobody(bit, expected_ps):
    net = advanced([data("d", 0, 1, [3], 3, latency=bit)], MS)
    counters = net.flow_counters("d")
    assert counters.frames_rx > 5000 and counters.latency_ps == counters.frames_rx * expected_ps


def test_it_is_not_measured_unless_asked_for():
    assert advanced([data("d", 0, 1, [3], 3)], MS).flow_counters("d").latency_ps is None


def test_a_held_frame_waits_in_the_switch():
    """One frame, 20 us after a pause of 20,000 quanta was sent."""
    flows = [storm("s", 1, {3: 20_000}, duration=Duration(frames=1)),
             data("d", 0, 1, [3], 3, latency=LAST_BIT, duration=Duration(delay_ps=20 * US, frames=1))]
    net = advanced(flows, MS)
    response_ps = switch_config(2).ports["Ethernet4"].response_ps
    opens_ps = 84 * 80 + CABLE_PS + response_ps + 20_000 * 64 * 80
    assert net.flow_counters("d").latency_ps == opens_ps + CABLE_PS - (20 * US + FRAME_PS)


def test_it_is_known_only_where_each_frame_has_come():
    flow = data("d", 0, 1, [3], 3, latency=FIRST_BIT)
    net = network(switch_config(2), [flow])
    net.start_flows(["d"])
    net.advance_to(MS + FRAME_PS)
    assert net.flow_counters("d").latency_ps is None, "a frame is under way"
    net.stop_flows(["d"])
    net.advance_to(2 * MS)
    assert net.flow_counters("d").latency_ps


def test_a_lost_frame_leaves_it_unknown():
    flow = data("d", 0, 1, [3], 3, latency=FIRST_BIT)
    faults = [BUILT_IN["lossless-dropped"](Scope(), one_in="1000")]
    assert advanced([flow], MS, faults=faults).flow_counters("d").latency_ps is None


def test_it_counts_from_0_again():
    flow = data("d", 0, 1, [3], 3, latency=LAST_BIT)
    net = advanced([flow], MS)
    net.clear_flow_counters(["d"])
    assert net.flow_counters("d").latency_ps == 0
    net.start_flows(["d"])
    net.advance_to(3 * SECOND)
    net.clear_flow_counters(["d"])
    net.stop_flows(["d"])
    net.advance_to(4 * SECOND)
    assert net.flow_counters("d").latency_ps is None, "a frame was under way when the counters were cleared"


@pytest.mark.parametrize("times_ps", [[3600 * SECOND], [MS, 7 * SECOND, 7 * SECOND + 12_345, 3600 * SECOND]])
def test_an_hour_is_skipped(times_ps):
    """Classes that share both lines, and a storm that holds none of them."""
    flows = [*eight_classes(0, 1, "9/10"), storm("s", 1, {2: 0xFFFF})]
    net = advanced(flows, *times_ps)
    for flow in flows[:-1]:
        counters = net.flow_counters(flow.name)
        assert counters.latency_ps == counters.frames_rx * (UNDISTURBED_PS + FRAME_PS), flow.name
    assert net.statistics().picoseconds_skipped > 3500 * SECOND


TRAFFIC = {
    "one of two into one": (3, [*eight_classes(0, 2, "1/3"), *eight_classes(1, 2, "1/4")]),
    "a class held": (2, [*eight_classes(0, 1, "1/2"), storm("s", 1, {3: 0xFFFF}, duration=Duration(frames=50))]),
    "two sizes": (2, [data("d", 0, 1, [3], 3, latency=LAST_BIT),
                      data("e", 0, 1, [4], 4, sizes=(64, 700), latency=FIRST_BIT, rate_fps=FULL / 5)]),
    "pauses on the line of the data": (2, [data("d", 0, 1, [3], 3, latency=LAST_BIT),
                                           storm("s", 0, {3: 0xFFFF}, 50_000)]),
    "congestion": (3, [data(f"d{n}", n, 2, [3], 3, rate_fps=FULL * Fraction(4, 5), latency=FIRST_BIT,
                            duration=Duration(time_ps=2 * MS)) for n in (0, 1)]),
    "a queue that fills": (2, [data("d", 0, 1, [3], 3, rate_fps=Fraction(90_000), latency=FIRST_BIT),
                               data("e", 0, 1, [4], 4, rate_fps=Fraction(700_000), latency=FIRST_BIT),
                               storm("s", 1, {3: 0xFFFF}, duration=Duration(frames=50))]),
}


def latencies(net, flows):
    """Of all data flows."""
    return {flow.name: net.flow_counters(flow.name).latency_ps for flow in flows if flow.name != "s"}


@cache
def of_each_frame(what):
    """What comes of looking at each frame."""
    ports, flows = TRAFFIC[what]
    return latencies(stepped(flows, *TIMES_PS, ports=ports), flows)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("what", TRAFFIC)
def test_it_is_that_of_each_frame(what, is_compiled, monkeypatch):
    ports, flows = TRAFFIC[what]
    expected = of_each_frame(what)
    assert all(expected.values())
    if is_compiled:
        monkeypatch.setattr(skip, "COMPILED_FROM", 100)
    else:
        monkeypatch.setattr(Compiled, "stepper", lambda self: None)
    assert latencies(advanced(flows, *TIMES_PS, ports=ports), flows) == expected


def test_sums_need_not_fit_into_64_bits(monkeypatch):
    """Some thousand frames that wait for hours, and a flow beside them that makes the cycles."""
    monkeypatch.setattr(skip, "COMPILED_FROM", 100)
    hours = 3 * 3600 * SECOND
    flows = [data("d", 0, 1, [3], 3, duration=Duration(frames=5000), latency=FIRST_BIT),
             data("e", 0, 1, [4], 4, latency=FIRST_BIT),
             storm("s", 1, {3: 0xFFFF}, duration=Duration(time_ps=hours))]
    net = advanced(flows, hours + MS)
    assert net.flow_counters("d").latency_ps > 1 << 64


def test_a_latency_that_is_placed_wrongly_is_noticed(monkeypatch):
    flows = eight_classes(0, 1, "1/2")
    expected = latencies(advanced(flows, 20 * MS), flows)
    monkeypatch.setattr(SteadyLatency, "arrived_when_placed_ps", lambda self, invariant_ps: self.last_path.arrived_ps)
    assert latencies(advanced(flows, 20 * MS), flows) != expected


def test_what_keeps_time_from_being_skipped_is_given_up(monkeypatch):
    """Two into one: their frames wait for each other, and never in the same way again."""
    monkeypatch.setattr(Compiled, "stepper", lambda self: None)
    monkeypatch.setattr(skip, "MOST_FOR_LATENCY", 20_000)
    flows = [data(f"d{n}", n, 2, [3], 3, rate_fps=Fraction(1_000_003 + 17 * n), latency=FIRST_BIT) for n in (0, 1)]
    net = advanced(flows, 100 * SECOND, ports=3)
    assert latencies(net, flows) == {"d0": None, "d1": None}
    assert net.statistics().not_skipped["latency given up"]
    net.clear_flow_counters(names(flows))
    net.start_flows(names(flows))
    net.advance_to(net.now_ps + MS)
    net.stop_flows(names(flows))
    net.advance_to(net.now_ps + MS)
    assert all(latencies(net, flows).values()), "counted from 0 again it is measured again"


def test_a_steady_state_without_latency_ends_where_it_is_measured_again(monkeypatch):
    """Two sparse flows into one port, given up; counted from 0 while none of their frames is under way."""
    monkeypatch.setattr(Compiled, "stepper", lambda self: None)
    monkeypatch.setattr(skip, "MOST_FOR_LATENCY", 100)
    flows = [data(f"d{n}", n, 2, [3], 3, rate_fps=Fraction(1003 + 17 * n), latency=FIRST_BIT) for n in (0, 1)]
    net = network(switch_config(3), flows)
    net.start_flows(names(flows))
    net.advance_to(100 * SECOND)
    assert latencies(net, flows) == {"d0": None, "d1": None}
    monkeypatch.setattr(skip, "MOST_FOR_LATENCY", 1 << 40)
    net.advance_to(100 * SECOND + 100 * US)
    net.clear_flow_counters(names(flows))
    net.advance_to(101 * SECOND)
    net.stop_flows(names(flows))
    net.advance_to(102 * SECOND)
    for name, sum_ps in latencies(net, flows).items():
        least_ps = net.flow_counters(name).frames_rx * (UNDISTURBED_PS + FRAME_PS)
        assert sum_ps is not None and least_ps <= sum_ps < 2 * least_ps, name
