"""What flows ask of their line is judged instant by instant: only what overlaps is added up."""
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from virtual_testbed.dataplane.load import Demand, first_overload, share_of_line, whole_demand
from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.dataplane.network import NetworkError
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, data, line_rate, names, network, storm,
                                                      switch_config)

LINE = line_rate(1024)
FRAME_PS = 83_520  # 1044 bytes at 100 Gb/s
FRAMES = 11_973_181  # that begin in a second
DSCP = {"a": 3, "b": 4, "c": 0}


def flow(name, percent, *timing, **bursts):
    """`percent` of the line of port 1, sent to port 0."""
    dscp = DSCP[name]
    return data(name, 1, 0, [dscp], dscp, rate_fps=LINE * Fraction(percent) / 100, duration=Duration(*timing, **bursts))


def lab(*flows):
    return network(switch_config(3), flows)


def refusal(action, *names):
    """What an action on flows of port 1 is refused with."""
    with pytest.raises(NetworkError) as caught:
        action(names)
    return str(caught.value).removeprefix("generator port p1: flows ").removesuffix(": expected at most 100 %")


# ---- the sums

def test_flows_that_touch_do_not_overlap():
    demands = [Demand("a", Fraction(1), 0, Fraction(10)), Demand("b", Fraction(1), 10, Fraction(20)),
               Demand("c", Fraction(1), 20, None)]
    assert first_overload(demands) is None
    early = [*demands[:2], replace(demands[2], begin_ps=19)]
    overload = first_overload(early)
    assert overload is not None
    assert (overload.flows, overload.share, overload.begin_ps, overload.end_ps) == (("b", "c"), 2, 19, 20)


def test_the_first_stretch_is_told_with_all_its_flows_and_its_peak():
    demands = [Demand("a", Fraction(3, 5), 0, Fraction(10)), Demand("b", Fraction(3, 5), 2, Fraction(12)),
               Demand("c", Fraction(3, 5), 3, Fraction(4)), Demand("later", Fraction(2), 20, None)]
    overload = first_overload(demands)
    assert overload is not None
    assert (overload.flows, overload.share, overload.begin_ps, overload.end_ps) == (
        ("a", "b", "c"), Fraction(9, 5), 2, 10)


spans = st.tuples(st.integers(0, 12), st.one_of(st.none(), st.integers(0, 12)), st.integers(1, 12))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(spans, max_size=8))
def test_sums_at_every_instant(spans):
    demands = [Demand(str(n), Fraction(share, 9), begin, None if end is None else Fraction(end))
               for n, (begin, end, share) in enumerate(spans)]
    asked = {now: [one for one in demands if one.begin_ps <= now and (one.end_ps is None or now < one.end_ps)]
             for now in range(15)}
    over = [now for now in asked if sum(one.share for one in asked[now]) > 1]
    found = first_overload(demands)
    if not over:
        assert found is None
        return
    end = next((now for now in range(over[0], 15) if now not in over), None)
    within = [now for now in over if end is None or now < end]
    assert found is not None
    assert (found.begin_ps, found.end_ps) == (over[0], end)
    assert found.share == max(sum(one.share for one in asked[now]) for now in within)
    assert set(found.flows) == {one.flow for now in within for one in asked[now]}


def test_a_hair_more_than_the_line_is_not_called_100_percent():
    overload = first_overload([Demand("a", 1 + Fraction(1, 10**9), 0, None)])
    assert overload is not None
    assert overload.describe(0, "now") == "flows a need a little more than 100 % of the line from now on"


@pytest.mark.parametrize("duration, end_ps", [
    (Duration(), None),
    (Duration(time_ps=7), 7),
    (Duration(frames=1), FRAME_PS),
    (Duration(frames=10), 18 * FRAME_PS + FRAME_PS),
    (Duration(time_ps=5 * FRAME_PS, frames=10), 5 * FRAME_PS),
    (Duration(frames=10, time_ps=50 * FRAME_PS), 19 * FRAME_PS),
    (Duration(burst_frames=4, burst_period_ps=MS), None),
    (Duration(frames=8, burst_frames=4, burst_period_ps=MS), MS + 7 * FRAME_PS),
    (Duration(frames=9, burst_frames=4, burst_period_ps=MS), 2 * MS + FRAME_PS)])
def test_when_a_flow_of_half_the_line_ends(duration, end_ps):
    half = data("a", 1, 0, [3], 3, duration=duration)
    share = share_of_line(half, 100_000)
    assert share == Fraction(1, 2)
    assert whole_demand(half, share, 1000) == Demand("a", share, 1000, None if end_ps is None else 1000 + end_ps)


@pytest.mark.parametrize("speed_mbps", [1000, 25_000, 100_000, 400_000, 800_000])
def test_sizes_count_with_their_mean(speed_mbps):
    rate = Fraction(speed_mbps * 10**6 * 3, 8 * (64 + 1518 + 1518 + 60))
    assert share_of_line(data("a", 1, 0, [3], 3, sizes=(64, 1518, 1518), rate_fps=rate), speed_mbps) == 1
    assert share_of_line(storm("s", 1, {3: 1}, line_rate(64, speed_mbps) / 4), speed_mbps) == Fraction(1, 4)


# ---- START

def test_flows_one_after_another_have_the_whole_line_each():
    """A warm-up of one second, then two flows of a second: each sends as much as the line takes."""
    flows = [flow("a", 100, 0, SECOND), flow("b", 100, SECOND, SECOND), flow("c", 100, 2 * SECOND, SECOND)]
    net = lab(*flows)
    net.start_flows(names(flows))
    net.advance_to(4 * SECOND)
    counters = [net.flow_counters(name) for name in "abc"]
    assert [(one.frames_tx, one.frames_rx, one.transmit) for one in counters] == [(FRAMES, FRAMES, "stopped")] * 3


def test_who_overlaps_when_and_how_much_is_said():
    net = lab(flow("a", 100, 0, SECOND), flow("b", 70, SECOND - 1, SECOND), flow("c", 60, 3 * SECOND // 2))
    assert refusal(net.start_flows, "a", "b", "c") == \
        "a, b need 170 % of the line from 0.999999999999 s to 1 s after now"
    assert refusal(net.start_flows, "b", "c") == \
        "b, c need 130 % of the line from 1.5 s to 1.999999999999 s after now"
    net.start_flows(["a", "c"])


def test_without_end_is_said_so():
    net = lab(flow("a", 100), flow("b", 1), flow("c", 1, SECOND))
    assert refusal(net.start_flows, "a", "b") == "a, b need 101 % of the line from now on"
    assert refusal(net.start_flows, "a", "c") == "a, c need 101 % of the line from 1 s after now on"


@pytest.mark.parametrize("delay_ps, fits", [(1000 * FRAME_PS, True), (1000 * FRAME_PS - 1, False)])
def test_fixed_frames_end_with_the_last_one(delay_ps, fits):
    net = lab(flow("a", 100, 0, None, 1000), flow("b", 100, delay_ps))
    if fits:
        net.start_flows(["a", "b"])
    else:
        assert refusal(net.start_flows, "a", "b") == \
            "a, b need 200 % of the line from 0.000083519999 s to 0.00008352 s after now"


def test_bursts_count_from_the_first_frame_to_the_last():
    bursts = {"frames": 30, "burst_frames": 10, "burst_period_ps": MS}
    end_ps = 2 * MS + 10 * FRAME_PS
    net = lab(flow("a", 100, **bursts), flow("b", 1, MS // 2, 1), flow("c", 100, end_ps))
    assert refusal(net.start_flows, "a", "b") == \
        "a, b need 101 % of the line from 0.0005 s to 0.000500000001 s after now"
    net.start_flows(["a", "c"])


def test_thirds_fill_the_line_exactly():
    third = Fraction(100, 3)
    net = lab(flow("a", third, 0, SECOND), flow("b", third), flow("c", third, SECOND))
    net.start_flows("abc")
    sevenths = lab(flow("a", Fraction(300, 7)), flow("b", Fraction(400, 7)), flow("c", Fraction(1, 10**9), SECOND))
    sevenths.start_flows("ab")
    assert refusal(sevenths.start_flows, "c") == \
        "a, b, c need a little more than 100 % of the line from 1 s after now on"


def test_pause_flows_and_other_ports_do_not_count():
    net = lab(flow("a", 100), storm("s", 1, {3: 0}, line_rate(64) / 2),
              data("b", 2, 0, [0], 0, rate_fps=LINE))
    net.start_flows(["a", "s", "b"])


def test_many_flows_after_many_are_not_stepped_frame_by_frame():
    """A warm-up of seven flows that fill the line, then seven others, each as much as its part for its time."""
    parts = [data(f"{when} {dscp}", 1, 0, [dscp], dscp, rate_fps=LINE / 7, duration=Duration(delay_ps, SECOND))
             for when, delay_ps in (("warm-up", 0), ("test", SECOND), ("again", 2 * SECOND)) for dscp in range(7)]
    net = lab(*parts)
    net.start_flows(names(parts))
    net.advance_to(5 * SECOND)
    assert {net.flow_counters(name).frames_rx for name in names(parts)} == {-(-LINE // 7)}
    assert net.statistics().instants_stepped < 100_000


# ---- flows that run already

def test_a_flow_that_runs_counts_to_its_end():
    net = lab(flow("a", 100, MS, SECOND), flow("b", 100, SECOND // 2, SECOND), flow("c", 1, 0, MS))
    net.start_flows("a")
    net.advance_to(SECOND // 2)
    assert refusal(net.start_flows, "b") == "a, b need 200 % of the line from 0.5 s to 0.501 s after now"
    net.advance_to(SECOND // 2 + MS)
    net.start_flows("b")
    assert refusal(net.start_flows, "c") == "a, c need 101 % of the line from 0 s to 0.001 s after now"


def test_what_has_ended_or_was_stopped_counts_no_more():
    net = lab(flow("a", 100, 0, None, 1000), flow("b", 100), flow("c", 100))
    net.start_flows("a")
    net.advance_to(MS)
    net.start_flows("b")
    net.advance_to(2 * MS)
    assert refusal(net.start_flows, "c") == "b, c need 200 % of the line from now on"
    net.stop_flows("b")
    net.start_flows("c")


def test_fixed_frames_that_run_count_as_long_as_the_rest_takes():
    net = lab(flow("a", 50, 0, None, 1001), flow("b", 100, MS // 10))
    net.start_flows("a")
    net.advance_to(2001 * FRAME_PS - MS // 10 - 1)
    assert refusal(net.start_flows, "b") == \
        "a, b need 150 % of the line from 0.0001 s to 0.000100000001 s after now"
    net.advance_to(2001 * FRAME_PS - MS // 10)
    net.start_flows("b")


def test_bursts_that_run_count_as_long_as_the_rest_takes():
    net = lab(flow("a", 100, frames=25, burst_frames=10, burst_period_ps=MS), flow("b", 100, MS // 2))
    net.start_flows("a")
    net.advance_to(3 * MS // 2 + 5 * FRAME_PS - 1)
    assert refusal(net.start_flows, "b") == \
        "a, b need 200 % of the line from 0.0005 s to 0.000500000001 s after now"
    net.advance_to(3 * MS // 2 + 5 * FRAME_PS)
    net.start_flows("b")


def test_as_long_as_pfc_holds_it_nobody_knows_when_a_flow_of_fixed_frames_ends():
    """One of fixed time ends by time all the same."""
    net = lab(flow("a", 40, 0, None, 100_000), flow("b", 40, 0, 20 * MS), flow("c", 61, SECOND),
              storm("s", 0, {3: 0xFFFF, 4: 0xFFFF}))
    net.start_flows(["s", "a", "b"])
    net.advance_to(10 * MS)
    assert [net.flow_counters(name).held_by for name in "ab"] == [{3}, {4}]
    assert refusal(net.start_flows, "c") == "a, c need 101 % of the line from 1 s after now on"
    net.stop_flows("s")
    net.advance_to(15 * MS)
    assert net.flow_counters("a").held_by == set()
    net.start_flows("c")


# ---- flows that wait, and paused ones

def test_a_flow_that_waits_counts_from_when_it_begins():
    net = lab(flow("a", 100, SECOND, SECOND), flow("b", 100, 0, SECOND), flow("c", 1, 0, SECOND))
    net.start_flows("a")
    net.advance_to(MS)
    assert refusal(net.start_flows, "b") == "a, b need 200 % of the line from 0.999 s to 1 s after now"
    net.stop_flows("a")
    net.start_flows("b")
    net.stop_flows("b")
    net.start_flows("a")
    assert refusal(net.start_flows, "b", "c").startswith("b, c need 101 %")
    net.start_flows("b")


def test_a_paused_flow_counts_once_it_goes_on():
    net = lab(flow("a", 100, 0, SECOND), flow("b", 100, 0, 3 * MS))
    net.start_flows("a")
    net.pause_flows("a")
    net.start_flows("b")
    net.advance_to(MS)
    assert refusal(net.resume_flows, "a") == "a, b need 200 % of the line from 0 s to 0.002 s after now"
    assert [net.flow_counters(name).transmit for name in "ab"] == ["paused", "started"]
    net.advance_to(3 * MS)
    net.resume_flows("a")


def test_a_paused_flow_that_waits_counts_from_when_it_begins():
    net = lab(flow("a", 100, 2 * MS, None, 1000), flow("b", 100, 0, 3 * MS), flow("c", 1, 0, MS))
    net.start_flows("a")
    net.pause_flows("a")
    net.start_flows("b")
    assert refusal(net.resume_flows, "a") == "a, b need 200 % of the line from 0.002 s to 0.00208352 s after now"
    net.advance_to(3 * MS)
    net.resume_flows("a")
    assert refusal(net.start_flows, "c") == "a, c need 101 % of the line from 0 s to 0.00008352 s after now"


def test_what_is_left_of_a_paused_flow_counts_from_when_it_goes_on():
    net = lab(flow("a", 100, 0, None, 1000), flow("c", 1, 0, SECOND))
    net.start_flows("a")
    net.advance_to(400 * FRAME_PS)
    net.pause_flows("a")
    net.advance_to(SECOND)
    net.resume_flows("a")
    assert net.flow_counters("a").frames_tx == 401  # one is on the line, 598 are to come
    assert refusal(net.start_flows, "c") == "a, c need 101 % of the line from 0 s to 0.00005002848 s after now"


def test_start_leaves_flows_that_run_as_they_are():
    """START of one that runs does not count as a new one; the traffic generator stops it before."""
    net = lab(flow("a", 100, 0, SECOND), flow("b", 100, SECOND // 2))
    net.start_flows("a")
    net.advance_to(SECOND // 2)
    net.start_flows("ab")
    anew = lab(flow("a", 100, 0, SECOND), flow("b", 100, SECOND // 2))
    anew.start_flows("a")
    anew.advance_to(SECOND // 2)
    assert refusal(anew.check_load, "a", "b") == "a, b need 200 % of the line from 0.5 s to 1 s after now"
    assert anew.flow_counters("b").transmit == "stopped"
