"""Lines are whole on the disk, or not there; a run is read as it was written."""

from __future__ import annotations

import os

import pytest

from tests.common.pfc.record.errors import RecordError, RecordsUnwritable
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.parsing import parse_moment, read_lines
from tests.common.pfc.record.records import new_run_id
from tests.common.pfc.record.run import Run, write_run
from tests.common.pfc.record.run_reading import read_run, run_of


@pytest.fixture
def file(tmp_path):
    return RecordFile(tmp_path / "results" / "run")


def test_lines_are_appended_and_read(file):
    with pytest.raises(FileNotFoundError):
        list(read_lines(file.path))
    assert not file.has_records, "there is no file yet"
    file.create()
    assert not file.has_records and not list(read_lines(file.path)), "the file is empty"
    file.append([b"one\n", b"two\n"])
    RecordFile(file.path.parent).append([b"three\n"])
    lines = list(read_lines(file.path))
    assert file.has_records and lines == [b"one\n", b"two\n", b"three\n"], list(read_lines(file.path))


def test_a_torn_line_does_not_swallow_the_next(file):
    file.append([b"one\n"])
    with file.path.open("ab") as other:
        other.write(b"to")
    file.append([b"three\n"])
    assert file.path.read_bytes() == b"one\nthree\n", file.path.read_bytes()


@pytest.mark.parametrize("whole, torn", [
    (b"", b"x"), (b"one\n", b""), (b"one\n", b"x" * 200_000), (b"\n" * 70_000, b"x"),
    (b"y" * 70_000 + b"\n", b"x" * 70_000)])
def test_a_torn_line_is_cut_off(file, whole, torn):
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(whole + torn)
    file.create()
    assert file.path.read_bytes() == whole, "the torn line is not cut off"


@pytest.mark.parametrize("failing", ["write", "fsync"])
def test_a_write_that_fails_halfway_leaves_the_file_as_it_was(file, monkeypatch, failing):
    file.append([b"one\n"])
    real_write = os.write

    def write_a_little(descriptor, text):
        if len(text) < 8 and failing == "write":
            raise OSError(28, "No space left on device")
        return real_write(descriptor, text[:4])

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_a_little)
        if failing == "fsync":
            patch.setattr(os, "fsync", fail)
        with pytest.raises(RecordsUnwritable) as refused:
            file.append([b"a longer line\n"])
    assert str(refused.value) == f"the records {file.path} cannot be written: No space left on device", refused.value
    assert file.path.read_bytes() == b"one\n", "a part of a line was left"


def test_a_line_is_on_the_disk_when_append_returns(file, monkeypatch):
    synced = []
    real_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda one: (synced.append(os.fstat(one).st_size), real_fsync(one)))
    file.append([b"one\n"])
    assert 4 in synced, synced


def test_a_run_is_read_as_it_was_written(tmp_path):
    run = Run("r", "vtb-t0", parse_moment("2026-01-31T13:00:00Z"), None, "qualification", "job", "0.1.0",
              (("d", "p", "m"),), {"ports": ["Ethernet0"]}, ("pause-ignored@Ethernet0",))
    write_run(tmp_path / "r", run)
    assert read_run(tmp_path / "r", []) == run, "it is another run"
    names = [path.name for path in (tmp_path / "r").iterdir()]
    assert names == ["run.json"], names


def test_a_run_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RecordError, match=f"^{tmp_path}/run.json: it is not JSON"):
        read_run(tmp_path, [])
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(RecordError, match=f"^{tmp_path}/run.json: expected a JSON object"):
        read_run(tmp_path, [])


def test_a_run_of_an_older_version_says_nothing_of_faults():
    assert run_of({"run_id": "r"}).faults == (), "nothing is known to have been broken"


@pytest.mark.parametrize("faults", ["pause-ignored", [1], {"a": "b"}])
def test_faults_that_are_no_texts_are_refused(faults):
    with pytest.raises(RecordError, match="^run: field 'faults' is .*; it must be a list of texts$"):
        run_of({"run_id": "r", "faults": faults})


def test_run_ids_sort_by_time():
    """And name the process."""
    assert new_run_id()[8] == "T" and new_run_id().split("-")[1].isdigit(), new_run_id()
