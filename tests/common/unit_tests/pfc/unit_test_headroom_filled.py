"""Headroom that is filled while a storm holds its queues: what can be measured, and what watermarks show."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.common.pfc.cases.group_profiles import profiles_command
from tests.common.pfc.cases.group_room import GroupRoom
from tests.common.pfc.cases.headroom import (
    Delays, Filled, Headroom, HeadroomRun, _counted_by_port, _full, _limit, _queue_shown, _shared_shown, _threshold,
    check_shared, covered, queues_delay_s,
)
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.checking import at_priority
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import SharedBuffer
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_hold_in_storm import held_run
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


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


@pytest.mark.parametrize("asic, port_dropped, own, status", [
    ("", 300, 0, Status.PASS), ("", 299, 100, Status.FAIL), ("", 400, 100, Status.PASS), ("", 401, 100, Status.FAIL),
    ("", 301, 0, Status.FAIL), ("", 0, 0, Status.FAIL), ("", None, 0, None),
    ("cisco-8000 voq x86_64-8800_lc_48h_o-r0", 0, 0, None),
])
def test_a_port_counts_what_its_groups_drop(asic, port_dropped, own, status):
    """The frames of both priorities; on hardware up to so many more."""
    held = held_run(5000)
    run = HeadroomRun(**{**vars(held), "subject": replace(held.subject, asic=asic)}, filled={
        priority: Filled(Headroom(priority, "small", 30_720, 5), Delays(0, 1),
                         FlowStats(FlowPlan("data", Role.TEST, priority, 1024), False, 1000, received), 0, None)
        for priority, received in ((3, 900), (4, 800))
    }, others={}, port_dropped=port_dropped, own=own)
    made = list(_counted_by_port(run))
    assert [check.status for check in made] == ([] if status is None else [status]), made


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


@pytest.mark.parametrize("kept_back, groups, used, bad", [
    (0, 1, 160_000, ["headroom-full"]), (17_712, 1, 160_000, []), (17_712, 1, 143_000, ["headroom-full"]),
    (0, 1, 2 * 165_568, ["headroom-limit"]), (0, 2, 2 * 165_568, []), (0, 2, 2 * 165_568 + 3360, ["headroom-limit"]),
])
def test_a_switch_may_keep_headroom_back_or_have_a_pool_of_it(kept_back, groups, used, bad):
    """Where frames are larger than cells, and no cell is known."""
    flow = FlowStats(FlowPlan("data", Role.TEST, 3, 4096), False, 1000, 990)
    filled = Filled(
        Headroom(3, "large", 165_568, 5), Delays(0, 1), flow, used, 10, kept_back=kept_back, groups=groups
    )
    place = at_priority(held_run(5000).subject, 3)
    made = [_limit(place, filled), _full(place, filled)]
    assert [check.name for check in made if check.status is not Status.PASS] == bad, made


@pytest.mark.parametrize("rounded, less, more, bad", [
    (8, 7, 0, []), (8, 9, 0, ["xoff-threshold"]), (8, 0, 10, []), (8, 0, 17, ["shared-watermark"]),
    (1, 3, 0, ["xoff-threshold"]), (1, 0, 3, ["shared-watermark"]),
])
def test_watermarks_may_be_rounded_up_to_eight_cells(rounded, less, more, bad):
    """So many fewer frames were taken than the headroom's watermark says, and shared memory shows so many more."""
    room = GroupRoom(size_bytes=1000 * 208, dynamic_th=0, pool_bytes=32_876 * 208)
    used, before = 800 + (rounded == 1), 17_438
    frames = before + used - less
    shared = frames - used - 1000 + more
    shared = -(-shared // 8) * 8 if rounded == 8 else shared
    flow = FlowStats(FlowPlan("data", Role.TEST, 3, 64), False, frames + 9, frames)
    filled = Filled(Headroom(3, "large", used * 208, 5, room), Delays(0, 1), flow, used * 208, 9,
                    Fraction(before * 208), shared_used=shared * 208)
    run = HeadroomRun(**vars(held_run(5000)), filled={3: filled}, others={})
    made = [*_threshold(run.place(3), filled), *_shared_shown(run, 3, filled)]
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
