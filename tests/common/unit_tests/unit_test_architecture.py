"""Who may import whom: the house's rules, checked on the source text of every module."""

import ast
import configparser
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.common.pfc.record.records import SOFTWARE

ROOT = Path(__file__).resolve().parents[3]
STDLIB = frozenset(sys.stdlib_module_names)
HOUSE = ("tests", "test_reporting", "virtual_testbed", "pfctest", "ansible")


@dataclass(frozen=True)
class Rule:
    """What the modules of a folder may import.

    Attributes:
        folder: the folder; its own tests (`tests/`, `unit_tests/`) are left out.
        house: packages of this project that they may import.
        third_party: packages of others that they may import at all; None: any.
        never: modules that they may not import, of the standard library too.
        only: file name -> further packages that this one file may import.
    """

    folder: str
    house: tuple[str, ...]
    third_party: tuple[str, ...] | None = ()
    never: tuple[str, ...] = ()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()


SEAM = (
    "tests.common.devices.base",
    "tests.common.errors",
    "tests.common.fixtures.conn_graph_facts",
    "tests.common.snappi_tests.snappi_fixtures",
    "tests.common.standalone",
    "tests.common.telemetry",
    "test_reporting.pfc",
)
RULES = [
    Rule("pfctest", ("pfctest",)),
    Rule(
        "virtual_testbed/dataplane",
        ("pfctest", "virtual_testbed.dataplane"),
        never=("socket", "time", "asyncio", "threading"),
    ),
    Rule(
        "virtual_testbed",
        ("virtual_testbed", "pfctest"),
        None,
        only=(("minigraph_facts.py", ("ansible",)), ("sonic_basic_facts.py", ("ansible",))),  # Ansible modules
    ),
    Rule(
        "test_reporting",
        ("test_reporting", "tests.common.pfc.record"),
        ("alembic", "tabulate", "sqlalchemy", "jinja2", "markupsafe", "duckdb", "psycopg", "azure", "jsonschema"),
        only=(
            ("metrics.py", ("metric_definitions",)),
            ("reporter_factory.py", ("metrics",)),
            ("examples.py", ("metric_definitions", "metrics", "reporter_factory")),
        ),  # sonic-mgmt's flat imports
    ),
    Rule("tests/common/pfc/record", ()),
    Rule(
        "tests/common/pfc",
        (),
        ("snappi",),
        only=(("capture.py", ("scapy",)), ("sonic_mgmt.py", ("tests.common", "pytest"))),
    ),
    Rule("tests/common", ("tests.common", "ansible"), None),
    Rule(
        "tests/snappi_tests/pfc/qualification",
        ("tests.common.pfc", "tests.snappi_tests.pfc.qualification"),
        ("pytest", "tabulate"),
        only=(("conftest.py", SEAM),),
    ),
]


def modules(folder):
    """The Python files of a folder, without its tests."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return [path for path in paths if not {"tests", "unit_tests"} & set(path.relative_to(ROOT / folder).parts)]


def imports(path):
    """Every module that a file imports absolutely, with the line; `from a import b` counts as `a.b`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def within(module, packages):
    """Whether a module is one of the packages or inside one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def violations(rule, paths):
    """Every import that the rule forbids, as `file:line imports module`."""
    for path in paths:
        extra = next((packages for name, packages in rule.only if name == path.name), ())
        for module, line in imports(path):
            top = module.split(".")[0]
            allowed = within(module, rule.house + extra)
            if not allowed and top not in HOUSE:
                allowed = top in STDLIB or rule.third_party is None or top in rule.third_party
            if not allowed or within(module, rule.never):
                yield f"{path.relative_to(ROOT)}:{line} imports {module}"


@pytest.mark.parametrize("rule", RULES, ids=[rule.folder for rule in RULES])
def test_imports(rule):
    """The parts meet by protocol, not by import."""
    paths = modules(rule.folder)
    assert paths, f"{rule.folder} has no module to look at"
    found = list(violations(rule, paths))
    assert not found, "\n".join(found)


def test_the_check_finds_a_forbidden_import(tmp_path):
    """Each kind of import, also inside a function."""
    path = ROOT / "tests" / "common" / "pfc" / "lab" / "clock.py"
    strict = Rule("tests/common/pfc", (), (), never=("time",))
    assert list(violations(strict, [path])) == [
        f"tests/common/pfc/lab/clock.py:{line} imports time"
        for line in [n for module, n in imports(path) if module == "time"]
    ], "time was not found"
    seam = ROOT / "tests" / "snappi_tests" / "pfc" / "qualification" / "conftest.py"
    without = Rule("tests/snappi_tests/pfc/qualification", ("tests.common.pfc",), ("pytest",))
    found = " ".join(violations(without, [seam]))
    assert "imports tests.common.errors.LabError" in found and "imports test_reporting.pfc" in found, found


def test_relative_imports_stay_inside_the_qualification_logic():
    """`tests/common/pfc` is copied as a folder: it imports itself by relative import only, and not its parent."""
    for path in modules("tests/common/pfc"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                depth = len(path.relative_to(ROOT / "tests/common/pfc").parts)
                assert node.level <= depth, f"{path.relative_to(ROOT)}:{node.lineno} imports from above the folder"


def test_the_record_library_stands_alone():
    """`tests/common/pfc/record` imports its own modules and the standard library, nothing else of the suite."""
    for path in modules("tests/common/pfc/record"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, f"{path.relative_to(ROOT)}:{node.lineno} imports from beside the folder"


def test_records_name_the_version_of_the_package():
    """The suite keeps it as a text of its own, because it also runs where the package is not installed."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    package = setup["metadata"]
    assert SOFTWARE == f"{package['name']} {package['version']}", f"tests/common/pfc/record/records.py has {SOFTWARE}"


def test_every_test_file_names_its_topologies():
    """sonic-mgmt's own check looks for this form; the decorator does not satisfy it."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        found = re.search(r"[^@]pytest\.mark\.topology\(", path.read_text(encoding="utf-8"))
        assert found, f"{path.relative_to(ROOT)} has no `pytestmark = [pytest.mark.topology(...)]`"


def test_every_assertion_has_a_message():
    """sonic-mgmt runs pytest with `--assert plain`: without one a failure would say nothing."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert):
                assert node.msg is not None, f"{path.relative_to(ROOT)}:{node.lineno} asserts without a message"
