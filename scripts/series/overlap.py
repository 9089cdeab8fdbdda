"""Which tests of sonic-mgmt look at what the cases of a change look at, as docs/upstream-coverage.md has it."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

COVERAGE = "docs/upstream-coverage.md"
FILE = re.compile(r"^\| \*\*(?P<file>test_\w+\.py)\*\*")
TEST = re.compile(r"^\| `(?P<test>test_\w+)` \| (?P<what>.*?) \| (?P<here>[A-Z0-9, to-]+) \|")
RANGE = re.compile(r"([A-Z0-9]+)-(\d+)(?: to [A-Z0-9]+-(\d+))?")


def overlapping(root: Path, plan_ids: Collection[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The file, the name and the cases here of each such test. `root`: the checkout."""
    file = ""
    for line in (root / COVERAGE).read_text(encoding="utf-8").splitlines():
        head = FILE.match(line)
        row = TEST.match(line)
        if head:
            file = head["file"]
        covered = [one for one in ids_in(row["here"]) if one in plan_ids] if row else []
        if row and covered:
            yield file, row["test"], covered


def ids_in(cell: str) -> list[str]:
    """The plan ids of a cell: `WD-1 to WD-3, FLAP-1`."""
    return [f"{family}-{number}" for family, first, last in RANGE.findall(cell)
            for number in range(int(first), int(last or first) + 1)]
