"""Times of the watchdog, told from counts of frames on running traffic."""

import dataclasses
from fractions import Fraction

import pytest

from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.watchdog.timers import (
    FORWARDING, TIMES, StormOnTraffic, TimedStormsRun, _at_edges, _time_kept, judge, middle, settings_on, validity,
)
from tests.common.pfc.lab.watchdog import DROP, OPERATIONAL, Timers
from tests.common.pfc.model.counters import DutCounters, WatchdogRow
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.model.ports import ConnectedPort, PortPair
from tests.common.pfc.model.qos import PortQos, SharedBuffer
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.unit_tests.pfc.unit_test_watchdog import PORTS

RX, TX = (ConnectedPort("vtb-t0-01", port, f"generator {port}", port, 100_000) for port in PORTS)
QOS = PortQos("vtb-t0-01", "Ethernet0", (3, 4), {0: (8,), 3: (3,), 4: (4,)}, "AZURE")
SUBJECT = PortUnderTest(PortPair(RX, TX), QOS, SharedBuffer("egress_lossless_pool", 15_000_000), "broadcom")


@pytest.mark.parametrize("buffered", [0, 5_000])
def test_times_from_counts(buffered):
    """A sender of 50 % that is held 300 ms, and whose frames are dropped until 250 ms after a storm of 800 ms: the
    buffer leaves the first open by what it takes, and not the second."""
    fps = Fraction(100_000 * 10**6, 8 * 1044) / 2
    sent = round(fps * Fraction("2.7")) + buffered  # of 3 s
    lost = round(fps * Fraction("0.75")) + buffered
    test = FlowPlan("test", Role.TEST, 3, 1024, 50.0, seconds=3)
    free = FlowPlan("background", Role.BACKGROUND, 0, 1024, 25.0, seconds=3)
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
    flow = FlowStats(test, False, sent, sent - lost)
    due = round(fps / 2 * 3)
    stats = {
        "test": flow,
        "background": FlowStats(free, False, due, due),
        "storm": FlowStats(storm, False, round(5960 * 0.8), 0),
    }
    late = {name: dataclasses.replace(flow, frames_tx=4711) for name, flow in stats.items()}
    early = {name: dataclasses.replace(flow, frames_tx=flow.frames_tx + 4711) for name, flow in stats.items()}
    storm = StormOnTraffic(SUBJECT, Timers(DROP), late, early, stats, True, "")
    low, high = storm.detection_ms(flow)
    assert low <= 300 <= high and high - low < 3, (float(low), float(high))
    assert abs(storm.restoration_ms(flow) - 250) < Fraction("0.1"), float(storm.restoration_ms(flow))
    assert dataclasses.replace(storm, exact=False).late_ms == 200, "a poll and 100 ms on hardware"


@pytest.mark.parametrize("sent, received, lacking", [
    (0.8, 0.7, []),
    (1.0, 0.7, ["time-kept"]),
    (1.0, 1.0, []),
])
def test_a_generator_that_sends_later_what_was_held_tells_no_times(sent, received, lacking):
    """By the wall clock: all was sent when it was counted, although a storm dropped some. Where nothing was dropped
    either, the storm did nothing, and that is judged."""
    flow = FlowPlan("test", Role.TEST, 3, 1024, 20.0)
    free = FlowPlan("background", Role.BACKGROUND, 0, 1024, 20.0)
    stats = {"test": FlowStats(flow, False, round(1_000_000 * sent), round(1_000_000 * received)),
             "background": FlowStats(free, False, 1_000_000, 1_000_000)}
    begun = {name: dataclasses.replace(one, frames_tx=0) for name, one in stats.items()}
    storm = StormOnTraffic(SUBJECT, Timers(DROP), begun, stats, stats, False, "")
    assert [check.name for check in unmet(_time_kept(storm))] == lacking, stats


def storm_on_traffic(timers, lasted_s=1.0, gap="", test_tx=1000, label=""):
    """A storm of so many seconds on test traffic of which so many frames were sent, on an exact clock."""
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960)
    test = FlowPlan("test", Role.TEST, 3, 1024, 40.0, seconds=3)
    stats = {
        "storm": FlowStats(storm, False, round(5960 * lasted_s), 0, gap=gap),
        "test": FlowStats(test, False, test_tx, 0),
    }
    return StormOnTraffic(SUBJECT, timers, stats, stats, stats, True, label)


def lacking_of(*storms):
    """Names of the checks that say why these storms were no measurement, where background and links do not matter."""
    none = dict.fromkeys(PORTS, (0,) * 8)
    read = DutCounters(none, none, {}, {}, (), {})
    phases = {storm.label: storm.stats for storm in storms}
    run = TimedStormsRun(SUBJECT, read, read, read, (3,), phases, storms[-1].timers, (), storms)
    return [check.name for check in unmet(validity(run)) if check.name not in ("link-up", "lossy-background")]


@pytest.mark.parametrize(("lasted_s", "lacking"), [
    (0.81, []), (0.79, ["storm-ran"]), (1.79, []), (1.81, ["storm-ended"]),
])
def test_a_storm_ends_after_it_is_detected_and_before_the_data(lasted_s, lacking):
    """It is sent at twice the rate that holds a pause: half of it would do, if it were only to hold one. And who stops
    it late, on a busy machine, has no data left by which to see when the switch restores the queue."""
    assert lacking_of(storm_on_traffic(Timers(DROP, 400, 200, 200), lasted_s)) == lacking, lasted_s


@pytest.mark.parametrize(("wrong", "lacking"), [
    ({}, []), ({"gap": "the storm had a gap"}, ["storm-running"]), ({"test_tx": 0}, ["load-applied"]),
])
def test_each_of_several_storms_has_to_be_a_measurement(wrong, lacking):
    """Not the last one only: there is a row of numbers of each."""
    first, last = storm_on_traffic(Timers(DROP), label="first", **wrong), storm_on_traffic(Timers(DROP), label="last")
    assert lacking_of(first, last) == lacking, wrong
    assert lacking_of(last, first) == lacking, wrong


def timed(sent, number):
    """One of three storms of 0.8 s on hardware, in which so much of its data was sent, and half of that lost."""
    fps = Fraction(100_000, 8 * 1044) * 1_000_000
    sent, due = round(fps * Fraction(4, 10) * sent), round(fps * Fraction(4, 10) * 3)
    flow = FlowStats(FlowPlan("test", Role.TEST, 3, 1024, 40.0, seconds=3), False, sent, sent // 2)
    free = FlowStats(FlowPlan("background", Role.BACKGROUND, 0, 1024, 40.0, seconds=3), False, due, due)
    storm = FlowStats(FlowPlan("storm", Role.STORM, None, 64, fps=5960), False, round(5960 * 0.8), 0)
    stats = {one.plan.name: one for one in (flow, free, storm)}
    begun = {name: dataclasses.replace(one, frames_tx=0) for name, one in stats.items()}
    return StormOnTraffic(SUBJECT, Timers(DROP), begun, stats, stats, False, "these times", number), flow


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_of_three_storms_on_hardware_the_one_in_the_middle_is_judged(order):
    """One poll of the watchdog that came late, or one early, decides nothing."""
    three = [timed(sent, number) for number, sent in enumerate((2.9, 2.8, 1.0), 1)]
    measured = [three[place] for place in order]
    assert middle(measured, lambda storm, flow: storm.detection_ms(flow)) == three[1], order
    assert three[1][0].label == "these times, 2 of 3", three[1][0].label
    assert middle(three[:1], lambda storm, flow: storm.detection_ms(flow)) == three[0], "one alone"


@pytest.mark.parametrize("lost, held_s, failed", [
    (0, "0.25", []), (1, "0.25", ["forwarded-in-storm"]), (0, "0.9", ["detection-time"]),
])
def test_what_waits_when_a_storm_is_detected_goes_on_with_the_action_forward(lost, held_s, failed):
    """A sender of 40 % that is held so long in a storm of 0.9 s, and some of whose frames are lost, not counted."""
    fps = Fraction(100_000, 8 * 1044) * 1_000_000 * Fraction(4, 10)
    sent, due = round(fps * (3 - Fraction(held_s))), round(fps * 3)
    flow = FlowStats(FlowPlan("test", Role.TEST, 3, 1024, 40.0, seconds=3), False, sent, sent - lost)
    free = FlowStats(FlowPlan("background", Role.BACKGROUND, 0, 1024, 40.0, seconds=3), False, due, due)
    pauses = FlowStats(FlowPlan("storm", Role.STORM, None, 64, fps=5960), False, round(5960 * 0.9), 0)
    stats = {one.plan.name: one for one in (flow, free, pauses)}
    begun = {name: dataclasses.replace(one, frames_tx=0) for name, one in stats.items()}
    storm = StormOnTraffic(SUBJECT, FORWARDING, begun, stats, stats, True, "action forward")
    none = dict.fromkeys(PORTS, (0,) * 8)
    rows = {"Ethernet0:3": WatchdogRow(OPERATIONAL, 1, 1, 0, lost, 0, 0)}
    before, after = (DutCounters(none, none, {}, found, (), {}) for found in ({}, rows))
    run = TimedStormsRun(SUBJECT, before, after, after, (3,), {}, FORWARDING, tuple(rows), [storm])
    found = unmet(judge(run))
    assert [check.name for check in found] == failed, found


@pytest.mark.parametrize("asic, forwarding", [("broadcom", [FORWARDING]), ("cisco-8000", [])])
def test_the_action_forward_is_measured_where_there_is_one(asic, forwarding):
    """Beside the usual times, each by a name of its own."""
    assert [*settings_on(asic).values()] == [*TIMES, *forwarding], settings_on(asic)


def test_what_an_action_drops_before_and_after_it_is_counted():
    """100 ms of a storm on hardware, at 40 % of the line; on an exact clock nothing."""
    storm, flow = timed(2.8, 1)
    assert _at_edges(storm, 3) == int(Fraction(100_000, 8 * 1044) * 1_000_000 * Fraction(4, 10) / 10), flow
    assert _at_edges(storm, 4) == 0, "no flow of it"
    assert _at_edges(dataclasses.replace(storm, exact=True), 3) == 0, "exact"
    assert _at_edges(dataclasses.replace(storm, timers=FORWARDING), 3) == 0, "nothing is dropped"
