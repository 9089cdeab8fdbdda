"""The plan document of a change, in the form of sonic-mgmt's test plans, made of the step, its files and
docs/testplan."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import TextWrapper

from scripts.closure import lines_of
from scripts.series.calls import call_of
from scripts.series.changes import SeriesChange
from scripts.series.evidence import Evidence, evidence_lines
from scripts.series.on_hardware import of_hardware
from scripts.series.overlap import overlapping
from scripts.series.preconditions import causes_of_error, preconditions

PAGES = "docs/testplan"
TABLE = f"{PAGES}/README.md"
FOLDER = "docs/testplan/pfc-qualification"
"""Where the documents are in a sonic-mgmt tree; a folder that it has not."""
WRAPPED = TextWrapper(120, break_long_words=False, break_on_hyphens=False)
ROW = re.compile(r"^\| \[(?P<plan_id>[A-Z0-9]+-\d+)\]\((?P<page>[a-z0-9-]+\.md)\) \| (?P<title>.+?) \|"
                 r" `(?P<test>.+?)` \|$")
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
PAGE_LINK = re.compile(r"\s?\(\[[a-z-]+\.md\]\([^)]+\)\)")
"""In brackets, to a page that does not travel."""
OBJECTIVE = "**Objective.** "
FROM = "**From.** "
CODE = "**Code.** "
LEFT_OUT = ("Why the numbers are what they are", "Faults that it catches")
"""Sections of a page that explain the plan: they are in the project's own pages."""
MEAN_S = 36
LONGEST_S = {"LSET-10": 363, "CLASS-2": 216, "CLASS-1": 170}
"""Of an item, by a real clock at full load: docs/upstream.md has the session."""
SKIP = """\
snappi_tests/pfc/qualification:
  skip:
    reason: "run by itself, not with the other snappi tests"
    conditions:
      - "True"
"""
HEADINGS = {"Set-up": "Test setup", "Steps": "Test steps", "Checks": "Pass/Fail Criteria"}
"""Of a page -> of sonic-mgmt's plans."""


@dataclass(frozen=True)
class CaseRow:
    """A test case of the plan: its id, the page that it is on, its title, the test that carries it out."""

    plan_id: str
    page: str
    title: str
    test: str

    @property
    def family(self) -> str:
        """What its id begins with."""
        return self.plan_id.partition("-")[0]


def document_of(change: SeriesChange) -> Path:
    """Where the document of a change is, relative to a sonic-mgmt checkout."""
    return Path(FOLDER) / f"{change.step.name}.md"


def plan_document(root: Path, change: SeriesChange, evidence: Evidence | None) -> str:
    """The document.

    Args:
        root: the checkout of this project.
        change: what it is about.
        evidence: of a run on a virtual testbed; None: there is none.
    """
    rows = cases_of(root, change)
    lines = [f"# PFC qualification, {change.step.name}", "", f"{change.step.title}.", ""]
    lines += _overview(change)
    lines += _setup(change, rows)
    lines += _errors(root) if rows else []
    lines += ["## Test cases", ""]
    lines += [line for page in dict.fromkeys(row.page for row in rows)
              for line in _page(root, page, [row for row in rows if row.page == page])]
    lines += _unit_tests(root, change)
    lines += ["## Evidence", "", *_evidence(evidence, rows)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def cases_of(root: Path, change: SeriesChange) -> list[CaseRow]:
    """The cases of the plan that a change brings."""
    found = (ROW.match(line) for line in (root / TABLE).read_text(encoding="utf-8").splitlines())
    rows = [CaseRow(**match.groupdict()) for match in found if match]
    return [row for row in rows if row.family in change.step.families]


def _overview(change: SeriesChange) -> list[str]:
    needs = ", ".join(change.needs) or "nothing"
    said = (f"One change of a series that qualifies Priority Flow Control (IEEE 802.1Qbb). It can be taken by itself: "
            f"{change.step.alone}. It builds on: {needs}.")
    folders = dict.fromkeys(str(file.parent) for file in change.files)
    return [
        "## Overview", "", *WRAPPED.wrap(said), "", "### Scope", "",
        f"{len(change.files)} files with {change.lines} lines, and {len(change.unit_tests)} of unit tests, in", "",
        *(f"* `{folder}`" for folder in folders), "",
    ]


def _setup(change: SeriesChange, rows: Sequence[CaseRow]) -> list[str]:
    lines = ["### Testbed", ""]
    if not rows:
        call = call_of(change.step.name)
        shown = ["How a test of another suite calls it:", "", "```python", *call, "```", ""] if call else []
        return [*lines, "None: its own unit tests need neither switch nor generator.", "",
                "## Setup configuration", "", "None.", "", *shown]
    needs = [f"* {need}" for need in preconditions([row.plan_id for row in rows])]
    return [
        *lines,
        "Topologies `tgen` and `multidut-tgen`: a switch, and traffic generators with OTG on its ports.", "",
        "## Setup configuration", "",
        *WRAPPED.wrap("What has to be there; a case for which it is not is left out with a note, or is ERROR with a"
                      " sentence that names what is missing:"), "",
        *needs, "",
        "The watchdog, and whatever a case configures, is put back after the tests.", "",
        *_time(change, rows),
    ]


def _time(change: SeriesChange, rows: Sequence[CaseRow]) -> list[str]:
    """How long the items take, and, of the change that brings the first ones, how a lab leaves them out."""
    longest = ", ".join(f"{plan_id} {LONGEST_S[plan_id]} s" for plan_id in (row.plan_id for row in rows)
                        if plan_id in LONGEST_S)
    said = (f"{len(rows)} cases, some with an item for each lossless priority. By a real clock an item takes {MEAN_S} s"
            f" on the average of a session{f'; here {longest}' if longest else ''}. `--pfc-scenario` takes the plan ids"
            " or families that are wanted.")
    lines = ["### Time", "", *WRAPPED.wrap(said), ""]
    if "PFC" in change.step.families:
        said = ("A run of all of `snappi_tests/pfc` collects these tests too. It leaves them out with"
                " `--ignore=snappi_tests/pfc/qualification`, or with an entry in a file of the lab's own for"
                " `--mark-conditions-files`:")
        lines += [*WRAPPED.wrap(said), "", "```yaml", *SKIP.splitlines(), "```", ""]
    return lines


def _errors(root: Path) -> list[str]:
    """What the pages of the plan refer to as ERROR."""
    said = ("A run that was no measurement is not judged: it is ERROR, which is neither PASS nor FAIL, for one of these"
            " causes or one that the cases below name:")
    return ["### What is ERROR", "", *WRAPPED.wrap(said), "", *causes_of_error(root), ""]


def _page(root: Path, page: str, rows: Sequence[CaseRow]) -> Iterator[str]:
    """What a page of the plan says of its cases on hardware."""
    text = PAGE_LINK.sub("", (root / PAGES / page).read_text(encoding="utf-8"))
    text = LINK.sub(r"\1", text).replace("see qualification.md", "see What is ERROR")
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    yield f"### {', '.join(row.plan_id for row in rows)}"
    yield ""
    yield from (f"* {row.plan_id}, `{row.test}`: {row.title}" for row in rows)
    yield ""
    paragraphs = [one.strip() for one in head.split("\n\n")[1:]]
    yield from ("#### Test objective", "", *_paragraph(paragraphs, OBJECTIVE), "")
    others = "\n\n".join(one for one in paragraphs if not one.startswith((OBJECTIVE, FROM, CODE)))
    yield from (*of_hardware(others).splitlines(), "")
    yield from _overlap(root, paragraphs, [row.plan_id for row in rows])
    for section in sections:
        title, _, body = section.partition("\n")
        if title not in LEFT_OUT:
            yield from (f"#### {HEADINGS.get(title, title)}", "", *of_hardware(body.strip()).splitlines(), "")


def _paragraph(paragraphs: Iterable[str], begins: str) -> list[str]:
    """The lines of the paragraph of a page that begins so."""
    found = next(one for one in paragraphs if one.startswith(begins))
    return WRAPPED.wrap(" ".join(found.removeprefix(begins).split()))


def _overlap(root: Path, paragraphs: Iterable[str], plan_ids: Sequence[str]) -> Iterator[str]:
    """Where the cases come from, and which tests that are there look at the same."""
    yield from ("#### Overlap with other tests", "", *_paragraph(paragraphs, FROM), "")
    rows = [f"| `{file}` | `{test}` | {', '.join(cases)} |" for file, test, cases in overlapping(root, plan_ids)]
    if rows:
        yield from ("These stay as they are; the cases decide what they do, with stricter limits:", "",
                    "| file | test | cases |", "|---|---|---|", *rows, "")
    else:
        yield from ("No test that is there looks at the same.", "")


def _unit_tests(root: Path, change: SeriesChange) -> list[str]:
    lines = ["### Unit tests", ""]
    modules = [file for file in change.unit_tests if file.name.startswith("unit_test_")]
    if not modules:
        return [*lines, "None: what this change does is seen when its cases run.", ""]
    return [*lines, "| file | lines | what it checks |", "|---|---|---|", *_rows(root, modules), ""]


def _evidence(evidence: Evidence | None, rows: Sequence[CaseRow]) -> list[str]:
    if not rows:
        return ["None of a run: the change has no test case. Its unit tests show what it does."]
    return [line for said in evidence_lines(evidence, [row.plan_id for row in rows]) for line in WRAPPED.wrap(said)]


def _rows(root: Path, modules: Iterable[Path]) -> Iterator[str]:
    for file in modules:
        said = ast.get_docstring(ast.parse((root / file).read_text(encoding="utf-8"))) or ""
        first = " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")
        yield f"| `{file}` | {lines_of(root / file)} | {first} |"
