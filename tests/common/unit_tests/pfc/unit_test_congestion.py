"""What loads come to where a testbed's full line is loaded less."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.common.pfc.cases.congestion import (
    WALL, LoadRun, SteadyWindow, _back_pressure, _drop_bytes_agree, _drops_counted, _shares_of_senders, judge,
    offered_load, timing, validity,
)
from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.ingress import IngressLoad
from tests.common.pfc.cases.frames import imix
from tests.common.pfc.cases.group_room import GroupRoom, configured_room
from tests.common.pfc.cases.loads import tx_port, with_room
from tests.common.pfc.cases.switch_counters import OWN_FRAMES, DataCounters, PortCounts
from tests.common.pfc.cases.timing import COURSES, PAUSE_LENGTH, THROTTLED, fitted
from tests.common.pfc.cases.timing_storms import longest_turn
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort, PortState
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def lab(line_percent):
    """A lab whose full lines are loaded so much."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    made = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world))
    subject = replace(made.subject, tolerances=replace(HARDWARE, line_percent=line_percent))
    schedulers = {f"scheduler.{n}": {"type": "DWRR", "weight": str(14 + n)} for n in range(2)}
    return replace(made, subject=subject, config_db={**made.config_db, "SCHEDULER": schedulers})


@pytest.mark.parametrize(("scheduler", "frames"), [
    ({"type": "DWRR", "weight": "15"}, 2), ({"type": "DWRR", "weight": "70"}, 9), ({"type": "STRICT"}, 13),
    ({"type": "WRR", "weight": "15"}, 2),
])
def test_how_many_frames_a_turn_has(scheduler, frames):
    """Of 1024 bytes, 128 for each of a weight; of a strict queue as of the heaviest; where it cannot be told as SONiC's
    own queues have it."""
    bench = lab(100)
    config_db = {**bench.config_db, "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "1"},
                                                  "scheduler.1": scheduler}}
    qos = replace(bench.subject.qos, dscps={**bench.subject.qos.dscps, 7: (56,)})  # its queue has no row
    bench = replace(bench, config_db=config_db, subject=replace(bench.subject, qos=qos))
    assert longest_turn(bench, (3, 4)) == frames, scheduler


def weighted(lossy, lossless):
    """A lab whose queues have these weights."""
    bench = lab(100)
    weights = {"scheduler.0": lossy, "scheduler.1": lossless}
    rows = {name: {"type": "DWRR", "weight": str(weight)} for name, weight in weights.items()}
    return replace(bench, config_db={**bench.config_db, "SCHEDULER": rows})


@pytest.mark.parametrize(("lossy", "lossless", "test", "background"), [
    (14, 15, 90, 10), (100, 1, 90, 10), (5, 90, 90, 10), (3, 90, 93, 7), (1, 80, 97, 3), (1, 100, 98, 2),
])
def test_background_beside_full_queues_is_no_more_than_its_weight_gives(lossy, lossless, test, background):
    """Five of 1 beside two of 80 get 3.03 % together; SONiC's 14 beside 15 far more than 10 %."""
    found = fitted(weighted(lossy, lossless), COURSES[PAUSE_LENGTH]((3, 4)), (3, 4))
    assert (found.test_percent, found.background_percent) == (test, background), found


def test_background_beside_strict_queues_waits():
    """Its weight gives it nothing: test traffic may have the whole line."""
    bench = weighted(14, 15)
    rows = {**bench.config_db["SCHEDULER"], "scheduler.1": {"type": "STRICT"}}
    course = fitted(replace(bench, config_db={**bench.config_db, "SCHEDULER": rows}), COURSES[PAUSE_LENGTH]((3,)), (3,))
    assert course.background_waits and course.background_percent == 10, course


def test_a_line_with_room_for_all_has_its_background_whatever_the_weights():
    course = COURSES[THROTTLED]((3, 4))
    assert fitted(weighted(1, 100), course, (3, 4)) == course, "75 % of the line"


@pytest.mark.parametrize("line_percent", [100, 99, 98.5])
def test_what_is_wanted_is_what_is_sent(line_percent):
    """Of what the line has room for each priority gets what is really sent, and others get the rest."""
    bench = lab(line_percent)
    load = offered_load(bench, [IngressLoad(bench.subject.pair.tx, (3, 4), 100, 1.0)])
    assert load.wanted == dict.fromkeys((3, 4), Fraction(line_percent) / 200), load
    assert load.given == load.wanted and not load.congested, load


def test_a_queue_that_wants_less_leaves_more_to_the_others():
    """Twice 88 + 12 % at 90 %: 21.6 % for a priority that wants no more, the rest for the other one."""
    bench = lab(90)
    tx = bench.subject.pair.tx
    load = offered_load(bench, [IngressLoad(tx, (3,), 176, 1.0), IngressLoad(tx, (0,), 24, 1.0)])
    assert load.given == {3: Fraction(784, 1000), 0: Fraction(216, 1000)}, load


def test_loads_that_are_not_too_much_are_refused():
    """Two lines of 50 % fill one and congest nothing, which would show nothing."""
    with pytest.raises(QualificationError, match="line_percent 50, which makes 100 % of the line out of 200"):
        timing(lab(50), 200)


def test_congestion_takes_longer_to_fill_the_buffer_with_less_of_it():
    """Twice 75 % of the line at 80 % are 20 % too much instead of 50 %."""
    full, less = (timing(lab(line_percent), 150).settled_s for line_percent in (100, 80))
    assert less == pytest.approx(full * 50 / 20), (full, less)
    assert timing(replace(lab(99), clock=WallClock()), 150) == WALL, "in seconds on hardware"


@pytest.mark.parametrize(("ip_version", "smallest"), [(4, 64), (6, 66)])
def test_a_mix_of_sizes_has_frames_that_its_ip_version_fits_into(ip_version, smallest):
    """Ethernet, IPv6 and UDP headers with FCS are 66 bytes."""
    bench = lab(100)
    bench = replace(bench, subject=replace(bench.subject, ip_version=ip_version))
    assert with_room(tx_port, 60, 40, imix)(bench, ()).mix == ((smallest, 7), (570, 4), (1518, 1)), ip_version


def failed(times, more_dropped, got):
    """The checks that are not PASS when of 1.5 lines of priority 0 so much is received in 15 s (and in the window), and
    so many more frames are counted as dropped than were lost."""
    bench = lab(100)
    tx, read = bench.subject.pair.tx, bench.dut.counters()
    load = offered_load(bench, [IngressLoad(tx, (0,), 150, times.data_s)], times=times)
    flow = FlowStats(FlowPlan("data", Role.TEST, 0, 1024, 150.0, seconds=15, enters=tx.port), False, 3 * 10**8, got)
    dropped = flow.frames_tx - got + more_dropped
    drops = DataCounters(PortCounts(0, 0, 0, dropped), {tx.port: PortCounts(0, 0, 0, 0)}, {}, {0: dropped},
                         {tx.port: dict.fromkeys(range(8), 0)})
    run = LoadRun(bench.subject, read, read, read, (), {"sent": {"data": flow}}, load, {0: got}, drops, times != WALL)
    return {check.name for check in judge(run) if check.status is not Status.PASS}


@pytest.mark.parametrize(("times", "more", "lacking"), [
    (SteadyWindow(0.1, 0.1), 0, False), (SteadyWindow(0.1, 0.1), 1, True),
    (WALL, OWN_FRAMES, False), (WALL, OWN_FRAMES + 1, True),
    (WALL, -1, True),
])
def test_drops_that_are_counted(times, more, lacking):
    """To the frame; on hardware some of the switch's own may be dropped with the others, but none may be forgotten."""
    names = {"port-drops-counted", "queue-drops-counted"}
    assert failed(times, more, 2 * 10**8) & names == (names if lacking else set()), (times, more)


@pytest.mark.parametrize(("exact", "status"), [(True, Status.FAIL), (False, Status.PASS)])
def test_drops_of_the_switch_s_own_where_no_rates_are_measured(exact, status):
    """M2O-4 measures none; what is exact there is said by the clock."""
    bench = lab(100)
    tx, read = bench.subject.pair.tx, bench.dut.counters()
    load = offered_load(bench, [IngressLoad(tx, (0,), 150, 1.0)])
    flow = FlowStats(FlowPlan("data", Role.TEST, 0, 1024, 75.0, seconds=1, enters=tx.port), False, 1000, 900)
    none = PortCounts(0, 0, 0, 0)
    drops = DataCounters(PortCounts(0, 0, 0, 101), {tx.port: none}, {}, {0: 101}, {tx.port: {0: 0}})
    run = LoadRun(bench.subject, read, read, read, (), {"sent": {"data": flow}}, load, {}, drops, exact)
    found = {check.name: check.status for check in _drops_counted(run, drops)}
    assert found == {"port-drops-counted": status, "queue-drops-counted": status}, found


@pytest.mark.parametrize(("queues", "groups", "named"), [
    ({0: 100, 1: 0}, 0, 1), ({0: 0, 1: 0}, 0, None), ({0: 100, 1: 99}, 0, 1), ({0: 60, 1: 60}, 40, None),
    ({0: 100, 1: 10}, 80, 1),
])
def test_the_priority_whose_drops_are_not_counted_is_named_where_there_is_only_one(queues, groups, named):
    """Each of two priorities loses 100 frames; a priority group says of none which it was."""
    bench = lab(100)
    tx, read = bench.subject.pair.tx, bench.dut.counters()
    load = offered_load(bench, [IngressLoad(tx, (0, 1), 150, 1.0)], times=SteadyWindow(0.1, 0.1))
    flows = [FlowPlan(f"data {one}", Role.TEST, one, 1024, 75.0, seconds=1, enters=tx.port) for one in (0, 1)]
    counted = sum(queues.values())
    drops = DataCounters(PortCounts(0, 0, 0, 200 - groups), {tx.port: PortCounts(0, groups, 0, 0)}, {}, queues,
                         {tx.port: {0: groups}})
    stats = {flow.name: FlowStats(flow, False, 1000, 900) for flow in flows}
    run = LoadRun(bench.subject, read, read, read, (), {"sent": stats}, load, {}, drops, True)
    told = next(check for check in _drops_counted(run, drops) if check.name == "queue-drops-counted")
    assert told.status is (Status.PASS if counted + groups == 200 else Status.FAIL), told
    assert (f"priority {named}" in told.where) if named is not None else "priority" not in told.where, told.where


@pytest.mark.parametrize(("asic", "status"), [("broadcom", Status.FAIL), ("broadcom voq", Status.ERROR)])
def test_drops_of_virtual_output_queues_are_not_known(asic, status):
    """They count at the ingress, where the suite does not look: not that the switch counts none."""
    bench = lab(100)
    subject = replace(bench.subject, asic=asic)
    tx, read = subject.pair.tx, bench.dut.counters()
    load = offered_load(bench, [IngressLoad(tx, (0,), 150, 1.0)], times=WALL)
    flow = FlowPlan("data", Role.TEST, 0, 1024, 75.0, seconds=1, enters=tx.port)
    drops = DataCounters(PortCounts(0, 0, 0, 100), {tx.port: PortCounts(0, 0, 0, 0)}, {}, {0: 0}, {tx.port: {0: 0}})
    stats = {"data": FlowStats(flow, False, 1000, 900)}
    run = LoadRun(subject, read, read, read, (), {"sent": stats}, load, {}, drops, False)
    found = {check.name: check.status for check in _drops_counted(run, drops)}
    assert found == {"port-drops-counted": Status.PASS, "queue-drops-counted": status}, found


@pytest.mark.parametrize(("times", "mix", "frames", "counted", "passes"), [
    (SteadyWindow(0.1, 0.1), (), 100, {0: 102_400}, True), (SteadyWindow(0.1, 0.1), (), 100, {0: 102_000}, True),
    (SteadyWindow(0.1, 0.1), (), 100, {0: 101_999}, False), (SteadyWindow(0.1, 0.1), (), 100, {0: 106_400}, True),
    (SteadyWindow(0.1, 0.1), (), 100, {0: 106_401}, False), (SteadyWindow(0.1, 0.1), (), 100, {0: 0}, False),
    (SteadyWindow(0.1, 0.1), (), 0, {0: 0}, True), (SteadyWindow(0.1, 0.1), (), 0, {0: 1}, False),
    (SteadyWindow(0.1, 0.1), ((64, 7), (1518, 1)), 100, {0: 6_000}, True),
    (SteadyWindow(0.1, 0.1), ((64, 7), (1518, 1)), 100, {0: 155_801}, False),
    (WALL, (), 1100, {0: 1_020_000}, True), (WALL, (), 1100, {0: 1_019_999}, False), (WALL, (), 1100, {0: 0}, False),
    (WALL, (), 0, {0: 9_000 * OWN_FRAMES}, True), (WALL, (), 100, {}, None),
])
def test_bytes_of_drops(times, mix, frames, counted, passes):
    """Those of the frames that the queue counts, as ASICs may count them; the switch's own may have any size. Nothing
    is said of a switch that counts none (`N/A`)."""
    bench = lab(100)
    tx, read = bench.subject.pair.tx, bench.dut.counters()
    load = offered_load(bench, [IngressLoad(tx, (0,), 150, 1.0)], times=times)
    plan = FlowPlan("data", Role.TEST, 0, 1024, 150.0, seconds=1, enters=tx.port, mix=mix)
    none = PortCounts(0, 0, 0, 0)
    drops = DataCounters(none, {tx.port: none}, {}, {0: frames}, {tx.port: {}}, queue_drop_bytes=counted)
    sent = {"data": FlowStats(plan, False, 10_000, 9_900)}
    run = LoadRun(bench.subject, read, read, read, (), {"sent": sent}, load, {}, drops, times != WALL)
    made = [check.status is Status.PASS for check in _drop_bytes_agree(run, drops)]
    assert made == ([] if passes is None else [passes]), made


@pytest.mark.parametrize(("part", "lacking"), [(1, False), (0.98, True)])
def test_a_line_that_stands_still_for_a_while(part, lacking):
    """Seconds are rounded up on hardware: a full line is one for as long as data was really sent."""
    full = 100_000 * 10**6 * 15 // (8 * 1044)
    assert ("line-full" in failed(WALL, 0, int(full * part))) is lacking, part


def run_of_two_ports(sent, pushed=0):
    """Priority 3 from two ports: due all of it, and so much of it came by the second one, Ethernet68, out of which the
    switch sent so many pauses for it; that port's link was down meanwhile if nothing came."""
    bench = lab(100)
    second = ConnectedPort(DEVICE, "Ethernet68", "snappi-2", "127.1.0.2;1;2", 100_000)
    subject, read = replace(bench.subject, further=(second,)), bench.dut.counters()
    during = replace(read, interfaces={**read.interfaces, second.port: PortState(bool(sent or pushed), True, 100_000)})
    after = replace(read, pfc_tx={**read.pfc_tx, second.port: (0, 0, 0, pushed, 0, 0, 0, 0)})
    load = offered_load(bench, [IngressLoad(port, (3,), 20, 1.0) for port in (subject.pair.tx, second)])
    flows = [FlowPlan(port.port, Role.TEST, 3, 1024, 20.0, seconds=1, enters=port.port) for port in load.ports]
    stats = {flow.name: FlowStats(flow, False, frames, frames) for flow, frames in zip(flows, (2_394_636, sent))}
    return LoadRun(subject, read, during, after, (), {"sent": stats}, load, {}, None, True)


@pytest.mark.parametrize(("sent", "pushed", "lacking"), [
    (2_394_636, 0, []), (1, 0, [" priority 3: expected at least 2370690 frames sent in all, got 1"]), (0, 2980, []),
    (0, 0, [": expected the link up during the traffic, got down",
            " priority 3: expected at least 2370690 frames sent in all, got 0"]),
])
def test_every_port_that_data_enters_by_is_looked_at(sent, pushed, lacking):
    """What comes by the second one as what comes by the first."""
    run = run_of_two_ports(sent, pushed)
    said = [check.message for check in unmet(validity(run))]
    assert [one.split("Ethernet68")[1] for one in said] == lacking, said
    taken = [check.message for check in judge(run) if check.name == "load-taken"]
    assert len(taken) == (1 if pushed else 0), taken


@pytest.mark.parametrize(("exact", "got", "status"), [
    (True, 250, Status.PASS), (True, 249, Status.FAIL), (False, 20, Status.PASS), (False, 19, Status.FAIL),
])
def test_a_sender_that_starves_beside_another_one(exact, got, status):
    """Of 2000 frames each of two has 1000 where both are served alike."""
    bench = lab(100)
    tx, read = bench.subject.pair.tx, bench.dut.counters()
    other = replace(tx, port="Ethernet8")
    load = offered_load(bench, [IngressLoad(port, (3,), 100, 1.0) for port in (tx, other)])
    senders = {(3, tx.port): 2000 - got, (3, other.port): got}
    run = LoadRun(bench.subject, read, read, read, (), {}, load, {3: 2000}, None, exact, senders)
    found = {check.where.split()[1]: check.status for check in _shares_of_senders(run)}
    assert found == {tx.port: Status.PASS, other.port: status}, (exact, got, found)


@pytest.mark.parametrize(("percent", "lost", "exact", "pool", "passes"), [
    (101, 0, True, 600_000, True), (101, 1, True, 600_000, False), (101, 0, False, 600_000, False),
    (101, 0, True, 500_000, False), (101, 0, True, None, False),
])
def test_what_a_group_has_room_for_needs_no_pauses(percent, lost, exact, pool, passes):
    """2.2 ms of 1 % too much at 100 Gb/s are 270 kB of data; a group with `dynamic_th` 0 takes half of its pool. On
    hardware nobody knows how long data came."""
    bench = lab(100)
    tx, read = bench.subject.pair.tx, bench.dut.counters()
    times = SteadyWindow(0.001, 0.001) if exact else WALL
    load = offered_load(bench, [IngressLoad(tx, (3,), percent, times.data_s)], times=times)
    flow = FlowStats(FlowPlan("data", Role.TEST, 3, 1024, 101.0, enters=tx.port), False, 10**5, 10**5 - lost)
    rooms = {(3, tx.port): None if pool is None else GroupRoom(0, 0, pool)}
    run = LoadRun(bench.subject, read, read, read, (), {"sent": {"data": flow}}, load, {}, None, exact, rooms=rooms)
    [check] = _back_pressure(run)
    assert (check.status is Status.PASS) == passes, check.message


def test_what_a_group_takes_before_xoff_is_in_its_profile():
    """Of a port's row in BUFFER_PG; none where there is no row, or no map to priority groups."""
    bench = lab(100)
    tables = {
        "BUFFER_PG": {"Ethernet0|3-4": {"profile": "[BUFFER_PROFILE|lossless]"}},
        "BUFFER_PROFILE": {"lossless": {"pool": "[BUFFER_POOL|ingress]", "size": "1248", "dynamic_th": "-1"}},
        "BUFFER_POOL": {"ingress": {"size": "1000000", "xoff": "200000"}},
        "PORT_QOS_MAP": {"Ethernet0": {"tc_to_pg_map": "AZURE"}},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "3": "3"}},
    }
    config_db = {**bench.config_db, **tables}
    device = bench.subject.qos.device
    assert configured_room(config_db, device, "Ethernet0", 3) == GroupRoom(1248, -1, 1_000_000, 200_000), "bytes"
    assert configured_room(config_db, device, "Ethernet0", 0) is None, "it has no row"
    assert configured_room({**config_db, "PORT_QOS_MAP": {"Ethernet0": {}}}, device, "Ethernet0", 3) is None, "no map"


@pytest.mark.parametrize(("taken", "others", "holds"), [
    (500_000, (), True), (500_001, (), False), (333_333, (333_333,), True), (333_334, (900_000,), False),
    (400_000, (100_000,), True),
])
def test_a_group_holds_what_the_others_leave_it(taken, others, holds):
    """Of a pool of 1 MB as much as is free: a half alone, a third beside one alike or a fuller one."""
    of_all = [Fraction(taken), *map(Fraction, others)]
    assert GroupRoom(0, 0, 1_000_000).holds(Fraction(taken), of_all) == holds, "bytes"
