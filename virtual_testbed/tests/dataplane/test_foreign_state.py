"""Fast-forward and what carries the model's objects to compiled code and back move them by their own verbs: they write
no attribute of anything but themselves."""
from __future__ import annotations

import ast
from pathlib import Path

import pytest

DATA_PLANE = Path(__file__).parents[2] / "dataplane"
FAST_FORWARD = DATA_PLANE / "fast_forward"
CARRIERS = [DATA_PLANE / "compiled" / name for name in ("__init__.py", "stepper.py", "transfer.py")]
CHANGING = {"add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popleft",
            "remove", "reverse", "rotate", "setdefault", "sort", "update"}
"""Methods of containers that change them."""


def is_foreign(node):
    """True for an attribute, or an item of one, of anything but `self`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self")


def targets(node):
    """What a statement assigns to or deletes, tuples taken apart."""
    if isinstance(node, ast.Assign | ast.Delete):
        found = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
        found = [node.target]
    elif isinstance(node, ast.withitem):
        found = [node.optional_vars] if node.optional_vars else []
    else:
        found = []
    while any(isinstance(one, ast.Tuple | ast.List | ast.Starred) for one in found):
        found = [part for one in found for part in (
            one.elts if isinstance(one, ast.Tuple | ast.List)
            else [one.value if isinstance(one, ast.Starred) else one])]
    return found


def written(text):
    """Lines in which state of another object is written: assigned, deleted, set by name, or a container of it changed.
    """
    lines = set()
    for node in ast.walk(ast.parse(text)):
        if any(is_foreign(target) for target in targets(node)):
            lines.add(node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            lines.add(node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
                node.func.attr in CHANGING and is_foreign(node.func.value)):
            lines.add(node.lineno)
    return sorted(lines)


def test_fast_forward_writes_its_own_attributes_only():
    modules = sorted([*FAST_FORWARD.glob("*.py"), *CARRIERS])
    assert len(modules) > 10
    assert {str(file): written(file.read_text(encoding="utf-8")) for file in modules} == {
        str(file): [] for file in modules}


@pytest.mark.parametrize("statement", [
    "line.busy_until_ps = 0",
    "self.loop.now_ps += 1",
    "first, (line.on_line, second) = found",
    "receiver.counts[:] = counts",
    "receiver.kinds['pfc'] = 1",
    "self.path.line.controls[0] = item",
    "del line.flight",
    "for line.on_line in items: pass",
    "setattr(path, 'rx', 1)",
    "line.flight.append(frame)",
    "self.port.queues[3].runs.clear()",
    "line.data_ps: int = 1",
])
def test_a_written_attribute_is_found(statement):
    assert written(f"self.now_ps = 1\nfound[0] = 1\nself.seen.clear()\n{statement}") == [4]
