"""What a switch's own pause frames may enable beside the congested priority."""

from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.sent_pauses import _alone, _is_shortest, _sent, ending_first
from tests.common.pfc.lab.capture_file import decode
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_capture import XOFF, with_fcs
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

TESTED = 3


@pytest.mark.parametrize(("priority", "quanta", "status"), [
    (0, 0, Status.PASS),  # resumes what nobody pauses
    (0, 65535, Status.FAIL),
    (4, 0, Status.PASS),
    (4, 65535, Status.FAIL),
])
def test_another_priority_is_enabled(priority, quanta, status):
    """It may be, with a time of 0."""
    subject = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
    frames = {TESTED: [(0.0, 65535)], priority: [(0.0, quanta)]}
    counted = [len(frames.get(number, ())) for number in range(8)]
    run = SimpleNamespace(
        subject=subject, tested=(TESTED,), tx_port=subject.pair.tx.port, pfc_sent_in_all=lambda: counted,
        pauses_of=lambda number: frames.get(number, []),
    )
    checks = list(_sent(run))
    enabled = {one.where.split()[-1]: one for one in checks if one.name == "no-other-enabled"}
    assert enabled.pop(str(priority)).status is status, checks
    assert {one.status for one in enabled.values()} == {Status.PASS}, checks
    others = [one for one in checks if one.name != "no-other-enabled" and one.status is not Status.PASS]
    assert not others, others


@pytest.mark.parametrize(("frame", "is_right"), [
    (XOFF, True), (with_fcs(XOFF), True), (XOFF + bytes(4), True),
    (XOFF[:56], False), (with_fcs(XOFF[:56]), False),
    (with_fcs(XOFF + bytes(4)), False), (XOFF + bytes(64), False), (with_fcs(XOFF + bytes(64)), False),
])
def test_a_pause_frame_is_a_shortest_frame(frame, is_right):
    """With its FCS, without, or with zeros in its place, as a generator may capture it."""
    assert _is_shortest(decode(frame)) == is_right, decode(frame)


@pytest.mark.parametrize(("target", "groups", "first"), [
    ((3, 4), {"3": "3", "4": "4"}, (3,)), ((3, 4), {"3": "3", "4": "3"}, ()),
    ((3, 4, 5), {"3": "3", "4": "4", "5": "5"}, ()),
    ((3,), {"3": "3"}, ()), ((3, 4), None, ()), ((3, 4), {"4": "4"}, ()),
])
def test_the_priority_whose_storm_ends_first_has_a_group_of_its_own(target, groups, first):
    """Where the map says so, of two."""
    tables = {"PORT_QOS_MAP": {"Ethernet64": {"tc_to_pg_map": "AZURE"}}}
    tables |= {} if groups is None else {"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": groups}}
    pair = SimpleNamespace(tx=SimpleNamespace(port="Ethernet64"))
    lab = SimpleNamespace(config_db=tables, dut=SimpleNamespace(name="sw"), subject=SimpleNamespace(pair=pair),
                          clock=SimpleNamespace(exact=True))
    assert ending_first(lab, target) == first, (target, groups)
    lab.clock.exact = False
    assert ending_first(lab, target) == (), "flows that are told to start together may not"


@pytest.mark.parametrize(("first", "second", "status"), [
    ([(1, 65535), (5, 0)], [(1, 65535), (9, 65535), (12, 0)], Status.PASS),
    ([(1, 65535), (5, 0), (6, 65535), (7, 0)], [(9, 65535), (12, 0)], Status.PASS),  # needed it once more
    ([(1, 65535), (5, 0)], [(1, 65535), (4, 0), (6, 65535), (12, 0)], Status.PASS),  # its threshold rose
    ([(1, 65535), (12, 0)], [(1, 65535), (9, 65535), (12, 0)], Status.FAIL),  # with the other one's
    ([(1, 65535), (5, 0), (9, 65535)], [(9, 65535), (12, 0)], Status.FAIL),  # the other one's refresh pauses it
])
def test_a_class_goes_on_while_another_one_is_paused(first, second, status):
    """By what was last said of it when the other one was paused for the last time."""
    subject = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
    run = SimpleNamespace(subject=subject, tested=(3, 4), ends_first=(3,), tx_port="Ethernet64", phases={},
                          pauses_of={3: first, 4: second}.get, flows=lambda *_: [])
    [check] = _alone(run)
    assert (check.name, check.status) == ("xon-sent-alone", status), check
