"""A pause frame's way from the generator's line to the shut queue is the one that docs/data-plane.md lists."""
from __future__ import annotations

import re
import sys
from pathlib import Path

from virtual_testbed.tests.dataplane.testbeds import MS, names, network, storm, switch_config

ROOT = Path(__file__).parents[3]
MOST_FUNCTIONS, MOST_FILES = 12, 5
ROW = re.compile(r"^\| \d+ \| `(?P<file>[a-z_]+\.py)` \| `(?P<function>[\w.]+)` \|", re.MULTILINE)


def listed():
    """The way as the page lists it: (file, function)."""
    text = (ROOT / "docs" / "data-plane.md").read_text(encoding="utf-8")
    section = text.partition("## The way of a pause frame")[2].partition("\n## ")[0]
    return [(row["file"], row["function"]) for row in ROW.finditer(section)]


def called(run):
    """Functions of the model that are called, in order: (file, function)."""
    found = []

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.parent.name == "model":
            found.append((path.name, frame.f_code.co_qualname))
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def test_the_way_is_short():
    assert len(listed()) == MOST_FUNCTIONS and len({file for file, _ in listed()}) == MOST_FILES


def test_the_way_is_the_one_listed():
    """One frame, of which nothing was known before: its functions are called in this order, the last once."""
    flows = [storm("storm", 0, {3: 0xFFFF})]
    net = network(switch_config(2), flows)

    def run():
        net.start_flows(names(flows))
        net.advance_to(MS // 100)
        net.statistics()
    calls = called(run)
    begin = calls.index(listed()[0])
    end = calls.index(listed()[-1], begin)
    rest = iter(calls[begin:end + 1])
    missing = [step for step in listed() if step not in rest]
    assert not missing, f"{missing} are not called in this order by one pause frame: {calls[begin:end + 1]}"
