"""A run as one file to be given away: all that its verdicts rest on, the same bytes each time, and what changes in it
is found."""
from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from test_reporting.pfc import bundle, bundle_texts
from test_reporting.pfc.cli import main
from test_reporting.pfc.errors import FileError
from test_reporting.tests.bundle_samples import CAPTURE, VERSIONS, contents, make_run
from test_reporting.tests.samples import RUN, RUN_ID, verdict


def test_a_bundle_has_every_file_and_what_they_say(packed, folder, capsys):
    found = contents(packed)
    assert list(found) == [f"{RUN_ID}/{name}" for name in (
        "deploy.log", VERSIONS, CAPTURE, "junit.xml", "records.jsonl", "run.json", "SUMMARY.txt", "VERSIONS.txt",
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


def test_a_bundle_says_what_was_broken_on_purpose(packed, database, tmp_path):
    assert "deliberately broken" not in contents(packed)[f"{RUN_ID}/SUMMARY.txt"].decode()
    make_run(database.parent / "b", verdict(1), run_id="b", faults=["pause-ignored@Ethernet0"])
    assert main(["bundle", "b", "--output", str(tmp_path / "b.zip")]) == 0
    summary = contents(tmp_path / "b.zip")["b/SUMMARY.txt"].decode()
    assert summary.splitlines()[3] == "deliberately broken: pause-ignored@Ethernet0"


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
    sentences = (f"{CAPTURE} is not in the run's folder, though records name it",
                 "evidence/passwd is left out: it is a link",
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
        with pytest.raises(FileError) as caught:
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


def summary_of(folder, tmp_path):
    made = bundle.make(folder, tmp_path / "x.zip", overwrite=True)
    return contents(made.path)[f"{folder.name}/SUMMARY.txt"].decode(), made.problems


def test_records_of_another_run_do_not_count(database, tmp_path):
    """As in the database, which does not take them: the one that could not be measured was not tried again."""
    folder = make_run(database.parent / RUN_ID, verdict(1, "ERROR", record_id="first"))
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(verdict(2, replaces="first", run_id="other")) + "\n")
    text, problems = summary_of(folder, tmp_path)
    sentence = f"records.jsonl: field 'run_id' is 'other'; it must be '{RUN_ID}'"
    assert problems == (sentence,) and f"not in this bundle: {sentence}" in text
    assert "\nverdict: ERROR" in text and "\n0 PASS, 0 FAIL, 1 ERROR\n" in text


def test_only_a_record_of_the_same_place_replaces_an_error(database, tmp_path):
    folder = make_run(database.parent / RUN_ID, verdict(1, "ERROR", record_id="first"),
                      verdict(2, replaces="first", port_id="Ethernet8"))
    assert "\n1 PASS, 0 FAIL, 1 ERROR\n" in summary_of(folder, tmp_path)[0]


@pytest.mark.parametrize("name", ["records.jsonl", "run.json"])
def test_a_run_that_is_being_written_is_no_pass(folder, tmp_path, monkeypatch, name):
    (folder / CAPTURE).write_bytes(b"")
    (folder / "records.jsonl").write_text(json.dumps(verdict(1)) + "\n", encoding="utf-8")
    files = bundle._files

    def written_meanwhile(*arguments):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write("\n")
        return files(*arguments)

    assert "verdict: PASS\n" in summary_of(folder, tmp_path)[0]
    monkeypatch.setattr(bundle, "_files", written_meanwhile)
    text, problems = summary_of(folder, tmp_path)
    assert problems == (f"{name} is another one than the summary is of: the run was still being written",)
    assert problems[0] in text and "verdict: ERROR" in text


def test_run_json_is_read_before_the_records(folder, monkeypatch):
    """A run that ends meanwhile has not finished: its last records may not have been read."""
    read = bundle_texts.read_lines
    unfinished = {**RUN, "finished": None}
    finished = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(unfinished), encoding="utf-8")

    def ends_meanwhile(folder):
        yield from read(folder)
        (folder / "run.json").write_text(finished, encoding="utf-8")

    monkeypatch.setattr(bundle_texts, "read_lines", ends_meanwhile)
    assert bundle_texts.read_contents(folder).run.finished is None


def test_a_summary_says_nothing_of_the_machine_or_the_day(folder, tmp_path):
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    del run["started"]
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    (folder / CAPTURE).unlink()
    text, problems = summary_of(folder, tmp_path)
    assert "started" not in text and "finished" in text
    assert problems == (f"{CAPTURE} is not in the run's folder, though records name it",)
    assert str(folder.parent) not in text


def test_a_bundle_is_called_as_the_folder_is(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder.rename(folder.with_name("renamed"))
    assert main(["bundle", RUN_ID]) == 0 and (folder.parent / "pfc-renamed.zip").is_file()


def test_a_bundle_in_a_folder_that_is_named_otherwise_is_not_packed_into_the_next(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    for overwrite in (False, True):
        assert bundle.make(Path(folder.name), folder / "x.zip", overwrite).files == 8
