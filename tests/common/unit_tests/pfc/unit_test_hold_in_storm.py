"""What has to hold before a storm on held senders is judged: storm, load, headroom that leaves senders some time."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.ingress import IngressLoad
from tests.common.pfc.cases.headroom import (
    Delays, Filled, Headroom, HeadroomRun, _limit, _queue_shown, _threshold, check_shared, covered, queues_delay_s,
)
from tests.common.pfc.cases.group_profiles import profiles_command
from tests.common.pfc.cases.group_room import GroupRoom
from tests.common.pfc.cases.hold_in_storm import HeldRun, Hold, storm_ran_and_load_applied
from tests.common.pfc.cases.switch_counters import delay_s, queues_used
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.checking import at_priority
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import SharedBuffer
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

STORM = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))


def held_run(sent, stops=True):
    """A storm of 2 s on priority 3; priority 0 sent so many frames of the 1,197,318 due in a second at 10 %."""
    host = FakeHost(FakeWorld())
    subject, read = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None).subject, Dut(host).counters()
    tx = subject.pair.tx
    data = [FlowPlan(f"data {n}", Role.TEST, n, 1024, 10.0, seconds=1, enters=tx.port) for n in (0, 3)]
    over = [FlowStats(data[0], False, sent, sent), FlowStats(data[1], False, 1, 1)]
    late = {flow.plan.name: flow for flow in (*over, FlowStats(STORM, not stops, 5960 * 2, 0))}
    in_storm = {**late, "storm": FlowStats(STORM, True, 5960 * 2, 0)}
    hold = Hold((3,), (IngressLoad(tx, (0, 3), 20, 1.0),), 1.0)
    return HeldRun(subject, read, read, read, hold.paused, {"paused": in_storm, "drained": late}, hold)


@pytest.mark.parametrize(("sent", "stops", "lacking"), [
    (1_197_318, True, []), (1, True, ["load-applied"]), (1_197_318, False, ["storm-stopped"]),
])
def test_a_storm_that_goes_on_and_a_load_that_nobody_held_are_no_measurement(sent, stops, lacking):
    """A single frame of background would arrive whole whatever the switch does."""
    assert [check.name for check in unmet(storm_ran_and_load_applied(held_run(sent, stops)))] == lacking, (sent, stops)


def test_headroom_that_leaves_no_time_shows_nothing():
    """30,720 bytes at 100 Gb/s are what the standard's response takes: senders would go on for 0 quanta."""
    world = FakeWorld()
    host = FakeHost(world)
    lab = open_lab(plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None), Dut(host), FakeApi(world), FakeClock(world))
    tables = {
        "PORT_QOS_MAP": {"Ethernet64": {"tc_to_pg_map": "AZURE"}},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3", "4": "4"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet64": "5m"}},
    }
    host.answers[profiles_command("Ethernet64")] = ("BUFFER_PG_TABLE:Ethernet64:3-4 small {'xoff': '30720'}", 0)
    before, lab = lab.dut.counters(), replace(lab, config_db={**lab.config_db, **tables})
    with pytest.raises(QualificationError) as raised:
        covered(lab, (3,), before)
    expected = "Ethernet64: the headroom of small, 30720 bytes, lets a sender go on for 0 quanta longer than"
    assert expected in str(raised.value), str(raised.value)


def seven_headrooms(pool_headroom):
    """Of a pool that has so much for all."""
    return [Headroom(n, "large", 165_568, 5, GroupRoom(0, 0, 1 << 23, pool_headroom)) for n in range(7)]


@pytest.mark.parametrize("pool_headroom", [0, 7 * 165_568])
def test_headroom_that_is_filled_at_once_fits(pool_headroom):
    """A pool without `xoff` has it in each group."""
    check_shared(held_run(5000).subject, seven_headrooms(pool_headroom))


def test_a_pool_with_less_headroom_than_is_filled_at_once_is_not_measured():
    with pytest.raises(QualificationError) as raised:
        check_shared(held_run(5000).subject, seven_headrooms(7 * 165_568 - 1))
    expected = "Ethernet64: the headrooms of 7 lossless priorities are 1158976 bytes"
    assert expected in str(raised.value), str(raised.value)


@pytest.mark.parametrize("used, status", [
    (None, None), (0, Status.FAIL), (511_999, Status.FAIL), (512_000, Status.PASS), (3_300_000, Status.PASS),
    (1 << 40, Status.FAIL),
])
def test_the_watermark_of_a_queue_that_held_everything(used, status):
    """Half of it at least, its pool at most; nothing is said of a switch that does not tell."""
    run = held_run(5000)
    flow = FlowStats(FlowPlan("data", Role.TEST, 3, 1024), False, 1200, 1000)
    filled = Filled(Headroom(3, "small", 30_720, 5), Delays(0, 1), flow, 0, 200, queue_used=used)
    made = list(_queue_shown(HeadroomRun(**vars(run), filled={3: filled}, others={}), 3, filled))
    assert [check.status for check in made] == ([] if status is None else [status]), made
    assert all("watermark of queue UC3, which held 1024000" in check.expected for check in made), made


@pytest.mark.parametrize("cells, headroom_cells, bad", [
    (0, 0, []), (-2, 0, ["xoff-threshold"]), (8, 0, []), (10, 0, ["xoff-threshold"]), (2, 4, []),
    (0, 8, ["headroom-limit"]),
])
def test_a_switch_may_round_thresholds_up_to_eight_cells(cells, headroom_cells, bad):
    """Of 208 bytes: so many more (fewer) before XOFF, and so many more in the headroom than its profile has."""
    headroom = Headroom(3, "large", 796 * 208, 5)
    frames = 17_438 + cells + 796 + headroom_cells
    flow = FlowStats(FlowPlan("data", Role.TEST, 3, 64), False, frames + 9, frames)
    filled = Filled(headroom, Delays(0, 1), flow, (796 + headroom_cells) * 208, 9, Fraction(17_438 * 208))
    place = at_priority(held_run(5000).subject, 3)
    made = [_limit(place, filled), *_threshold(place, filled)]
    assert [check.name for check in made if check.status is not Status.PASS] == bad, made


@pytest.mark.parametrize("pool, status, is_read", [
    ("egress_lossless_pool", "enable", True), ("egress_lossless_pool", "disable", False),
    ("ingress_lossless_pool", "enable", False),
])
def test_watermarks_of_queues_are_read_where_frames_wait_there(pool, status, is_read):
    """Virtual output queues (`cisco-8000`, `voq`) hold them where they came in."""
    subject = held_run(5000).subject
    config_db = {"FLEX_COUNTER_TABLE": {"QUEUE_WATERMARK": {"FLEX_COUNTER_STATUS": status}}}
    seconds = queues_delay_s(replace(subject, buffer=SharedBuffer(pool, 1 << 24)), config_db)
    assert (seconds is not None) == is_read, seconds


def test_watermarks_of_queues_need_not_be_there():
    """Neither polled, nor printed."""
    polled = {"FLEX_COUNTER_TABLE": {"QUEUE_WATERMARK": {"FLEX_COUNTER_STATUS": "enable"}}}
    delays = [delay_s(config_db, "dut", "QUEUE_WATERMARK") for config_db in ({}, polled)]
    assert delays == [None, 65], delays
    text = "Egress shared pool occupancy per unicast queue:\n     Port    UC3    UC4\n---------  -----  -----\n"
    text += "Ethernet0     12    N/A\n"
    found = [queues_used(one, port) for one, port in ((text, "Ethernet0"), (text, "Ethernet4"), ("", "Ethernet0"))]
    assert found == [{3: 12}, {}, {}], found
