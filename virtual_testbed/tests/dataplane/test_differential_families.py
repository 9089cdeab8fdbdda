"""What the families of the differential promise of their cases, and how many of `make differential` each has."""
from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from virtual_testbed.dataplane.load import share_of_line
from virtual_testbed.dataplane.model.traffic import DataFlow
from virtual_testbed.tests.dataplane.differential_cases import BUFFERING, FAMILIES, make_case
from virtual_testbed.tests.dataplane.differential_traffic import DSCP_OF

CASES = 2000
SEEDS = range(60)
LOSSLESS_DSCPS = {DSCP_OF[3], DSCP_OF[4]}
FULL = ("full lapsing", "full captured", "full drops")


def cases(family):
    return [make_case(seed, family) for seed in SEEDS]


def data_flows(case):
    return [flow for flow in case.flows if isinstance(flow, DataFlow)]


def shares(case, is_data):
    """The part of its line that each port asks for, for data or for pauses."""
    speeds = {port.name: link[3] for port, link in zip(case.ports, case.links)}
    found = Counter({name: Fraction(0) for name in speeds})
    for flow in case.flows:
        if isinstance(flow, DataFlow) is is_data:
            found[flow.tx_port] += share_of_line(flow, speeds[flow.tx_port])
    return found


def test_each_family_has_its_part_of_all_cases():
    found = Counter(list(FAMILIES)[seed % len(FAMILIES)] for seed in range(CASES))
    assert found.keys() == FAMILIES.keys()
    assert max(found.values()) - min(found.values()) <= 1


@pytest.mark.parametrize("family, is_lossless", [("lossless incast", True), ("lossy incast", False)])
def test_two_to_seven_ports_send_to_one(family, is_lossless):
    senders = set()
    for case in cases(family):
        flows = data_flows(case)
        assert len({flow.rx_ports for flow in flows}) == 1
        assert all(LOSSLESS_DSCPS.issuperset(flow.dscp) if is_lossless else LOSSLESS_DSCPS.isdisjoint(flow.dscp)
                   for flow in flows)
        senders.add(len({flow.tx_port for flow in flows}))
    assert senders == set(range(2, 8))


@pytest.mark.parametrize("family", FULL)
def test_all_ports_send_at_their_line_rate_or_nearly_and_pause(family):
    asked = Counter()
    for case in cases(family):
        asked.update(set(shares(case, is_data=True).values()))
        assert all(shares(case, is_data=False).values()), "a port sends no pauses"
    assert asked.keys() == {Fraction(1), Fraction(24, 25), Fraction(9, 10)}
    assert asked[1] >= len(SEEDS) // 3


def test_pauses_lapse_at_full_load():
    """A gap is longer than what the frame asks for, in many of the cases."""
    lapsing = 0
    for case in cases("full lapsing"):
        speeds = {port.name: link[3] for port, link in zip(case.ports, case.links)}
        lapsing += any(10**6 * max(int.from_bytes(flow.frame[18 + 2 * n:20 + 2 * n], "big") for n in (3, 4)) * 512
                       / speeds[flow.tx_port] < 10**12 / flow.rate_fps
                       for flow in case.flows if not isinstance(flow, DataFlow))
    assert lapsing >= len(SEEDS) // 2


def test_captures_are_open_from_the_beginning():
    assert all((0, "capture") in [step[:2] for step in case.steps] for case in cases("full captured"))


def test_faults_drop_one_in_so_many_and_all():
    faults = [fault for case in cases("full drops") for fault in case.faults]
    assert {fault.name for fault in faults} == {"lossless-dropped", "lossy-dropped"} < set(BUFFERING)
    assert {fault.value for fault in faults} == {1, 2, 7, 100}
    assert all(case.faults for case in cases("full drops"))


def test_switches_talk_and_the_oracle_knows_nothing_of_it():
    """What control planes send is counted above the data plane, which must not change by it."""
    assert {fault.name for case in cases("chatter") for fault in case.faults} == {"chatter"}
    assert all(case.faults for case in cases("chatter"))


def test_several_flows_fill_a_queue_that_is_shut():
    for case in cases("shut queues"):
        flows = data_flows(case)
        sink = {flow.rx_ports for flow in flows}
        assert len(sink) == 1 and {flow.dscp for flow in flows} == {(DSCP_OF[3],)}
        assert sink <= {(flow.tx_port,) for flow in case.flows}, "nothing shuts the queue"
    assert sum(len(data_flows(case)) >= 2 for case in cases("shut queues")) >= len(SEEDS) * 9 // 10


def test_pauses_alone_ask_for_nearly_all_of_a_line_or_a_little_more():
    asked = {share for case in cases("full of pauses") for share in shares(case, is_data=False).values()}
    assert {Fraction(text) for text in ("1", "999/1000", "99/100", "24/25", "101/100")} == asked
