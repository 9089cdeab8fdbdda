"""Storms on two ports, or on a port that is watched and must not be taken for stormed: what their runs come to."""

from dataclasses import replace

import pytest

from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.parts import judge
from tests.common.pfc.cases.timing_storms import STORM_NAMES, StormsRun, times
from tests.common.pfc.cases.watchdog.actions import _pauses_counted
from tests.common.pfc.cases.watchdog.all_to_all import StormRound, both_rounds
from tests.common.pfc.cases.watchdog.beside import pausing_nobody
from tests.common.pfc.cases.watchdog.checks import WatchdogRun, is_dropped, kept_lone_storm, works_again
from tests.common.pfc.cases.watchdog.held import WALL_TIMERS, WatchedStormsRun, validity
from tests.common.pfc.cases.watchdog.overlapping import judge_congested
from tests.common.pfc.cases.watchdog.repeated import brief_s, judge_brief
from tests.common.pfc.cases.watchdog.restored import storm_and_turned, stopped_and_again
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.lab import PauseSource
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.watchdog import DROP, FORWARD, OPERATIONAL, STORMED, Timers
from tests.common.pfc.model.counters import DutCounters, WatchdogRow
from tests.common.pfc.model.measurement import Measurement
from tests.common.pfc.model.ports import ConnectedPort, PortPair
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.pfc.model.tolerances import EXACT, HARDWARE
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS
from tests.common.unit_tests.pfc.unit_test_watchdog_timers import SUBJECT as PAIR

FIRST, TX, SECOND = "Ethernet0", "Ethernet64", "Ethernet68"
PORTS = (FIRST, TX, SECOND)
QUEUES = tuple(f"{port}:3" for port in PORTS)
DATA_FRAMES = 1000
SUBJECT = replace(PAIR, further=(ConnectedPort("vtb-t0-01", SECOND, "generator 68", SECOND, 100_000),))


def read(stormed=(), storms=0):
    """Counters without PFC: these ports are in their storm, and each of those that had some had so many in all."""
    none = dict.fromkeys(PORTS, (0,) * 8)
    rows = {}
    for queue in QUEUES:
        counted = storms if queue != f"{TX}:3" else 0
        now = queue.split(":")[0] in stormed
        rows[queue] = WatchdogRow(STORMED if now else OPERATIONAL, counted, counted - now)
    return DutCounters(none, none, {}, rows, (), {})


def data_flow(enters, leaves, frames_rx):
    """Test data between two ports."""
    plan = FlowPlan(f"{enters} {leaves}", Role.TEST, 3, 1024, 10.0, frames=DATA_FRAMES, enters=enters, leaves=leaves)
    return plan.name, FlowStats(plan, False, DATA_FRAMES, frames_rx)


def sent_all(stormed=()):
    """Data between all three ports, of which all that leaves by a port in storm, or comes in there, is dropped."""
    return dict(
        data_flow(enters, leaves, 0 if {enters, leaves} & {*stormed} else DATA_FRAMES)
        for enters in PORTS for leaves in PORTS if enters != leaves
    )


def storm_round(first, second, storms_before=0):
    """A round as it should be, which begins when each of the two ports has had so many storms."""
    phases = {"stormed": sent_all([first]), "both": sent_all([first, second]), "alone": sent_all([second]), "over": {},
              "resumed": sent_all()}
    during = read([first], storms_before)
    during.watchdog[f"{first}:3"] = WatchdogRow(STORMED, storms_before + 1, storms_before)
    after = read(storms=storms_before + 1)
    both, alone = read([first, second], storms_before + 1), read([second], storms_before + 1)
    return StormRound(
        SUBJECT, read(storms=storms_before), during, after, (3,), phases, Timers(DROP), QUEUES, second, both, alone,
        after, storms_on=(first,)
    )


def lacking(turned, own):
    """The checks of both rounds that are not PASS."""
    return unmet(judge(both_rounds(turned, own)))


def test_each_port_has_the_first_storm_once():
    """Both rounds as they should be."""
    found = lacking(storm_round(SECOND, FIRST), storm_round(FIRST, SECOND, 1))
    assert not found, found


@pytest.mark.parametrize("moment, data, name", [
    ("stormed", data_flow(TX, SECOND, 1), "dropped-in-storm"),
    ("stormed", data_flow(TX, FIRST, DATA_FRAMES - 1), "other-ports-unaffected"),
    ("both", data_flow(TX, FIRST, 1), "dropped-in-storm"),
    ("both", data_flow(FIRST, TX, 1), "dropped-in-storm"),
    ("alone", data_flow(TX, FIRST, 1), "dropped-in-storm"),
    ("alone", data_flow(SECOND, TX, DATA_FRAMES - 1), "other-ports-unaffected"),
    ("resumed", data_flow(TX, FIRST, DATA_FRAMES - 1), "resumed"),
])
def test_what_is_wrong_in_the_turned_round_says_so(moment, data, name):
    """Where the other port has the first storm: by data that one frame too many came of, or too few."""
    turned = storm_round(SECOND, FIRST)
    turned.phases[moment].update([data])
    [check] = lacking(turned, storm_round(FIRST, SECOND, 1))
    assert check.name == name and "(Ethernet68 the first to have a storm)" in check.message, check.message


def test_a_second_storm_that_is_not_detected_beside_another():
    """Of the port under test, in the turned round."""
    turned = replace(storm_round(SECOND, FIRST), both=read([SECOND], 1))
    [check] = lacking(turned, storm_round(FIRST, SECOND, 1))
    assert check.name == "stormed-queues-later" and "Ethernet0" in check.where, check.message


@pytest.mark.parametrize("stormed, wrong", [([FIRST, SECOND], FIRST), ([], SECOND)])
def test_the_first_storm_ends_and_the_second_goes_on(stormed, wrong):
    """A queue that stays in storm as long as another port's is, and one that is restored with another port's."""
    own = replace(storm_round(FIRST, SECOND, 1), alone=read(stormed, 2))
    [check] = lacking(storm_round(SECOND, FIRST), own)
    assert check.name == "stormed-queues-last" and wrong in check.where, check.message


def test_a_queue_that_is_restored_later_than_it_must_be():
    """It is in the end, and counted."""
    turned = storm_round(SECOND, FIRST)
    own = replace(storm_round(FIRST, SECOND, 1), ended=read([FIRST], 2))
    [check] = lacking(turned, own)
    assert check.name == "restored" and "Ethernet0" in check.where, check.message


@pytest.mark.parametrize("action, storms_on, dropped", [
    (DROP, (), {(TX, FIRST), (SECOND, FIRST), (FIRST, TX), (FIRST, SECOND)}),
    (DROP, (SECOND,), {(TX, SECOND), (FIRST, SECOND), (SECOND, TX), (SECOND, FIRST)}),
    (FORWARD, (FIRST, SECOND), set()),
])
def test_what_a_storm_drops_is_about_its_port(action, storms_on, dropped):
    """Said of none it is the port under test."""
    run = WatchdogRun(
        SUBJECT, read(), read(), read(), (3,), {"stormed": sent_all()}, Timers(action), QUEUES, storms_on=storms_on
    )
    found = {(flow.plan.enters, flow.plan.leaves) for flow in run.flows("stormed") if is_dropped(run, flow)}
    assert found == dropped, found


@pytest.mark.parametrize("enters, leaves, where", [(FIRST, TX, FIRST), (TX, FIRST, FIRST), (TX, SECOND, SECOND)])
def test_what_is_lost_after_a_storm_is_about_the_port_that_had_it(enters, leaves, where):
    """Also of what comes in there, as the watchdog may go on dropping that; of other traffic the port it leaves by."""
    phases = {"resumed": sent_all() | dict([data_flow(enters, leaves, DATA_FRAMES - 1)])}
    run = WatchdogRun(SUBJECT, read(), read([FIRST]), read(), (3,), phases, Timers(DROP), QUEUES)
    [check] = unmet(works_again(run))
    assert check.name == "resumed" and f"{where} " in check.where, check.message


@pytest.mark.parametrize("lasted_s, expected", [(3.5, []), (4.9, []), (5.1, ["storm-ended"] * 3)])
def test_a_storm_that_could_be_detected_is_no_measurement(lasted_s, expected):
    """WD-14 by the wall clock: a generator that stops a storm late."""
    lasting = times(100_000, False)
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
    data = FlowPlan("data", Role.TEST, 3, 1024, 10.0, frames=DATA_FRAMES)
    stormed = {"storm": FlowStats(storm, False, round(5960 * lasted_s), 0), "data": FlowStats(data, True, 1, 0)}
    phases = {f"{name} {moment}": stormed for name in STORM_NAMES for moment in ("stopped", "over")}
    storms = StormsRun(SUBJECT, read(), read(), read(), (3,), phases, lasting, False)
    watchdog = WatchdogRun(SUBJECT, read(), read(), read(), (), {}, WALL_TIMERS, QUEUES)
    found = [check.name for check in unmet(validity(WatchedStormsRun(storms, watchdog))) if check.name != "link-up"]
    assert found == expected, found


@pytest.mark.parametrize("gap, expected", [("", []), ("ended 2 s before its successor began", ["storm-running"])])
def test_a_lone_storm_with_a_gap_is_no_measurement(gap, expected):
    """WD-15, WD-16 and WD-20 of a generator that cannot send for long: the watchdog may not have seen one storm."""
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
    over = {"storm": FlowStats(storm, False, 5960 * 60, 0, gap=gap)}
    run = WatchdogRun(SUBJECT, read(), read([FIRST]), read(), (3,), {"over": over}, Timers(DROP), QUEUES)
    assert [check.name for check in unmet(kept_lone_storm(run)) if check.name != "link-up"] == expected, gap


@pytest.mark.parametrize("asic, tolerances, counted, expected", [
    ("vs", EXACT, 29_800, []), ("vs", EXACT, 29_799, ["every-pause-counted"]),
    ("vs", HARDWARE, 29_502, []), ("vs", HARDWARE, 22_350, ["every-pause-counted"]),
    ("cisco-8000", HARDWARE, 22_350, []),
])
def test_pauses_that_come_while_the_watchdog_acts_are_counted(asic, tolerances, counted, expected):
    """WD-1: nothing else would say that a storm goes on, but on a platform whose watchdog looks elsewhere."""
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
    over = {"storm": FlowStats(storm, False, 29_800, 0)}
    after = replace(read(), pfc_rx={**read().pfc_rx, FIRST: (0, 0, 0, counted, 0, 0, 0, 0)})
    subject = replace(SUBJECT, asic=asic, tolerances=tolerances)
    run = WatchdogRun(subject, read(), read([FIRST]), after, (3,), {"over": over}, Timers(DROP), QUEUES)
    assert [check.name for check in unmet(_pauses_counted(run))] == expected, counted


def storm_and_pauses(sent=((3, 9),)):
    """WD-15 as it should be: a storm, and then data of the restored port, which has sent so many PFC frames of these
    priorities, held at the tx port."""
    stormed = replace(read([FIRST]), watchdog={f"{FIRST}:3": WatchdogRow(STORMED, 1, 0)})
    restored = replace(read(), watchdog={f"{FIRST}:3": WatchdogRow(OPERATIONAL, 1, 1)})
    storm = WatchdogRun(SUBJECT, read(), stormed, restored, (3,), {}, Timers(DROP), (f"{FIRST}:3",))
    counted = dict(sent)
    frames = FlowStats(FlowPlan("storm", Role.STORM, None, 64, fps=1000, pause=pfc_frame((3,), 65535)), False, 7, 0)
    turned = replace(
        restored, pfc_rx={**restored.pfc_rx, TX: (0, 0, 0, 7, 0, 0, 0, 0)},
        pfc_tx={**restored.pfc_tx, FIRST: tuple(counted.get(priority, 0) for priority in range(8))},
    )
    held, passed = data_flow(FIRST, TX, 0), data_flow(FIRST, TX, DATA_FRAMES)
    lossy = FlowPlan("lossy", Role.BACKGROUND, 0, 1024, 10.0, frames=DATA_FRAMES, enters=FIRST, leaves=TX)
    others = {"lossy": FlowStats(lossy, False, DATA_FRAMES, DATA_FRAMES)}
    phases = {"paused": {"storm": frames, **dict([held]), **others}, "drained": {"storm": frames, **dict([passed])},
              "resumed": {**dict([passed]), **others}}
    subject = replace(SUBJECT, pair=PortPair(SUBJECT.pair.tx, SUBJECT.pair.rx))
    scenario = Scenario(Storm.LOSSLESS, (3,), (0,))
    return storm, Measurement(subject, restored, turned, turned, (3,), phases, scenario, PauseSource())


def restored_run(sent=((3, 9),)):
    """The parts of that."""
    storm, pauses = storm_and_pauses(sent)
    return storm_and_turned(storm, pauses, pauses.after)


def test_a_restored_port_that_holds_its_sender_passes():
    """As any port that was never stormed."""
    found = unmet(judge(restored_run()))
    assert not found, found


@pytest.mark.parametrize("sent, name, priority", [
    ((), "back-pressure", 3), (((3, 9), (0, 1)), "no-other-back-pressure", 0)])
def test_what_a_restored_port_sends_is_about_that_port(sent, name, priority):
    """It is the one that data enters by, after the storm."""
    [check] = unmet(judge(restored_run(sent)))
    assert (check.name, check.where) == (name, f"vtb-t0-01 {FIRST} priority {priority}"), check.message
    assert "the ports having changed places" in check.message, check.message


def test_frames_that_pause_nobody_come_with_data_of_lossless_priorities():
    """Where no such data gets to the port there is none whose queue could be in storm."""
    world = FakeWorld()
    dut = Dut(FakeHost(world))
    lab = open_lab(plan_port(dut, TESTER_PORTS, "Ethernet0", None), dut, FakeApi(world), FakeClock(world))
    found = pausing_nobody(lab)
    assert [(one.pause_frame().is_global, one.paused, one.tested) for one in found] == [
        (True, (), (3, 4)), (False, (), (3, 4))], found
    assert found[1].pause_frame().quanta == (65535,) * 8 and not found[1].pause_frame().enabled, found
    qos = replace(lab.subject.qos, lossless=())
    none = pausing_nobody(replace(lab, subject=replace(lab.subject, qos=qos)))
    assert none == [], none


@pytest.mark.parametrize("can_turn, sent, failed", [
    (True, ((3, 9),), []), (True, (), ["back-pressure"]), (False, (), []),
])
def test_a_port_whose_watchdog_was_stopped_in_a_storm_is_looked_at_both_ways(can_turn, sent, failed):
    """The turned steps, where the ports can change places, are judged as the others are."""
    storm, turned = storm_and_pauses(sent)
    run = stopped_and_again(storm, storm_and_pauses()[1], turned if can_turn else None)
    found = unmet(judge(run))
    assert [check.name for check in found] == failed, found
    assert all("stopped in a storm, the ports having changed places" in check.message for check in found), found
    assert run.settled is (turned.after if can_turn else run.parts[1].run.after), "the last counters"


@pytest.mark.parametrize("detected, restored, status, failed", [
    (0, 0, OPERATIONAL, 0), (3, 3, OPERATIONAL, 0), (5, 5, OPERATIONAL, 0),
    (3, 2, STORMED, 1), (3, 2, OPERATIONAL, 1), (3, 3, STORMED, 1), (6, 6, OPERATIONAL, 1),
])
def test_of_brief_storms_as_many_are_over_as_were_detected(detected, restored, status, failed):
    """WD-10: how many these are is the polls' affair."""
    after = replace(read(), watchdog={f"{FIRST}:3": WatchdogRow(status, 16 + detected, 16 + restored)})
    before = replace(read(), watchdog={f"{FIRST}:3": WatchdogRow(OPERATIONAL, 16, 16)})
    run = WatchdogRun(SUBJECT, before, after, after, (3,), {}, Timers(DROP), QUEUES)
    found = unmet(judge_brief(run))
    assert [check.name for check in found] == ["storms-counted"] * failed, found


def test_brief_storms_end_when_they_may_just_be_detected():
    """From the detection time to two polls more."""
    assert [round(seconds, 9) for seconds in brief_s()] == [0.2, 0.25, 0.3, 0.35, 0.4], brief_s()


@pytest.mark.parametrize("held_rx, sent, drained, failed", [
    (0, 9, DATA_FRAMES, []), (0, 0, DATA_FRAMES, ["back-pressure"]), (0, 9, DATA_FRAMES - 1, ["held-frames-drained"]),
    (1, 9, DATA_FRAMES, ["held-in-storm"]),
])
def test_a_port_in_storm_holds_the_sender_of_another_priority(held_rx, sent, drained, failed):
    """WD-13: priority 4 is in storm, and priority 3 is congested at the tx port."""
    queue = f"{FIRST}:4"
    stormed = replace(read(), watchdog={queue: WatchdogRow(STORMED, 1, 0)})
    pfc_tx = {**read().pfc_tx, FIRST: (0, 0, 0, sent, 0, 0, 0, 0)}
    after = replace(read(), watchdog={queue: WatchdogRow(OPERATIONAL, 1, 1)}, pfc_tx=pfc_tx)
    phases = {"held": dict([data_flow(FIRST, TX, held_rx)]), "drained": dict([data_flow(FIRST, TX, drained)])}
    congested = WatchdogRun(SUBJECT, read(), stormed, after, (4,), phases, Timers(DROP), (queue,))
    found = unmet(judge_congested(congested))
    assert [check.name for check in found] == failed, found
