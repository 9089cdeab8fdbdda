"""The picture of a terminal in README.md."""
from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.draw_terminal import COLUMNS, IMAGE, draw, main, shown_lines, times

LOG = """== virtual testbed vtb-t0
PFC     5 items  PASS                        3 s
TIME    7 items  FAIL                      300 s
note: the verdicts do not speak for much
page: /home/someone/clone/results/20261124T202255Z-6216/report.html
FAIL after 350 s: <expected> 0 & got 1
"""


def test_lines_appear_one_after_another_and_notes_do_not() -> None:
    lines = shown_lines(LOG)
    assert len(lines) == 5 and not any("note:" in line for line in lines)
    assert lines[3] == "page: results/20261124T202255Z-6216/report.html", "no folder of whoever ran it"
    moments = times(lines)
    assert moments == sorted(moments) and moments[2] - moments[1] <= 1.6, "waiting is shortened"


def test_a_long_line_is_cut() -> None:
    line, = shown_lines("x" * 300)
    assert len(line) == COLUMNS and line.endswith("\u2026")


def test_it_is_svg_with_every_line_and_its_colours() -> None:
    root = ElementTree.fromstring(draw(LOG))
    name = "{http://www.w3.org/2000/svg}"
    texts = ["".join(one.itertext()).replace("\u00a0", " ").strip() for one in root.iter(f"{name}text")]
    assert texts == ["$ make qualify QUICK=1", *shown_lines(LOG)]
    assert [one.text for one in root.iter(f"{name}tspan")] == ["PASS", "FAIL", "FAIL"]
    assert len(list(root.iter(f"{name}animate"))) == 5


def test_the_picture_in_the_repository_is_of_this_program() -> None:
    root = ElementTree.fromstring(IMAGE.read_text(encoding="utf-8"))
    words = " ".join("".join(root.itertext()).split())
    assert "make qualify QUICK=1" in words and re.search(r"PASS after \d+ s", words) and "pfc.lossless" in words
    assert not re.search(r"/(home|root|work)/", words)


def test_a_log_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 3
    assert "none: No such file" in capsys.readouterr().err
