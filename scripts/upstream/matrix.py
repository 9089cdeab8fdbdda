"""sonic-mgmt's tests against faults: which fault is noticed by which test, and what else sees it."""
from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scripts.campaign.entries import CampaignEntry
from scripts.upstream.table import FAILED, PASSED, OutcomeRow
from test_reporting.pfc import html_report

HERE = Path(__file__).resolve().parent
TEMPLATE = "score.html.j2"
STEM = "score"
FOLDER = "upstream-score-"
"""How the name of a run's folder begins."""
CSV = ".csv"
PAGE = ".html"
TABLE = ".md"
SEEN = "seen"
MISSED = "missed"
UNKNOWN = "not measured"
NOT_RECORDED = "not recorded"
HEALTHY = "no fault"
NO_PLACE = "it needs a bystander that is named, and sonic-mgmt chooses its ports itself"
ROLES = ("{rx}", "{tx}")
TEST = "test_"
FAULT_COLUMN = "fault"
CASES_COLUMN = "cases of this suite"
SECONDS_COLUMN = "seconds"
DATE_COLUMN = "date"
PROJECT_COLUMN = "this project"
UPSTREAM_COLUMN = "sonic-mgmt"
RUN_COLUMN = "run"
OF_A_TEST = " s"
"""What the name of a column with seconds has after that of its test."""
BETWEEN = "; "
"""Between what is said of several runs."""
TESTS_OF = ": "
"""Between a run and its tests."""
HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{32}\b")
TIME = re.compile(r"(?<=\d)T[0-9:.]+(\+00:00)?")


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


def abbreviated(text: str) -> str:
    """A text with the first eight digits of each commit, and the day of each date."""
    return TIME.sub("", HASH.sub(r"\1", text))


@dataclass(frozen=True)
class Origin:
    """The run that a row of cells is of, or some cells of it; what is not known of it is `not recorded`.

    Attributes:
        run: name of its folder.
        date: when the row ended: ISO 8601, or the day alone.
        upstream: commit of sonic-mgmt, and its date.
        project: commit of this project, and its date.
        seconds: wall time of the row: testbed, deployment and all tests that were run with it; None: not recorded.
    """

    run: str
    date: str
    upstream: str
    project: str
    seconds: float | None

    @property
    def order(self) -> str:
        """By which runs are sorted: what has no date is older than all others."""
        return "" if self.date == NOT_RECORDED else self.date

    @property
    def seconds_text(self) -> str:
        """The wall time without a unit."""
        return NOT_RECORDED if self.seconds is None else f"{self.seconds:.0f}"


@dataclass(frozen=True)
class Cell:
    """What a test function says of a fault.

    Attributes:
        result: `failed` (one of its items did), `passed` (all did), `not measured`.
        seconds: that its items took; None: not recorded, or not measured.
        origin: where it was measured, or was to be.
    """

    result: str
    seconds: float | None = None
    origin: Origin | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it judges the fault."""
        return self.result != UNKNOWN

    @property
    def seconds_text(self) -> str:
        """The wall time without a unit; empty: there is none."""
        return "" if self.seconds is None else f"{self.seconds:.1f}"


NOTHING = Cell(UNKNOWN)
"""Of a test that no run tried."""


@dataclass(frozen=True)
class FaultScore:
    """What sonic-mgmt's tests make of a fault.

    Attributes:
        name: of the fault; `no fault`.
        specification: as `virtual-testbed up --fault` takes it.
        cells: test function -> what it says.
        cases: this suite's test cases that the campaign declares for the fault, one of which must see it.
        why_none: why the fault changes nothing that a tester could see; empty: it does.
    """

    name: str
    specification: str
    cells: Mapping[str, Cell]
    cases: tuple[str, ...] = ()
    why_none: str = ""

    @property
    def verdict(self) -> str:
        """Whether any test sees it; missed only where all were measured."""
        found = {cell.result for cell in self.cells.values()}
        if FAILED in found:
            return SEEN
        return MISSED if found == {PASSED} else UNKNOWN

    @property
    def shown(self) -> str:
        """Its first cell."""
        return self.specification or HEALTHY

    @property
    def shown_verdict(self) -> str:
        """Whether any test sees it; empty: it is the good switch."""
        return self.verdict if self.specification else ""

    @property
    def shown_cases(self) -> str:
        """The cases that must see it, or why none can."""
        return self.why_none or " ".join(self.cases)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The runs that its cells are of, each once."""
        return tuple(dict.fromkeys(cell.origin for cell in self.cells.values() if cell.origin is not None))

    @property
    def seconds_text(self) -> str:
        """Wall time of the row, in each of its runs."""
        return BETWEEN.join(origin.seconds_text for origin in self.origins)

    @property
    def dates(self) -> str:
        """Of each of its runs."""
        return BETWEEN.join(origin.date for origin in self.origins)

    @property
    def projects(self) -> str:
        """This project's commit, in each of its runs."""
        return BETWEEN.join(origin.project for origin in self.origins)

    @property
    def runs(self) -> str:
        """The run that the row is of; of several ones, which tests are of which."""
        if len(self.origins) == 1:
            return self.origins[0].run
        return BETWEEN.join(f"{origin.run}{TESTS_OF}{' '.join(self._tests_of(origin))}" for origin in self.origins)

    def _tests_of(self, origin: Origin) -> list[str]:
        return [test.removeprefix(TEST) for test, cell in self.cells.items() if cell.origin == origin]


def cells_of(rows: Sequence[OutcomeRow], healthy: Mapping[str, Cell] | None = None,
             origin: Origin | None = None) -> dict[str, Cell]:
    """What each test function says.

    Args:
        rows: its items, on a switch with the fault.
        healthy: what it says of a good switch; None: this is one. A test that does not pass there judges nothing.
        origin: where that was.
    """
    by_function: dict[str, list[OutcomeRow]] = {}
    for row in rows:
        by_function.setdefault(function_of(row.test), []).append(row)
    found = {}
    for function, items in by_function.items():
        results = {item.result for item in items}
        is_fit = healthy is None or healthy.get(function, NOTHING).result == PASSED
        said = FAILED if FAILED in results else PASSED if results == {PASSED} else UNKNOWN
        is_judged = is_fit and said != UNKNOWN
        seconds = round(sum(item.seconds for item in items), 1)
        found[function] = Cell(said, seconds, origin) if is_judged else Cell(UNKNOWN, None, origin)
    return found


@dataclass(frozen=True)
class Matrix:
    """All of it.

    Attributes:
        tests: the columns.
        rows: the first one is the good switch.
        left_out: faults that were not tried, and why.
    """

    tests: tuple[str, ...]
    rows: tuple[FaultScore, ...]
    left_out: Mapping[str, str]

    @property
    def title(self) -> str:
        """`9 of 12 faults are seen, 2 missed, 1 not measured`."""
        found = [row.verdict for row in self.rows if row.specification]
        return (f"{found.count(SEEN)} of {len(found)} faults are seen, {found.count(MISSED)} missed,"
                f" {found.count(UNKNOWN)} not measured")

    @property
    def is_whole(self) -> bool:
        """Whether it is known of each fault whether it is seen."""
        return all(row.verdict != UNKNOWN for row in self.rows if row.specification)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Of its rows, those of the first row first."""
        return tuple(origin for row in self.rows for origin in row.origins)

    @property
    def about(self) -> str:
        """Sentences that say where and when it was measured, and how long that took."""
        if not self.origins:
            return "Nothing is measured."
        commits = ", ".join(sorted({origin.upstream for origin in self.origins}))
        days = sorted({origin.date[:len("2026-12-01")] for origin in self.origins if origin.date != NOT_RECORDED})
        when = f"{days[0]} to {days[-1]}" if len(days) > 1 else days[0] if days else f"at a time that is {NOT_RECORDED}"
        return f"sonic-mgmt {commits}, on virtual testbeds, {when}. {self._own_commits} {self._time}"

    @property
    def _own_commits(self) -> str:
        projects = [origin.project for origin in sorted(self.origins, key=lambda one: one.order)]
        known = [abbreviated(text) for text in dict.fromkeys(projects) if text != NOT_RECORDED]
        left = sum(any(origin.project == NOT_RECORDED for origin in row.origins) for row in self.rows)
        unknown = f"of {left} switches it is {NOT_RECORDED}" if left else ""
        return f"Commit of this project: {'; '.join(filter(None, [*known, unknown]))}."

    @property
    def _time(self) -> str:
        known = [row for row in self.rows if row.origins and all(one.seconds is not None for one in row.origins)]
        total = sum(origin.seconds or 0.0 for row in known for origin in row.origins)
        left = len(self.rows) - len(known)
        unknown = f"; of the other {left} the time is {NOT_RECORDED}" if left else ""
        return f"Wall time of {len(known)} of {len(self.rows)} switches: {total:,.0f} s added up{unknown}."

    @property
    def not_tried(self) -> list[str]:
        """A sentence for each reason."""
        by_reason: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            by_reason.setdefault(why, []).append(name)
        return [f"Not tried: {', '.join(names)}: {why}." for why, names in by_reason.items()]

    def lines(self) -> Iterator[list[str]]:
        """The cells of each row of the CSV, the first one the names of the columns."""
        names = [test.removeprefix(TEST) for test in self.tests]
        yield [FAULT_COLUMN, *names, "any", CASES_COLUMN, SECONDS_COLUMN, *(name + OF_A_TEST for name in names),
               DATE_COLUMN, PROJECT_COLUMN, UPSTREAM_COLUMN, RUN_COLUMN]
        for row in self.rows:
            cells = [row.cells.get(test, NOTHING) for test in self.tests]
            yield [row.shown, *(cell.result for cell in cells), row.shown_verdict, row.shown_cases, row.seconds_text,
                   *(cell.seconds_text for cell in cells), row.dates, row.projects,
                   BETWEEN.join(origin.upstream for origin in row.origins), row.runs]


def write(matrix: Matrix, stem: Path, endings: Sequence[str] = (CSV, PAGE, TABLE)) -> list[Path]:
    """Writes CSV, page and table; returns the files.

    Args:
        matrix: what is written.
        stem: of the files, without the ending.
        endings: of those that are written.

    Raises:
        OSError: one cannot be written.
    """
    made = {CSV: write_csv, PAGE: write_page, TABLE: write_table}
    files = [stem.with_name(stem.name + ending) for ending in endings]
    for file in files:
        made[file.suffix](matrix, file)
    return files


def write_csv(matrix: Matrix, file: Path) -> None:
    """All that is known, and what `--join` reads."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows(matrix.lines())


def write_page(matrix: Matrix, file: Path) -> None:
    """A page for people, in one file."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)
    environment.filters["abbreviated"] = abbreviated
    environment.filters["breakable"] = lambda name: Markup("_<wbr>").join(name.split("_"))
    style = Markup((Path(html_report.__file__).parent / "report.css").read_text(encoding="utf-8"))
    page = environment.get_template(TEMPLATE).render(matrix=matrix, nothing=NOTHING, prefix=TEST, folder=FOLDER,
                                                     style=style)
    file.write_text(page + "\n", encoding="utf-8")


def write_table(matrix: Matrix, file: Path) -> None:
    """A table for a document."""
    file.write_text("\n".join(markdown(matrix)) + "\n", encoding="utf-8")


def markdown(matrix: Matrix) -> Iterator[str]:
    """The lines of the table for a document."""
    yield f"{matrix.about} {matrix.title}."
    yield ""
    names = [test.removeprefix(TEST) for test in matrix.tests]
    head = [FAULT_COLUMN, *names, "any", CASES_COLUMN, SECONDS_COLUMN, DATE_COLUMN, PROJECT_COLUMN]
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in matrix.rows:
        results = [row.cells.get(test, NOTHING).result for test in matrix.tests]
        cells = [f"`{row.shown}`", *results, row.shown_verdict, row.shown_cases, row.seconds_text,
                 abbreviated(row.dates), abbreviated(row.projects)]
        yield f"| {' | '.join(cells)} |"
    for sentence in matrix.not_tried:
        yield ""
        yield sentence
