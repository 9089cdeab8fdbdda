"""The test plan's documentation, the plan in the code and the tests agree."""
import importlib
import re
from pathlib import Path

import pytest

from scripts.closure import closure_of
from tests.common.pfc.cases import pauses
from tests.common.pfc.cases.plan import port_cases, sweep_cases, tables, targets
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.sweep import full_load, port_sweep as sweep, watchdog_all_ports
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_diagnosis import DECLARED
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs/testplan"
SUITE = ROOT / "tests/snappi_tests/pfc/qualification"
ALL = (*port_cases(), *sweep_cases())
SWEPT_BY = {case: next(one.__name__ for one in (sweep, full_load, watchdog_all_ports) if case in vars(one).values())
            for case in sweep_cases()}
WRITE_ERRORS = {Path("tests/common/pfc/lab/configuration.py"), Path("tests/common/pfc/lab/watchdog.py")}
PAUSES = [case for case in port_cases() if case.family == "PFC"]  # others are compared on a virtual testbed
ROW = re.compile(r"^\| \[([A-Z0-9-]+)\]\(([a-z0-9-]+\.md)\) \| [^|]+ \| `([a-z_]+\.py)::([a-z_]+)` \|$", re.MULTILINE)


def documented() -> dict[str, tuple[str, str, str]]:
    """Plan id -> page, test file and test, as the table of the test plan has them."""
    rows = ROW.findall((PAGES / "README.md").read_text(encoding="utf-8"))
    assert len(rows) == len({row[0] for row in rows}), "a plan id is documented twice"
    return {plan_id: (page, file, test) for plan_id, page, file, test in rows}


def section(plan_id: str, name: str) -> str:
    """What a page says under a heading."""
    text = (PAGES / documented()[plan_id][0]).read_text(encoding="utf-8")
    return text.split(f"\n## {name}\n")[1].split("\n## ")[0]


def written() -> dict[str, tuple[str, str]]:
    """Plan id -> test file and test, as the markers `pfc_case` and `pfc_cases` in the suite have them."""
    found = {}
    for path in sorted(SUITE.glob("test_*.py")):
        module = importlib.import_module(f"tests.snappi_tests.pfc.qualification.{path.stem}")
        for name, function in vars(module).items():
            for marker in getattr(function, "pytestmark", ()) if name.startswith("test_") else ():
                for case in marker.args if marker.name in ("pfc_case", "pfc_cases") else ():
                    assert case.plan_id not in found, f"two tests carry out {case.plan_id}"
                    found[case.plan_id] = (path.name, name)
    return found


def test_where_a_switch_is_made_to_write_errors_sonic_mgmt_does_not_read_its_log() -> None:
    """Watchdogs that act, links that go down and changed configurations do: what draws in the modules for that."""
    marked = {path.name for path in SUITE.glob("test_*.py")
              if "pytest.mark.disable_loganalyzer" in path.read_text(encoding="utf-8")}
    expected = {path.name for path in SUITE.glob("test_*.py")
                if WRITE_ERRORS & set(closure_of(ROOT, [path.relative_to(ROOT)]).importers)}
    assert marked == expected and "test_link_flap.py" in marked, f"{sorted(marked ^ expected)} are to be looked at"


def test_every_test_case_has_a_page_and_a_test() -> None:
    assert list(documented()) == [case.plan_id for case in ALL]
    assert {plan_id: row[1:] for plan_id, row in documented().items()} == written()
    pages = {path.name for path in PAGES.glob("*.md")} - {"README.md"}
    assert pages == {row[0] for row in documented().values()}


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.plan_id)
def test_a_page_names_its_case_and_where_it_is(case: PlanCase) -> None:
    """A page is about one case, `# PFC-1: ...`, or about a family of them with a table, `# TIME: ...`."""
    text = (PAGES / documented()[case.plan_id][0]).read_text(encoding="utf-8")
    listed = [table for table in tables() if case in getattr(table, "CASES", {})]
    module = listed[0] if listed else importlib.import_module(SWEPT_BY[case])
    file = Path(str(module.__file__)).relative_to(ROOT)
    assert text.startswith((f"# {case.plan_id}: ", f"# {case.family}: ")), text[:40]
    assert f"`{file}`" in text and f"`{case.name}`" in text


@pytest.mark.parametrize("case", PAUSES, ids=lambda case: case.plan_id)
def test_a_page_names_its_case_and_exactly_the_checks_that_are_made(case: PlanCase) -> None:
    text = (PAGES / documented()[case.plan_id][0]).read_text(encoding="utf-8")
    constant = next(name for name, value in vars(pauses).items() if value is case)
    assert f"`{constant}` in `tests/common/pfc/cases/pauses.py`; scenario `{case.name}`;" in text
    rows = re.findall(r"^\| `([a-z-]+)` \|", section(case.plan_id, "Checks"), re.MULTILINE)
    assert len(rows) == len(set(rows)), "a check is documented twice"
    assert set(rows) == checks_made(case)


def checks_made(case: PlanCase) -> set[str]:
    """The names of all checks of a case on a healthy switch, where every one of them is made."""
    world = FakeWorld()
    plan = plan_port(Dut(FakeHost(world)), TESTER_PORTS, "Ethernet0", None)
    qualifier = Qualifier(open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world)))
    outcome = qualifier.qualify(case, targets(case, plan.subject)[0])
    made = [check for verdict in outcome.verdicts for check in verdict.checks]
    assert {check.status for check in made} == {Status.PASS}, [verdict.messages for verdict in outcome.verdicts]
    return {check.name for check in made}


@pytest.mark.parametrize("case", PAUSES, ids=lambda case: case.plan_id)
def test_the_faults_of_a_page_name_checks_that_it_has(case: PlanCase) -> None:
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", section(case.plan_id, "Checks"), re.MULTILINE))
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", section(case.plan_id, "Faults that it catches")))
    assert named <= rows | {"watchdog-stopped", "vtb-t"}, named - rows


def test_what_upstream_covers_names_test_cases_that_there_are_and_counts_right() -> None:
    """Rows of four cells: upstream's test or case, what it checks, plan ids or `open` or `out`, the rest."""
    text = (ROOT / "docs/upstream-coverage.md").read_text(encoding="utf-8")
    rows: dict[str, list[str]] = {"tests": [], "cases": []}
    for part in text.split("\n## ")[1:]:
        kind = "cases" if part.startswith(("Plans", "The plans", "Gaps")) else "tests"
        four = re.findall(r"^\| [^|]+ \| [^|]+ \| ([^|]+) \| .*\|$", part.replace("\\|", "/"), re.MULTILINE)
        rows[kind] += [here for here in four if re.match(r"open$|out$|[A-Z0-9]+-\d", here)]
    named = {one for kind in rows.values() for here in kind for one in re.findall(r"[A-Z0-9]+-\d+", here)}
    assert named <= {case.plan_id for case in ALL}, named - {case.plan_id for case in ALL}
    for label, pattern in (("covered by a plan id", r"[A-Z0-9]+-\d"), ("open", "open"), ("out", "out"), ("all", "")):
        counts = [sum(re.match(pattern, here) is not None for here in kind) for kind in rows.values()]
        assert f"| {label} | {counts[0]} | {counts[1]} | {sum(counts)} |" in text, (label, counts)


def test_every_fault_of_the_catalogue_has_its_diagnosis() -> None:
    """What must be said of each, as the catalogue declares it."""
    text = (ROOT / "docs/faults.md").read_text(encoding="utf-8").split("## A fault of")[0]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)
    not_diagnosed = {"chatter", "switch-reboots"}  # a condition; nothing was measured, and the sentence says why
    assert {*DECLARED} == {*rows} - not_diagnosed, "docs/faults.md has other faults"
