"""docs/troubleshooting.md quotes what is said: each quotation is in the code."""
from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
FOLDERS = ("ansible", "pfctest", "scripts", "test_reporting", "tests", "virtual_testbed")
QUOTED = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def said() -> str:
    """All texts of the code, tests left out, and the Makefile; what an f-string puts in is a line end."""
    texts = [(ROOT / "Makefile").read_text(encoding="utf-8")]
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if "tests" not in path.relative_to(ROOT / folder).parts[:-1] and "unit_tests" not in path.parts:
                tree = ast.parse(path.read_text(encoding="utf-8"))
                texts += [node.value for node in ast.walk(tree)
                          if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return "\n".join(texts)


def test_the_table_is_read() -> None:
    assert len(QUOTED) >= 9


@pytest.mark.parametrize("quotation", QUOTED)
def test_what_is_quoted_is_said(quotation: str) -> None:
    parts = [part.strip(" '") for part in quotation.split("...") if part.strip(" '")]
    assert parts and not [part for part in parts if part not in said()]


def test_what_nobody_says_is_found() -> None:
    assert "a sentence that no program says" not in said()
