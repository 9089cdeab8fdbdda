"""A run that was killed goes on: what it measured is kept, what it could not measure is tried again, nothing twice."""

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.record.case import Outcome, PlanCase, PlannedItem
from tests.common.pfc.record.effective_records import judge
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.records import RunLabels, encode_line, make_record
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from tests.common.pfc.resume.collector import ResumedCollector
from tests.common.pfc.resume.earlier import OPTIONS_FILE, Earlier, check_options, keep_options, read_earlier
from tests.common.unit_tests.pfc.fakes import DEVICE

RUN = RunLabels("run-1", "vtb-t0", "build", "sku", "job-1")
PORT = PlanCase("port-sweep", "SWEEP-1")
FIRST, SECOND = (PlannedItem(DEVICE, port, (), PORT) for port in ("Ethernet0", "Ethernet4"))


def verdicts(port, lossless=Status.PASS, lossy=Status.PASS):
    """The two verdicts of a port."""
    made = []
    for metric, status in ((LOSSLESS, lossless), (LOSSY, lossy)):
        error = "the switch went away" if status is Status.ERROR else None
        checks = [] if error else [Check("resumed", metric, status, "all frames", 7, f"{DEVICE} {port}", 3)]
        made.append(PortVerdict(DEVICE, port, None, metric, checks, error))
    return made


def leave(folder, *found):
    """A run that measured these ports."""
    for one in found:
        append(folder, [make_record(RUN, PORT, verdict, {}) for verdict in one])
    return RecordFile(folder).path


def append(folder, made):
    """Records are written."""
    RecordFile(folder).append([encode_line(record.document()) for record in made])


def records(path):
    """What is in the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def statuses(found):
    """Status of each verdict; None: it is measured again."""
    return None if found is None else [verdict.status.value for verdict in found]


def test_what_was_measured_is_kept(tmp_path):
    """PASS and FAIL alike; the run's id and testbed are known."""
    leave(tmp_path, verdicts("Ethernet0"), verdicts("Ethernet4", lossy=Status.FAIL))
    earlier = read_earlier(tmp_path)
    assert (earlier.run_id, earlier.testbed) == ("run-1", "vtb-t0"), earlier
    assert statuses(earlier.verdicts(FIRST)) == ["PASS", "PASS"], earlier.verdicts(FIRST)
    assert statuses(earlier.verdicts(SECOND)) == ["PASS", "FAIL"], earlier.verdicts(SECOND)
    assert earlier.verdicts(SECOND)[1].messages == [f"{DEVICE} Ethernet4: expected all frames, got 7"], "its reason"
    assert earlier.verdicts(PlannedItem(DEVICE, "Ethernet8", (), PORT)) is None, "a port that was not measured"
    assert earlier.verdicts(PlannedItem(DEVICE, "Ethernet0", (3,), SINGLE_LOSSLESS)) is None, "another test case"


@pytest.mark.parametrize(
    ("lossless", "lossy", "kept"),
    [(Status.ERROR, Status.ERROR, None), (Status.PASS, Status.ERROR, None),
     (Status.FAIL, Status.ERROR, ["FAIL", "ERROR"]), (Status.FAIL, Status.FAIL, ["FAIL", "FAIL"])],
)
def test_what_could_not_be_measured_is_tried_again(tmp_path, lossless, lossy, kept):
    """A FAIL was measured: nothing takes its place."""
    leave(tmp_path, verdicts("Ethernet0", lossless, lossy))
    assert statuses(read_earlier(tmp_path).verdicts(FIRST)) == kept, f"expected {kept}"


def test_the_next_try_replaces_the_record_of_the_error(tmp_path):
    """Each by its id; a third try replaces the second."""
    path = leave(tmp_path, verdicts("Ethernet0", Status.ERROR, Status.ERROR), verdicts("Ethernet4"))
    for expected in (Status.ERROR, Status.PASS):
        earlier = read_earlier(tmp_path)
        collector = ResumedCollector(RUN, earlier)
        collector.recall(SECOND, earlier.verdicts(SECOND))
        collector.plan(FIRST)
        append(tmp_path, collector.add(FIRST, Outcome(PORT, verdicts("Ethernet0", expected, expected), {})))
    found = records(path)
    ids = [record["record_id"] for record in found]
    assert len(set(ids)) == len(ids) == 8, f"records: {found}"
    assert [record["replaces"] for record in found] == [None] * 4 + [ids[0], ids[1], ids[4], ids[5]], found
    assert collector.all_passed(), collector.metric_verdicts()


def test_the_next_try_counts_where_the_clock_was_set_back(tmp_path):
    """Its record is the later one of both, whatever the controller's clock says; so is the one of a third try."""
    ahead = datetime.now(timezone.utc) + timedelta(hours=1)
    first = [make_record(RUN, PORT, verdict, {}) for verdict in verdicts("Ethernet0", Status.ERROR, Status.ERROR)]
    append(tmp_path, [replace(record, timestamp=ahead) for record in first])
    for status in (Status.ERROR, Status.PASS):
        collector = ResumedCollector(RUN, read_earlier(tmp_path))
        collector.plan(FIRST)
        append(tmp_path, collector.add(FIRST, Outcome(PORT, verdicts("Ethernet0", status, status), {})))
    found = [parse_line(line) for line in (tmp_path / "records.jsonl").read_bytes().splitlines()]
    for metric in (LOSSLESS, LOSSY):
        of_metric = [record for record in found if record.metric_name == metric]
        assert judge(of_metric, finished=True).status is Status.PASS, [record.timestamp for record in of_metric]


@pytest.mark.parametrize(
    ("first", "again", "recorded", "said"),
    [("PASS ERROR", "PASS PASS", [("pfc.lossy", "PASS")], "PASS PASS"),
     ("PASS ERROR", "ERROR ERROR", [("pfc.lossy", "ERROR")], "PASS ERROR"),
     ("PASS ERROR", "FAIL PASS", [("pfc.lossless", "FAIL"), ("pfc.lossy", "PASS")], "FAIL PASS"),
     ("FAIL", "PASS PASS", [("pfc.lossy", "PASS")], "FAIL PASS"),
     ("FAIL", "FAIL FAIL", [("pfc.lossy", "FAIL")], "FAIL FAIL")],
)
def test_a_verdict_beside_one_that_is_missing_is_recorded_once(tmp_path, first, again, recorded, said):
    """Its item is measured again; that may make it worse, never better, and is not recorded where it says nothing
    new."""
    path = leave(tmp_path, verdicts("Ethernet0", *map(Status, first.split()))[:len(first.split())])
    before, earlier = records(path), read_earlier(tmp_path)
    assert earlier.verdicts(FIRST) is None, f"{earlier.verdicts(FIRST)} would not be measured again"
    collector = ResumedCollector(RUN, earlier)
    collector.plan(FIRST)
    outcome = Outcome(PORT, verdicts("Ethernet0", *map(Status, again.split())), {})
    append(tmp_path, collector.add(FIRST, outcome))
    new = records(path)[len(before):]
    assert [(one["metric_name"], one["status"]) for one in new] == recorded, new
    assert " ".join(one.status.value for one in collector.metric_verdicts()) == said, collector.metric_verdicts()


def test_the_parts_of_a_run_are_of_one_kind(tmp_path):
    """What changes the meaning of a verdict is kept when the first part begins; another value is refused."""
    options = {"--pfc-ip-version": "4", "--pfc-scenario": "SWEEP-1"}
    check_options(tmp_path, options)
    keep_options(tmp_path, options, goes_on=False)
    keep_options(tmp_path, options | {"--pfc-ip-version": "6"}, goes_on=True)
    check_options(tmp_path, options | {"--pfc-of-a-later-version": "1"})
    with pytest.raises(RecordError) as caught:
        check_options(tmp_path, options | {"--pfc-ip-version": "6"})
    assert str(caught.value) == (
        f"--pfc-resume: {tmp_path} is of a run with --pfc-ip-version 4, this one has 6: their verdicts do not belong "
        "together"
    ), caught.value
    (tmp_path / OPTIONS_FILE).write_text("[", encoding="utf-8")
    with pytest.raises(RecordError, match="options.json cannot be read: "):
        check_options(tmp_path, options)


def test_a_line_that_was_cut_off_is_cut_from_the_file(tmp_path):
    """The port that it was about is measured again, the file is whole afterwards."""
    path = leave(tmp_path, verdicts("Ethernet0"), verdicts("Ethernet4"))
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (1, len(lines[-1]) // 2, len(lines[-1]) - 1):
        path.write_bytes(whole[:-cut])
        earlier = read_earlier(tmp_path)
        assert earlier.verdicts(SECOND) is None, f"{cut} bytes cut off: measured"
        assert statuses(earlier.verdicts(FIRST)) == ["PASS", "PASS"], f"{cut} bytes cut off: {earlier}"
        assert path.read_bytes() == b"".join(lines[:-1]), f"{cut} bytes cut off: the rest is not as it was"


def test_a_run_of_schema_1_goes_on(tmp_path):
    """What came with schema 2 is missing in its records; its verdicts hold, and the next part writes schema 2 beside
    them."""
    path = leave(tmp_path, verdicts("Ethernet0"))
    new = ("job_id", "on_behalf_of", "software_version", "deviations")
    old = [{name: value for name, value in one.items() if name not in new} | {"schema": 1} for one in records(path)]
    path.write_text("".join(json.dumps(one) + "\n" for one in old), encoding="utf-8")
    leave(tmp_path, verdicts("Ethernet4"))
    earlier = read_earlier(tmp_path)
    assert [one["schema"] for one in records(path)] == [1, 1, 2, 2], records(path)
    assert statuses(earlier.verdicts(FIRST)) == statuses(earlier.verdicts(SECOND)) == ["PASS", "PASS"], earlier
    assert earlier.job_id == RUN.job_id == "job-1", earlier


def test_what_failed_stays_failed_whatever_stands_after_it(tmp_path):
    """Also where someone appended another verdict of it."""
    leave(tmp_path, verdicts("Ethernet0", lossless=Status.FAIL), verdicts("Ethernet0"))
    assert statuses(read_earlier(tmp_path).verdicts(FIRST)) == ["FAIL", "PASS"], read_earlier(tmp_path)


def test_numbers_among_the_records_are_no_verdicts(tmp_path):
    """A final record decides nothing."""
    path = leave(tmp_path, verdicts("Ethernet0"))
    ended = records(path)[0] | {"kind": "final", "status": "FAIL", "record_id": "ended"}
    RecordFile(tmp_path).append([encode_line(ended)])
    assert statuses(read_earlier(tmp_path).verdicts(FIRST)) == ["PASS", "PASS"], read_earlier(tmp_path)


def test_a_run_that_measured_nothing_goes_on(tmp_path):
    """All is missing; its id is not known."""
    RecordFile(tmp_path).create()
    assert read_earlier(tmp_path) == Earlier(), read_earlier(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(None, "--pfc-resume takes the folder of a run, with its records.jsonl: {}: No such file or directory"),
     ("rubbish\n", "--pfc-resume: {} line 1: it is not JSON: "),
     ('{"schema": 0}\n', "--pfc-resume: {} line 1: field 'schema' is 0; it must be one of 1, 2, "),
     ('{"schema": 1}\n', "--pfc-resume: {} line 1: field 'metric_name' is missing"),
     ('{"schema": 2}\n', "--pfc-resume: {} line 1: field 'metric_name' is missing")],
)
def test_what_is_no_run_is_refused(tmp_path, text, sentence):
    """In one sentence."""
    path = tmp_path / "records.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        read_earlier(tmp_path)
    assert str(caught.value).startswith(sentence.format(path)), f"got {caught.value}"
