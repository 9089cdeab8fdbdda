"""The rooms of the virtual testbed: each imports only those that docs/architecture.md says, and there is no circle."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from virtual_testbed.tests.dataplane.test_layers import PACKAGE, circle, imports, sources

NAME = "virtual_testbed."
ROOMS = {
    "pytest_plugin": {"supervision"},
    "sonic_mgmt": {"supervision"},
    "supervision": {"lab_files", "sonic", "faults", "ixnetwork", "process"},
    "engine": {"lab_files", "sonic", "faults", "ixnetwork", "otg", "dataplane", "process"},
    "lab_files": {"sonic"},
    "sonic": {"dataplane", "process"},
    "otg": {"dataplane"},
    "faults": {"dataplane"},
    "dataplane": set(),
    "ixnetwork": set(),
    "process": set(),
}
"""What stands in the package, folder or module, and what of the others it may import."""
DOORS = {
    ("pytest_plugin", "supervision"): {"virtual_testbed.supervision.endpoints"},
    ("sonic_mgmt", "supervision"): {"virtual_testbed.supervision.endpoints"},
    ("lab_files", "sonic"): {"virtual_testbed.sonic.profile"},
    ("supervision", "ixnetwork"): {"virtual_testbed.ixnetwork.habits"},
}
"""The only modules of another room that a room imports, where it may not import any."""


def room(module):
    """The room of a module of the package; None for the package itself."""
    return module.removeprefix(NAME).split(".")[0] if module.startswith(NAME) else None


def violations(graph):
    """Imports that leave a room for one, or for a module of one, that it may not import: (module, module imported)."""
    found = []
    for module, named in graph.items():
        here = room(module)
        for used in named:
            there = room(used)
            if here is None or there in (None, here):
                continue
            if there not in ROOMS[here] or used not in DOORS.get((here, there), {used}):
                found.append((module, used))
    return sorted(found)


def test_each_room_imports_only_what_it_may():
    graph = imports(sources(PACKAGE))
    assert {room(module) for module in graph} - {None} == ROOMS.keys(), "ROOMS does not name what is in the package"
    assert violations(graph) == []


def test_each_import_that_is_allowed_is_used():
    graph = imports(sources(PACKAGE))
    used = {(room(module), room(name)) for module, named in graph.items() for name in named}
    allowed = {(here, there) for here, rooms in ROOMS.items() for there in rooms}
    assert allowed <= used, f"no module needs that: {sorted(allowed - used)}"


def test_the_rooms_have_no_circle():
    assert circle(ROOMS) == []


@pytest.mark.parametrize("module, used", [
    ("otg.http_front", "engine.clock"),
    ("sonic.ssh", "supervision.state"),
    ("supervision.lifecycle", "engine.testbed"),
    ("lab_files.description", "sonic.factory"),
    ("pytest_plugin", "supervision.cli"),
    ("process", "sonic.processes"),
    ("ixnetwork.session", "otg.service"),
    ("supervision.plan", "ixnetwork.session"),
])
def test_an_import_that_is_not_allowed_is_found(module, used):
    texts = sources(PACKAGE)
    texts[NAME + module] += f"\ndef late():\n    import {NAME}{used}\n"
    assert violations(imports(texts)) == [(NAME + module, NAME + used)]


def test_the_table_of_the_documentation_says_the_same():
    text = Path(PACKAGE.parent, "docs", "architecture.md").read_text(encoding="utf-8")
    table = text.partition("| room | may import |\n|---|---|\n")[2].partition("\n\n")[0]
    said = {}
    for row in table.splitlines():
        rooms, allowed = (re.findall(r"`(\w+)(?:/|\.py)?`", re.sub(r"\(.*\)", "", cell))
                          for cell in row.strip("| ").split(" | "))
        said |= {name: set(allowed) for name in rooms}
    assert said == ROOMS
