"""A run's records are on the disk before anything else; what the disk does not take is not lost in silence."""

import json

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.delivery.run_writer import RunWriter
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.record_file import RunEnd
from tests.common.pfc.record.records import SOFTWARE, RunLabels, make_record
from tests.common.pfc.record.run import Run
from tests.common.pfc.record.run_reading import read_run
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status

EXPECTED = (("dut-1", "Ethernet0", LOSSLESS), ("dut-1", "Ethernet0", LOSSY))


class Databases:
    """What a run is delivered to."""

    def __init__(self, path, stored=True):
        self.path, self.stored = path, stored
        self.caught_up, self.delivered, self.on_disk, self.unspooled = 0, [], [], []

    def catch_up(self):
        """Everything that the folder has."""
        self.caught_up += 1

    def deliver(self, run, records):
        """New records, and how many lines are on the disk by then."""
        self.delivered += records
        self.on_disk.append(len(self.path.read_bytes().splitlines()) if self.path.is_file() else 0)

    def finish(self, run, ended, unspooled):
        """The run's end."""
        self.unspooled = list(unspooled)
        return self.stored


FAULT = "pause-ignored@Ethernet0"
OTHER = "lossy-dropped"


def record(metric=LOSSLESS, run_id="run-1", evidence=None):
    """A record of a PASS."""
    check = Check("resumed", metric, Status.PASS, "all frames", 7, "dut-1 Ethernet0 priority 3", 3)
    verdict = PortVerdict("dut-1", "Ethernet0", 3, metric, [check])
    return make_record(RunLabels(run_id, "lab", "build", "sku"), SINGLE_LOSSLESS, verdict, evidence or {})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run-1"


@pytest.fixture
def said():
    return []


@pytest.fixture
def databases(folder):
    return Databases(folder / "records.jsonl")


@pytest.fixture
def writer(folder, said, databases):
    made = RunWriter(folder, Run("run-1", "lab", expected=EXPECTED), said.append, databases)
    made.start()
    return made


def test_a_record_is_on_the_disk_before_it_is_delivered(writer, databases, said):
    """Each time, and the databases get what was made, not what was read."""
    made = [record(), record(LOSSY)]
    for one in made:
        writer.write([one])
    assert databases.on_disk == [0, 1, 2], databases.on_disk
    assert all(given is one for given, one in zip(databases.delivered, made, strict=True)), databases.delivered
    assert writer.finish() == RunEnd(stored=True) and not said, said


def test_what_is_expected_is_on_the_disk_before_anything_is_measured(writer, folder):
    """Whoever reads the folder of a run that was killed knows what it lacks."""
    run = read_run(folder, [])
    assert (run.expected, run.finished, run.software_version) == (EXPECTED, None, SOFTWARE), run
    writer.finish()
    assert read_run(folder, []).finished is not None, "the run has ended"


def test_a_run_that_goes_on_keeps_what_it_began_with(writer, folder, said, databases):
    """Start, job and what it expected; the databases catch up with the folder."""
    writer.write([record()])
    with (folder / "records.jsonl").open("ab") as file:
        file.write(b'{"torn')
    again = RunWriter(folder, Run("run-1", "lab", job_id="job-1", expected=EXPECTED[:1]), said.append, databases,
                      read_run(folder, []))
    again.start()
    assert again.run.started == writer.run.started and again.run.expected == EXPECTED, again.run
    assert again.run.job_id == "job-1", again.run
    assert databases.caught_up == 1, "the databases did not catch up"
    again.write([record()])
    assert b'{"torn' not in (folder / "records.jsonl").read_bytes(), "the torn line is still there"


def test_a_fault_that_is_known_later_is_in_the_run_from_then_on(writer, folder):
    """Also for whoever finds the folder of a run that was killed."""
    writer.broken_by([FAULT])
    assert read_run(folder, []).faults == writer.run.faults == (FAULT,), writer.run
    writer.finish()
    assert read_run(folder, []).faults == (FAULT,), writer.run


@pytest.mark.parametrize(("before", "now", "expected"), [
    ([FAULT], [], (FAULT,)), ([], [FAULT], (FAULT,)), ([FAULT], [FAULT, OTHER], (FAULT, OTHER))])
def test_a_run_that_goes_on_was_broken_where_a_part_of_it_was(folder, said, before, now, expected):
    """Its verdicts are those of all parts together."""
    RunWriter(folder, Run("run-1", "lab", faults=tuple(before)), said.append).start()
    again = RunWriter(folder, Run("run-1", "lab", faults=tuple(now)), said.append, earlier=read_run(folder, []))
    again.start()
    assert read_run(folder, []).faults == expected, again.run


def test_a_record_of_another_run_is_refused(writer, folder):
    """And none that came with it is kept."""
    with pytest.raises(RecordError, match="field 'run_id' is 'other'; it must be 'run-1'"):
        writer.write([record(), record(run_id="other")])
    assert not (folder / "records.jsonl").exists(), "a record was kept"


def test_what_the_disk_does_not_take_is_tried_again(writer, folder, databases, said):
    """It is said once; the databases have it meanwhile."""
    (folder / "records.jsonl").mkdir()
    made = [record(), record(LOSSY)]
    for one in made:
        writer.write([one])
    assert databases.delivered == made, databases.delivered
    assert len(said) == 1 and "Is a directory; records are kept in memory" in said[0], said
    (folder / "records.jsonl").rmdir()
    assert writer.finish() == RunEnd(stored=True), said
    ids = [json.loads(line)["record_id"] for line in (folder / "records.jsonl").read_text().splitlines()]
    assert ids == [one.record_id for one in made], ids


def test_what_the_disk_did_not_take_is_there_with_the_next_record(writer, folder, databases, said):
    """Not at the end of the run only: one that is killed has it too, in the order in which it was made, once."""
    (folder / "records.jsonl").mkdir()
    made = [record(), record(LOSSY), record()]
    for one in made[:2]:
        writer.write([one])
    (folder / "records.jsonl").rmdir()
    assert writer.write(made[2:]) == made[2:], "records that are new"
    ids = [json.loads(line)["record_id"] for line in (folder / "records.jsonl").read_text().splitlines()]
    assert ids == [one.record_id for one in made], ids
    assert databases.delivered == made, databases.delivered
    assert writer.finish() == RunEnd(stored=True) and len(said) == 1, said


@pytest.mark.parametrize(("stored", "lost"), [(True, 0), (False, 1)])
def test_what_the_disk_never_takes(writer, folder, databases, said, stored, lost):
    """Is told to the databases once more; where one of them lacks it too it is lost, and the run has not ended."""
    (folder / "records.jsonl").mkdir()
    made = record()
    writer.write([made])
    databases.stored = stored
    end = writer.finish()
    assert end == RunEnd(stored, (made,), (made,) * lost), end
    assert databases.unspooled == [made], databases.unspooled
    assert (read_run(folder, []).finished is None) == bool(lost), read_run(folder, [])
    assert ("1 records of run run-1 are neither in a file nor in every database" in said) == bool(lost), said


def test_without_databases_the_disk_is_all_there_is(folder, said):
    """What it does not take is lost."""
    writer = RunWriter(folder, Run("run-1", "lab"), said.append)
    writer.start()
    writer.write([record()])
    (folder / "records.jsonl").unlink()
    (folder / "records.jsonl").mkdir()
    made = record(LOSSY)
    writer.write([made])
    assert writer.finish() == RunEnd(True, (made,), (made,)), said


def test_what_json_cannot_express_is_lost_and_said(writer, databases, said):
    """Whatever takes it: nobody could read it again."""
    broken, whole = record(evidence={"frames": float("nan")}), record(LOSSY)
    writer.write([broken, whole])
    assert databases.delivered == [whole], databases.delivered
    end = writer.finish()
    assert end.lost == (broken,), end
    assert "record of dut-1 Ethernet0: it cannot be written as JSON" in said[0], said
