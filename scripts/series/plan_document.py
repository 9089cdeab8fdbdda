"""The plan document of a change, in the form of sonic-mgmt's test plans, made of the step, its files and
docs/testplan."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from scripts.closure import lines_of
from scripts.series.changes import SeriesChange
from scripts.series.evidence import Evidence, evidence_lines

PAGES = "docs/testplan"
TABLE = f"{PAGES}/README.md"
FOLDER = "docs/testplan/pfc-qualification"
"""Where the documents are in a sonic-mgmt tree; a folder that it has not."""
WIDTH = 120
ROW = re.compile(r"^\| \[(?P<plan_id>[A-Z0-9]+-\d+)\]\((?P<page>[a-z0-9-]+\.md)\) \| (?P<title>.+?) \|"
                 r" `(?P<test>.+?)` \|$")
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
OBJECTIVE = "**Objective.** "
LEFT_OUT = ("Why the numbers are what they are", "Faults that it catches", "On hardware", "Limits on hardware")
"""Sections of a page that explain the plan: they are in the project's own pages."""
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
    lines += ["## Test cases", ""]
    lines += [line for page in dict.fromkeys(row.page for row in rows)
              for line in _page(root, page, [row for row in rows if row.page == page])]
    lines += _unit_tests(root, change)
    lines += ["## Evidence", "", *_evidence(evidence, rows)]
    return "\n".join(lines).rstrip() + "\n"


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
        "## Overview", "", *wrap(said, WIDTH), "", "### Scope", "",
        f"{len(change.files)} files with {change.lines} lines, and {len(change.unit_tests)} of unit tests, in", "",
        *(f"* `{folder}`" for folder in folders), "",
    ]


def _setup(change: SeriesChange, rows: Sequence[CaseRow]) -> list[str]:
    lines = ["### Testbed", ""]
    if not rows:
        return [*lines, "None: its own unit tests need neither switch nor generator.", "",
                "## Setup configuration", "", "None.", ""]
    return [
        *lines,
        "Topologies `tgen` and `multidut-tgen`: a switch, and traffic generators with OTG on its ports.", "",
        "## Setup configuration", "",
        "None by hand. Watchdog, and whatever a case configures, is put back after the tests.", "",
    ]


def _page(root: Path, page: str, rows: Sequence[CaseRow]) -> Iterator[str]:
    """What a page of the plan says of its cases."""
    text = LINK.sub(r"\1", (root / PAGES / page).read_text(encoding="utf-8"))
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    yield f"### {', '.join(row.plan_id for row in rows)}"
    yield ""
    yield from (f"* {row.plan_id}, `{row.test}`: {row.title}" for row in rows)
    yield ""
    yield from ("#### Test objective", "", *_objective(head), "")
    for section in sections:
        title, _, body = section.partition("\n")
        if title not in LEFT_OUT:
            yield from (f"#### {HEADINGS.get(title, title)}", "", *body.strip().splitlines(), "")


def _objective(head: str) -> list[str]:
    """The paragraph of a page that says what its cases are for."""
    paragraphs = head.split("\n\n")
    found = next(one for one in paragraphs if one.startswith(OBJECTIVE))
    return found.removeprefix(OBJECTIVE).strip().splitlines()


def _unit_tests(root: Path, change: SeriesChange) -> list[str]:
    lines = ["### Unit tests", ""]
    modules = [file for file in change.unit_tests if file.name.startswith("unit_test_")]
    if not modules:
        return [*lines, "None: what this change does is seen when its cases run.", ""]
    return [*lines, "| file | lines | what it checks |", "|---|---|---|", *_rows(root, modules), ""]


def _evidence(evidence: Evidence | None, rows: Sequence[CaseRow]) -> list[str]:
    return [line for said in evidence_lines(evidence, [row.plan_id for row in rows]) for line in wrap(said, WIDTH)]


def _rows(root: Path, modules: Iterable[Path]) -> Iterator[str]:
    for file in modules:
        said = ast.get_docstring(ast.parse((root / file).read_text(encoding="utf-8"))) or ""
        first = " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")
        yield f"| `{file}` | {lines_of(root / file)} | {first} |"
