"""What traffic explains of a switch's counters, and what it does not."""
from dataclasses import replace

import pytest

from tests.common.pfc.accounting.auditor import CaseAccount
from tests.common.pfc.accounting.books import DROPPED, GROUP_DROPS, PFC_RX, PFC_TX, RX_OK, SENT, TX_OK, Counter
from tests.common.pfc.accounting.explained import ANY, Explained, explained
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS
from tests.common.pfc.lab.dut import Dut

SUBJECT = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
RX = SUBJECT.pair.rx.port
TX = SUBJECT.pair.tx.port
DATA = FlowStats(FlowPlan("data", Role.TEST, 3, 1024), False, 100, 90)
STORM = FlowStats(FlowPlan("storm", Role.STORM, None, 64, pause=pfc_frame((3,), 65535)), False, 7, 0)
BESIDE = FlowStats(FlowPlan("beside", Role.BYSTANDER, 0, 1024, enters="E1", leaves="E2"), False, 5, 5)
GROUPS = {priority: priority for priority in range(8)}


def test_each_counter_of_a_flow_is_explained() -> None:
    """Where it enters, and where it leaves; lost frames may be dropped on either side."""
    found = explained(SUBJECT, [DATA, STORM, BESIDE], GROUPS)
    assert found[Counter(TX, RX_OK)] == Explained(90, 100), "lost frames may have come in"
    assert found[Counter(TX, GROUP_DROPS, 3)] == Explained(0, 10), "lost frames may be dropped there"
    assert found[Counter(TX, PFC_TX, 3)].most == ANY, "the case judges back-pressure"
    assert found[Counter(RX, TX_OK)] == Explained(90, 90) == found[Counter(RX, SENT, 3)], "what arrived was sent"
    assert found[Counter(RX, DROPPED, 3)] == Explained(0, 10), "or there"
    assert found[Counter(RX, PFC_RX, 3)] == Explained(0, 7), "pauses of priority 3"
    assert found[Counter("E1", PFC_TX, 0)] == Explained(), "a bystander is never held"
    assert Counter(RX, PFC_RX, 4) not in found, "nobody paused priority 4"


def account(gains: dict[Counter, int], totals: tuple[FlowStats, ...] = (), **changes: object) -> CaseAccount:
    """What a case that owes both metrics comes to."""
    found = explained(SUBJECT, totals, GROUPS)
    made = CaseAccount(SUBJECT, (LOSSLESS, LOSSY), gains, found, {}, totals)
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
