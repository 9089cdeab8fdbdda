"""What a pytest session of the qualification ends with."""

import io
import json
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, LOSSY as LOSSY_CASE, SEVERAL_LOSSLESS, SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.evidence.files import EvidenceFiles
from tests.common.pfc.evidence.recorder import EvidenceRecorder
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.preflight import know_timing
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.model.qos import read_port_qos
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.errors import RecordError, RecordsUnwritable
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from tests.common.pfc.remarks.option import remarks
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_generator_timing import InexactClock
from tests.snappi_tests.pfc.qualification.files.deliberate_faults import FaultNoting
from tests.snappi_tests.pfc.qualification.files.delivery import Delivering
from tests.snappi_tests.pfc.qualification.files.session import TARGET_PARAMETER, Session, read_target, write_target
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY, keep_each
from tests.snappi_tests.pfc.qualification.files.summary import Summing, write_summary

PORTS = [
    ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000),
]
STATE = Dut(FakeHost(FakeWorld())).state()
REMARK = "; ".join(remarks(STATE.config_db, read_port_qos(STATE.config_db, DEVICE, "Ethernet0")))


PROVENANCE = {"operator": "ada", "serial": "", "ports": ["Ethernet0"]}
"""What a run of these tests says of where it comes from."""


def left_out(run):
    """What a run says of what its verdicts do not speak for, beside where they come from."""
    assert run.info.items() >= PROVENANCE.items(), run.info
    return {name: value for name, value in run.info.items() if name not in PROVENANCE}


class Item:
    """A collected pytest item."""

    def __init__(self, priority, case=SINGLE_LOSSLESS):
        self.case = case
        self.nodeid = f"{case.name}[{DEVICE}|{priority}]"
        self.callspec = SimpleNamespace(params={TARGET_PARAMETER: f"{DEVICE}|{priority}"})

    def get_closest_marker(self, name):
        """The marker with the test case."""
        return SimpleNamespace(args=(self.case,)) if name == "pfc_case" else None


def ids_without(*plan_ids):
    """The plan ids of all other test cases, as the report has them."""
    return ", ".join(case.plan_id for case in port_cases() if case.plan_id not in plan_ids)


class Terminal(io.StringIO):
    """pytest's terminal reporter."""

    def section(self, title):
        """A heading."""
        self.write(f"{title}\n")

    def write_line(self, line, **markup):
        """A line."""
        self.write(f"{line}\n")


class Reporting:
    """The reporting part: it takes what it is given, and notes it."""

    def __init__(self, stored=True, refusal=None):
        self.stored, self.refusal = stored, refusal
        self.runs, self.delivered, self.reported = [], [], []

    def RunDelivery(self, folder, say):
        """The databases of a run."""
        return self

    def catch_up(self):
        """A run begins that was there before."""

    def deliver(self, run, records):
        """A run as it is now, and new records."""
        self.runs.append(run)
        self.delivered += records

    def finish(self, run, ended, unspooled):
        """The run ends."""
        self.runs.append(ended)
        return self.stored

    def provenance(self, subjects, serial, watched):
        assert all(watched(subject.qos) for subject in subjects), "the watchdog watches priorities of each port"
        return {"operator": "ada", "serial": serial, "ports": [subject.pair.rx.port for subject in subjects]}

    def write_page(self, folder, run_id, is_stored):
        """The run has a page."""
        (folder / "report.html").write_text(run_id)

    def report_final_metrics(self, run, verdicts, builds):
        """The verdicts go through SONiC's interface."""
        if self.refusal is not None:
            raise self.refusal
        self.reported = [(one.device, one.port, one.metric_name, one.status.value, builds[one.device])
                         for one in verdicts]


class SwitchOfOne(FakeHost):
    """A switch that a session can take and put back."""

    def __init__(self):
        super().__init__(FakeWorld())

    def _answer(self, command):
        """Commands that change something succeed, and print nothing."""
        try:
            return super()._answer(command)
        except AssertionError:
            return ""


@pytest.fixture
def reporting():
    """The reporting part of the session."""
    return Reporting()


def with_delivery(folder, reporting, missing=""):
    """A session that delivers its run."""
    ours = Session("run-1", str(folder))
    ours.ask([FaultNoting(ours, {}.get), Delivering(ours, {}.get, reporting, missing), Summing(ours, {}.get)], [])
    return ours


@pytest.fixture
def session(tmp_path, reporting):
    """A session with two items."""
    ours = with_delivery(tmp_path, reporting)
    ours.use(plan_port(Dut(FakeHost(FakeWorld())), PORTS, None, None))
    ours.begin([Item(3), Item(4)], "vtb-t0")
    return ours


def keep(session, priority, status=Status.PASS, evidence=None):
    """An item ends with a verdict in each metric."""
    where = f"{DEVICE} Ethernet0 priority {priority}"
    verdicts = [
        PortVerdict(DEVICE, "Ethernet0", priority, metric, [Check("resumed", metric, status, "all frames", 7, where)])
        for metric in (LOSSLESS, LOSSY)
    ]
    return session.keep(Item(priority).nodeid, Outcome(SINGLE_LOSSLESS, verdicts, evidence or {}))


def summary(session):
    """What is printed at the end."""
    terminal = Terminal()
    write_summary(terminal, session)
    return terminal.getvalue()


class Interrupted:
    """A qualifier of the session's port that is interrupted at its second target."""

    def __init__(self, plan):
        self.lab = SimpleNamespace(subject=plan.subject)
        self.asked = []

    def qualify(self, case, target):
        """PASS of the first one."""
        self.asked.append(target)
        if len(self.asked) == 2:
            raise KeyboardInterrupt
        where = f"{DEVICE} Ethernet0 priority {target[0]}"
        return Outcome(case, [PortVerdict(DEVICE, "Ethernet0", *target, metric, [
            Check("resumed", metric, Status.PASS, "all frames", 7, where)]) for metric in (LOSSLESS, LOSSY)], {})


def test_targets_of_an_item_that_are_not_reached_are_no_pass(session):
    """In a sonic-mgmt tree one item has all targets of a test case."""
    request = SimpleNamespace(node=SimpleNamespace(nodeid=Item(3).nodeid),
                              config=SimpleNamespace(stash={SESSION_KEY: session}))
    with pytest.raises(KeyboardInterrupt):
        keep_each(request, Interrupted(session.plan), SINGLE_LOSSLESS, [(3,), (4,), (5,)])
    keep(session, 4)
    found = [(one.priority, one.status) for one in session.verdicts_of(Item(3).nodeid) if one.metric_name == LOSSLESS]
    assert found == [(3, Status.PASS), (4, Status.ERROR), (5, Status.ERROR)], found
    assert not session.finish(), "what was not measured is not PASS"


def test_a_folder_that_has_records_is_refused(session, tmp_path):
    """A new run has a folder of its own."""
    keep(session, 3)
    with pytest.raises(RecordsUnwritable, match="has the records of a run: name another folder"):
        Session("run-2", str(tmp_path)).begin([Item(3)], "vtb-t0")


def test_everything_passed(session, reporting):
    """Exit status 0 is for this only; records carry what the switch is."""
    keep(session, 3)
    keep(session, 4)
    assert session.finish(), session.collector.metric_verdicts()
    run = reporting.runs[0]
    assert (run.run_id, run.testbed, run.finished) == ("run-1", "vtb-t0", None), run
    assert left_out(run) == {"ip_version": "4", "remarks": REMARK, "plan_ids_not_selected": ids_without("PFC-1")}, run
    assert run.expected == ((DEVICE, "Ethernet0", LOSSLESS), (DEVICE, "Ethernet0", LOSSY)), run
    assert reporting.runs[-1].finished is not None, reporting.runs[-1]
    records = [json.loads(line) for line in (session.folder / "records.jsonl").read_text().splitlines()]
    assert {(record["testbed"], record["hwsku"], record["os_version"]) for record in records} == {
        ("vtb-t0", "Arista-7060CX-32S-C32", "SONiC.20260831.01")
    }, records
    assert "pfc.lossless  PASS" in summary(session), summary(session)
    assert f"note: {REMARK}\n" in summary(session), summary(session)


def test_one_failure(session):
    """It is named once, with both metrics."""
    keep(session, 3)
    keep(session, 4, Status.FAIL)
    assert not session.finish(), "a FAIL is not PASS"
    expected = f"FAIL PFC-1 pfc.lossless, pfc.lossy: {DEVICE} Ethernet0 priority 4: expected all frames, got 7\n"
    assert summary(session).count(expected) == 1, summary(session)


def test_an_item_that_broke(session):
    """Its own cause is the cause of the ERROR, and it is recorded."""
    keep(session, 3)
    session.broken(Item(4).nodeid, "the switch went away")
    session.broken(Item(4).nodeid, "teardown broke too")
    session.broken("another test", "unrelated")
    assert not session.finish(), "an ERROR is not PASS"
    assert "ERROR PFC-1 pfc.lossless, pfc.lossy: the switch went away" in summary(session), summary(session)
    last = json.loads((session.folder / "records.jsonl").read_text().splitlines()[-1])
    assert (last["priority"], last["status"], last["cause"]) == (4, "ERROR", "the switch went away"), last


BROKEN = {"conf-name": "vtb-t0", "faults": ["lossy-queue-paused@Ethernet0", "pause-leaks"]}


def faults_in(folder):
    """What the run and each of its records say was broken on purpose."""
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return json.loads((folder / "run.json").read_text())["faults"], [record["faults"] for record in records]


def test_nothing_is_broken_on_purpose_unless_the_testbed_says_so(session):
    """The summary has no line for it."""
    session.on_testbed({"conf-name": "vtb-t0"})
    keep(session, 3)
    assert faults_in(session.folder) == ([], [[], []]), faults_in(session.folder)
    assert "deliberately broken" not in summary(session), summary(session)


def test_what_is_broken_on_purpose_is_in_the_run_before_anything_is_measured(tmp_path, reporting):
    """And in each record, above the table, and in the databases."""
    ours = with_delivery(tmp_path, reporting)
    ours.use(plan_port(Dut(FakeHost(FakeWorld())), PORTS, None, None))
    ours.on_testbed(BROKEN)
    ours.begin([Item(3), Item(4)], "vtb-t0")
    assert faults_in(tmp_path) == (BROKEN["faults"], []), faults_in(tmp_path)
    keep(ours, 3)
    ours.broken(Item(4).nodeid, "the switch went away")
    ours.finish()
    assert faults_in(tmp_path) == (BROKEN["faults"], [BROKEN["faults"]] * 4), faults_in(tmp_path)
    assert reporting.runs[0].faults == reporting.runs[-1].faults == tuple(BROKEN["faults"]), reporting.runs
    lines = summary(ours).splitlines()
    assert lines[:2] == ["PFC verdicts", "deliberately broken: lossy-queue-paused@Ethernet0, pause-leaks"], lines


@pytest.mark.parametrize("is_announced", [True, False])
def test_what_is_broken_on_purpose_may_be_known_only_when_tests_run(tmp_path, reporting, is_announced):
    """As in a sonic-mgmt tree: the run says it from then on, and every record."""
    ours = with_delivery(tmp_path, reporting)
    ours.begin([Item(3), Item(4)], "vtb-t0")
    assert faults_in(tmp_path) == ([], []), faults_in(tmp_path)
    if is_announced:
        ours.use(plan_port(Dut(FakeHost(FakeWorld())), PORTS, None, None))
    ours.on_testbed(BROKEN)
    assert faults_in(tmp_path) == (BROKEN["faults"], []), faults_in(tmp_path)
    keep(ours, 3)
    ours.finish()
    assert faults_in(tmp_path) == (BROKEN["faults"], [BROKEN["faults"]] * 4), faults_in(tmp_path)


@pytest.mark.parametrize("faults", ["pause-ignored", [1], {"a": "b"}])
def test_faults_that_are_no_texts_are_refused(tmp_path, faults):
    """In one sentence, with what would be right."""
    with pytest.raises(QualificationError, match=r"^testbed lab: faults is .*; it must be a list of what is broken"):
        with_delivery(tmp_path, None).on_testbed({"conf-name": "lab", "faults": faults})


def test_a_clean_up_that_broke(session):
    """The verdicts stay, and what was not put back is told beside them."""
    keep(session, 3)
    keep(session, 4)
    session.broken(Item(4).nodeid, "the watchdog is not put back yet", after=True)
    assert session.collector.all_passed(), session.collector.metric_verdicts()
    assert "note: clean-up: the watchdog is not put back yet\n" in summary(session), summary(session)


def test_an_item_that_never_ran(session):
    """Ctrl-C: what was planned and not measured is ERROR."""
    keep(session, 3)
    assert not session.finish(), "an item that never ran is not PASS"
    assert f"{DEVICE} Ethernet0 priority 4: the run ended before it was measured" in summary(session), summary(session)


def test_verdicts_that_were_not_kept(session, reporting):
    """Are not PASS: nobody will find them."""
    keep(session, 3)
    keep(session, 4)
    reporting.stored = False
    assert not session.finish(), "a verdict that was not stored is not PASS"


def test_records_are_handed_on_as_they_were_made(session, reporting):
    """The databases get what the file has, in the same order: also of an item that broke, and one that never ran."""
    keep(session, 3)
    session.broken(Item(4).nodeid, "the switch went away")
    session.finish()
    lines = [json.loads(line) for line in (session.folder / "records.jsonl").read_text().splitlines()]
    assert [record.document() for record in reporting.delivered] == lines, reporting.delivered
    assert [line["status"] for line in lines] == ["PASS", "PASS", "ERROR", "ERROR"], lines


def test_what_is_expected_is_in_the_runs_file_before_anything_is_measured(session):
    """A run that is killed is ERROR for what it did not get to."""
    run = json.loads((session.folder / "run.json").read_text())
    assert run["expected"] == [[DEVICE, "Ethernet0", LOSSLESS], [DEVICE, "Ethernet0", LOSSY]], run
    assert run["finished"] is None, run


def test_verdicts_go_through_the_final_metrics_reporter(session, reporting):
    """One of each device, port and metric, with the build."""
    keep(session, 3)
    keep(session, 4, Status.FAIL)
    session.finish()
    build = "SONiC.20260831.01"
    assert reporting.reported == [
        (DEVICE, "Ethernet0", LOSSLESS, "FAIL", build), (DEVICE, "Ethernet0", LOSSY, "FAIL", build)], reporting.reported


@pytest.mark.parametrize(("refusal", "is_pass", "note"), [
    (RecordError("2 metrics were not stored"), False, "final metrics: 2 metrics were not stored"),
    (ModuleNotFoundError("no", name="metrics"), True,
     "verdicts are not reported as final metrics: metrics is not installed here")])
def test_final_metrics_that_nothing_takes(session, reporting, refusal, is_pass, note):
    """Are lost, and the user is told; where the interface is not installed the records have the verdicts."""
    reporting.refusal = refusal
    keep(session, 3)
    keep(session, 4)
    assert session.finish() is is_pass, session.notes
    assert f"note: {note}\n" in summary(session), summary(session)


def test_a_priority_that_was_not_selected_is_named(tmp_path, reporting):
    """The verdicts do not speak for it, on the screen and in the report."""
    ours = with_delivery(tmp_path, reporting)
    ours.use(plan_port(Dut(FakeHost(FakeWorld())), PORTS, None, None))
    ours.begin([Item(3)], "vtb-t0")
    assert reporting.runs[0].info["lossless_priorities_not_selected"] == "4", reporting.runs[0]
    expected = f"the verdicts do not speak for {DEVICE} Ethernet0 priority 4: lossless, but not selected"
    assert expected in summary(ours), summary(ours)


def test_a_full_disk_is_not_pass(session):
    """The verdicts stand, the records are lost, and the user is told once."""
    path = session.folder / "records.jsonl"
    path.unlink()
    path.mkdir()
    keep(session, 3)
    keep(session, 4)
    assert not session.finish(), "a verdict whose record is lost is not PASS"
    assert summary(session).count("records.jsonl cannot be written: Is a directory") == 1, summary(session)


def test_evidence_that_is_lost_is_not_pass(session):
    """As records that are; the user is told once."""
    keep(session, 3)
    (session.folder / "evidence").write_text("a file where the folder belongs")
    session.take({DEVICE: SwitchOfOne()})
    session.put_back()
    keep(session, 4)
    assert session.collector.all_passed(), session.collector.metric_verdicts()
    assert not session.finish(), "a run whose evidence is lost is not PASS"
    sentence = f"note: the evidence {session.folder}/evidence cannot be written: File exists\n"
    assert summary(session).count(sentence) == 1, summary(session)


@pytest.mark.parametrize(("status", "expected"), [(Status.PASS, Status.ERROR), (Status.FAIL, Status.FAIL)])
def test_a_verdict_whose_evidence_is_lost_is_not_pass(session, status, expected):
    """Nobody could defend it. What failed has failed; where other evidence is too large, nothing changes."""
    lost = "the evidence cannot be written: No space left on device"
    session._observers.append(SimpleNamespace(lost=lambda: [lost], notes=lambda: []))
    keep(session, 3, evidence={"files_missing": ["too large", lost]}, status=status)
    keep(session, 4, evidence={"files_missing": ["too large"]})
    records = [json.loads(line) for line in (session.folder / "records.jsonl").read_text().splitlines()]
    assert [record["status"] for record in records] == [expected.value] * 2 + ["PASS"] * 2, records
    if expected is Status.ERROR:
        assert records[0]["cause"] == lost and records[0]["checks"], records[0]
    assert not session.finish(), "a run whose evidence is lost is not PASS"


def test_evidence_that_is_too_large_is_noted(session):
    """It is left out, which takes nothing from the verdicts."""
    files = EvidenceFiles(session.folder, most_bytes_of_a_file=10)
    session._observers.append(EvidenceRecorder(files))
    files.section("SENT-2").keep("capture", ".pcap", b"x" * 11)
    keep(session, 3)
    keep(session, 4)
    assert session.finish(), session.collector.metric_verdicts()
    assert "note: evidence: SENT-2 capture is not kept: it has 11 bytes, a file may have 10\n" in summary(session), \
        summary(session)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    """Before anything runs."""
    (tmp_path / "results").write_text("a file where the folder belongs")
    with pytest.raises(RecordsUnwritable, match="results/records.jsonl cannot be written: File exists"):
        Session("run-1", str(tmp_path / "results")).begin([Item(3)], "vtb-t0")


def test_without_a_reporting_part(tmp_path):
    """The records are there, and the user is told."""
    ours = with_delivery(tmp_path, None, "sqlalchemy")
    ours.begin([], "vtb-t0")
    assert ours.notes == ["verdicts are in the records only: sqlalchemy is not installed here"], ours.notes
    assert "nothing was measured" in summary(ours), summary(ours)
    assert not ours.finish(), "nothing measured is not PASS"


def test_cases_that_were_not_selected_are_named(tmp_path, reporting):
    """The verdicts do not speak for them, on the screen and in the report; a whole port leaves no priority out."""
    ours = with_delivery(tmp_path, reporting)
    ours.use(plan_port(Dut(FakeHost(FakeWorld())), PORTS, None, None))
    ours.begin([Item("0,1", LOSSY_CASE), Item("all", GLOBAL_PAUSE)], "vtb-t0")
    assert left_out(reporting.runs[0]) == {
        "ip_version": "4",
        "remarks": REMARK,
        "plan_ids_not_selected": ids_without("PFC-3", "PFC-4"),
    }, reporting.runs[0]
    expected = "do not speak for PFC-1 (pause-lossless-single), PFC-2 (pause-lossless-several)"
    assert expected in summary(ours), summary(ours)
    assert [one.target for one in ours.collector.planned] == [(0, 1), ()], ours.collector.planned
    ours.finish()
    records = [json.loads(line) for line in (ours.folder / "records.jsonl").read_text().splitlines()]
    assert [(record["plan_id"], record["priority"]) for record in records] == [
        ("PFC-3", 0), ("PFC-3", 0), ("PFC-3", 1), ("PFC-3", 1), ("PFC-4", None), ("PFC-4", None),
    ], records
    expected = f"{DEVICE} Ethernet0 priorities 0, 1: the run ended before it was measured"
    assert records[0]["cause"] == expected, records[0]


def test_a_port_that_is_known_only_later(tmp_path):
    """As in a sonic-mgmt tree: the item has verdicts although it did not say which port it is about."""
    ours = Session("run-1", str(tmp_path))
    item = Item(3)
    ours.begin([item], "vtb-t0")
    keep(ours, 3)
    assert ours.finish(), ours.collector.metric_verdicts()


def test_an_item_that_is_about_nothing_on_the_port(tmp_path):
    """It owes no verdict, and is no PASS either."""
    ours = Session("run-1", str(tmp_path))
    ours.begin([Item(3), Item("3,4", SEVERAL_LOSSLESS)], "vtb-t0")
    keep(ours, 3)
    ours.impossible(Item("3,4", SEVERAL_LOSSLESS).nodeid, "PFC-2 is not possible here")
    assert ours.finish(), ours.collector.metric_verdicts()
    assert "note: PFC-2 is not possible here\n" in summary(ours), summary(ours)


@pytest.mark.parametrize("target", [(), (3,), (0, 1, 2)])
def test_targets_are_read_as_they_are_written(target):
    """In the parameters of test items."""
    assert read_target(write_target(DEVICE, target)) == target, write_target(DEVICE, target)


@pytest.mark.parametrize(("devices", "device"), [
    ([DEVICE], DEVICE), (["other", DEVICE], DEVICE), (["other"], "other"), (["other", "third"], "other"),
])
def test_the_switch_is_measured_that_items_were_written_for(tmp_path, devices, device):
    """Those of sonic-mgmt's priority file; of several switches it need not be the first."""
    assert Session("run-1", str(tmp_path)).device([Item(3), Item(4)], devices) == device, devices


@pytest.mark.parametrize("learned", [False, True])
def test_the_next_modules_generator_knows_what_the_first_preflight_learned(tmp_path, learned):
    """How late it is holds for the traffic generators, whichever object speaks to them."""
    ours = Session("run-1", str(tmp_path))
    assert ours.timing is None, "nothing was measured"
    plan = plan_port(Dut(FakeHost(FakeWorld())), PORTS, "Ethernet0", None)
    world = FakeWorld()
    first = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), InexactClock(world), timing=ours.timing)
    ours.qualifier(first)
    if learned:
        know_timing(first)
    later = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), InexactClock(world), timing=ours.timing)
    assert later.generator.is_timed is learned, "else its preflight measures it"
    assert later.generator.timing == first.generator.timing, later.generator.timing
    assert ours.qualifier(later).lab is later, later
