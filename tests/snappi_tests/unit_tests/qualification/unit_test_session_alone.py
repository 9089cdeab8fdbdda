"""A session to which no option adds anything: it keeps records, and nothing else."""

import json

from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from tests.common.unit_tests.pfc.fakes import DEVICE, FakeHost, FakeWorld, plan_port
from tests.snappi_tests.pfc.qualification.files.session import TARGET_PARAMETER, Session

PORTS = [
    ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100000),
    ConnectedPort(DEVICE, "Ethernet64", "snappi-2", "127.1.0.2;1;1", 100000),
]


class Marker:
    """pytest's marker."""

    args = (SINGLE_LOSSLESS,)


class Parameters:
    """pytest's parameters of an item."""

    params = {TARGET_PARAMETER: f"{DEVICE}|3"}


class OneItem:
    """A collected pytest item."""

    nodeid = "PFC-1"
    callspec = Parameters()

    def get_closest_marker(self, name):
        """The marker with the test case."""
        return Marker() if name == "pfc_case" else None


def begun(folder):
    """A session of one item."""
    ours = Session("run-1", str(folder))
    ours.use(plan_port(Dut(FakeHost(FakeWorld())), PORTS, None, None))
    ours.begin([OneItem()], "vtb-t0")
    return ours


def verdicts(status):
    """What the item finds."""
    where = f"{DEVICE} Ethernet0 priority 3"
    return [PortVerdict(DEVICE, "Ethernet0", 3, metric, [Check("resumed", metric, status, "all", 7, where)])
            for metric in (LOSSLESS, LOSSY)]


def test_the_records_are_all_that_is_kept(tmp_path):
    """The records say what the switch is; the verdict counts."""
    ours = begun(tmp_path)
    ours.keep(OneItem.nodeid, Outcome(SINGLE_LOSSLESS, verdicts(Status.PASS), {}))
    assert ours.finish(), ours.notes
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"], list(tmp_path.iterdir())
    lines = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    found = [(line["status"], line["testbed"], line["os_version"]) for line in lines]
    assert found == [("PASS", "vtb-t0", "SONiC.20260831.01")] * 2, found


def test_a_record_that_the_disk_does_not_take_is_tried_again(tmp_path):
    """It is said once; in the end it is there, or nothing is PASS."""
    ours = begun(tmp_path)
    path = tmp_path / "records.jsonl"
    path.unlink()
    path.mkdir()
    ours.keep(OneItem.nodeid, Outcome(SINGLE_LOSSLESS, verdicts(Status.PASS), {}))
    path.rmdir()
    assert ours.finish() and len(path.read_text().splitlines()) == 2, ours.notes
    lost = begun(tmp_path / "lost")
    (tmp_path / "lost" / "records.jsonl").unlink()
    (tmp_path / "lost" / "records.jsonl").mkdir()
    lost.keep(OneItem.nodeid, Outcome(SINGLE_LOSSLESS, verdicts(Status.PASS), {}))
    assert not lost.finish(), "a verdict without a record is PASS"
    assert lost.notes[-1] == "2 records of run run-1 are neither in a file nor in every database", lost.notes
