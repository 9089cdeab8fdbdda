"""The plan documents of the series: they say what somebody with hardware needs, and nothing of simulations."""
import re
from pathlib import Path

import pytest

from scripts.series import calls
from scripts.series.calls import CALLS, call_of
from scripts.series.changes import ROOT, SeriesChange, find_change, series
from scripts.series.on_hardware import of_hardware
from scripts.series.overlap import ids_in, overlapping
from scripts.series.plan_document import LONGEST_S, MEAN_S, cases_of, plan_document
from scripts.series.preconditions import ALWAYS, CHANGED, preconditions
from scripts.series.evidence import read_evidence
from tests.common.pfc.cases.plan import port_cases, sweep_cases
from tests.common.pfc.lab import clock
from tests.common.pfc.record.parsing import parse_line, read_lines
from tests.common.pfc.record.record_file import RecordFile
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

SIMULATED = re.compile(r"exact clock|virtual testbed|virtual switch|vtb-")


@pytest.fixture(scope="module", name="documents")
def _documents() -> dict[str, str]:
    """Of the changes that bring cases."""
    return {change.step.name: plan_document(ROOT, change, read_evidence())
            for change in series() if cases_of(ROOT, change)}


def cases_section(document: str) -> str:
    """What is said of the cases."""
    return document.partition("## Test cases")[2].partition("### Unit tests")[0]


def test_what_holds_in_simulations_only_is_left_out(documents: dict[str, str]) -> None:
    for name, document in documents.items():
        found = [line for line in cases_section(document).splitlines() if SIMULATED.search(line)]
        assert not found, f"{name}: {found}"
    timing = documents["cases-2"]
    assert "`length-to-scale`" not in timing and "`every-pause-counted`" in timing, "checks of hardware alone"
    assert "| | any other |" in timing and "2 s, between two counts" in timing, "the column of hardware"


def test_each_case_of_a_page_is_still_in_its_table(documents: dict[str, str]) -> None:
    """A row that says something of simulations says it in brackets, or the case would be left out."""
    for change in series():
        for row in cases_of(ROOT, change):
            page = (ROOT / "docs/testplan" / row.page).read_text(encoding="utf-8")
            shown = re.search(rf"^\| {row.plan_id} \|", documents[change.step.name], re.MULTILINE)
            assert shown or f"\n| {row.plan_id} |" not in page, f"{row.plan_id} is not in the table of its document"


def test_what_is_said_of_hardware_is_there(documents: dict[str, str]) -> None:
    assert "#### On hardware" in documents["cases-2"] and "#### Limits on hardware" in documents["cases-1"]
    assert "Flows of one API call start up to a second apart." in documents["cases-2"]


def test_no_document_refers_to_a_page_that_does_not_travel(documents: dict[str, str]) -> None:
    pages = {path.name for path in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    for name, document in documents.items():
        found = {page for page in pages if re.search(rf"(?<![\w/-]){re.escape(page)}", document)}
        assert not found, f"{name}: {found}"
        assert "| cause of an ERROR | how it is noticed |" in document, f"{name}: ERROR is not explained"


def test_rows_columns_sentences_and_brackets_about_simulations_go() -> None:
    table = "| | exact clock | other |\n|---|---|---|\n| a | 4 ms | 2 s |\n| b (exact clock only) | 1 | 2 |"
    assert of_hardware(table) == "| | other |\n|---|---|\n| a | 2 s |"
    assert of_hardware("Send for 5 s (on an exact clock 4 ms). On an exact clock\nnothing is read. Read it.") \
        == "Send for 5 s. Read it."
    steps = "1. Wait.\n2. On `vtb-t0` wait longer.\n   Read.\n\nSo it\nis."
    assert of_hardware("**Simulated**, it is fast on `vtb-t0`. So is this.") == "", "a paragraph about nothing else"
    assert of_hardware(steps) == "1. Wait.\n2. Read.\n\nSo it\nis."


def test_each_family_has_its_preconditions(documents: dict[str, str]) -> None:
    always = [" ".join(one.split()) for one in ALWAYS]
    for name, document in documents.items():
        said = " ".join(document.split())
        assert all(one in said for one in always), f"{name}: {[one for one in always if one not in said]}"
        assert "None by hand" not in document, name
    assert "tests/priority/<testbed>-lossless.json" in documents["core-6"]
    for case in ("LSET-4", "TAG-1", "HEAD-4", "SENT-3", "M2O-7", "WD-8"):
        found = [one for one in preconditions([case]) if CHANGED in one]
        assert found, f"{case} changes the configuration: --pfc-change-config is not asked for"
    assert preconditions(["SPEED-1"])[-1].startswith("SPEED-1: a faster tx port")


def test_the_tests_that_a_change_overlaps_are_named(documents: dict[str, str]) -> None:
    assert "| `test_global_pause_with_snappi.py` | `test_global_pause` | PFC-4 |" in documents["core-6"]
    assert ids_in("WD-1 to WD-3, FLAP-1") == ["WD-1", "WD-2", "WD-3", "FLAP-1"]
    named = {test for change in series() for _, test, _ in
             overlapping(ROOT, [row.plan_id for row in cases_of(ROOT, change)])}
    page = (ROOT / "docs/upstream-coverage.md").read_text(encoding="utf-8")
    covered = set(re.findall(r"^\| `(test_\w+)` \|[^|]*\| [A-Z0-9]+-\d", page, re.MULTILINE))
    assert named == covered and len(named) > 40, named ^ covered


def test_documents_say_how_long_it_takes_and_how_to_leave_it_out(documents: dict[str, str]) -> None:
    page = " ".join((ROOT / "docs/upstream.md").read_text(encoding="utf-8").split())
    for plan_id, seconds in LONGEST_S.items():
        assert f"{plan_id} ({seconds} s)" in page, f"docs/upstream.md has another time of {plan_id}"
    assert "104 passed | 3,749 |" in page and MEAN_S == round(3749 / 104), "docs/upstream.md has another session"
    assert set(LONGEST_S) <= {case.plan_id for case in (*port_cases(), *sweep_cases())}
    assert "here LSET-10 363 s" in documents["cases-9"]
    assert "--ignore=snappi_tests/pfc/qualification" in documents["core-6"]


def test_a_change_without_cases_claims_no_verdict() -> None:
    for change in series():
        if not cases_of(ROOT, change):
            document = plan_document(ROOT, change, read_evidence())
            assert "PASS." not in document, f"{change.step.name}: {document}"


def test_the_calls_are_shown_and_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[SeriesChange] = series()
    for name in CALLS:
        assert "\n".join(call_of(name)) in plan_document(ROOT, find_change(changes, name), None), name
    file = RecordFile(tmp_path)
    calls.keep_verdict(tmp_path, "Ethernet0", 7)
    record = parse_line(next(iter(read_lines(file.path))), "line 1")
    assert (record.port_id, record.checks[0].message) == (
        "Ethernet0", "dut-1 Ethernet0 priority 3: expected 0 frames lost, got 7")
    world = FakeWorld()
    host = FakeHost(world)
    assert calls.pauses_received(host, "Ethernet0") == (7,) * 8
    assert calls.lossless_priorities(world.config_db, "Ethernet0") == (3, 4)
    monkeypatch.setattr(clock, "WallClock", lambda: FakeClock(world))
    rows = [{"peer_device": port.device, "peer_port": port.port, "ip": port.generator, "location": port.location,
             "speed": str(port.speed_mbps)} for port in TESTER_PORTS]
    assert calls.failed_before_any_storm(host, FakeApi(world), rows) == []
