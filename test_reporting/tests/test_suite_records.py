"""What the suite writes is what this package reads, and what docs/reporting.md says."""
from __future__ import annotations

import re
from pathlib import Path

from tests.common.pfc.cases.plan import deviations, port_cases
from tests.common.pfc.model.deviations import allowed_for
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.records import ON_BEHALF_OF, SCHEMA, SOFTWARE, Record, RunLabels, encode_line, make_record
from tests.common.pfc.record.verdict import LOSSLESS, Check, PortVerdict, Status

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reporting.md"
ALLOWED = allowed_for("cisco-8000", HARDWARE, deviations())
LABELS = RunLabels("run-1", "lab-1", "SONiC.1", "Cisco-8101", "job-1", "t1-01", ALLOWED, ("pause-ignored@Ethernet0",))


def made(status: Status = Status.PASS) -> Record:
    """A record as the suite makes it."""
    check = Check("resumed", LOSSLESS, status, "all 7 frames", 7, "sw-01 Ethernet8 priority 3", 3)
    verdict = PortVerdict("sw-01", "Ethernet8", 3, LOSSLESS, [check])
    return make_record(LABELS, port_cases()[0], verdict, {"held_bytes": 1})


def test_every_field_of_the_suites_records_is_known():
    """None is left in `extra`, and each is what it was."""
    for status in (Status.PASS, Status.FAIL):
        written = made(status)
        record = parse_line(encode_line(written.document()))
        assert not record.extra
        assert written.document()["schema"] == SCHEMA
        assert (record.job_id, record.on_behalf_of) == ("job-1", "t1-01")
        assert record.faults == ("pause-ignored@Ethernet0",)
        assert record.software_version == SOFTWARE
        assert [one["name"] for one in record.deviations] == [one["name"] for one in ALLOWED] != []
        assert record.record_id == written.record_id
        assert record.evidence == {"held_bytes": 1}
        assert record.document() == written.document()


def test_the_page_lists_every_field():
    rows = re.findall(r"^\| (`.*?) \| ", PAGE.read_text(encoding="utf-8").partition("## The record")[2]
                      .partition("## The tables")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(made().document()) <= named


def test_the_t1_is_named_as_in_records_of_schema_1():
    assert made().labels == {ON_BEHALF_OF: "t1-01"}
