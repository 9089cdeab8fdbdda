"""Records are whole on the disk, or not there: also when the disk was full in between."""

import errno
import os
import resource

import pytest

from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.errors import RecordsUnwritable
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.records import RunLabels, encode_line, make_record
from tests.common.pfc.resume.earlier import read_earlier
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from tests.common.unit_tests.pfc.fakes import DEVICE

PORT = PlanCase("port-sweep", "SWEEP-1")
RUN = RunLabels("run-1", "vtb-t0", "build", "sku", "job-1")


def records_of(port):
    """Both metrics of a port, in lines longer than a buffer."""
    made = []
    for metric in (LOSSLESS, LOSSY):
        check = Check("delivered", metric, Status.PASS, "all frames", 7, f"{DEVICE} {port}", 3)
        verdict = PortVerdict(DEVICE, port, None, metric, [check], None)
        made.append(make_record(RUN, PORT, verdict, {"frames": "7" * 9000}))
    return [encode_line(record.document()) for record in made]


@pytest.fixture
def file(tmp_path):
    made = RecordFile(tmp_path)
    made.append(records_of("Ethernet0"))
    return made


def fill_up(file, left_bytes):
    """A write while the file may only grow by so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.path.stat().st_size + left_bytes, hard))
    try:
        with pytest.raises(RecordsUnwritable, match=r"records\.jsonl cannot be written: File too large"):
            file.append(records_of("Ethernet4"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("left_bytes", [0, 1500, 9500, 15000])
def test_a_run_goes_on_after_the_disk_was_full(file, tmp_path, left_bytes):
    before = file.path.read_bytes()
    fill_up(file, left_bytes)
    assert file.path.read_bytes() == before, "a part of a record was left"
    file.append(records_of("Ethernet8"))
    ports = {key[1] for key in read_earlier(tmp_path).records}
    assert ports == {"Ethernet0", "Ethernet8"}, f"the port whose records found no room is measured again: {ports}"


@pytest.mark.parametrize(("left_bytes", "found"), [
    (1500, {"Ethernet0", "Ethernet12"}), (15000, {"Ethernet0", "Ethernet4", "Ethernet12"})])
def test_what_could_not_be_cut_off_at_once_is_cut_off_before_the_next_record(
        file, tmp_path, monkeypatch, left_bytes, found):
    """A part of a line; a whole one is a record."""
    def broken(descriptor, size):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as away:
        away.setattr(os, "ftruncate", broken)
        fill_up(file, left_bytes)
        with pytest.raises(RecordsUnwritable, match="Input/output error"):
            file.append(records_of("Ethernet8"))
    file.append(records_of("Ethernet12"))
    ports = {key[1] for key in read_earlier(tmp_path).records}
    assert ports == found, f"the file has no torn line: {ports}"
