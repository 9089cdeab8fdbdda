"""sonic-mgmt's tests against faults: which fault is noticed by which test, and what else sees it."""
from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from scripts.campaign.entries import CampaignEntry
from scripts.upstream.table import FAILED, PASSED, OutcomeRow
from test_reporting.pfc import html_report

HERE = Path(__file__).resolve().parent
TEMPLATE = "score.html.j2"
CSV = "score.csv"
PAGE = "score.html"
TABLE = "score.md"
SEEN = "seen"
MISSED = "missed"
UNKNOWN = "not measured"
HEALTHY = "no fault"
ROLES = ("{rx}", "{tx}")


def specification(entry: CampaignEntry) -> str:
    """The fault of an entry on every port, since sonic-mgmt chooses its own; empty: it names a bystander, or there are
    several."""
    fault = entry.faults[0]
    for role in ROLES:
        fault = fault.replace(f"@{role}", "@*")
    return "" if "{" in fault or len(entry.faults) > 1 else fault


def function_of(test: str) -> str:
    """`test_global_pause` of a test's name with its path and parameters."""
    return test.partition("[")[0].rpartition("::")[2]


@dataclass(frozen=True)
class FaultScore:
    """What sonic-mgmt's tests make of a fault.

    Attributes:
        name: of the fault; `no fault`.
        specification: as `virtual-testbed up --fault` takes it.
        cells: test function -> `failed` (one of its items did), `passed` (all did), `not measured`.
        cases: this suite's test cases that the campaign declares for the fault, one of which must see it.
        why_none: why the fault changes nothing that a tester could see; empty: it does.
    """

    name: str
    specification: str
    cells: Mapping[str, str]
    cases: tuple[str, ...] = ()
    why_none: str = ""

    @property
    def verdict(self) -> str:
        """Whether any test sees it; missed only where all were measured."""
        found = set(self.cells.values())
        if FAILED in found:
            return SEEN
        return MISSED if found == {PASSED} else UNKNOWN


def cells_of(rows: Sequence[OutcomeRow], healthy: Mapping[str, str] | None = None) -> dict[str, str]:
    """What each test function says.

    Args:
        rows: its items, on a switch with the fault.
        healthy: what it says of a good switch; None: this is one. A test that does not pass there judges nothing.
    """
    by_function: dict[str, list[str]] = {}
    for row in rows:
        by_function.setdefault(function_of(row.test), []).append(row.result)
    found = {}
    for function, results in by_function.items():
        is_fit = healthy is None or healthy.get(function) == PASSED
        said = FAILED if FAILED in results else PASSED if set(results) == {PASSED} else UNKNOWN
        found[function] = said if is_fit else UNKNOWN
    return found


@dataclass(frozen=True)
class Matrix:
    """All of it.

    Attributes:
        about: where and when it was measured, a sentence.
        tests: the columns.
        rows: the first one is the good switch.
        left_out: faults that were not tried, and why.
    """

    about: str
    tests: tuple[str, ...]
    rows: tuple[FaultScore, ...]
    left_out: Mapping[str, str]

    @property
    def title(self) -> str:
        """`9 of 12 faults are seen, 2 are missed, 1 was not measured`."""
        found = [row.verdict for row in self.rows if row.specification]
        return (f"{found.count(SEEN)} of {len(found)} faults are seen, {found.count(MISSED)} missed,"
                f" {found.count(UNKNOWN)} not measured")

    def lines(self) -> Iterator[list[str]]:
        """The cells of each row, the first one the names of the columns."""
        yield ["fault", *(test.removeprefix("test_") for test in self.tests), "any", "cases of this suite"]
        for row in self.rows:
            cells = [row.cells.get(test, UNKNOWN) for test in self.tests]
            verdict = row.verdict if row.specification else ""
            yield [row.specification or HEALTHY, *cells, verdict, row.why_none or " ".join(row.cases)]


def write(matrix: Matrix, folder: Path) -> list[Path]:
    """Writes CSV, page and table; returns the files."""
    files = [folder / name for name in (CSV, PAGE, TABLE)]
    with files[0].open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(matrix.lines())
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    style = (Path(html_report.__file__).parent / "report.css").read_text(encoding="utf-8")
    head, *body = matrix.lines()
    files[1].write_text(environment.get_template(TEMPLATE).render(matrix=matrix, head=head, body=body, style=style),
                        encoding="utf-8")
    files[2].write_text("\n".join(markdown(matrix)) + "\n", encoding="utf-8")
    return files


def markdown(matrix: Matrix) -> Iterator[str]:
    """The table of docs/."""
    yield f"{matrix.about} {matrix.title}."
    yield ""
    head, *body = matrix.lines()
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for cells in body:
        yield f"| {' | '.join([f'`{cells[0]}`', *cells[1:]])} |"
    if matrix.left_out:
        yield ""
        yield "Not tried: " + "; ".join(f"`{name}`: {why}" for name, why in matrix.left_out.items()) + "."
