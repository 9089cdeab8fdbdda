"""Imports run one way: no circle in the virtual testbed; the data plane's model knows nothing of what skips time."""
from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2]
DATA_PLANE = "virtual_testbed.dataplane."
PACKAGES = (DATA_PLANE + "model", DATA_PLANE + "compiled", DATA_PLANE + "fast_forward")
ROOMS = {
    "": ("outside", "network readout", "capture cabling paths load", "forwarding"),
    "fast_forward.": ("advance", "partition", "components", "skip", "recurrence steady_state", "steady_proof",
                      "buffer_levels line_backlog steady_latency", "control_path queue_growth frame_rotation delivery",
                      "busy_periods ledger"),
    "compiled.": ("stepper", "transfer cycle stepping", "comparison", "compiler tables"),
    "model.": ("generator", "switch flow", "watchdog_port", "port", "ties",
               "pause_flow pause_receiver pause_transmitter",
               "line buffer scheduler watchdog while_shut", "hooks watchdog_decider",
               "control_frames control_plane copies counters events units configuration traffic runs"),
}
"""Modules of the data plane by room: the room itself, `fast_forward`, `compiled` and `model` in it. A room may use
those after it."""
FLOORS = tuple(" ".join(room + name for name in floor.split()) for room, floors in ROOMS.items() for floor in floors)
"""All modules, from the top floor down; a module may use its own floor and those below."""


def sources(package):
    """Text by module name of a package and what is in it, tests excepted."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        if "tests" not in parts:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text(encoding="utf-8")
    return found


def imports(texts):
    """Modules by module that imports them: anywhere in it, in a function and for type annotations too."""
    graph = {}
    for module, text in texts.items():
        named = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{module}, line {node.lineno}: relative import: expected the whole name"
                named |= {f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in texts else node.module
                          for alias in node.names}
        graph[module] = named & texts.keys()
    return graph


def circle(graph):
    """The modules of one circle, the first again at the end; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def climbs(graph):
    """Imports of the data plane that go up a floor, as (module, module imported)."""
    floor = {DATA_PLANE + name: number for number, names in enumerate(FLOORS) for name in names.split()}
    return [(module, used) for module in floor for used in sorted(graph[module])
            if used in floor and floor[used] < floor[module]]


def test_no_circle_of_imports():
    assert circle(imports(sources(PACKAGE))) == []


def test_every_module_of_the_data_plane_has_a_floor_and_uses_nothing_above_it():
    graph = imports(sources(PACKAGE))
    assert {DATA_PLANE + name for names in FLOORS for name in names.split()} == {
        module for module in graph if module.startswith(DATA_PLANE) and module not in PACKAGES}
    assert climbs(graph) == []


@pytest.mark.parametrize("back", [
    "import made.up.top",
    "from made.up import top",
    "from made.up.top import Top",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made.up.top import Top",
    "def late():\n    from made.up.top import Top",
])
def test_a_circle_is_found(back):
    texts = {"made.up": "", "made.up.top": "from made.up.middle import a", "made.up.middle": "import made.up.floor",
             "made.up.floor": "import os"}
    assert circle(imports(texts)) == []
    assert set(circle(imports({**texts, "made.up.floor": back}))) == {"made.up.top", "made.up.middle", "made.up.floor"}


def test_a_way_back_up_is_found():
    texts = sources(PACKAGE)
    pause = DATA_PLANE + "model.pause_receiver"
    switch = DATA_PLANE + "model.switch"
    texts[pause] += "\nif TYPE_CHECKING:\n    from virtual_testbed.dataplane.model.switch import SwitchPort\n"
    assert climbs(imports(texts)) == [(pause, switch)]
    assert {pause, switch} <= set(circle(imports(texts)))


def test_a_model_that_knows_of_skipping_is_found():
    texts = sources(PACKAGE)
    line = DATA_PLANE + "model.line"
    bounds = DATA_PLANE + "fast_forward.busy_periods"
    texts[line] += "\ndef late():\n    from virtual_testbed.dataplane.fast_forward.busy_periods import Stream\n"
    assert climbs(imports(texts)) == [(line, bounds)]
