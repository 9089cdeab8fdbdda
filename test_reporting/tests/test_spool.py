from __future__ import annotations

import os

import pytest

from test_reporting.pfc.errors import RecordError, SpoolError
from test_reporting.pfc.record import parse_moment
from test_reporting.pfc.run import Run, folder_name, read_run, write_run
from test_reporting.pfc.spool import Spool


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "results" / "run")


def test_lines_are_appended_and_read_once(spool):
    assert list(spool.new_lines()) == []
    spool.append([b"one\n", b"two\n"])
    Spool(spool.path.parent).append([b"three\n"])
    assert list(spool.new_lines()) == [b"one", b"two", b"three"]
    assert list(spool.new_lines()) == []
    spool.append([b"four\n"])
    assert list(spool.new_lines()) == [b"four"]


def test_a_torn_line_does_not_swallow_the_next(spool):
    spool.append([b"one\n"])
    with spool.path.open("ab") as file:
        file.write(b"to")
    assert list(spool.new_lines()) == [b"one"]
    spool.append([b"three\n"])
    assert list(spool.new_lines()) == [b"three"]
    assert spool.path.read_bytes() == b"one\nthree\n"


@pytest.mark.parametrize("whole, torn", [
    (b"", b"x"), (b"one\n", b""), (b"one\n", b"x" * 200_000), (b"\n" * 70_000, b"x"),
    (b"y" * 70_000 + b"\n", b"x" * 70_000)])
def test_a_torn_line_is_cut_off(spool, whole, torn):
    spool.mend()
    assert not spool.path.exists()
    spool.path.parent.mkdir(parents=True)
    spool.path.write_bytes(whole + torn)
    spool.mend()
    assert spool.path.read_bytes() == whole


@pytest.mark.parametrize("failing", ["write", "fsync"])
def test_a_write_that_fails_halfway_leaves_the_file_as_it_was(spool, monkeypatch, failing):
    spool.append([b"one\n"])
    real_write = os.write

    def write_a_little(file, text):
        if len(text) < 8 and failing == "write":
            raise OSError(28, "No space left on device")
        return real_write(file, text[:4])

    def fail(file):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_a_little)
        if failing == "fsync":
            patch.setattr(os, "fsync", fail)
        with pytest.raises(SpoolError) as refused:
            spool.append([b"a longer line\n"])
    assert str(refused.value) == f"{spool.path} cannot be written: No space left on device"
    assert spool.path.read_bytes() == b"one\n"


def test_a_line_is_on_the_disk_when_append_returns(spool, monkeypatch):
    synced = []
    real_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_size), real_fsync(file)))
    spool.append([b"one\n"])
    assert 4 in synced


def test_a_run_is_read_as_it_was_written(tmp_path):
    run = Run("r", "vtb-t0", parse_moment("2026-01-31T13:00:00Z"), None, "qualification", "job", "0.1.0",
              (("d", "p", "m"),), {"ports": ["Ethernet0"]})
    write_run(tmp_path / "r", run)
    assert read_run(tmp_path / "r", []) == run
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["run.json"]


def test_a_run_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RecordError, match=f"^{tmp_path}/run.json: it is not JSON"):
        read_run(tmp_path, [])
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(RecordError, match=f"^{tmp_path}/run.json: expected a JSON object"):
        read_run(tmp_path, [])


@pytest.mark.parametrize("run_id", ["20260131T130000Z-1", "mock-case_20260131_13:00:00"])
def test_a_plain_run_id_is_its_folder(run_id):
    assert folder_name(run_id) == run_id


@pytest.mark.parametrize("run_id", ["../../etc", ".", "..", "a/b", "a b", "x" * 300, "\0", "\u05d0", "\ud800"])
def test_any_run_id_has_a_folder_of_its_own(tmp_path, run_id):
    name = folder_name(run_id)
    assert "/" not in name and not name.startswith(".") and len(name) <= 100 and name != folder_name(run_id + "x")
    (tmp_path / name).mkdir()
