"""The documents: prose is wrapped, and what they name in the code is there."""
import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMING = ("docs/architecture.md", "docs/fast-forward.md", "docs/glossary.md")
LONGEST_LINE = 120
FENCE = re.compile(r"\s*(```|~~~)")
FILE = re.compile(r"`([\w./-]+\.py)`")
NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)?)`")
LINK = re.compile(r"\]\(([^()\s#]*)(#[^()\s]*)?\)")


def prose(text):
    """Yields number and text of the lines that are neither in a code block nor of a table."""
    in_fence = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        is_code = line.startswith("    ") and (not before.strip() or before.startswith("    "))
        if FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence and not is_code and not line.lstrip().startswith("|"):
            yield number, line
        before = line


def too_long(text):
    """Returns the numbers of the lines of prose that could be broken and are longer than `LONGEST_LINE`."""
    return [number for number, line in prose(text) if len(line) > LONGEST_LINE and " " in line.strip()]


def rows_with_files(text):
    """Yields the file of each table row that names one in its second cell or later, and the names behind it."""
    for line in text.splitlines():
        cells = line.strip().strip("|").split(" | ")
        for place, cell in enumerate(cells[1:], 1):
            file = FILE.fullmatch(cell.strip())
            if line.startswith("| ") and file:
                yield file[1], [name for later in cells[place + 1:] for name in NAME.findall(later)]


@cache
def names_of(file):
    """Returns what a module defines: functions, classes, their methods and attributes, and constants."""
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        found |= {name for name in targets_of(node)}
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for inner in node.body for name in targets_of(inner)}
    return found


def targets_of(node):
    """Returns the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def broken_links(page, text):
    """Returns the links of a page's text that lead to no file, or to no heading of a page."""
    broken = []
    for target, anchor in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        path = (page.parent / target).resolve() if target else page
        is_there = "://" in target or path.exists() and (not anchor or anchor[1:] in anchors_of(path))
        if not is_there:
            broken.append(target + anchor)
    return broken


@cache
def anchors_of(page):
    """Returns the anchors of a page: those of its headings, as GitHub makes them, and its own."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([\w-]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page):
    numbers = too_long(page.read_text(encoding="utf-8"))
    assert not numbers, f"{page.relative_to(ROOT)}: lines {numbers} are longer than {LONGEST_LINE} columns"


def test_a_long_line_of_prose_is_found():
    long = "a line of prose " * 8
    assert too_long(f"short\n{long}\n- {long}") == [2, 3]
    assert too_long(f"- item\n    {long}") == [2]
    assert too_long(f"```\n{long}\n```\n| {long} |\n\n    {long}\n{'x' * 130}") == []


@pytest.mark.parametrize("page", NAMING)
def test_what_a_table_names_is_in_the_code(page):
    rows = list(rows_with_files((ROOT / page).read_text(encoding="utf-8")))
    assert len(rows) > 10, f"{page}: {len(rows)} rows name a file"
    missing = [file for file, _ in rows if not (ROOT / file).is_file()]
    assert not missing, f"{page} names files that are not there: {missing}"
    unknown = [f"{file}: {name}" for file, names in rows for name in names if name not in names_of(file)]
    assert not unknown, f"{page} names what is not in these files: {unknown}"


def test_a_name_that_is_not_in_the_code_is_found():
    row = "| step | `scripts/tests/test_documents.py` | `prose`, `nothing` |"
    [(file, names)] = rows_with_files(row)
    assert names == ["prose", "nothing"] and "prose" in names_of(file) and "nothing" not in names_of(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    broken = broken_links(page, page.read_text(encoding="utf-8"))
    assert not broken, f"{page.relative_to(ROOT)} links to {broken}, which is not there"


def test_a_broken_link_is_found():
    text = "[a](docs/otg.md) [b](docs/none.md) [c](#the-two-commands) [d](README.md#none) [e](https://a.example)"
    assert broken_links(ROOT / "README.md", text) == ["docs/none.md", "README.md#none"]


def test_the_function_that_shows_the_style_is_the_one_in_the_code():
    shown = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```python\ndef ")[1].split("```")[0]
    assert f"\n\ndef {shown}" in (ROOT / "tests/common/pfc/model/checking.py").read_text(encoding="utf-8"), shown
