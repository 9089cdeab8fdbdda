"""A line is a record, or is refused by its place, its field, and what would be right."""

from __future__ import annotations

import json

import pytest

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_line, parse_lines
from tests.common.pfc.record.records import encode_line
from tests.common.pfc.record.verdict import Status


def verdict(number=0, status="PASS", **fields):
    """A verdict record with one check; `number` makes it different from others."""
    metric = fields.get("metric_name", "pfc.lossless")
    check = {"name": "blocked-while-paused", "metric_name": metric, "status": status, "expected": "0 frames",
             "seen": 12, "where": "vtb-t0-01 Ethernet0 priority 3", "message": f"expected 0 frames, got 12 ({status})"}
    record = {
        "schema": 2, "run_id": "run-1", "timestamp": f"2026-01-31T13:00:00.{number:06d}Z", "testbed": "vtb-t0",
        "device_id": "vtb-t0-01", "port_id": "Ethernet0", "priority": 3, "scenario": "pause-lossless-single",
        "plan_id": "PFC-1", "metric_name": metric, "status": status, "cause": None if status == "PASS" else "the cause",
        "os_version": "SONiC.20260101", "hwsku": "Arista-7060CX-32S-C32", "checks": [check],
        "evidence": {"frames": {"sent": 1000, "received": 12}}, "labels": {"tg.traffic_rate": "50"}}
    return {**record, **fields}


CHECK = verdict()["checks"][0]


def parse(document):
    return parse_line(encode_line(document), "records.jsonl line 7")


def test_a_record_is_read_whole():
    record = parse(verdict(5, "FAIL", note="new in a later version"))
    assert record.series == ("vtb-t0-01", "Ethernet0", "pfc.lossless"), record.series
    decided = (record.status, record.cause, record.priority, record.plan_id)
    assert decided == (Status.FAIL, "the cause", 3, "PFC-1"), decided
    assert record.timestamp.isoformat() == "2026-01-31T13:00:00.000005+00:00", record.timestamp.isoformat()
    assert record.checks[0].expected == "0 frames" and record.checks[0].seen == 12, record.checks[0].expected
    assert record.evidence == {"frames": {"sent": 1000, "received": 12}}, record.evidence
    assert record.extra == {"note": "new in a later version"}, record.extra
    assert record.faults == (), "a record of an older version says nothing of faults"


@pytest.mark.parametrize("change, sentence", [
    ({"schema": 3}, "field 'schema' is 3; it must be one of 1, 2, the versions that this software knows"),
    ({"schema": True}, "field 'schema' is True; it must be one of 1, 2, the versions that this software knows"),
    ({"run_id": "x" * 201}, f"field 'run_id' is '{'x' * 76}...; it must be a text of at most 200 characters"),
    ({"record_id": "x" * 65}, f"field 'record_id' is '{'x' * 65}'; it must be a text of at most 64 characters"),
    ({"deviations": {}}, "field 'deviations' is {}; it must be a list"),
    ({"faults": "pause-ignored"}, "field 'faults' is 'pause-ignored'; it must be a list"),
    ({"faults": ["pause-ignored", 1]}, "field 'faults' is ['pause-ignored', 1]; it must be a list of texts"),
    ({"run_id": ""}, "field 'run_id' is ''; it must be a text that is not empty"),
    ({"run_id": 5}, "field 'run_id' is 5; it must be a text that is not empty"),
    ({"device_id": None}, "field 'device_id' is None; it must be a text that is not empty"),
    ({"port_id": ["Ethernet0"]}, "field 'port_id' is ['Ethernet0']; it must be a text"),
    ({"timestamp": "yesterday"}, "field 'timestamp' is 'yesterday'; it must be a UTC time such as "
                                 "2026-01-31T13:00:00.000000Z"),
    ({"timestamp": "2026-01-31T13:00:00"}, "field 'timestamp' is '2026-01-31T13:00:00'; it must be a UTC time such as "
                                           "2026-01-31T13:00:00.000000Z"),
    ({"timestamp": "2026-01-31T13:00:00+01:00"}, "field 'timestamp' is '2026-01-31T13:00:00+01:00'; it must be a UTC "
                                                 "time such as 2026-01-31T13:00:00.000000Z"),
    ({"priority": 8}, "field 'priority' is 8; it must be a whole number from 0 to 7, or null"),
    ({"priority": True}, "field 'priority' is True; it must be a whole number from 0 to 7, or null"),
    ({"status": "pass"}, "field 'status' is 'pass'; it must be one of PASS, FAIL, ERROR"),
    ({"status": None}, "field 'status' is None; it must be a text"),
    ({"kind": "guess"}, "field 'kind' is 'guess'; it must be one of verdict, final, periodic"),
    ({"kind": "periodic"}, "field 'value' is missing"),
    ({"kind": "periodic", "value": "7"}, "field 'value' is '7'; it must be a finite number"),
    ({"kind": "final", "status": "OK"}, "field 'status' is 'OK'; it must be one of PASS, FAIL, ERROR"),
    ({"evidence": [1]}, "field 'evidence' is [1]; it must be a JSON object"),
    ({"checks": {}}, "field 'checks' is {}; it must be a list of checks"),
    ({"checks": []}, "field 'checks' is []; it must be a list with at least one required check: nothing measured is "
                     "never PASS"),
    ({"checks": [{**CHECK, "status": "ERROR"}]}, "field 'status' is 'PASS'; it must be ERROR, as check "
                                                 "'blocked-while-paused' is"),
    ({"checks": [CHECK, {**CHECK, "status": "FAIL"}]}, "field 'status' is 'PASS'; it must be FAIL, as check "
                                                       "'blocked-while-paused' is"),
])
def test_a_wrong_field_is_refused_by_name(change, sentence):
    with pytest.raises(RecordError) as refused:
        parse({**verdict(), **change})
    assert str(refused.value) == f"records.jsonl line 7: {sentence}", str(refused.value)


@pytest.mark.parametrize("name", ["schema", "run_id", "timestamp", "testbed", "device_id", "port_id", "metric_name",
                                  "status", "checks"])
def test_a_missing_field_is_refused_by_name(name):
    document = verdict()
    del document[name]
    with pytest.raises(RecordError) as refused:
        parse(document)
    assert str(refused.value) == f"records.jsonl line 7: field '{name}' is missing", str(refused.value)


@pytest.mark.parametrize("change, sentence", [
    ({"status": "OK"}, "field 'status' is 'OK'; it must be one of PASS, FAIL, ERROR"),
    ({"name": ""}, "field 'name' is ''; it must be a text that is not empty"),
    ({"required": "no"}, "field 'required' is 'no'; it must be true or false"),
    ({"metric_name": "pfc.lossy"}, "field 'metric_name' is 'pfc.lossy'; it must be 'pfc.lossless', the metric of its "
                                   "record"),
])
def test_a_wrong_check_is_refused_by_its_number(change, sentence):
    with pytest.raises(RecordError) as refused:
        parse(verdict(checks=[CHECK, {**CHECK, **change}]))
    assert str(refused.value) == f"records.jsonl line 7 check 2: {sentence}", str(refused.value)


def test_a_check_that_is_not_required_does_not_decide():
    extra = {**CHECK, "status": "FAIL", "required": False}
    assert parse(verdict(checks=[CHECK, extra])).status is Status.PASS, parse(verdict(checks=[CHECK, extra])).status
    with pytest.raises(RecordError, match="at least one required check"):
        parse(verdict(checks=[extra]))


def test_error_stays_error_whatever_its_checks_say():
    for status in ("PASS", "FAIL"):
        found = parse(verdict(status="ERROR", checks=[{**CHECK, "status": status}]))
        assert found.status is Status.ERROR, found
    found = parse(verdict(status="ERROR", checks=[], cause=None))
    assert found.cause == "no cause was given", found


def test_a_cause_is_taken_from_the_check_that_decides():
    found = parse(verdict(status="FAIL", cause=None))
    assert found.cause == "expected 0 frames, got 12 (FAIL)", found
    assert parse(verdict(cause="ignored")).cause is None, parse(verdict(cause='ignored')).cause


def test_a_final_record_holds_a_number_or_the_status_that_a_run_ended_with():
    document = verdict(kind="final", value=7.5, unit="us")
    del document["checks"], document["status"]
    number = parse(document)
    assert (number.status, number.value, number.unit) == (None, 7.5, "us"), number
    ended = parse({**document, "status": "ERROR", "cause": None})
    said = (ended.status, ended.value, ended.cause, ended.checks)
    assert said == (Status.ERROR, None, "no cause was given", ()), ended
    with pytest.raises(RecordError, match="field 'value' is missing"):
        parse({name: value for name, value in document.items() if name != "value"})


@pytest.mark.parametrize("change", [{}, {"status": "FAIL"}, {"status": "ERROR", "checks": []}, {"note": "later"},
                                    {"faults": ["pause-ignored@Ethernet0"]},
                                    {"checks": [CHECK, {**CHECK, "status": "FAIL", "required": False}]}])
def test_a_record_that_was_read_is_written_as_it_was(change):
    written = verdict(**change)
    if change.get("status") == "FAIL":
        written["checks"] = [{**CHECK, "status": "FAIL"}]
    record = parse(written)
    assert written.items() <= record.document().items(), record.document()
    assert parse(record.document()) == record, record


@pytest.mark.parametrize("kind", ["final", "periodic"])
def test_a_number_that_was_read_is_written_as_it_was(kind):
    document = verdict(kind=kind, value=7.5, unit="us")
    del document["checks"], document["status"]
    assert parse(parse(document).document()) == parse(document), parse(document)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_json_cannot_express_is_refused(value):
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        encode_line(verdict(evidence={"x": value}))


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b"\xff\xfe", b'{"schema": 1, "x": NaN}', b"[" * 100_000])
def test_a_line_that_is_no_record_is_refused_by_its_place(line):
    with pytest.raises(RecordError, match="^records.jsonl line 7: "):
        parse_line(line, "records.jsonl line 7")


def test_a_bad_line_does_not_hide_the_others_and_a_torn_one_is_none():
    text = [encode_line(verdict(1)), b"{torn\n", b"\n", encode_line(verdict(2)), b'{"schema": 1, "run']
    first, bad, second = parse_lines(text, "f")
    assert (first.timestamp.microsecond, second.timestamp.microsecond) == (1, 2), (first, second)
    assert str(bad).startswith("f line 2: it is not JSON"), str(bad).startswith('f line 2: it is not JSON')


def test_the_same_record_has_the_same_id_however_it_is_written():
    document = verdict()
    again = json.dumps(dict(reversed(document.items())), separators=(",", ":")).encode()
    assert parse(document).record_id == parse_line(again).record_id, parse(document).record_id
    assert parse(document).record_id != parse(verdict(evidence={"x": 1})).record_id, parse(document).record_id
    assert parse(verdict(record_id="mine")).record_id == "mine", parse(verdict(record_id='mine')).record_id
