"""How checks and verdicts add up, what a record holds, and what the collector makes of a session."""

import pytest

from tests.common.pfc.record.case import Outcome, PlanCase, PlannedItem
from tests.common.pfc.record.collector import VerdictCollector
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.records import SOFTWARE, RunLabels
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status, combine

RUN = RunLabels("run-1", "vtb-t0", "unknown", "unknown")
PASS = Status.PASS
FAIL = Status.FAIL
ERROR = Status.ERROR
WHERE = "vtb-t0-01 Ethernet8 priority 3"
SINGLE_LOSSLESS = PlanCase("pause-lossless-single", "PFC-1")
PLANNED = PlannedItem("vtb-t0-01", "Ethernet8", (3,), SINGLE_LOSSLESS)
OTHER = PlannedItem("vtb-t0-01", "Ethernet8", (4,), SINGLE_LOSSLESS)


def check(status=PASS, metric=LOSSLESS, seen=0):
    """A check."""
    return Check("blocked-while-paused", metric, status, "0 frames received while paused", seen, WHERE)


def verdict(checks, metric=LOSSLESS, error=None, priority=3):
    """A verdict."""
    return PortVerdict("vtb-t0-01", "Ethernet8", priority, metric, checks, error)


def outcome(lossless, lossy=PASS, priority=3):
    """An outcome with one check in each metric."""
    verdicts = [
        verdict([check(status, metric)], metric, priority=priority)
        for metric, status in ((LOSSLESS, lossless), (LOSSY, lossy))
    ]
    return Outcome(SINGLE_LOSSLESS, verdicts, {"held_bytes": 1})


@pytest.mark.parametrize(
    "statuses, together",
    [([PASS, PASS], PASS), ([PASS, FAIL, ERROR], FAIL), ([PASS, ERROR], ERROR), ([FAIL], FAIL), ([], ERROR)],
)
def test_statuses_add_up(statuses, together):
    """FAIL over ERROR over PASS, and nothing is not PASS."""
    assert combine(statuses) is together, f"expected {together} of {statuses}, got {combine(statuses)}"


def test_the_message_says_where_expected_and_seen():
    """In the words of the architecture."""
    message = check(FAIL, seen=12).message
    assert message == "vtb-t0-01 Ethernet8 priority 3: expected 0 frames received while paused, got 12", message


def test_a_verdict_without_checks_or_with_an_error_is_error():
    """Whatever else it says."""
    empty, broken = verdict([]), verdict([check(PASS)], error="the lab broke")
    assert (empty.status, empty.cause) == (
        ERROR,
        "vtb-t0-01 Ethernet8 priority 3: nothing was measured for pfc.lossless",
    ), empty
    assert (broken.status, broken.cause) == (ERROR, "the lab broke"), broken
    assert verdict([check(PASS)]).cause is None, "a PASS has no cause"


def test_records_are_as_agreed():
    """What a line has, which the reporting part reads."""
    collector = VerdictCollector(RUN)
    allowed = [{"name": "line_percent", "value": 99, "reason": "clocks"}]
    labels = RunLabels("run-1", "vtb-t0", "SONiC.1", "Arista-7060CX-32S-C32", "job-1", "t1-01", allowed)
    collector.announce("vtb-t0-01", labels)
    records = [record.document() for record in collector.add(PLANNED, outcome(FAIL))]
    assert [record["metric_name"] for record in records] == [LOSSLESS, LOSSY], records
    first = records[0]
    assert first.pop("timestamp").endswith("Z"), "the timestamp is not UTC"
    ids = {record.pop("record_id") for record in records}
    assert len(ids) == len(records), f"an id is not of one record: {ids}"
    assert first == {
        "schema": 2,
        "replaces": None,
        "run_id": "run-1",
        "job_id": "job-1",
        "testbed": "vtb-t0",
        "device_id": "vtb-t0-01",
        "on_behalf_of": "t1-01",
        "port_id": "Ethernet8",
        "priority": 3,
        "scenario": "pause-lossless-single",
        "plan_id": "PFC-1",
        "metric_name": "pfc.lossless",
        "status": "FAIL",
        "cause": check(FAIL).message,
        "os_version": "SONiC.1",
        "hwsku": "Arista-7060CX-32S-C32",
        "software_version": SOFTWARE,
        "deviations": allowed,
        "faults": [],
        "checks": [
            {
                "name": "blocked-while-paused",
                "metric_name": "pfc.lossless",
                "status": "FAIL",
                "expected": "0 frames received while paused",
                "seen": 0,
                "where": WHERE,
                "message": check(FAIL).message,
            }
        ],
        "evidence": {"held_bytes": 1},
        "labels": {"device.on_behalf_of": "t1-01"},
    }, first


def test_the_collector_adds_up_each_metric():
    """Over priorities: one failure fails the port's metric, and leaves the other metric alone."""
    collector = VerdictCollector(RUN)
    collector.add(PLANNED, outcome(PASS, priority=3))
    collector.add(OTHER, outcome(FAIL, priority=4))
    assert [(one.metric_name, one.status) for one in collector.metric_verdicts()] == [
        (LOSSLESS, FAIL),
        (LOSSY, PASS),
    ], collector.metric_verdicts()
    assert not collector.all_passed(), "a FAIL is not PASS"


def test_what_was_planned_and_has_no_verdict_is_not_pass():
    """An item that broke is ERROR with its cause; nothing measured at all is not PASS either."""
    collector = VerdictCollector(RUN)
    assert not collector.all_passed(), "nothing measured is not PASS"
    collector.plan(PLANNED)
    collector.add(OTHER, outcome(PASS, priority=4))
    assert collector.unmeasured == [PLANNED], collector.unmeasured
    assert not collector.all_passed(), "an item without a verdict is not PASS"
    records = collector.missing(PLANNED, "the switch went away")
    assert [(one.status, one.cause) for one in records] == [(ERROR, "the switch went away")] * 2, records
    assert [(one.status, one.messages) for one in collector.metric_verdicts()] == [
        (ERROR, ["the switch went away"])
    ] * 2, collector.metric_verdicts()


def test_what_is_left_for_later_is_error_and_has_no_record():
    """A run that goes on with this one measures it."""
    collector = VerdictCollector(RUN)
    collector.plan(PLANNED)
    collector.leave(PLANNED, "the lab went away")
    assert [one.status for one in collector.metric_verdicts()] == [ERROR, ERROR], collector.metric_verdicts()
    assert not collector.unmeasured and not collector.all_passed(), collector.metric_verdicts()


def test_what_is_expected_is_each_metric_of_each_port_once():
    """Whatever the priorities, in their order."""
    collector = VerdictCollector(RUN)
    collector.plan(OTHER)
    collector.plan(PLANNED)
    expected = [("vtb-t0-01", "Ethernet8", LOSSLESS), ("vtb-t0-01", "Ethernet8", LOSSY)]
    assert collector.expected == expected, collector.expected
    collector.withdraw(OTHER)
    collector.withdraw(PLANNED)
    assert collector.expected == [], collector.expected


def test_a_verdict_is_not_replaced_by_what_breaks_later():
    """A failing teardown after a verdict is no second verdict."""
    collector = VerdictCollector(RUN)
    collector.plan(PLANNED)
    collector.add(PLANNED, outcome(PASS))
    assert not collector.missing(PLANNED, "teardown broke"), "a record was made"
    assert collector.all_passed(), collector.metric_verdicts()


def test_a_check_of_another_metric_is_refused():
    """A reader would refuse its record."""
    wrong = Outcome(SINGLE_LOSSLESS, [verdict([check(PASS, LOSSY)], LOSSLESS)], {})
    with pytest.raises(RecordError, match="check 'blocked-while-paused' is of pfc.lossy; in a verdict of pfc.lossless"):
        VerdictCollector(RUN).add(PLANNED, wrong)


def test_a_check_that_is_not_required_does_not_decide():
    """It informs."""
    informs = Check("seen", LOSSLESS, FAIL, "nothing", 7, WHERE, required=False)
    found = verdict([check(PASS), informs])
    assert (found.status, found.messages) == (PASS, []), found
    assert verdict([informs]).status is ERROR, "nothing that is required was measured"


def test_numbers_are_those_of_sonic_mgmt():
    """ERROR has none."""
    numbers = [status.number for status in (PASS, FAIL, ERROR)]
    assert numbers == [0, 1, None], numbers
