"""The files behind verdicts: named in the records, stored once, bounded, and never lost in silence."""

import errno
import json
import os
import sys

import pytest

from tests.common.pfc.cases.pauses import SEVERAL_LOSSLESS, SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.evidence.files import EvidenceFiles, plain
from tests.common.pfc.evidence.recorder import LEFT_OUT, EvidenceRecorder, without_credentials
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS


def kept(folder):
    """The files below a run's folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_are_numbered_and_stored_once(tmp_path):
    """One that the run has already is named again, in whatever section; names are safe."""
    files = EvidenceFiles(tmp_path)
    first, second = files.section("PFC-1 Ethernet0 3"), files.section("../../../etc/x")
    assert first.keep("traffic", ".json", b"a") == "evidence/0001-PFC-1-Ethernet0-3/traffic-1.json", first.names
    assert first.keep("traffic", ".json", b"b") == "evidence/0001-PFC-1-Ethernet0-3/traffic-2.json", first.names
    assert second.keep("traffic", ".json", b"b") == first.names[1], second.names
    assert second.keep("../passwd", ".txt", b"c") == "evidence/0002-etc-x/passwd-1.txt", second.names
    assert second.keep("own", ".txt", b"a", shared=False) == "evidence/0002-etc-x/own-1.txt", second.names
    assert kept(tmp_path) == {
        "evidence/0001-PFC-1-Ethernet0-3/traffic-1.json": b"a",
        "evidence/0001-PFC-1-Ethernet0-3/traffic-2.json": b"b",
        "evidence/0002-etc-x/passwd-1.txt": b"c",
        "evidence/0002-etc-x/own-1.txt": b"a",
    }, kept(tmp_path)
    assert not files.notes + files.lost + first.lacks + second.lacks, files


@pytest.mark.parametrize(("text", "name"), [
    ("PFC-1 Ethernet0 3,4", "PFC-1-Ethernet0-3-4"), ("..", "unnamed"), ("", "unnamed"), ("a/../b", "a-..-b"),
    ("x" * 300, "x" * 80), ("Ethernet0|\u202e\x00", "Ethernet0"),
])
def test_any_text_becomes_a_file_name(text, name):
    """Without separators, hidden names and the like."""
    assert plain(text) == name, plain(text)


def test_a_run_that_goes_on_overwrites_nothing(tmp_path):
    """What the killed part kept counts: it is named again, and takes of the room that there is."""
    EvidenceFiles(tmp_path).section("PFC-1").keep("traffic", ".json", b"12345")
    (tmp_path / "evidence/0001-PFC-1/.traffic-2.json").write_bytes(b"half a fi")
    files = EvidenceFiles(tmp_path, most_bytes=12)
    section = files.section("PFC-1")
    assert section.keep("traffic", ".json", b"12345") == "evidence/0001-PFC-1/traffic-1.json", section.names
    assert section.keep("traffic", ".json", b"6789") == "evidence/0002-PFC-1/traffic-1.json", section.names
    assert section.keep("traffic", ".json", b"abcd") is None, section.names
    assert files.notes == ["evidence: the run has its 12 bytes, files that go beyond are not kept"], files.notes


def test_what_is_too_large_is_noted(tmp_path):
    """Not in silence: the user is told once, the record each time. Nothing is lost by it."""
    files = EvidenceFiles(tmp_path, most_bytes_of_a_file=4, most_bytes=6)
    section = files.section("SENT-2")
    assert section.keep("capture", ".pcap", b"12345") is None, section.names
    assert section.keep("capture", ".pcap", b"1234") == "evidence/0001-SENT-2/capture-1.pcap", section.names
    assert [section.keep("capture", ".pcap", data) for data in (b"567", b"89a")] == [None, None], section.names
    assert files.notes == [
        "evidence: SENT-2 capture is not kept: it has 5 bytes, a file may have 4",
        "evidence: the run has its 6 bytes, files that go beyond are not kept",
    ], files.notes
    assert section.lacks == [files.notes[0], files.notes[1], files.notes[1]] and not files.lost, section.lacks


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    """No half of a file stays, and once there is room files are kept again."""
    files = EvidenceFiles(tmp_path)
    section = files.section("PFC-1")
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        assert [section.keep("traffic", ".json", data) for data in (b"a", b"b")] == [None, None], section.names
    assert files.lost == [f"the evidence {tmp_path}/evidence cannot be written: No space left on device"], files.lost
    assert section.lacks == files.lost * 2 and not kept(tmp_path), section.lacks
    assert section.keep("traffic", ".json", b"c") is not None, "there is room again"


def test_counters_that_were_lost_are_missing_to_the_next_case_too(tmp_path, monkeypatch):
    """They are the ones before it."""
    recorder = EvidenceRecorder(EvidenceFiles(tmp_path))
    recorder.measurement_started("PFC-1")
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        recorder.commands_run(DEVICE, {"pfc": "show pfc counters"}, {"pfc": "Port Rx"})
    recorder.measurement_started("PFC-2")
    missing = recorder.evidence()["files_missing"]
    assert len(missing) == 1 and missing[0].endswith("No space left on device"), missing


def test_a_name_that_is_taken_is_one_sentence(tmp_path):
    """Something else is called `evidence`."""
    (tmp_path / "evidence").write_text("a file", encoding="utf-8")
    files = EvidenceFiles(tmp_path)
    assert files.section("PFC-1").keep("traffic", ".json", b"a") is None, "it was kept"
    assert files.lost == [f"the evidence {tmp_path}/evidence cannot be written: File exists"], files.lost


def qualifier(folder, **faults):
    """What measures the fake switch, and keeps evidence."""
    world = FakeWorld(**faults)
    dut = Dut(FakeHost(world))
    dut.observers = [EvidenceRecorder(EvidenceFiles(folder))]
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    return Qualifier(open_lab(plan, dut, FakeApi(world), FakeClock(world)))


def names(outcome):
    """The names of its files, without folders and endings."""
    return [name.split("/", 2)[2].rsplit(".", 1)[0] for name in outcome.evidence["files"]]


def test_a_verdict_names_what_was_sent_and_read(tmp_path):
    """The preflight's files and its own; the counters after a test case are those before the next."""
    ours = qualifier(tmp_path)
    first, second = ours.qualify(SINGLE_LOSSLESS, (3,)), ours.qualify(SEVERAL_LOSSLESS, (3, 4))
    before = [f"{DEVICE}-counters-1", "traffic-1", f"{DEVICE}-counters-2"]
    assert names(first) == [*before, "traffic-1", f"{DEVICE}-counters-1", f"{DEVICE}-counters-2"], first.evidence
    assert second.evidence["files"][:4] == [*first.evidence["files"][:3], first.evidence["files"][-1]], second.evidence
    files = kept(tmp_path)
    assert set(first.evidence["files"]) | set(second.evidence["files"]) == set(files), files.keys()
    sent = json.loads(files[first.evidence["files"][3]])
    assert {flow["name"].split(" Ethernet")[0] for flow in sent["flows"]} > {f"Pause Storm {DEVICE}"}, sent
    read = files[first.evidence["files"][-1]].decode()
    assert f"{DEVICE}# show pfc counters\n" in read and "PFC7" in read, read
    assert "files_missing" not in first.evidence, first.evidence


def test_a_run_that_broke_off_keeps_what_there_was(tmp_path):
    """What the generator refused, and what the switch said when a command failed."""
    ours = qualifier(tmp_path)
    ours.qualify(SINGLE_LOSSLESS, (3,))
    ours.lab.dut.host.answers["show pfc counters"] = ("permission denied", 13)
    outcome = ours.qualify(SINGLE_LOSSLESS, (4,))
    assert {verdict.status for verdict in outcome.verdicts} == {Status.ERROR}, outcome
    last = kept(tmp_path)[outcome.evidence["files"][-1]].decode()
    assert "show pfc counters\npermission denied\nexit status 13\n" in last, last
    ours = qualifier(tmp_path, refuses="speed not supported")
    outcome = ours.qualify(SINGLE_LOSSLESS, (3,))
    assert "speed not supported" in outcome.verdicts[0].cause and "traffic-1" in names(outcome), outcome.evidence


def test_the_record_says_what_is_missing(tmp_path):
    """The verdict stands, its evidence is incomplete."""
    (tmp_path / "evidence").write_text("a file", encoding="utf-8")
    outcome = qualifier(tmp_path).qualify(SINGLE_LOSSLESS, (3,))
    assert {verdict.status for verdict in outcome.verdicts} == {Status.PASS}, outcome
    assert "files" not in outcome.evidence, outcome.evidence
    sentence = f"the evidence {tmp_path}/evidence cannot be written: File exists"
    assert outcome.evidence["files_missing"] == [sentence], outcome.evidence


def test_a_traffic_configuration_that_cannot_be_written_is_missing(tmp_path):
    """In one sentence, and the run goes on."""

    class Unwritable:
        """A configuration that snappi refuses."""

        def serialize(self):
            """As snappi does."""
            raise ValueError("no such speed")

    recorder = EvidenceRecorder(EvidenceFiles(tmp_path))
    recorder.measurement_started("PFC-1")
    recorder.traffic_pushed([], Unwritable(), 0.0)
    lack = "a traffic configuration is not kept, snappi cannot write it: no such speed"
    assert recorder.evidence() == {"files_missing": [lack]}, recorder.evidence()


def test_configurations_have_no_credentials(tmp_path):
    """Whatever table they are in; before and after are two files though nothing has changed."""
    config_db = {
        "TACPLUS": {"global": {"passkey": "hunter2", "auth_type": "pap"}},
        "RADIUS_SERVER": {"10.0.0.1": {"passkey": "hunter2"}},
        "SNMP_COMMUNITY": {"hunter2": {"TYPE": "RO"}},
        "NTP_KEY": {"1": {"type": "md5", "value": "hunter2"}},
        "BGP_NEIGHBOR": {"10.0.0.2": {"auth_password": "hunter2", "name": "T1"}},
        "LDAP": {"global": {"bind_password": "hunter2"}},
        "PORT": {"Ethernet0": {"speed": "100000", "lanes": ["1", "2"]}},
    }
    recorder = EvidenceRecorder(EvidenceFiles(tmp_path))
    for moment in ("before", "after"):
        recorder.configuration_read(DEVICE, moment, config_db)
    files = kept(tmp_path)
    names_of_both = [f"evidence/0001-session/{DEVICE}-configuration-{moment}-1.json" for moment in ("after", "before")]
    assert sorted(files) == names_of_both, files.keys()
    for text in files.values():
        assert b"hunter2" not in text and LEFT_OUT.encode() in text, text
        found = json.loads(text)
        assert found["PORT"] == config_db["PORT"] and found["TACPLUS"]["global"]["auth_type"] == "pap", found
        assert found["BGP_NEIGHBOR"]["10.0.0.2"]["name"] == "T1", found


@pytest.mark.parametrize("field", [
    "authentication-key", "authentication-md5-key", "authentication_key", "auth_key", "md5key", "key-string",
    "key_string", "token", "hmac-sha-256", "private_key", "pre_shared_key", "passphrase", "primary_cak",
])
def test_fields_with_credentials_are_left_out(field):
    """However their table is called."""
    assert without_credentials({"T": {"a": {field: "hunter2"}}}) == {"T": {"a": {field: LEFT_OUT}}}, field


@pytest.mark.parametrize("field", [
    "key_id", "key-id", "authentication-key-id", "auth_type", "authentication", "primary_ckn", "speed",
])
def test_other_fields_are_kept(field):
    """What names a credential is none."""
    assert without_credentials({"T": {"a": {field: "7"}}}) == {"T": {"a": {field: "7"}}}, field


@pytest.mark.parametrize(("printed", "kept_of_it"), [
    ('{"RADIUS": {"global": {"passkey": "hunter2", "timeout": "5"}}}', '"timeout": "5"'),
    ('error: {"passkey": "hunter2"}', "left out: no JSON, so it may have credentials"),
])
def test_commands_that_print_the_configuration_show_no_credentials(tmp_path, printed, kept_of_it):
    """Some test cases read it once more."""
    host = FakeHost(FakeWorld())
    host.answers["sonic-cfggen -d --print-data"] = (printed, 0)
    dut = Dut(host)
    dut.observers = [EvidenceRecorder(EvidenceFiles(tmp_path))]
    dut.observers[0].measurement_started("LSET-1")
    assert dut.ask({"config": "sonic-cfggen -d --print-data"}) == {"config": printed}, "the suite gets what was printed"
    text, = kept(tmp_path).values()
    assert b"hunter2" not in text and kept_of_it.encode() in text, text


def test_versions_are_kept_once(tmp_path):
    """Of Python, of this suite and of every package."""
    recorder = EvidenceRecorder(EvidenceFiles(tmp_path))
    recorder.session_started()
    recorder.session_started()
    text, = kept(tmp_path).values()
    lines = text.decode().splitlines()
    assert lines[0].startswith("sonic-mgmt-pfc ") and f"Python {sys.version.split()[0]}" in lines[1], lines
    assert any(line.startswith("snappi==") for line in lines), lines


class OneTable(FakeHost):
    """A switch that takes what a journal asks for, and has the same configuration all the time."""

    def _answer(self, command):
        """Every other command succeeds and prints nothing."""
        try:
            return super()._answer(command)
        except AssertionError:
            return ""


def test_the_configuration_is_read_before_and_after(tmp_path):
    """By the commands with which the journal takes the switch and puts it back: no further ones."""
    plain_host, host = OneTable(FakeWorld()), OneTable(FakeWorld())
    with SwitchRestorer(plain_host, "run-1").watchdog_stopped():
        pass
    with SwitchRestorer(host, "run-1", observers=[EvidenceRecorder(EvidenceFiles(tmp_path))]).watchdog_stopped():
        assert len(kept(tmp_path)) == 1, kept(tmp_path).keys()
    assert len(kept(tmp_path)) == 2, kept(tmp_path).keys()
    assert len(host.calls) == len(plain_host.calls), host.calls
    for text in kept(tmp_path).values():
        assert json.loads(text) == host._world.config_db, text


def test_a_switch_that_does_not_come_back_is_an_error_all_the_same(tmp_path):
    """What it had then is evidence."""
    host = OneTable(FakeWorld())
    with pytest.raises(QualificationError, match="is not as it was found"):
        with SwitchRestorer(host, "run-1", observers=[EvidenceRecorder(EvidenceFiles(tmp_path))]).watchdog_stopped():
            host._world.config_db["PFC_WD"] = {}
    after = next(text for name, text in kept(tmp_path).items() if "after" in name)
    assert json.loads(after)["PFC_WD"] == {}, after
