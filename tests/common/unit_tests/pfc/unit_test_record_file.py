"""Lines of records are whole on the disk, or not there."""

from __future__ import annotations

import os

import pytest

from tests.common.pfc.record.errors import RecordsUnwritable
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.records import new_run_id


@pytest.fixture
def file(tmp_path):
    return RecordFile(tmp_path / "results" / "run")


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


def test_run_ids_sort_by_time():
    """And name the process."""
    assert new_run_id()[8] == "T" and new_run_id().split("-")[1].isdigit(), new_run_id()
