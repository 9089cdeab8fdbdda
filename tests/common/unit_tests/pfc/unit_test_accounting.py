"""What traffic explains of a switch's counters, and what it does not."""
from dataclasses import replace

import pytest

from tests.common.pfc.accounting.auditor import CaseAccount
from tests.common.pfc.accounting.books import (
    COMMANDS, DROPPED, GROUP_DROPS, GROUPS as GROUP_COUNTERS, PFC_RX, PFC_TX, PORTS, QUEUES, RX_OK, SENT, TX_OK,
    Counter, books_of,
)
from tests.common.pfc.accounting.explained import ANY, Explained, explained
from tests.common.pfc.model.counters import DutCounters
from tests.common.pfc.model.errors import QualificationError
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


def test_the_switch_s_own_frames_are_let_pass() -> None:
    """ARP and LLDP, as many as are allowed."""
    counter = Counter("E9", TX_OK)
    for gain, statuses in ((3, {Status.PASS}), (4, {Status.FAIL})):
        assert {one.status for one in account({counter: gain}, own={counter: 3}).checks()} == statuses, gain


PRINTED = {
    PORTS: "IFACE      STATE    RX_OK\n---------  -------  -------\nEthernet0        U    1,234\n",
    QUEUES: "Port       TxQ    Counter/pkts    Drop/pkts\n---------  -----  --------------  -----------\n"
            "Ethernet0    UC3               7          N/A\n",
    GROUP_COUNTERS: "Port         PG0\n---------  -----\nEthernet0      5\n",
}


def test_every_counter_of_a_reading_is_in_the_books() -> None:
    """But for those that the switch does not count."""
    found = books_of(DutCounters({"Ethernet0": (1,)}, {}, {}, {}, (), {}, PRINTED), 0.0).counts
    assert found == {
        Counter("Ethernet0", PFC_RX, 0): 1, Counter("Ethernet0", RX_OK): 1234, Counter("Ethernet0", SENT, 3): 7,
        Counter("Ethernet0", GROUP_DROPS, 0): 5,
    }, found


@pytest.mark.parametrize("name", PRINTED)
def test_a_command_that_prints_no_counters_is_noticed(name: str) -> None:
    """Else what moves would go unseen: the states of ports, say, in place of their counters."""
    other = {**PRINTED, name: "Interface    Oper\n-----------  ------\nEthernet0    up\n"}
    with pytest.raises(QualificationError, match=f"`{COMMANDS[name]}` printed no counters"):
        books_of(DutCounters({}, {}, {}, {}, (), {}, other), 0.0)


def test_a_further_command_does_not_take_the_place_of_the_switch_s_own() -> None:
    """Its output would be that of the other one."""
    with pytest.raises(AssertionError, match="names of further commands that are taken: ports"):
        Dut(FakeHost(FakeWorld())).counters(also={"ports": COMMANDS[PORTS]})
