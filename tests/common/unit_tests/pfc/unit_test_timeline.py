"""What each class sent and received over the time of a measurement, out of readings that may be of some flows only."""

import dataclasses

import pytest

from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.evidence.recorder import LOOKS, EvidenceRecorder
from tests.common.pfc.evidence.timeline import MOST_READINGS, Timeline, storm_label
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.arithmetic import MAX_QUANTA
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, PauseFrame, Role, global_pause_frame, pfc_frame
from tests.common.pfc.record.case import priorities_text
from tests.common.unit_tests.pfc.fakes import DEVICE, HELD_FRAMES, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

STORM = FlowPlan("storm", Role.STORM, None, 64, fps=10, pause=pfc_frame((3,), MAX_QUANTA))
HELD = FlowPlan("held", Role.TEST, 3, 1024, 50, seconds=5)
FREE = FlowPlan("free", Role.BACKGROUND, 0, 1024, 50, seconds=5)


def stats(plan, sent, received, transmitting=False):
    """What was counted for a flow."""
    return {plan.name: FlowStats(plan, transmitting, sent, received)}


@pytest.fixture
def line():
    """A timeline with a storm since 10 s and data since 11 s."""
    timeline = Timeline()
    timeline.pushed([STORM, HELD, FREE], 9)
    timeline.started([STORM], 10)
    timeline.started([HELD, FREE], 11)
    return timeline


def test_readings_are_added_up_by_class(line):
    """Nothing was sent before it was started; a second start goes on where the first ended."""
    line.counted(stats(HELD, 7, 0, True) | stats(FREE, 50, 50, True), 13)
    line.counted(stats(HELD, 7, 0) | stats(FREE, 99, 99), 16)
    line.stopped(["storm"], 18)
    line.counted(stats(HELD, 7, 7), 19)
    line.started([HELD, FREE], 20)
    line.counted(stats(HELD, 90, 90) | stats(FREE, 99, 98), 25)
    found = line.evidence()
    assert found == {
        "readings_s": [0, 1, 3, 6, 9, 10, 15],
        "frames_rx": {"priority 3 (test)": [0, 0, 0, 0, 7, 7, 97],
                      "priority 0 (background)": [0, 0, 50, 99, 99, 99, 197]},
        "frames_tx": {"priority 3 (test)": [0, 0, 7, 7, 7, 7, 97],
                      "priority 0 (background)": [0, 0, 50, 99, 99, 99, 198]},
        "storms": [{"label": "PFC on priority 3", "priorities": [3], "begin_s": 0, "end_s": 8}],
    }, found


def test_a_reading_without_a_flow_that_may_move_is_no_reading(line):
    """Else its class would seem to stand still."""
    line.counted(stats(HELD, 7, 0), 12)
    assert line.evidence()["readings_s"] == [0, 1], "the other one still sends"
    line.counted(stats(FREE, 99, 99) | stats(HELD, 7, 0), 16)
    line.counted(stats(HELD, 7, 0), 17)
    assert line.evidence()["readings_s"] == [0, 1, 6, 7], "the other one is over"
    line.counted(stats(FREE, 99, 99), 17.5)
    assert line.evidence()["readings_s"][-1] == 7.5, "what is held does not move"
    line.stopped([], 18)
    line.counted(stats(FREE, 99, 99), 19)
    assert line.evidence()["readings_s"][-1] == 7.5, "what was held comes out now"


def test_frames_that_are_lost_keep_no_flow_on_its_way(line):
    """Once nothing moves any more."""
    line.counted(stats(HELD, 7, 7) | stats(FREE, 99, 90), 16)
    line.counted(stats(HELD, 7, 7), 17)
    assert line.evidence()["readings_s"] == [0, 1, 6], "some may still come"
    line.counted(stats(HELD, 7, 7) | stats(FREE, 99, 90), 18)
    line.counted(stats(HELD, 7, 7), 19)
    found = line.evidence()
    assert found["readings_s"] == [0, 1, 6, 8, 9], found
    assert found["frames_rx"]["priority 0 (background)"] == [0, 0, 90, 90, 90], found


def test_readings_are_bounded(line):
    """The first and the last are there, and they ascend."""
    for number in range(1000):
        line.counted(stats(HELD, number, number, True) | stats(FREE, 1, 1, True), 12 + number / 10)
    found = line.evidence()
    times = found["readings_s"]
    assert len(times) <= MOST_READINGS and times == sorted(set(times)), times
    assert times[0] == 0 and times[-1] == 101.9 and found["frames_rx"]["priority 3 (test)"][-1] == 999, found


@pytest.mark.parametrize(("plan", "end_s"), [
    (FlowPlan("short", Role.STORM, None, 64, fps=10, pause=pfc_frame((3,), 9), seconds=0.5), 0.5),
    (FlowPlan("short", Role.STORM, None, 64, fps=10, pause=pfc_frame((3,), 9), frames=20), 2),
    (FlowPlan("short", Role.STORM, None, 64, fps=10, pause=pfc_frame((3,), 9), seconds=0.5, delay_ns=10**9), 1.5),
    (FlowPlan("short", Role.STORM, None, 64, fps=10, pause=pfc_frame((3,), 9)), 3),
])
def test_a_storm_ends_by_itself_or_when_it_is_told_to(plan, end_s):
    """Whichever comes first."""
    timeline = Timeline()
    timeline.pushed([plan], 0)
    timeline.started([plan], 5)
    timeline.stopped((), 8)
    timeline.counted({}, 9)
    storm = timeline.evidence()["storms"][0]
    assert (storm["begin_s"], storm["end_s"]) == (plan.delay_ns / 1e9, end_s), storm


def test_a_port_s_own_flows():
    """Of several that are measured at once; flows of one class are one line."""
    timeline = Timeline()
    flows = [FlowPlan(f"{number} {port}", Role.TEST, 3, 64) for port in ("sw-1 Ethernet0", "sw-1 Ethernet10")
             for number in (1, 2)]
    timeline.pushed(flows, 0)
    timeline.started(flows, 1)
    timeline.counted({flow.name: FlowStats(flow, False, 5, 5) for flow in flows}, 2)
    assert timeline.evidence(" sw-1 Ethernet0")["frames_rx"] == {"priority 3 (test)": [0, 10]}, timeline
    assert timeline.evidence()["frames_rx"] == {"priority 3 (test)": [0, 20]}, timeline
    assert timeline.evidence(" sw-2 Ethernet0")["frames_rx"] == {}, timeline


@pytest.mark.parametrize(("frame", "label"), [
    (pfc_frame((4, 3), 9), "PFC on priorities 3, 4"),
    (global_pause_frame(9), "802.3x pause"),
    (PauseFrame((0,) * 8), "PFC"),
    (PauseFrame((9,) * 8, (3,), ether_type=0x8809), "PFC on priority 3, not valid"),
    (PauseFrame((9,) * 8, tuple(range(8, 16))), "PFC, not valid"),
    (PauseFrame((9,) * 8, (3,), destination="01:80:c2:00:00:02"), "PFC on priority 3, not valid"),
])
def test_a_storm_is_called_by_its_frames(frame, label):
    """So that a plot says what it was."""
    assert storm_label(frame) == label, storm_label(frame)


def test_a_storm_at_another_port_says_so():
    """Its name ends with the port under test, as all of a port's flows' do."""
    own, other = (dataclasses.replace(STORM, name=f"{name} sw-1 Ethernet0", enters=port)
                  for name, port in (("own", "Ethernet0"), ("other", "Ethernet4")))
    timeline = Timeline()
    timeline.pushed([own, other], 0)
    timeline.started([own, other], 1)
    timeline.counted({}, 2)
    labels = [storm["label"] for storm in timeline.evidence()["storms"]]
    assert labels == ["PFC on priority 3", "PFC on priority 3 at Ethernet4"], labels


def measured(case, target, **faults):
    """The timeline of a test case on the fake switch."""
    world = FakeWorld(**faults)
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(FakeHost(world), [EvidenceRecorder()]), FakeApi(world), FakeClock(world))
    outcome = Qualifier(lab).qualify(case, target)
    return outcome.evidence["timeline"]


def test_a_pause_storm_as_it_was_measured():
    """Readings before, in and after the storm; what was held comes out at its end."""
    found = measured(SINGLE_LOSSLESS, (3,))
    storm, = found["storms"]
    assert (storm["label"], storm["priorities"]) == (f"PFC on {priorities_text((3,))}", [3]), storm
    times, held = found["readings_s"], found["frames_rx"]["priority 3 (test)"]
    inside = [received for at_s, received in zip(times, held, strict=True) if at_s <= storm["end_s"]]
    assert len(inside) >= 3 + LOOKS and set(inside) == {0}, found
    assert held[len(inside)] == HELD_FRAMES and held[-1] > 10**7, found
    assert all(len(counts) == len(times) for way in ("frames_rx", "frames_tx") for counts in found[way].values()), found
    free = found["frames_rx"]["priority 0 (background)"]
    assert free == sorted(free) and free[len(inside) - 1] > 0, found


def test_a_broken_switch_shows():
    """One that ignores pauses, and one whose 802.3x pause stops a priority."""
    found = measured(SINGLE_LOSSLESS, (3,), ignores_pause=True)
    assert found["frames_rx"]["priority 3 (test)"][3] > 0, found
    found = measured(GLOBAL_PAUSE, (), global_pause_classes=(3,))
    assert found["storms"][0]["label"] == "802.3x pause", found
    assert found["frames_rx"]["priority 3 (test)"][3] == 0 < found["frames_rx"]["priority 1 (test)"][3], found


def test_the_names_of_flows_end_with_their_port():
    """By that a port's own are known where several are measured at once."""
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    world = FakeWorld()
    builder = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world)).builder
    end = builder.flow_name("")
    assert end == f" {DEVICE} Ethernet0" and builder.flow_name("Storm").endswith(end), "names"
