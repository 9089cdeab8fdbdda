"""What a run wrote of itself and its records is read as it was written."""

from __future__ import annotations

import pytest

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.parsing import parse_moment, read_lines
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
