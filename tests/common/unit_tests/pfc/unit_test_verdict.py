"""How checks add up, what a record holds, and what the listener makes of a session."""

import json

import pytest

from tests.common.pfc import SOFTWARE
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.record.listener import Listener, Planned
from tests.common.pfc.record.outcome import Outcome
from tests.common.pfc.record.records import RecordWriter, RunLabels, new_run_id
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, DeviceVerdict, PortVerdict, Status, combine

RUN = RunLabels("run-1", "vtb-t0", "unknown", "unknown")
PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
WHERE = "vtb-t0-01 Ethernet8 priority 3"
PLANNED = Planned("vtb-t0-01", "Ethernet8", (3,), SINGLE_LOSSLESS)
OTHER = Planned("vtb-t0-01", "Ethernet8", (4,), SINGLE_LOSSLESS)


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
    device = DeviceVerdict("vtb-t0-01", [verdict([check(status)]) for status in statuses])
    assert device.status is together, f"expected {together} of {statuses}, got {device.status}"


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


def test_records_are_lines_as_agreed(tmp_path):
    """One JSON object a line, with what the reporting part reads."""
    listener = Listener(RecordWriter(tmp_path / "run"), RUN)
    allowed = [{"name": "line_percent", "value": 99, "reason": "clocks"}]
    labels = RunLabels("run-1", "vtb-t0", "SONiC.1", "Arista-7060CX-32S-C32", "job-1", "t1-01", allowed)
    listener.announce("vtb-t0-01", labels)
    listener.hear(PLANNED, outcome(FAIL))
    records = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
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


def test_the_listener_adds_up_each_metric():
    """Over priorities: one failure fails the port's metric, and leaves the other metric alone."""
    listener = Listener(None, RUN)
    listener.hear(PLANNED, outcome(PASS, priority=3))
    listener.hear(OTHER, outcome(FAIL, priority=4))
    assert [(one.metric_name, one.status) for one in listener.results()] == [
        (LOSSLESS, FAIL),
        (LOSSY, PASS),
    ], listener.results()
    assert not listener.all_passed(), "a FAIL is not PASS"


def test_what_was_planned_and_never_heard_of_is_not_pass():
    """An item that broke is ERROR with its cause; nothing measured at all is not PASS either."""
    listener = Listener(None, RUN)
    assert not listener.all_passed(), "nothing measured is not PASS"
    listener.plan(PLANNED)
    listener.hear(OTHER, outcome(PASS, priority=4))
    assert listener.unheard == [PLANNED], listener.unheard
    assert not listener.all_passed(), "an item without a verdict is not PASS"
    listener.miss(PLANNED, "the switch went away")
    assert [(one.status, one.messages) for one in listener.results()] == [
        (ERROR, ["the switch went away"])
    ] * 2, listener.results()


def test_a_verdict_is_not_replaced_by_what_breaks_later():
    """A failing teardown after a verdict is no second verdict."""
    listener = Listener(None, RUN)
    listener.plan(PLANNED)
    listener.hear(PLANNED, outcome(PASS))
    listener.miss(PLANNED, "teardown broke")
    assert listener.all_passed(), listener.results()


def test_run_ids_sort_by_time():
    """And name the process."""
    assert new_run_id()[8] == "T" and new_run_id().split("-")[1].isdigit(), new_run_id()
