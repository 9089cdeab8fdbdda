"""What pauses leave of a line, and what a storm may let pass, against sums made by hand."""

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.pause_pattern import same_classes
from tests.common.pfc.cases.timing import (
    COURSES, PAUSE_LENGTH, REFRESHED, SHORT, Course, TimingRun, Window, _share_left, as_due, due_in_window,
    in_window, off_scale,
)
from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.timing_storms import (
    STORM_NAMES, StormsRun, drains_in_time, least_resumed, most_passed, most_passed_in_all, sender_let_go_s, times,
    validity,
)
from tests.common.pfc.model.pause_timer import Held, held_in_period
from tests.common.pfc.model.response_time import RESPONSE_QUANTA, response_seconds
from tests.common.pfc.model.counters import DutCounters
from tests.common.pfc.model.measurement import PortUnderTest
from tests.common.pfc.model.ports import ConnectedPort, PortPair
from tests.common.pfc.model.qos import PortQos, SharedBuffer
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role

SPEEDS = sorted(RESPONSE_QUANTA)


def test_response_times_are_those_of_the_table():
    """394 quanta of 5.12 ns at 100 Gb/s; a speed that the table lacks has what the next lower one has."""
    assert response_seconds(100_000) == Fraction(394 * 512, 10**11), f"got {response_seconds(100_000)}"
    assert response_seconds(120_000) == Fraction(394 * 512, 12 * 10**10), f"got {response_seconds(120_000)}"
    assert response_seconds(100) == Fraction(2 * 512, 10**8), f"got {response_seconds(100)}"


def test_rates_and_lengths_at_100_gigabits():
    """6 pauses in 4 ms are 1500 a second, each 335.54 us long: half of the time."""
    pauses = same_classes((3,), (0xFFFF, 0), count=6)
    assert pauses.fps(100_000) == 1500, f"got {pauses.fps(100_000)}"
    assert float(pauses.held(3, 100_000).seconds) == pytest.approx(335.5392e-6), f"got {pauses.held(3, 100_000)}"
    ended = same_classes((3,), (0xFFFF, 0), (0, 100), count=6)
    assert ended.held(3, 100_000) == Held(Fraction(1, 10_000), 1), f"got {ended.held(3, 100_000)}"
    named = ended.describe(100_000)
    assert named == "pauses of 65535 quanta for 3, after 100.0 us 0 quanta for 3, 1500 a second", named


@pytest.mark.parametrize(("frames", "seconds", "times"), [
    ([(0, 5)], 5, 1),
    ([(0, 5), (2, 5)], 7, 1),
    ([(0, 5), (2, 1)], 3, 1),
    ([(0, 5), (2, 0)], 2, 1),
    ([(0, 5), (6, 3)], 8, 2),
    ([(0, 3), (8, 4)], 5, 1),
    ([(0, 20)], 10, 0),
    ([], 0, 0),
])
def test_each_frame_sets_the_timer_anew(frames, seconds, times):
    """In a period of 10 s: a refresh lengthens from its arrival, a shorter one shortens, 0 ends; one that outlasts the
    period goes on in the next."""
    held = held_in_period([(Fraction(at), Fraction(time)) for at, time in frames], Fraction(10))
    assert held == Held(Fraction(seconds), times), f"expected {seconds} s in {times} pauses, got {held}"


def test_refreshes_come_early_just_in_time_late_and_shorter():
    """32768 quanta at 100 Gb/s are 167.772 us, 4096 are 20.972 us. 802.3x between changes nothing."""
    windows = COURSES[REFRESHED]((3,)).windows
    held = [window.pauses.held(3, 100_000) for window in windows]
    microseconds = [pytest.approx(us, abs=0.001) for us in (207.772, 327.772, 335.544, 120.972, *2 * (167.772,))]
    assert [float(one.seconds) * 1e6 for one in held] == microseconds, f"got {held}"
    assert [one.times for one in held] == [1, 1, 2, 1, 1, 1], f"got {held}"


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize(("number", "share"), [(0, 0.93), (1, 0.993)])
def test_short_pauses_never_end_and_leave_less_than_their_load(number, share, speed):
    """However a port responds within its time, less than the 90 % of the line that are sent may pass."""
    course = COURSES[SHORT]((3,))
    window = course.windows[number]
    assert window.pauses.held(3, speed).times == 0, "a pause ends before the next one comes"
    assert window.pauses.held(3, speed).seconds * window.pauses.fps(speed) == 1, "not paused all the time"
    ports = [ConnectedPort("sw", port, port, port, speed) for port in ("Ethernet0", "Ethernet64")]
    qos = PortQos("sw", "Ethernet0", (3,), {0: (8,), 3: (3,)}, "AZURE")
    subject = PortUnderTest(PortPair(*ports), qos, SharedBuffer("egress_lossless_pool", 15_000_000), "broadcom")
    nothing = DutCounters({}, {}, {}, {}, (), {})
    seconds = 0.004 * 100_000 / speed
    test = FlowPlan("test", Role.TEST, 3, 1024, 90.0, seconds=seconds)
    background = FlowPlan("background", Role.BACKGROUND, 0, 1024, 10.0, seconds=seconds)
    due = {flow.name: FlowStats(flow, False, flow.due(speed), flow.due(speed)) for flow in (test, background)}
    run = TimingRun(subject, nothing, nothing, nothing, (3,), {window.at_end: due}, course, seconds, True)
    least, most = due_in_window(run, window)
    assert least == 0 and most < share * test.due(speed), (least, most, test.due(speed))


@pytest.mark.parametrize(("speed", "exact", "judged"), [
    (100_000, True, [True, True]), (800_000, True, [True, True]),
    (100_000, False, [True, True]), (400_000, False, [True, False]),
])
def test_where_all_that_is_sent_may_pass_nothing_is_said(speed, exact, judged):
    """Of 31 quanta from 400 Gb/s on, with the 1 % of hardware."""
    course = COURSES[SHORT]((3,))
    ports = [ConnectedPort("sw", port, port, port, speed) for port in ("Ethernet0", "Ethernet64")]
    qos = PortQos("sw", "Ethernet0", (3,), {0: (8,), 3: (3,)}, "AZURE")
    tolerances = EXACT if exact else HARDWARE
    subject = PortUnderTest(PortPair(*ports), qos, SharedBuffer("egress_lossless_pool", 15_000_000),
                            tolerances=tolerances)
    nothing = DutCounters({}, {}, {}, {}, (), {})
    part = tolerances.line_percent / 100
    found = []
    for window in course.windows:
        flows = [FlowPlan("test", Role.TEST, 3, 1024, 90.0 * part, seconds=2),
                 FlowPlan("background", Role.BACKGROUND, 0, 1024, 10.0 * part, seconds=2)]
        due = {flow.name: FlowStats(flow, False, flow.due(speed), flow.due(speed)) for flow in flows}
        run = TimingRun(subject, nothing, nothing, nothing, (3,), {window.at_end: due}, course, 2.0, exact)
        made = list(_share_left(run, window, "in pauses"))
        assert len(unmet(made)) == len(made), f"all that was sent came through: {made}"
        found.append(bool(made))
    assert found == judged, found


def test_a_sender_is_let_go_before_its_own_pause_could_lapse():
    """Six pauses of a storm of 3 P at 100 Gb/s: the last comes 2.5 P after the first and lapses half a P after the
    storm's end; with the response time and a quarter of P that is 253.7 us. Without XON it takes another quarter."""
    lasting = times(100_000, exact=True)
    assert sender_let_go_s(100_000, lasting, 6) * 1e6 == pytest.approx(253.7, abs=0.2), "not 0.75 P + R"
    assert times(100_000, exact=False).storm >= 1, "a generator's start-up takes up to a second"


def passing(speed_mbps, cable_m=5, exact=True):
    """A run of storms with five background flows of 10 % each, and a test flow of 25 %."""
    background = {f"b{number}": FlowStats(FlowPlan(f"b{number}", Role.BACKGROUND, number, 1024, 10.0), True, 0, 0)
                  for number in (0, 1, 2, 5, 6)}
    storm = {"storm": FlowStats(FlowPlan("storm", Role.STORM, None, 64, fps=5960), False, 6, 0)}
    subject = SimpleNamespace(pair=SimpleNamespace(speed_mbps=speed_mbps))
    phases = {"storm 1 begun": background, "storm 1 over": storm}
    return StormsRun(subject, None, None, None, (3, 4), phases, times(speed_mbps, exact), exact, cable_m)


TEST_FLOW = FlowPlan("test", Role.TEST, 3, 1024, 25.0)
TEST_STATS = FlowStats(TEST_FLOW, True, 0, 0)


@pytest.mark.parametrize(("speed", "cable_m", "of_it", "of_all"), [
    (100_000, 5, 9, 16), (100_000, 40, 10, 19), (400_000, 300, 52, 104), (25_000, 5, 4, 7),
])
def test_a_storm_lets_pass_what_a_flow_sends_in_the_response_time(speed, cable_m, of_it, of_all):
    """100 Gb/s: 394 quanta, 2 x 25 ns and 6.7 ns are 2.074 us, 24.8 frames of the line; a fourth of it, a turn of 2 and
    one under way are 9; all of it, a turn and one, less the 12 of background but 1 that waits, 16."""
    run = passing(speed, cable_m)
    assert (most_passed(run, TEST_STATS), most_passed_in_all(run, "storm 1")) == (of_it, of_all), "frames"
    late = passing(speed, cable_m, exact=False)
    assert most_passed(late, TEST_STATS) == 0, "counted when the storm has lasted"
    assert most_passed_in_all(late, "storm 1") == 0, "counted when the storm has lasted"


def test_background_waits_while_a_frame_of_each_tested_flow_leaves():
    """Seven flows at 800 Gb/s beside one of 50 %: 60 frames of the line, a turn of 2 and one, less the 30 of the
    background flow but 4 that wait while seven others leave their sender."""
    run = passing(800_000)
    only = {"b0": FlowStats(FlowPlan("b0", Role.BACKGROUND, 7, 1024, 50.0), True, 0, 0)}
    run = dataclasses.replace(run, tested=tuple(range(7)), phases=run.phases | {"storm 1 begun": only})
    assert most_passed_in_all(run, "storm 1") == 37, "frames"


def test_light_background_leaves_more_of_the_line_to_flows_that_wait():
    """Two tested flows that get 40 % each at 100 Gb/s, and five others 4 % each of the 10 % that they send: 24.8 frames
    of the line are 9 of a flow, a turn of 2 and one under way; in all 24, a turn and one, less the 4 of the others but
    1 that waits."""
    parts = {3: Fraction(2, 5), 4: Fraction(2, 5), **dict.fromkeys((0, 1, 2, 5, 6), Fraction(1, 25))}
    run = dataclasses.replace(passing(100_000), parts=parts)
    assert (most_passed(run, TEST_STATS), most_passed_in_all(run, "storm 1")) == (12, 24), "frames"


@pytest.mark.parametrize(("parts", "judged"), [
    ({}, True), ({3: Fraction(1, 4), 4: Fraction(1, 4)}, True), ({3: Fraction(1, 10), 4: Fraction(2, 5)}, False),
])
def test_a_sender_of_a_light_priority_may_be_let_go_later(parts, judged):
    """A quarter of the longest pause drains enough at 25 % of the line each, not at 10 % beside a heavier queue."""
    run = dataclasses.replace(passing(100_000), parts=parts)
    assert drains_in_time(run, TEST_STATS) == judged, f"parts {parts}"


def test_a_flow_has_its_part_of_the_line_when_the_last_pause_has_lapsed():
    """At 100 Gb/s: 2013.24 us of gap less 169.8 us at 2,993,295 frames a second, four frames less, and one in which the
    other tested flow has its turn; of seven with turns of nine frames eight."""
    run = passing(100_000)
    assert least_resumed(run, "storm 1", TEST_STATS) == pytest.approx(5513, abs=1), "frames"
    light = dataclasses.replace(run, parts={3: Fraction(1, 8), 4: Fraction(3, 8)})
    assert least_resumed(light, "storm 1", TEST_STATS) == pytest.approx(2754, abs=1), "an eighth of the line"
    of_seven = dataclasses.replace(run, tested=tuple(range(7)), turn_frames=9)
    assert least_resumed(run, "storm 1", TEST_STATS) - least_resumed(of_seven, "storm 1", TEST_STATS) == 7, "frames"


@pytest.mark.parametrize(("off", "late_us"), [(0, 0), (0, 4), (0.005, 0), (-0.005, 2)])
def test_lengths_are_told_from_response_times(off, late_us):
    """Pauses that are so much longer than they say, and each so much later to end than to begin."""
    windows = COURSES[PAUSE_LENGTH]((3,)).windows
    plan = FlowPlan("test", Role.TEST, 3, 1024, 90.0)
    rate = 100e9 / 8 / 1044 * 0.9
    phases = {}
    for window in windows:
        held = window.pauses.count * (float(window.pauses.held(3, 100_000).seconds) * (1 + off) + late_us / 1e6)
        frames = int(rate * (0.004 - held))
        phases[window.at_end] = {"test": FlowStats(plan, False, frames, frames)}
    subject = SimpleNamespace(pair=SimpleNamespace(speed_mbps=100_000))
    run = TimingRun(subject, None, None, None, (3,), phases, COURSES[PAUSE_LENGTH]((3,)), 0.004, True)
    found, unsure = off_scale(run, (windows[0], windows[-1]))
    assert float(found) == pytest.approx(off, abs=2e-4), f"got {float(found):.3%}"
    assert float(unsure) == pytest.approx(0.0008, rel=0.01), f"got {float(unsure):.3%}"


@pytest.mark.parametrize(("exact", "lasts", "lacking"), [
    (False, True, []), (False, False, ["load-lasted"]), (True, False, []),
])
def test_data_that_ends_before_the_last_storm_is_over_says_nothing_of_the_switch(exact, lasts, lacking):
    """By the wall clock a busy machine is late; by an exact one both end at one instant."""
    ports = ("Ethernet0", "Ethernet64")
    rx, tx = (ConnectedPort("sw", port, f"generator {port}", port, 100_000) for port in ports)
    qos = PortQos("sw", "Ethernet0", (3,), {0: (8,), 3: (3,)}, "AZURE")
    subject = PortUnderTest(PortPair(rx, tx), qos, SharedBuffer("egress_lossless_pool", 15_000_000), "broadcom")
    lasting = times(100_000, exact)
    storm = FlowStats(FlowPlan("storm", Role.STORM, None, 64, fps=5960), False, 5960 * 10, 0)
    data = {"test": FlowStats(FlowPlan("test", Role.TEST, 3, 1024, 50.0, seconds=lasting.data), lasts, 0, 0)}
    phases = {f"{name} {moment}": {"storm": storm, **data} for name in STORM_NAMES for moment in ("stopped", "over")}
    nothing = DutCounters(*(dict.fromkeys(ports, (0,) * 8) for _ in range(2)), {}, {}, (), {})
    run = StormsRun(subject, nothing, nothing, nothing, (3,), phases, lasting, exact)
    found = [check.name for check in unmet(validity(run)) if check.name != "link-up"]
    assert found == lacking, f"expected {lacking}, got {found}"


def test_data_of_storms_by_the_wall_clock_has_time_for_the_calls():
    """A second more for each storm: two calls to start and stop it, and three for counts."""
    lasting = times(100_000, exact=False)
    assert lasting.data == lasting.lead + 3 * (lasting.storm + lasting.gap) + 3, lasting


WINDOW = Window(1, (3,), same_classes((3,), (0xFFFF, 0), count=6))


def run_of(seconds, exact):
    """A run with 90 % of test and 10 % of background traffic, none of which was lost, in 6 pauses each 4 ms."""
    test = FlowPlan("test", Role.TEST, 3, 1024, 90.0, seconds=seconds)
    background = FlowPlan("background", Role.BACKGROUND, 0, 1024, 10.0, seconds=seconds)
    frames = int(seconds * 100e9 / 8 / 1044 / 10) + 1
    stats = {flow.name: FlowStats(flow, False, frames, frames) for flow in (test, background)}
    tolerances = SimpleNamespace(load_tolerance_percent=1)
    subject = SimpleNamespace(pair=SimpleNamespace(speed_mbps=100_000), tolerances=tolerances,
                              qos=SimpleNamespace(lossless=(3,)), where=lambda *of, **at: "the port under test")
    moments = {WINDOW.at_end: stats, WINDOW.drained: stats}
    return TimingRun(subject, None, None, None, (3,), moments, Course((((3,), WINDOW.pauses),)), seconds, exact)


def test_what_may_come_in_a_window_by_an_exact_clock():
    """10,775,862 frames a second when no pause holds them, in 4 ms less 6 x (335.539 + 2.017 + 0.084) us and less
    6 x (335.539 - 2.017 - 0.084) us; four frames more or less."""
    due = due_in_window(run_of(0.004, exact=True), WINDOW)
    assert due == (21_270, 21_548), "1974.16 us to 1999.37 us of the line"


def test_what_may_come_in_two_seconds_by_another_clock():
    """3000 pauses and one more or less; the generator's counts may be off by 1 %."""
    least, most = due_in_window(run_of(2.0, exact=False), WINDOW)
    share = 1e12 / 8 / 1044 * 0.9 / 10
    pause_s = 335.5392e-6
    expected = share * (2 - 3000 * 337.64e-6 - pause_s) * 0.99, share * (2 - 3000 * 333.4384e-6 + pause_s) * 1.01
    assert (least, most) == pytest.approx(expected, abs=12), f"got {least} to {most}"


@pytest.mark.parametrize(("factor", "bad"), [
    (1.0, []), (1.03, ["paused-long-enough"]), (0.97, ["resumed-in-time"]),
])
@pytest.mark.parametrize("later", [0, 7_000_000])
def test_by_another_clock_what_comes_between_two_counts_is_judged(factor, bad, later):
    """By how much background came in the same time. What comes before and later says nothing: some generators take a
    time for a number of frames, and send what pauses held when they are over."""
    run = run_of(2.0, exact=False)
    share = 0.4967 * 9 * factor  # of what background gets: paused for half of the time less a little
    background = run.phases[WINDOW.at_end]["background"].frames_rx

    def counted(windows, more=0):
        counts = {"test": round(windows * background * share) + more, "background": round(windows * background)}
        flows = run.phases[WINDOW.at_end]
        return {name: dataclasses.replace(flows[name], frames_rx=frames) for name, frames in counts.items()}

    moments = {WINDOW.begun: counted(0.6), WINDOW.at_end: counted(1.6), WINDOW.drained: counted(1.9, later)}
    judged = dataclasses.replace(run, phases=moments)
    assert [check.name for check in unmet(_share_left(judged, WINDOW, "in pauses"))] == bad, "the wrong verdict"


@pytest.mark.parametrize(("exact", "lasts", "others", "lacking"), [
    (False, True, True, []), (False, False, True, ["load-lasted"]), (False, True, False, ["load-lasted"]),
    (True, False, False, []),
])
def test_a_window_lies_within_data_and_has_background_to_tell_its_time(exact, lasts, others, lacking):
    """By an exact clock it is all of the data."""
    run = run_of(2.0, exact)
    flows = {name: dataclasses.replace(flow, transmitting=lasts) for name, flow in run.phases[WINDOW.at_end].items()
             if others or name == "test"}
    judged = dataclasses.replace(run, phases={WINDOW.at_end: flows})
    found = [check.name for check in unmet(in_window(judged, WINDOW))]
    assert found == lacking, f"expected {lacking}, got {found}"


def test_by_another_clock_data_is_due_in_the_window_that_it_was_counted_in():
    """However long it was told to last: 4 frames less of each flow. By an exact clock all, when it has drained."""
    run = run_of(2.0, exact=False)
    lasted_s = run.lasted_s(WINDOW)
    for flow in as_due(run, WINDOW):
        rate = Fraction(100 * 10**9, 8 * 1044) * Fraction(flow.plan.percent) / 100
        assert flow.plan.due(100_000) == pytest.approx(float(lasted_s * rate) - 4, abs=1), f"of {flow}"
    exact = run_of(0.004, exact=True)
    assert as_due(exact, WINDOW) == list(exact.phases[WINDOW.drained].values()), "what drained"
