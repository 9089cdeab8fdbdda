"""What traffic explains of a switch's counters, and what it does not."""
from dataclasses import replace

import pytest
from tabulate import tabulate

from tests.common.pfc.accounting.auditor import BookAuditor, CaseAccount, answerable, family_of
from tests.common.pfc.accounting.books import (
    COMMANDS, DROPPED, GROUP_COUNTERS, GROUP_DROPS, PFC_RX, PFC_TX, PORT_COUNTERS, QUEUE_COUNTERS, RX_DRP, RX_OK, SENT,
    TX_OK, Counter, books_of,
)
from tests.common.pfc.accounting.explained import ANY, Explained, explained, together
from tests.common.pfc.accounting.totals import FlowTotals
from tests.common.pfc.cases.engine import sending
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.lab.counter_polling import POLL_GRACE_S
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.lab import Lab
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import PortPair
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.fakes import IDENTITY, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

SUBJECT = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
RX = SUBJECT.pair.rx.port
TX = SUBJECT.pair.tx.port
DATA = FlowStats(FlowPlan("data", Role.TEST, 3, 1024), False, 100, 90)
STORM = FlowStats(FlowPlan("storm", Role.STORM, None, 64, pause=pfc_frame((3,), 65535)), False, 7, 0)
BESIDE = FlowStats(FlowPlan("beside", Role.BYSTANDER, 0, 1024, enters="E1", leaves="E2"), False, 5, 5)
GROUPS = {priority: priority for priority in range(8)}
HELD = frozenset({3, 4})


def test_each_counter_of_a_flow_is_explained() -> None:
    """Where it enters, and where it leaves; lost frames may be dropped on either side."""
    found = explained(SUBJECT, [DATA, STORM, BESIDE], GROUPS, HELD)
    assert found[Counter(TX, RX_OK)] == Explained(90, 100), "lost frames may have come in"
    assert found[Counter(TX, GROUP_DROPS, 3)] == Explained(0, 10), "lost frames may be dropped there"
    assert found[Counter(TX, PFC_TX, 3)].most == ANY, "the case judges back-pressure"
    assert found[Counter(RX, TX_OK)] == Explained(90, 90) == found[Counter(RX, SENT, 3)], "what arrived was sent"
    assert found[Counter(RX, DROPPED, 3)] == Explained(0, 10), "or there"
    assert found[Counter(RX, PFC_RX, 3)] == Explained(0, 7), "pauses of priority 3"
    assert found[Counter("E1", PFC_TX, 0)] == Explained(), "a bystander is never held"
    assert Counter(RX, PFC_RX, 4) not in found, "nobody paused priority 4"


def test_senders_of_lossy_data_are_never_held() -> None:
    """In no case, unless the priority is lossless in it."""
    lossy = replace(DATA, plan=replace(DATA.plan, priority=1))
    assert explained(SUBJECT, [lossy], GROUPS, HELD)[Counter(TX, PFC_TX, 1)].most == 0, "1 is lossy"
    assert explained(SUBJECT, [lossy], GROUPS, range(8))[Counter(TX, PFC_TX, 1)].most == ANY, "each may be lossless"
    [bad] = [one for one in account({Counter(TX, PFC_TX, 1): 9}, (lossy,)).checks() if one.status is Status.FAIL]
    assert f"nothing may hold frames from {TX} to {RX}" in bad.expected, bad


def account(gains: dict[Counter, int], totals: tuple[FlowStats, ...] = (), **changes: object) -> CaseAccount:
    """What a case that owes both metrics comes to. Counters that are not named moved as little as is explained."""
    found = explained(SUBJECT, totals, GROUPS, HELD)
    least = {counter: one.least for counter, one in found.items()}
    made = CaseAccount(SUBJECT, (LOSSLESS, LOSSY), {**least, **gains}, found, {}, totals)
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("counter", "gain", "status", "metric"), [
    (Counter("E9", PFC_RX, 3), 1, Status.FAIL, LOSSLESS),
    (Counter("E9", PFC_TX, 0), 1, Status.FAIL, LOSSY),
    (Counter("E9", TX_OK), 1, Status.FAIL, LOSSLESS),
    (Counter("E9", TX_OK), -1, Status.ERROR, LOSSLESS),
])
def test_a_counter_that_nothing_explains(counter: Counter, gain: int, status: Status, metric: str) -> None:
    """It fails under its own port, and under the metric of its priority."""
    bad = [one for one in account({counter: gain}).checks() if one.status is not Status.PASS]
    assert [(one.status, one.metric_name) for one in bad] == [(status, metric)], bad
    assert "E9" in bad[0].where and str(counter) in bad[0].message, bad


def test_a_counter_that_stands_still_is_seen() -> None:
    """Frames arrived, and the queue counted none."""
    [bad] = [one for one in account({Counter(RX, SENT, 3): 0}, (DATA,)).checks() if one.status is not Status.PASS]
    assert bad.name == "counter-explained" and "from 90 to 90 more in Counter/pkts of UC3" in bad.message, bad


def test_a_counter_that_must_have_moved_and_has_no_number() -> None:
    """`N/A` at the end, say."""
    lacking = replace(account({}, (DATA,)), gains={Counter(TX, RX_OK): 90, Counter(RX, TX_OK): 90})
    [bad] = [one for one in lacking.checks() if one.status is not Status.PASS]
    assert (bad.name, bad.status) == ("counter-counted", Status.ERROR) and "Counter/pkts of UC3" in bad.message, bad


def test_a_bystander_that_loses_frames_or_sends_none() -> None:
    """The first is the switch's, the second was no measurement."""
    lost = replace(BESIDE, frames_rx=4)
    silent = replace(BESIDE, frames_tx=0, frames_rx=0)
    for flow, name, status in ((lost, "bystander-unaffected", Status.FAIL), (silent, "bystander-sent", Status.ERROR)):
        bad = [one for one in account({}, (flow,)).checks() if one.status is not Status.PASS]
        assert [(one.name, one.status, one.metric_name) for one in bad] == [(name, status, LOSSY)], bad


def test_a_bystander_that_is_held_says_where_its_frames_go() -> None:
    """The queue that holds them is at that port."""
    [bad] = [one for one in account({Counter("E1", PFC_TX, 0): 9}, (BESIDE,)).checks() if one.status is Status.FAIL]
    assert "E1 priority 0" in bad.where and "nothing may hold frames from E1 to E2 beside the case" in bad.message, bad


def test_the_switch_s_own_frames_are_let_pass() -> None:
    """ARP and LLDP, as many as are allowed."""
    counter = Counter("E9", TX_OK)
    for gain, statuses in ((3, {Status.PASS}), (4, {Status.FAIL})):
        assert {one.status for one in account({counter: gain}, own={counter: 3}).checks()} == statuses, gain


@pytest.mark.parametrize(("priority", "frames", "changes", "expected"), [
    (3, 10, {}, [("no-queue-drops", LOSSLESS)]),
    (3, 0, {}, []),
    (3, 10, {"kept": ()}, []),
    (3, 10, {"own": {Counter(RX, DROPPED, 3): 10}}, []),
    (3, 11, {}, [("counter-explained", LOSSLESS)]),
    (0, 10, {}, []),
    (0, 10, {"kept": range(8)}, [("no-queue-drops", LOSSY)]),
])
def test_lossless_frames_that_are_dropped_where_they_leave(
    priority: int, frames: int, changes: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    """That is the port under test's fault, but where frames may be lost (a watchdog drops), or the priority is lossy.
    More than were lost are not explained at all."""
    lost = replace(DATA, plan=replace(DATA.plan, priority=priority))
    made = account({Counter(RX, DROPPED, priority): frames}, (lost,), **{"kept": (3, 4), **changes})
    bad = [one for one in made.checks() if one.status is Status.FAIL]
    assert [(one.name, one.metric_name) for one in bad] == expected, bad
    assert all(f"{RX} priority {priority}" in one.where for one in bad), bad


@pytest.mark.parametrize(("dropped", "by_groups", "lossy_lost", "changes", "expected"), [
    (10, 0, 0, {}, ["no-port-drops"]),
    (10, 10, 0, {}, []),
    (10, 0, 10, {}, []),
    (10, 4, 5, {}, ["no-port-drops"]),
    (10, 0, 0, {"kept": ()}, []),
    (10, 0, 0, {"own": {Counter(TX, RX_DRP): 10}}, []),
])
def test_lossless_frames_that_are_dropped_where_they_enter(
    dropped: int, by_groups: int, lossy_lost: int, changes: dict[str, object], expected: list[str]
) -> None:
    """What a full priority group dropped came after a pause, which the case judges; lossy frames may be dropped."""
    lossy = replace(DATA, plan=replace(DATA.plan, priority=0), frames_rx=DATA.frames_tx - lossy_lost)
    gains = {Counter(TX, RX_DRP): dropped, Counter(TX, GROUP_DROPS, 3): by_groups}
    bad = [one for one in account(gains, (DATA, lossy), **{"kept": (3, 4), **changes}).checks()
           if one.status is Status.FAIL]
    assert [one.name for one in bad] == expected and all(TX in one.where for one in bad), bad


def test_pauses_that_are_discarded_where_they_arrive_are_no_lossless_frames() -> None:
    """Some switches count those that they do not understand so."""
    made = account({Counter(RX, RX_DRP): 7}, (DATA, STORM), kept=(3, 4))
    assert {one.status for one in made.checks()} == {Status.PASS}, "a storm of 7 frames, at the port under test"


def test_a_case_that_repeats_another_one_is_held_to_the_same() -> None:
    """As far as there are such cases."""
    found = {case.plan_id: family_of(case) for case in port_cases()}
    again = [family for plan_id, family in found.items() if plan_id.startswith("AFTER-")]
    assert "AFTER" not in again, again
    assert all(plan_id.startswith(family) for plan_id, family in found.items() if "AFTER" not in plan_id), found


def test_who_answers_for_a_counter_of_several_ports() -> None:
    """A port under test for its own and its tx port's, unless that is under test too; nobody for the others'."""
    one, two = (replace(SUBJECT.pair.rx, port=port) for port in ("E1", "E2"))
    others = (PortPair(SUBJECT.pair.tx, SUBJECT.pair.rx), PortPair(one, two))
    subjects = [SUBJECT, *(replace(SUBJECT, pair=pair) for pair in others)]
    assert answerable(subjects[::2]) == {RX: RX, TX: RX, "E1": "E1", "E2": "E1"}, "pairs apart"
    assert answerable(subjects[:2]) == {RX: RX, TX: TX}, "each is under test"


def test_flows_of_several_ports_explain_a_counter_together() -> None:
    """Each of two ports sends something there."""
    one = explained(SUBJECT, [DATA], GROUPS, HELD)
    other = explained(SUBJECT, [replace(DATA, frames_rx=100)], GROUPS, HELD)
    assert together([one, other])[Counter(RX, TX_OK)] == Explained(190, 190), "what arrived of both was sent"


PRINTED = {
    PORT_COUNTERS: """\
    IFACE    STATE    RX_OK    RX_DRP    TX_OK
---------  -------  -------  --------  -------
Ethernet0        U    1,024       N/A        7
""",
    QUEUE_COUNTERS: """\
     Port    TxQ    Counter/pkts    Drop/pkts
---------  -----  --------------  -----------
Ethernet0    UC3               5            6
""",
    GROUP_COUNTERS: """\
     Port    PG0    PG1
---------  -----  -----
Ethernet0      8      9
""",
}


class CountingHost(FakeHost):
    """A switch that prints every counter."""

    def _answer(self, command: str) -> str:
        printed = {COMMANDS[name]: text for name, text in PRINTED.items()}
        return printed.get(command) or super()._answer(command)


def test_every_command_is_read_as_what_it_is() -> None:
    """`Dut.counters` runs commands of its own in the same call."""
    found = books_of(Dut(CountingHost(FakeWorld())).counters(also=COMMANDS), 1.0)
    own = {counter: count for counter, count in found.counts.items() if counter.column not in (PFC_RX, PFC_TX)}
    assert own == {
        Counter(RX, RX_OK): 1024, Counter(RX, TX_OK): 7, Counter(RX, SENT, 3): 5, Counter(RX, DROPPED, 3): 6,
        Counter(RX, GROUP_DROPS, 0): 8, Counter(RX, GROUP_DROPS, 1): 9}, own
    assert Counter(RX, PFC_RX, 3) in found.counts, "pauses are counted too"


@pytest.mark.parametrize("name", [PORT_COUNTERS, QUEUE_COUNTERS])
def test_a_command_that_prints_no_counters_is_an_error(name: str) -> None:
    """Else nothing that it counts would be looked at, silently."""
    reading = Dut(CountingHost(FakeWorld())).counters(also=COMMANDS)
    with pytest.raises(QualificationError, match=f"`{COMMANDS[name]}` printed no counters: 'Last cached'"):
        books_of(replace(reading, printed={**reading.printed, name: "Last cached\n"}), 1.0)


def test_a_further_command_does_not_take_the_place_of_the_switch_s_own() -> None:
    """Its output would be that of the other one."""
    with pytest.raises(AssertionError, match="names of further commands that are taken: ports"):
        Dut(FakeHost(FakeWorld())).counters(also={"ports": COMMANDS[PORT_COUNTERS]})


def test_what_is_sent_by_another_lab_of_the_port_counts_too() -> None:
    """Each family of cases has its own. `CountingHost`'s counters stand still: so each flow that counts is missed."""
    world = FakeWorld()
    dut = Dut(CountingHost(world))
    plan = plan_port(dut, TESTER_PORTS, "Ethernet0", None)
    maps = {"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": IDENTITY}, "PORT_QOS_MAP": {RX: {"tc_to_pg_map": "AZURE"}}}
    auditor = BookAuditor()
    for family in ("the first", "the second"):
        lab = replace(open_lab(plan, dut, FakeApi(world), FakeClock(world)), config_db=maps)
        auditor.begin(lab)
        send(lab)
        [checks] = auditor.audit([lab], SINGLE_LOSSLESS)
        assert "counter-explained" in {one.name for one in checks if one.status is Status.FAIL}, family


@pytest.mark.parametrize(("plan_id", "speed_mbps", "exact", "expected"), [
    ("FLAP-3", 100_000, True, ["bystander-unaffected"]),
    ("FLAP-3", 100_000, False, ["bystander-unaffected"]),
    ("FLAP-3", 25_000, True, ["bystander-unaffected"]),
    ("FLAP-3", 25_000, False, []),
    ("TAG-2", 100_000, True, ["bystander-unaffected"]),
])
def test_of_a_case_that_takes_links_down_bystanders_alone_are_compared(
    monkeypatch: pytest.MonkeyPatch, plan_id: str, speed_mbps: int, exact: bool, expected: list[str]
) -> None:
    """Its own frames may get lost, or be flooded on a switch that may be real: to a slower port they are too many."""
    world = FakeWorld()
    plan = plan_port(Dut(CountingHost(world)), TESTER_PORTS, "Ethernet0", None)
    ports = [replace(SUBJECT.pair.rx, port=port, speed_mbps=speed_mbps) for port in ("E1", "E2")]
    lab = open_lab(plan, Dut(CountingHost(world)), FakeApi(world), FakeClock(world))
    lab = replace(lab, subject=replace(lab.subject, bystanders=tuple(ports)))
    monkeypatch.setattr(type(lab.clock), "exact", exact)
    monkeypatch.setattr(FlowTotals, "take", lambda _: [DATA, STORM, replace(BESIDE, frames_rx=4)])
    auditor = BookAuditor()
    auditor.begin(lab)
    [checks] = auditor.audit([lab], PlanCase("a case", plan_id))
    bad = [one.name for one in checks if one.status is not Status.PASS]
    assert bad == expected and "counter-explained" not in {one.name for one in checks}, checks


def test_statistics_that_cannot_be_read_after_such_a_case_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the case itself found is not lost by it."""
    world = FakeWorld()
    plan = plan_port(Dut(CountingHost(world)), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(CountingHost(world)), FakeApi(world), FakeClock(world))

    def refuse(_: FlowTotals) -> list[FlowStats]:
        raise QualificationError("no statistics")

    monkeypatch.setattr(FlowTotals, "take", refuse)
    auditor = BookAuditor()
    auditor.begin(lab)
    [[check]] = auditor.audit([lab], PlanCase("a case", "FLAP-1"))
    assert (check.name, check.status) == ("counters-read", Status.ERROR) and "no statistics" in check.message, check


def send(lab: Lab) -> None:
    """Data of priority 3, for a second."""
    traffic = lab.builder.build([FlowPlan(lab.builder.flow_name("data"), Role.CLEAN, 3, 1024, 10.0)])
    with sending(lab, traffic):
        lab.generator.start(list(traffic.flows))
        lab.clock.sleep(1.0)
        lab.generator.stop(list(traffic.flows))


class MovingHost(CountingHost):
    """A switch of which a counter of a port beside goes on by so many frames a second, and at last leaps."""

    column = RX_OK
    fps = 0.0
    leap = 0

    def _answer(self, command: str) -> str:
        if command != COMMANDS[PORT_COUNTERS]:
            return super()._answer(command)
        counts = {RX_OK: 0, "RX_DRP": 0, TX_OK: 0} | {self.column: int(self.fps * self._world.now) + self.leap}
        return tabulate([["E9", *counts.values()]], ["IFACE", *counts], tablefmt="simple", stralign="right")


@pytest.mark.parametrize(("column", "fps", "leap", "passes"), [
    (RX_OK, 0.0, 0, True), (RX_OK, 0.0, 1, False), (TX_OK, 2.0, 0, True), (RX_OK, 2.0, 100, True),
    (RX_OK, 2.0, 300, False), (RX_OK, 33.0, 0, True), (RX_OK, 116.0, 0, True), (RX_OK, 160.0, 0, False),
    ("RX_DRP", 2.0, 0, False),
])
def test_what_moves_on_the_idle_switch_may_move_in_a_case(column: str, fps: float, leap: int, passes: bool) -> None:
    """On an exact clock: frames, as fast as protocols send and as they did; of what stood still there none."""
    world = FakeWorld()
    host = MovingHost(world)
    host.column, host.fps = column, fps
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None)
    maps = {"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": IDENTITY}, "PORT_QOS_MAP": {RX: {"tc_to_pg_map": "AZURE"}}}
    lab = replace(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world)), config_db=maps)
    auditor = BookAuditor()
    auditor.begin(lab)
    lab.clock.sleep(20.0)
    host.leap = leap
    [checks] = auditor.audit([lab], SINGLE_LOSSLESS)
    bad = [one.message for one in checks if one.status is not Status.PASS]
    assert not bad if passes else len(bad) == 1 and f"more in {column}" in bad[0], bad


class LateHost(CountingHost):
    """Before a moment its counters have 1000 frames too many: those of a poll that is to come take them back."""

    until = 0.0

    def _answer(self, command: str) -> str:
        if command != COMMANDS[PORT_COUNTERS]:
            return super()._answer(command)
        counts = {RX_OK: 1000 * (0 < self.until - self._world.now < 40), "RX_DRP": 0, TX_OK: 0}
        return tabulate([["E9", *counts.values()]], ["IFACE", *counts], tablefmt="simple", stralign="right")


@pytest.mark.parametrize(("late_s", "exact", "passes"), [
    (0.0, False, True), (POLL_GRACE_S - 1, False, True), (30.0, False, False),
    (POLL_GRACE_S - 1, True, False),
])
def test_a_late_poll_of_hardware_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, late_s: float, exact: bool, passes: bool
) -> None:
    """Before a counter fails it is read once more; on an exact clock polls are never late."""
    world = FakeWorld()
    host = LateHost(world)
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None)
    maps = {"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": IDENTITY}, "PORT_QOS_MAP": {RX: {"tc_to_pg_map": "AZURE"}}}
    lab = replace(open_lab(plan, Dut(host), FakeApi(world), FakeClock(world)), config_db=maps)
    monkeypatch.setattr(type(lab.clock), "exact", exact)
    auditor = BookAuditor()
    auditor.begin(lab)
    lab.clock.sleep(20.0)
    read_s = world.now + max(lab.delays.port_s, lab.delays.queue_s)
    host.until = read_s + late_s
    [checks] = auditor.audit([lab], SINGLE_LOSSLESS)
    bad = [one.message for one in checks if one.status is not Status.PASS]
    assert not bad if passes else bad, f"read at {read_s}, right from {host.until} on: {bad}"
