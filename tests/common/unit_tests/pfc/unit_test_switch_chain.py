"""Switches in a row: which are found over the cables, what is refused, and what each must do in the storm."""

import dataclasses
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.pauses import pause_lossless
from tests.common.pfc.lab.counter_polling import PollDelays
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.lab import PauseSource
from tests.common.pfc.model.counters import DutCounters, WatchdogRow
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.tolerances import EXACT
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.switch_chain.cases import ChainRun, chain_validity, hop_checks
from tests.common.pfc.switch_chain.chain import ChainDut, find_hops, plan_chain
from tests.common.pfc.switch_chain.hops import Hop
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

HOPS = (Hop(DEVICE, "Ethernet0", "Ethernet4"), Hop("far", "Ethernet4", "Ethernet64"))


def cable(device, port):
    """An end of a cable, as the links file has it."""
    return {"peerdevice": device, "peerport": port}


def test_the_longest_row_of_switches_is_found_and_no_switch_twice():
    links = {
        "a": {"Ethernet0": cable("generator", "Port1"), "Ethernet8": cable("b", "Ethernet4")},
        "b": {"Ethernet4": cable("a", "Ethernet8"), "Ethernet12": cable("c", "Ethernet16")},
        "c": {"Ethernet16": cable("b", "Ethernet12")},
    }
    found = find_hops("a", "Ethernet0", links)
    expected = (Hop("a", "Ethernet0", "Ethernet8"), Hop("b", "Ethernet4", "Ethernet12"), Hop("c", "Ethernet16", ""))
    assert found == expected, f"{found}"
    alone = find_hops("a", "Ethernet0", {"a": links["a"]})
    assert alone == (Hop("a", "Ethernet0", ""),), f"no other switch is described: {alone}"


def test_a_far_end_without_a_port_for_data_is_refused():
    dut = Dut(FakeHost(FakeWorld()))
    subject = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject
    states = {DEVICE: dut.state(), "far": dataclasses.replace(dut.state(), device="far")}
    with pytest.raises(QualificationError, match="far: it ends a row of switches that begins at .* Ethernet0, and has"):
        plan_chain(subject, states, HOPS, TESTER_PORTS)
    far = [dataclasses.replace(port, device="far") for port in TESTER_PORTS]
    chain = plan_chain(subject, states, HOPS, [*TESTER_PORTS, *far])
    assert chain.hops[-1] == Hop("far", "Ethernet4", "Ethernet64"), "the first port on another generator"
    assert chain.subject.buffer.size_bytes == 2 * subject.buffer.size_bytes, "buffers of all switches"


def test_the_switch_that_polls_the_least_often_is_waited_for():
    dut = Dut(FakeHost(FakeWorld()))
    subject, own = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.state()
    rare = {**own.config_db, "FLEX_COUNTER_TABLE": {"PORT": {"POLL_INTERVAL": "5000"}}}
    states = {DEVICE: own, "far": dataclasses.replace(own, device="far", config_db=rare)}
    far = [dataclasses.replace(port, device="far") for port in TESTER_PORTS]
    chain = plan_chain(subject, states, HOPS, [*TESTER_PORTS, *far])
    assert chain.delays == PollDelays(port_s=6.0, queue_s=11.0), chain.delays


def reading(pfc_rx, pfc_tx):
    """Counters of a switch, the same for each of its ports."""
    ports = ("Ethernet0", "Ethernet4", "Ethernet64")
    return DutCounters({port: pfc_rx for port in ports}, {port: pfc_tx for port in ports}, {}, {}, (),
                       {port: None for port in ports})


def test_the_switches_of_a_row_are_read_as_one():
    duts = {DEVICE: SimpleNamespace(host=FakeHost(FakeWorld()), counters=lambda: reading((1,) * 8, (2,) * 8)),
            "far": SimpleNamespace(counters=lambda: reading((3,) * 8, (4,) * 8))}
    dut = ChainDut(HOPS, duts)
    found = dut.counters()
    assert found.pfc_rx == {"Ethernet0": (1,) * 8}, f"received at the port under test: {found.pfc_rx}"
    assert found.pfc_tx == {"Ethernet64": (4,) * 8}, f"sent at the far end: {found.pfc_tx}"
    assert list(dut.readings[0]) == [DEVICE, "far"], "what each said is kept"


@pytest.mark.parametrize("row, seen", [
    (("operational", 1, 1), "(1 detected)"), (("stormed", 0, 0), "(the queue still in storm)"),
])
def test_no_watchdog_of_the_row_may_act(row, seen):
    """Of the second switch, whose ports have the names of the first one's."""
    dut = Dut(FakeHost(FakeWorld()))
    subject = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject
    one = dut.counters()
    acted = dataclasses.replace(one, watchdog={"Ethernet64:3": WatchdogRow(*row)}, watchdog_ports=("Ethernet4",))
    readings = [{DEVICE: one, "far": one}, {DEVICE: one, "far": acted}, {DEVICE: one, "far": one}]
    run = ChainRun(subject, one, one, one, (3,), {}, pause_lossless((3,), subject.qos), PauseSource(), hops=HOPS,
                   readings=readings)
    found = [check.message for check in chain_validity(run)
             if check.name == "watchdog-stopped" and check.status is not Status.PASS]
    assert len(found) == 2 and seen in found[0] and found[0].startswith("far Ethernet64 priority 3: "), found
    assert found[1].startswith("far Ethernet4: expected no row PFC_WD|Ethernet4"), found


def failed(sent, received):
    """The checks that fail in a row whose first switch sends so many pauses of each priority, and whose second receives
    so many."""
    none = (0,) * 8
    before = {DEVICE: reading(none, none), "far": reading(none, none)}
    after = {DEVICE: reading(none, sent), "far": reading(received, none)}
    subject = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
    run = SimpleNamespace(subject=dataclasses.replace(subject, tolerances=EXACT), scenario=SimpleNamespace(tested=(3,)))
    checks = list(hop_checks(HOPS, [before, after, after], run))
    assert len(checks) == 9, f"two of the tested priority, one of each other: {checks}"
    return {check.name for check in checks if check.status is Status.FAIL}


@pytest.mark.parametrize("sent, received, expected", [
    ((0, 0, 0, 9, 0, 0, 0, 0), (0, 0, 0, 9, 0, 0, 0, 0), set()),
    ((0,) * 8, (0,) * 8, {"hop-back-pressure"}),
    ((0, 0, 0, 9, 0, 0, 0, 0), (0, 0, 0, 8, 0, 0, 0, 0), {"hop-pause-counted"}),
    ((0, 0, 0, 9, 1, 0, 0, 0), (0, 0, 0, 9, 1, 0, 0, 0), {"hop-no-other-back-pressure"}),
])
def test_each_switch_pauses_the_next_one_which_counts_it(sent, received, expected):
    found = failed(sent, received)
    assert found == expected, f"{found}"
