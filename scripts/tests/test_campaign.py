"""A campaign's parts, results and scores, without a testbed: what is planned, kept, counted, said."""
import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from scripts.campaign import results
from scripts.campaign.__main__ import PartsSaid, SlicedExecutor, exit_status, parse_time
from scripts.campaign.broken_testbed import KnownDut
from scripts.campaign.catalogue import FAULTS
from scripts.campaign.entries import CATALOGUE, HELD, ROOT, CampaignEntry, Declaration, FieldBug
from scripts.campaign.generated import generate
from scripts.campaign.groups import GroupDut, port_groups
from scripts.campaign.healthy import draw_healthy, drawn_setting, rows_of, script_of, verdicts_in, write_files
from scripts.campaign.judging import Carried, asked_for, conclude
from scripts.campaign.mutants import ALL, mutated
from scripts.campaign.page import write_page, write_table
from scripts.campaign.part import FaultPart, PartRun
from scripts.campaign.plan import Campaign, in_bring_ups, load, load_parts
from scripts.campaign.recording import record
from scripts.campaign.results import Blame, EntryResult, EntryVerdict
from scripts.campaign.scores import not_as_declared, row, scores
from scripts.parts.part import JobPart, PartEnd
from scripts.testbeds import Refusal
from scripts.tests.diagnosed import DECLARED, declared as declared_of, whole_switch
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases import qualifier
from tests.common.pfc.cases.engine import Finding
from tests.common.pfc.model.counters import DutCounters
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.model.tolerances import EXACT
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.records import RunLabels, encode_line, make_record
from tests.common.pfc.record.verdict import LOSSLESS, Check, PortVerdict, Status
from virtual_testbed.faults import BUILT_IN
from virtual_testbed.lab_files.description import load_testbed

GROUP = port_groups()[1]
SWITCH = "vtb-t0-01"
PORTS = dict(GROUP.roles)


def declared(**other):
    """What is declared of an entry, or something else of it."""
    made = {"at": "rx", "priorities": HELD, "metrics": (LOSSLESS,), "says": "pauses of .* stop nothing"}
    return Declaration(**{**made, **other})


def entry(name="one", **other):
    """An entry of the catalogue."""
    return CampaignEntry(**{"source": CATALOGUE, "name": name, "faults": (f"{name}@{{rx}}",), "declared": declared(),
                            **other})


def carried(*checks, error=None):
    """PFC-1 of priority 3, with checks: name, status, where."""
    made = [Check(name, LOSSLESS, status, "0 frames", "7", f"{SWITCH} {where}") for name, status, where in checks]
    verdict = PortVerdict(SWITCH, PORTS["rx"], 3, LOSSLESS, made, error)
    return [Carried((3,), Outcome(SINGLE_LOSSLESS, [verdict], {}), 1.0)]


def result(verdict=EntryVerdict.CAUGHT, blame=Blame(True, True, True, True), **other):
    """A result of an entry."""
    return EntryResult(entry(**other), PORTS, verdict, blame)


STOPS_NOTHING = carried(
    ("blocked-while-paused", Status.FAIL, f"{PORTS['rx']} priority 3"),
    ("back-pressure", Status.FAIL, f"{PORTS['tx']} priority 3"))


def test_what_is_declared_has_to_be_said():
    found = conclude(entry(), GROUP, STOPS_NOTHING)
    assert found.judgement is EntryVerdict.CAUGHT and found.blame.is_right and found.is_as_declared, found
    assert [one["name"] for one in found.checks] == ["blocked-while-paused", "back-pressure"]


@pytest.mark.parametrize(("other", "wrong"), [
    ({"at": "tx"}, "port"), ({"priorities": frozenset({4})}, "priority"), ({"priorities": frozenset()}, "priority"),
    ({"metrics": ("pfc.lossy",)}, "metric"), ({"says": "pauses are sent"}, "cause"),
])
def test_each_thing_that_is_named_wrongly_is_told_from_the_others(other, wrong):
    found = conclude(entry(declared=declared(**other)), GROUP, STOPS_NOTHING)
    assert found.judgement is EntryVerdict.CAUGHT and found.blame.wrong == [wrong], found.blame
    assert not found.is_as_declared


@pytest.mark.parametrize(("verdicts", "done", "expected"), [
    ((Status.FAIL,), carried(("resumed", Status.PASS, "Ethernet12")), EntryVerdict.ESCAPED),
    ((Status.FAIL,), carried(error="no answer"), EntryVerdict.ERROR),
    ((Status.ERROR,), carried(error="no answer"), EntryVerdict.CAUGHT),
    ((Status.ERROR,), STOPS_NOTHING, EntryVerdict.MISJUDGED),
    ((Status.ERROR, Status.FAIL), STOPS_NOTHING, EntryVerdict.CAUGHT),
])
def test_verdicts_against_what_was_declared(verdicts, done, expected):
    assert conclude(entry(declared=declared(verdicts=verdicts)), GROUP, done).judgement is expected


def test_what_the_diagnosis_lacks_is_carried_out_too():
    """Frames that leave in a storm: TIME-6 tells why, unless its family has had its say."""
    subject = SimpleNamespace(qos=SimpleNamespace(lossless=(3, 4)), pauses_from="")
    leaks = carried(("blocked-while-paused", Status.FAIL, f"{PORTS['rx']} priority 3"))
    assert [(case.plan_id, target) for case, target in asked_for(leaks, subject)] == [
        ("TIME-6", (3,)), ("TIME-6", (4,))]
    assert not asked_for(STOPS_NOTHING, subject)


def test_nothing_may_be_said_of_what_is_healthy():
    healthy = entry(declared=None)
    assert conclude(healthy, GROUP, carried(("resumed", Status.PASS, "Ethernet12"))).is_as_declared
    assert conclude(healthy, GROUP, STOPS_NOTHING).judgement is EntryVerdict.MISJUDGED
    assert conclude(healthy, GROUP, carried(error="x")).judgement is EntryVerdict.ERROR


def test_what_no_tester_could_see_may_escape_and_nothing_else_may_be_said_of_it():
    assert result(EntryVerdict.ESCAPED, unseen="it does nothing").is_as_declared
    assert not result(EntryVerdict.ESCAPED).is_as_declared
    assert not result(EntryVerdict.CAUGHT, unseen="it does nothing").is_as_declared


@pytest.mark.parametrize("other", [
    {"at": "somewhere"}, {"metrics": ()}, {"metrics": ("pfc",)}, {"verdicts": ()}, {"verdicts": (Status.PASS,)},
])
def test_a_declaration_that_no_run_could_fulfil_is_refused(other):
    with pytest.raises(AssertionError):
        declared(**other)


def test_of_a_healthy_testbed_s_records_an_error_that_was_tried_again_does_not_count(tmp_path):
    run = RunLabels("run", "vtb-t0", "os", "hwsku")
    verdicts = [PortVerdict("vtb-t0-01", "Ethernet0", priority, LOSSLESS, [], "no answer") for priority in (3, 4)]
    error, other = (make_record(run, SINGLE_LOSSLESS, verdict, {}) for verdict in verdicts)
    held = Check("resumed", LOSSLESS, Status.PASS, "all 9 frames", 9, "vtb-t0-01 Ethernet0 priority 3")
    again = replace(error, record_id="again", status=Status.PASS, cause=None, replaces=error.record_id, checks=(held,),
                    timestamp=error.timestamp + timedelta(seconds=1))
    assert verdicts_in(tmp_path) == [], "there is no such file"
    RecordFile(tmp_path).append([encode_line(one.document()) for one in (error, other, again)])
    assert [one.record_id for one in verdicts_in(tmp_path)] == [other.record_id, "again"]


def test_a_bug_of_the_field_is_an_entry():
    bug = FieldBug.of("sonic-swss", 1055, "it stays", ("pfc-removal-ignored@{rx}",), declared(), ("LSET-1",))
    assert bug.entry.key == "museum sonic-swss-1055" and bug.entry.at(PORTS) == ("pfc-removal-ignored@Ethernet4",)


def test_a_bring_up_has_one_entry_about_a_moment_and_that_comes_first():
    entries = [entry(str(number), faults=(f"x@{{rx}},from={number}s",) if number % 3 == 0 else ("x@{rx}",))
               for number in range(20)]
    entries += [entry(f"last {number}", faults=("pause-outlives-flap@{rx}",)) for number in range(3)]
    entries.append(entry("both", faults=("pause-outlives-flap@{rx},from=3s",)))
    entries.insert(0, entry("loud", faults=("x@{tx}", "pfc-unasked@{rx},period_ms=7")))
    entries.append(entry("all", faults=("x@*",)))
    bring_ups = in_bring_ups(entries, 5)
    assert (entries[-1],) in bring_ups, "it breaks the others' ports as well"
    assert (entries[0],) in bring_ups, "beside it all others would be slow"
    assert bring_ups[0] == (entries[0],) and entries[1] in bring_ups[1], "the first entries come first"
    assert (entries[-2],) in bring_ups, "it must be the first and the last"
    assert sorted(one.name for own in bring_ups for one in own) == sorted(one.name for one in entries)
    for own in bring_ups:
        assert len(own) <= 5 and not any(one.is_timed for one in own[1:])
        assert not any(one.is_lasting for one in own[:-1])


def test_results_are_kept_and_read_again(tmp_path):
    file = tmp_path / "entries.jsonl"
    first = conclude(entry(), GROUP, STOPS_NOTHING)
    healthy = replace(first, entry=entry("two", declared=None), judgement=EntryVerdict.PASSED)
    results.append(file, [first])
    with file.open("a") as torn:
        torn.write('{"entry": {"so')
    results.append(file, [healthy, replace(first, is_alone=True)])
    found = results.read(file)
    assert [one.entry for one in found] == [first.entry, healthy.entry] and found[0].is_alone, "the last one counts"
    assert found[0].blame == first.blame and found[1].judgement is EntryVerdict.PASSED
    assert json.loads(file.read_text().splitlines()[0])["specifications"] == ["one@Ethernet4"]


def test_a_torn_line_ends_no_campaign_and_no_result_is_said_twice(tmp_path, capsys):
    """What a kill tore says nothing; what is being written is said once it is whole."""
    file, part = tmp_path / results.LINES, JobPart("part", (), tmp_path)
    first = conclude(entry(), GROUP, STOPS_NOTHING)
    said = PartsSaid(SlicedExecutor(None, 0.0))
    said.looked(part)
    results.append(file, [first])
    whole = file.read_text()
    file.write_text(whole + whole[:20])
    said.looked(part)
    results.append(file, [replace(first, entry=entry("two"))])
    said.looked(part)
    file.write_text(file.read_text() + whole[:-1])
    said.looked(part)
    file.write_text(file.read_text() + "\n")
    said.ended(part, PartEnd(0, 1.0, "here"))
    names = [text.split(":")[0] for text in capsys.readouterr().out.splitlines()]
    assert [name.split()[2] for name in names] == ["one", "two", "one"], names


def test_a_part_goes_on_where_it_was_left(tmp_path, monkeypatch):
    """What is as declared is not measured again; what is not is measured once more, alone."""
    part = FaultPart("part", (entry("one"), entry("two"), entry("three")))
    assert FaultPart.of(json.loads(json.dumps(part.document()))) == part
    asked = []

    def judged(self, wanted, is_alone, before=None):
        asked.append(([one.name for _, one in wanted], is_alone))
        known = {one.entry.key for one in results.read(self.file)} if before is None else set()
        results.append(self.file, [
            replace(result(EntryVerdict.ESCAPED if one.name == "two" else EntryVerdict.CAUGHT), entry=one,
                    is_alone=is_alone)
            for _, one in wanted if one.key not in known])

    monkeypatch.setattr(PartRun, "_judge", judged)
    run = PartRun(part, tmp_path)
    assert run.run() and asked == [(["one", "two", "three"], False), (["two"], True)], asked
    assert PartRun(part, tmp_path).run() and len(asked) == 2, "nothing is left"
    assert not PartRun(replace(part, entries=(entry("four"),)), tmp_path / "other", end_at=0).run(), "it is too late"
    assert len(asked) == 2


def test_scores_count_what_was_judged():
    found = [result(), result(name="two", blame=Blame(True, True, False, True)),
             result(EntryVerdict.ESCAPED, Blame(), name="three"), result(EntryVerdict.ERROR, Blame(), name="four"),
             result(EntryVerdict.ESCAPED, Blame(), name="five", unseen="it does nothing")]
    [score] = scores([(CATALOGUE, 7)], found)
    assert (score.good, len(score.due), score.named_rightly("metric"), score.named_rightly()) == (2, 4, 1, 1)
    assert row(score)[:7] == ["catalogue", "5 of 7", "2 of 4 (50.0 %)", "1", "1", "0", "1"]
    assert [one.entry.name for one in not_as_declared(found)] == ["three", "four", "two"]


def campaign(**other):
    """A campaign."""
    made = {"name": "c", "sources": ("catalogue", "generated", "healthy"), "counts": {"generated": 7, "healthy": 3},
            "seed": "s", "commit": "c0ffee", "is_dirty": False, "began": "2026-01-01T00:00:00+00:00"}
    return Campaign(**{**made, **other})


def test_a_campaign_is_the_same_when_it_is_read_again(tmp_path):
    made = campaign(only=("0001", "pause-ignored"))
    made.write(tmp_path / "c")
    assert load(tmp_path / "c") == made and {one.name for one in made.entries()} == {"0001", "pause-ignored"}
    assert load_parts(tmp_path / "c") == sorted(made.parts(), key=lambda part: part.name), "not drawn once more"
    with pytest.raises(Refusal, match="there is no campaign in"):
        load(tmp_path)


def test_every_entry_is_in_one_part():
    parts = campaign().parts()
    names = [one.key for part in parts for one in part.entries]
    assert sorted(names) == sorted(one.key for one in campaign().entries()) and len({*names}) == len(names)
    assert len({part.name for part in parts}) == len(parts) and len(names) == len(FAULTS) + 7 + 3


def test_the_exit_status_says_the_worst():
    entries = generate("s", 2)
    good = [EntryResult(one, PORTS, EntryVerdict.CAUGHT, Blame(True, True, True, True)) for one in entries]
    assert exit_status(entries, good) == 0 and exit_status(entries, good[:1]) == 2
    assert exit_status(entries, [good[0], replace(good[1], judgement=EntryVerdict.ESCAPED)]) == 1
    assert exit_status(entries, [good[0], replace(good[1], judgement=EntryVerdict.ERROR)]) == 2


@pytest.mark.parametrize(("options", "words"), [
    (["--sources", "zoo"], "--sources has 'zoo': expected some of catalogue"),
    (["--count", "0"], "--count is '0', it takes a number from 1 on"),
    (["--slice", "soon"], "--slice is 'soon', it takes a time such as 50s, 60m or 2h"),
    (["--at-once", "0"], "--at-once is 0, it takes a number from 1 on"),
    (["--sources", "catalogue", "--only", "nothing"], "--only has 'nothing': catalogue has no such entry"),
    (["--resume", "gone"], "there is no campaign in "),
    (["--resume", "gone", "--count", "3"], "--resume goes on with a campaign as it is: leave out --count"),
    (["--mutant", "kind"], "argument --mutant: invalid choice: 'kind'"),
])
def test_what_cannot_be_done_is_refused_in_one_sentence(options, words, tmp_path):
    done = subprocess.run([sys.executable, "-m", "scripts.campaign", "--results", str(tmp_path), *options], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 3 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_times():
    assert (parse_time("50s"), parse_time("60m"), parse_time("2h"), parse_time("")) == (50, 3600, 7200, float("inf"))


def test_a_healthy_testbed_can_be_brought_up_whatever_was_drawn(tmp_path):
    wholes = 0
    for number in range(1, 101):
        setting = drawn_setting("any", number)
        found = load_testbed(setting.name, write_files(setting, tmp_path / str(number)))
        assert len(found.generator_links) == 2 * len(setting.speeds)
        wholes += not setting.cases
    assert wholes == 5, "one in 20 has the whole plan"
    assert draw_healthy("any", 3)[2].setting == str(drawn_setting("any", 3))


def test_what_a_user_changed_is_written_as_rows():
    setting = replace(drawn_setting("any", 1), dscps={1: 2}, weights=(3, 4), alpha="-1", lossless=(3, 4))
    profiles = {"BUFFER_PROFILE": {"pg_lossless_100000_5m_profile": {"xoff": "9"}, "other": {}}}
    rows = rows_of(setting, profiles)
    assert rows["BUFFER_PROFILE"] == {"pg_lossless_100000_5m_profile": {"xoff": "9", "dynamic_th": "-1"}}
    assert "HSET 'DSCP_TO_TC_MAP|AZURE' 1 2" in script_of(rows) and {*rows} == {
        "DSCP_TO_TC_MAP", "SCHEDULER", "BUFFER_PROFILE"}


def test_of_a_group_no_other_counters_are_seen(monkeypatch):
    """As little of a reading as tells that: the ports of the group, and one that is not."""
    own, other = PORTS["rx"], "Ethernet0"
    assert other not in GROUP.names
    table = f"Port    RX_OK\n------  -----\n{own}  7\n{other}  8\n  {other}:3  9\nlast"
    reading = DutCounters(
        {own: (1,), other: (2,)}, {own: (3,), other: (4,)}, {own: {3: 1}}, {f"{own}:3": "row", f"{other}:3": "row"},
        (own, other), {own: "up", other: "up"}, {"ports": table})

    class Dut:
        host = SimpleNamespace(hostname=SWITCH)
        observers = ()
        reservation = None
        state = staticmethod(lambda: "as read")

    monkeypatch.setattr(KnownDut, "counters", lambda *given: reading)
    found = GroupDut(Dut, GROUP.names).counters()
    assert (found.pfc_rx, found.pfc_tx, found.watchdog_ports) == ({own: (1,)}, {own: (3,)}, (own,))
    assert {*found.watchdog} == {f"{own}:3"} and {*found.interfaces} == {own, other}
    assert found.printed["ports"] == f"Port    RX_OK\n------  -----\n{own}  7\nlast"
    assert GroupDut(Dut, GROUP.names).state() == "as read"


def judged_campaign():
    """A campaign with one entry of each kind, and its results."""
    made = campaign(sources=("catalogue", "generated", "healthy"), counts={"generated": 2, "healthy": 1})
    caught, escaped, healthy = FAULTS[2], *made.entries()[-3:-2], made.entries()[-1]
    good = replace(conclude(caught, GROUP, STOPS_NOTHING), is_alone=True)
    return made, [
        good, EntryResult(escaped, PORTS, EntryVerdict.ESCAPED, is_alone=True),
        EntryResult(healthy, {"rx": "Ethernet0"}, EntryVerdict.MISJUDGED, is_alone=True,
                    checks=[{"case": "PFC-1 3", "name": "resumed", "status": "FAIL", "metric": LOSSLESS,
                             "message": "a <b> & c"}]),
    ]


def test_the_page_and_the_table_have_every_entry(tmp_path):
    made, found = judged_campaign()
    score = scores([("catalogue", 76), ("generated", 2), ("healthy", 1)], found)
    page = write_page(tmp_path, made, score, found).read_text()
    table = write_table(tmp_path, made, score, found).read_text()
    for one in found:
        assert one.entry.key in page
    assert "a &lt;b&gt; &amp; c" in page and "seed s" in page and "Not as declared: 2" in page
    assert "| generated 0001 |" in table and "| healthy 0001 |" in table and "catalogue pause-ignored" not in table
    assert "commit c0ffee, seed s" in table


def test_a_campaign_is_in_the_database_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PFC_REPORT_DB", f"sqlite:///{tmp_path / 'pfc.db'}")
    made, found = judged_campaign()
    for _ in range(2):
        assert record(made, made.entries(), found, tmp_path) == []
    with sqlite3.connect(tmp_path / "pfc.db") as database:
        asked = "SELECT device_id, port_id, metric_name, status FROM records ORDER BY 1, 2, 3"
        rows = database.execute(asked).fetchall()
        [(judged,)] = database.execute("SELECT json_extract(info, '$.campaign.judged') FROM runs").fetchall()
    assert judged == 3 and rows == [
        ("catalogue", "pause-ignored", "campaign.blamed", "PASS"),
        ("catalogue", "pause-ignored", "campaign.seen", "PASS"),
        ("generated", "0001", "campaign.seen", "FAIL"), ("healthy", "0001", "campaign.seen", "FAIL")], rows


def test_every_mutant_is_undone_and_blinds_a_fault_that_there_is():
    before = qualifier.judged
    for mutant in ALL:
        with mutated(mutant.name):
            assert mutant.patches(), mutant.name
        assert qualifier.judged is before
        assert mutant.blinds and {*mutant.blinds} <= {*BUILT_IN}
    assert len(ALL) == 10


def test_a_mutant_throws_its_check_away():
    bad = Check("share-by-weight", LOSSLESS, Status.FAIL, "", "", f"{SWITCH} Ethernet0 priority 3", 3)
    good = replace(bad, name="resumed", status=Status.PASS)
    finding = Finding([bad, good], [], {})

    class Subject:
        """As much of a port under test as verdicts need."""

        class pair:
            rx = PortVerdict(SWITCH, "Ethernet0", None, LOSSLESS, [])

        tolerances = EXACT

    def verdicts():
        return {one.status for one in qualifier.judged(Subject, SINGLE_LOSSLESS, (3,), finding, [good]).verdicts
                if one.metric_name == LOSSLESS}

    assert verdicts() == {Status.FAIL}
    with mutated("no-shares"):
        assert verdicts() == {Status.PASS}
    assert verdicts() == {Status.FAIL}


def test_what_the_unit_tests_take_for_declared_is_what_the_catalogue_declares():
    """But for the ports: each fault was measured on some of its own."""
    known = {one["fault"]: one for one in json.loads(DECLARED.read_text(encoding="ascii"))}
    assert {*known} == {one.name for one in FAULTS}
    for one in FAULTS:
        said = known[one.name]
        expected = declared_of(one, whole_switch())
        assert {**said, "port": "", "says": re.sub(r"Ethernet\d+", "", said["says"])} == {
            **expected, "port": "", "says": re.sub(r"Ethernet\d+", "", expected["says"])}, one.name
