"""A run as one file to be given away: all that its verdicts rest on, the same bytes each time, and what changes in it
is found."""
from __future__ import annotations

import os
import resource
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from test_reporting.pfc import bundle, bundle_texts
from test_reporting.pfc.cli import main
from test_reporting.pfc.errors import SpoolError
from test_reporting.pfc.listener import Listener
from test_reporting.tests.samples import RUN, RUN_ID, verdict

CAPTURE = "evidence/0002-SENT-1/capture-1.pcap"
VERSIONS = "evidence/0001-session/versions-1.txt"


@pytest.fixture
def folder(database):
    """The folder of a finished run with evidence."""
    return make_run(database.parent / RUN_ID, verdict(1, evidence={"files": [VERSIONS, CAPTURE]}),
                    verdict(2, "FAIL", port_id="Ethernet8", cause="12 frames leaked", on_behalf_of="t1-01"))


def make_run(folder: Path, *records, finish=True, **fields):
    for name, content in ((VERSIONS, b"snappi==1.62.0\n"), (CAPTURE, b"\xd4\xc3\xb2\xa1" + bytes(100_000))):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "junit.xml").write_text("<testsuites/>", encoding="utf-8")
    (folder / "deploy.log").write_text("PLAY RECAP\n", encoding="utf-8")
    listener = Listener(folder)
    listener.start({**RUN, "software_version": "sonic-mgmt-pfc 0.1.0", **fields})
    listener.record_all([{**record, "run_id": fields.get("run_id", RUN_ID)} for record in records])
    if finish:
        listener.finish()
    return folder


@pytest.fixture
def packed(folder, tmp_path, capsys):
    """A bundle of that run."""
    path = tmp_path / "out.zip"
    assert main(["bundle", RUN_ID, "--output", str(path)]) == 0
    return path


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, change):
    """The same zip file after `change` of its contents, a list of names and contents."""
    found = change(list(contents(path).items()))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in found:
            archive.writestr(name, content)


def test_a_bundle_has_every_file_and_what_they_say(packed, folder, capsys):
    found = contents(packed)
    assert list(found) == [f"{RUN_ID}/{name}" for name in (
        "SUMMARY.txt", "VERSIONS.txt", "deploy.log", VERSIONS, CAPTURE, "junit.xml", "records.jsonl", "run.json",
        "SHA256SUMS")]
    for name in ("records.jsonl", "run.json", "junit.xml", "deploy.log", CAPTURE):
        assert found[f"{RUN_ID}/{name}"] == (folder / name).read_bytes()
    summary = found[f"{RUN_ID}/SUMMARY.txt"].decode()
    assert summary.startswith(f"run {RUN_ID} on vtb-t0\nstarted 2026-01-31 13:00:00 UTC\nfinished ")
    assert "verdict: FAIL: 12 frames leaked" in summary and "│ Ethernet8 │ 3" in summary
    assert found[f"{RUN_ID}/VERSIONS.txt"].decode().splitlines()[:4] == [
        "measured by: sonic-mgmt-pfc 0.1.0", "switch vtb-t0-01: SONiC.20260101, Arista-7060CX-32S-C32",
        "switch vtb-t0-01: SONiC.20260101, Arista-7060CX-32S-C32, on behalf of t1-01",
        f"Python and its packages: {VERSIONS}"]


def test_others_can_check_it(packed, tmp_path):
    shutil.unpack_archive(packed, tmp_path / "there")
    done = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / "there" / RUN_ID,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count(": OK\n") == 8, done


def test_the_same_run_gives_the_same_bytes(packed, folder, tmp_path, capsys):
    assert main(["bundle", "--output", str(tmp_path / "again.zip")]) == 0  # the latest one
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()
    assert f"8 files, {packed.stat().st_size} bytes, SHA-256 " in capsys.readouterr().out
    with zipfile.ZipFile(packed) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_nothing_is_overwritten_unless_asked(packed, folder, capsys):
    packed.write_bytes(b"something else")
    assert main(["bundle", RUN_ID, "--output", str(packed)]) == 3
    assert packed.read_bytes() == b"something else"
    assert capsys.readouterr().err == (f"error: {packed} is there already; --overwrite replaces it, --output names "
                                       "another one\n")
    assert main(["bundle", RUN_ID, "--output", str(packed), "--overwrite"]) == 0
    assert main(["bundle", "--check", str(packed)]) == 0


@pytest.mark.parametrize("change, sentence", [
    (lambda found: [(name, content.replace(b"PASS", b"FAIL")) for name, content in found], "records.jsonl is changed"),
    (lambda found: [one for one in found if not one[0].endswith(".pcap")], f"{CAPTURE} is missing"),
    (lambda found: [*found, (f"{RUN_ID}/evidence/more.txt", b"")], f"{RUN_ID}/evidence/more.txt is not listed in "),
    (lambda found: [*found, ("../../etc/cron.d/x", b"")], "../../etc/cron.d/x has a name that leads elsewhere"),
    (lambda found: [*found, ("/etc/cron.d/x", b"")], "/etc/cron.d/x has a name that leads elsewhere"),
    (lambda found: [*found, (f"{RUN_ID}/../x", b"")], f"{RUN_ID}/../x has a name that leads elsewhere"),
    (lambda found: [(name, content.replace(b"0", b"1", 1) if name.endswith("SUMS") else content)
                    for name, content in found], " is changed"),
])
def test_what_is_changed_missing_or_extra_is_named(packed, capsys, change, sentence):
    rewrite(packed, change)
    assert main(["bundle", "--check", str(packed)]) == 1
    said = capsys.readouterr().err
    assert f"error: {packed}: " in said and sentence in said


def test_a_file_that_is_there_twice_is_named(packed, capsys):
    with pytest.warns(UserWarning, match="Duplicate name"):
        rewrite(packed, lambda found: [*found, (f"{RUN_ID}/run.json", b"{}")])
    assert main(["bundle", "--check", str(packed)]) == 1
    assert f"{RUN_ID}/run.json is there 2 times" in capsys.readouterr().err


def test_every_byte_counts(packed, capsys):
    """A bit of the data of a file is another: it is named, or the whole is no bundle any more."""
    whole = packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        places = [info.header_offset + 30 + len(info.filename) + len(info.extra or b"") + 25
                  for info in archive.infolist() if info.compress_size > 40]
    assert len(places) > 4
    for place in places:
        packed.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1:])
        assert main(["bundle", "--check", str(packed)]) in (1, 3)
    packed.write_bytes(whole)
    assert main(["bundle", "--check", str(packed)]) == 0


@pytest.mark.parametrize("content, sentence", [
    (b"not a zip file", "is no bundle: File is not a zip file"),
    (None, "cannot be read: No such file or directory"),
    ({"a/b.txt": b""}, "is no bundle: it has no SHA256SUMS in a folder, expected one"),
    ({"a/SHA256SUMS": b"", "b/SHA256SUMS": b""}, "is no bundle: it has 2 SHA256SUMS in a folder, expected one"),
    ({"a/SHA256SUMS": b"rubbish"}, "SHA256SUMS cannot be read, so nothing can be compared: line 1 is no digest"),
])
def test_what_is_no_bundle_is_refused(tmp_path, capsys, content, sentence):
    path = tmp_path / "x.zip"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
    assert main(["bundle", "--check", str(path)]) == 3
    assert f"{path}{':' if 'nothing can' in sentence else ''} {sentence}" in capsys.readouterr().err


@pytest.mark.parametrize("also", [[RUN_ID], ["--output", "y.zip"], ["--results", "results"], ["--overwrite"]])
def test_a_bundle_is_checked_and_nothing_else(packed, capsys, also):
    assert main(["bundle", "--check", str(packed), *also]) == 3
    assert "error: bundle --check takes the name of a bundle and nothing else" in capsys.readouterr().err


def test_a_run_whose_folder_is_gone_is_refused(folder, tmp_path, capsys):
    shutil.move(folder, tmp_path / "elsewhere" / RUN_ID)
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "x.zip")]) == 3
    assert capsys.readouterr().err == (
        f"error: the database has run '{RUN_ID}', but its folder is not below {folder.parent}, and a bundle is made of "
        "its files; --results names the folder that holds the runs' folders\n")
    assert not (tmp_path / "x.zip").exists()
    assert main(["bundle", RUN_ID, "--results", str(tmp_path / "elsewhere"), "--output", str(tmp_path / "x.zip")]) == 0


def test_a_run_that_nobody_knows_is_refused(folder, capsys):
    assert main(["bundle", "20200101T000000Z-1"]) == 3
    assert "the database has no run '20200101T000000Z-1'; the latest are" in capsys.readouterr().err


def test_a_folder_is_enough(folder, tmp_path, database, capsys):
    """No database is asked for a run whose folder is found, whatever that is called."""
    database.unlink()
    folder.rename(folder.with_name("renamed"))
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "x.zip")]) == 0
    assert "renamed/records.jsonl" in contents(tmp_path / "x.zip")


def test_a_job_of_several_runs_is_refused(folder, capsys):
    for number in (1, 2):
        make_run(folder.with_name(f"part-{number}"), verdict(number), run_id=f"part-{number}", job_id="job-1")
    assert main(["bundle", "job-1"]) == 3
    assert "'job-1' is a job of 2 runs, a bundle is of one: part-1, part-2" in capsys.readouterr().err


def test_what_is_missing_is_said(folder, tmp_path, capsys):
    """Evidence that records name, links, and lines that are no records: the rest is packed."""
    (folder / CAPTURE).unlink()
    (folder / "evidence" / "passwd").symlink_to("/etc/passwd")
    (folder / "evidence" / "back\\slash").write_bytes(b"")
    (folder / "evidence" / ".half-written").write_bytes(b"")
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write("rubbish\n")
    path = tmp_path / "x.zip"
    assert main(["bundle", RUN_ID, "--output", str(path)]) == 3
    said = capsys.readouterr().err
    sentences = (f"{CAPTURE} is not in {folder}, though records name it", "evidence/passwd is left out: it is a link",
                 "'evidence/back\\\\slash' is left out: a bundle has no place for that name",
                 "records.jsonl line 3: it is not JSON")
    summary = contents(path)[f"{RUN_ID}/SUMMARY.txt"].decode()
    for sentence in sentences:
        assert f"error: {path}: {sentence}" in said, said
        assert f"not in this bundle: {sentence}" in summary, summary
    assert not any("passwd" in name or "half" in name for name in contents(path))
    assert main(["bundle", "--check", str(path)]) == 0


def test_evidence_that_was_not_kept_is_in_the_summary(database, tmp_path):
    folder = make_run(database.parent / RUN_ID, verdict(evidence={"files_missing": ["the disk\x1b[2J was full"]}))
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "x.zip")]) == 0
    summary = contents(tmp_path / "x.zip")[f"{folder.name}/SUMMARY.txt"].decode()
    assert "not kept when it was measured: the disk\\x1b[2J was full" in summary


def test_a_summary_of_very_many_verdicts_has_those_that_are_not_pass(database, tmp_path):
    records = [verdict(number, "FAIL" if number == 7 else "PASS", port_id=f"Ethernet{number}")
               for number in range(bundle_texts.MOST_ROWS + 1)]
    make_run(database.parent / RUN_ID, *records)
    bundle.make(database.parent / RUN_ID, tmp_path / "x.zip")
    summary = contents(tmp_path / "x.zip")[f"{RUN_ID}/SUMMARY.txt"].decode()
    assert "\n2000 PASS, 1 FAIL, 0 ERROR\n" in summary and summary.count("│ vtb-t0-01 ") == 1
    assert "│ Ethernet7 │" in summary and "\n2000 more, the PASS ones first left out, are in records.jsonl\n" in summary


def test_a_folder_of_another_run_is_not_taken_for_this_one(folder, tmp_path, database, capsys):
    """Whatever it is called. One that says nothing is."""
    make_run(folder.with_name("other"), verdict(), run_id="other")
    folder.rename(tmp_path / "gone")
    folder.with_name("other").rename(folder)
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "x.zip")]) == 3
    assert "its folder is not below" in capsys.readouterr().err
    for name in ("run.json", "records.jsonl"):
        (folder / name).write_text("rubbish\n", encoding="utf-8")
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "x.zip")]) == 3
    assert "error: " + str(tmp_path / "x.zip") + ": run.json: it is not JSON" in capsys.readouterr().err
    assert "no run is known\nverdict: ERROR: nothing was measured\n" in contents(tmp_path / "x.zip")[
        f"{RUN_ID}/SUMMARY.txt"].decode()


def test_a_run_that_has_not_finished_is_no_pass(database, tmp_path):
    folder = make_run(database.parent / RUN_ID, verdict(), finish=False)
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "x.zip")]) == 0
    summary = contents(tmp_path / "x.zip")[f"{folder.name}/SUMMARY.txt"].decode()
    assert "\nnot finished\n" in summary and "verdict: ERROR: the run has not finished" in summary


def test_what_was_expected_and_never_measured_is_no_pass(database, tmp_path):
    make_run(database.parent / RUN_ID, verdict(), expected=[["vtb-t0-01", "Ethernet4", "pfc.lossy"]])
    bundle.make(database.parent / RUN_ID, tmp_path / "x.zip")
    assert "verdict: ERROR: nothing was measured" in contents(tmp_path / "x.zip")[f"{RUN_ID}/SUMMARY.txt"].decode()


def test_an_error_that_was_tried_again_counts_no_more(database, tmp_path):
    again = verdict(2, replaces="first")
    make_run(database.parent / RUN_ID, verdict(1, "ERROR", record_id="first"), again)
    bundle.make(database.parent / RUN_ID, tmp_path / "x.zip")
    assert "verdict: PASS\n" in contents(tmp_path / "x.zip")[f"{RUN_ID}/SUMMARY.txt"].decode()


def test_a_disk_that_is_full_leaves_nothing(folder, tmp_path):
    """As one on which no file may grow beyond a kilobyte."""
    path = tmp_path / "out" / "x.zip"
    path.parent.mkdir()
    (folder / CAPTURE).write_bytes(os.urandom(5000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(SpoolError) as caught:
            bundle.make(folder, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(caught.value) == f"{path} cannot be written from {folder}: File too large"
    assert not list(path.parent.iterdir())


def test_a_bundle_in_the_run_s_folder_is_not_packed_into_the_next(folder):
    path = folder / "x.zip"
    for overwrite in (False, True):
        made = bundle.make(folder, path, overwrite)
        assert made.files == 8 and not made.problems
