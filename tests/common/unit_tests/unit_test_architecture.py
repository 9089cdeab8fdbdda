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
    "tests.common.fixtures.conn_graph_facts",
    "tests.common.snappi_tests.snappi_fixtures",
    "tests.common.clone",
    "tests.common.standalone",
    "tests.common.standalone_session",
    "tests.common.telemetry",
    "tests.conftest",
)
CORE = tuple(f"tests.common.pfc.{room}" for room in ("record", "model", "lab", "cases"))
SEAM_OF_OPTIONS = {
    f"files/{option}.py": option
    for option in ("deliberate_faults", "delivery", "diagnosis", "host_pauses", "latency", "resume", "selection",
                   "soak", "summary", "sweep")
}
"""A file of the seam that is there for an option -> the option: nothing else of the seam imports that."""
RULES = [
    Rule("pfctest", ("pfctest",)),
    Rule(
        "virtual_testbed/dataplane/model",
        ("pfctest", "virtual_testbed.dataplane.model"),
        never=("socket", "time", "asyncio", "threading"),
    ),
    Rule(
        "virtual_testbed/dataplane/compiled",
        ("virtual_testbed.dataplane.model", "virtual_testbed.dataplane.compiled"),
        ("numba", "numpy"),
        never=("socket", "time", "asyncio", "threading"),
    ),
    Rule(
        "virtual_testbed/dataplane/fast_forward",
        ("virtual_testbed.dataplane.model", "virtual_testbed.dataplane.compiled",
         "virtual_testbed.dataplane.fast_forward"),
        never=("socket", "time", "asyncio", "threading"),
    ),
    Rule(
        "virtual_testbed/dataplane",
        ("pfctest", "virtual_testbed.dataplane"),
        ("numba", "numpy"),
        never=("socket", "time", "asyncio", "threading"),
    ),
    Rule(
        "virtual_testbed",
        ("virtual_testbed", "pfctest"),
        None,
        only=(("wait_for.py", ("ansible",)),  # an Ansible module
              ("simulated_sleep.py", ("ansible",))),  # a pytest plugin, where Ansible is what is run
    ),
    Rule(
        "test_reporting",
        ("test_reporting", "tests.common.pfc.record"),
        ("alembic", "tabulate", "sqlalchemy", "jinja2", "markupsafe", "psycopg", "azure", "opentelemetry"),
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
        only=(("capture_file.py", ("scapy",)),),
    ),
    Rule("tests/common", ("tests.common", "ansible"), None),
    Rule(
        "tests/snappi_tests/pfc/qualification",
        ("tests.common.pfc", "tests.snappi_tests.pfc.qualification"),
        ("pytest", "tabulate"),
        only=(("conftest.py", SEAM), ("delivery.py", ("test_reporting.pfc",)),
              ("host_pauses.py", ("tests.common.standalone", "tests.common.devices.base")),
              ("ending.py", ("tests.common.standalone_session",))),
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
    assert "imports tests.common.standalone_session.plan" in found, found


def test_relative_imports_stay_inside_the_qualification_logic():
    """`tests/common/pfc` is copied as a folder: it imports itself by relative import only, and not its parent."""
    for path in modules("tests/common/pfc"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                depth = len(path.relative_to(ROOT / "tests/common/pfc").parts)
                assert node.level <= depth, f"{path.relative_to(ROOT)}:{node.lineno} imports from above the folder"


FLOORS = ("record", "model", "lab", "cases")
"""The rooms of the core, each of which stands on those before it. Every other room is an option on top of them."""
THIRD_PARTY = {"record": (), "model": (), "lab": ("snappi", "scapy"), "cases": ()}
LOGIC = ROOT / "tests" / "common" / "pfc"


def room_imports(path):
    """What a file of the qualification logic imports of the logic, `model.errors.QualificationError`, with the line."""
    package = path.relative_to(LOGIC).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[:len(package) - node.level + 1], *((node.module or "").split(".") if node.module else [])]
            yield from ((".".join([*base, alias.name]), node.lineno) for alias in node.names)


def room_violations(path):
    """Every import by which a file of the logic leaves the rooms that it stands on, as `file:line imports module`."""
    file = path.relative_to(LOGIC)
    room = file.parts[0]
    if len(file.parts) == 1:  # what the package itself says, of all rooms
        return
    allowed = FLOORS[:FLOORS.index(room) + 1] if room in FLOORS else (*FLOORS, room)
    rooms = {one.name for one in LOGIC.iterdir() if one.is_dir()}
    for module, line in room_imports(path):
        if module.split(".")[0] in rooms - set(allowed):
            yield f"{file}:{line} imports {module}"
    for module, line in imports(path):
        top = module.split(".")[0]
        if room in FLOORS and top not in (*STDLIB, *THIRD_PARTY[room]):
            yield f"{file}:{line} imports {module}"


def test_each_room_stands_on_those_below_it():
    """Records on the standard library alone; no room of the core on an option, and no option on another."""
    paths = modules("tests/common/pfc")
    rooms = {path.relative_to(LOGIC).parts[0] for path in paths}
    assert {*FLOORS} < rooms and len(paths) > 40, f"too little was found to trust the search: {sorted(rooms)}"
    found = [one for path in paths for one in room_violations(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "statement", "module"),
    [
        ("record/case.py", "from ..lab.clock import wait_for", "lab.clock.wait_for"),
        ("record/case.py", "from .. import model", "model"),
        ("record/case.py", "import snappi", "snappi"),
        ("model/qos.py", "from ..lab import clock", "lab.clock"),
        ("model/qos.py", "import scapy.all", "scapy.all"),
        ("lab/dut.py", "from ..cases.checks import judge", "cases.checks.judge"),
        ("lab/dut.py", "from ..evidence.files import plain", "evidence.files.plain"),
        ("cases/pauses.py", "from ..sweep.plan import Bench", "sweep.plan.Bench"),
        ("cases/watchdog/timers.py", "from ...sweep import plan", "sweep.plan"),
        ("cases/pauses.py", "import snappi", "snappi"),
        ("sweep/plan.py", "from ..evidence import files", "evidence.files"),
        ("evidence/files.py", "from ..switch_chain.chain import find", "switch_chain.chain.find"),
    ],
)
def test_an_import_between_rooms_is_found(tmp_path, monkeypatch, file, statement, module):
    """Also inside a function; the same import is found in no other way."""
    for room in (*FLOORS, "sweep", "evidence", "switch_chain"):
        (tmp_path / room).mkdir()
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    monkeypatch.setitem(globals(), "LOGIC", tmp_path)
    path.write_text("import json\n")
    assert not list(room_violations(path)), f"the standard library is refused in {file}"
    path.write_text(f"import json\n\n\ndef late():\n    {statement}\n")
    assert list(room_violations(path)) == [f"{file}:5 imports {module}"], f"{statement} was not found in {file}"


def seam_violations(folder):
    """Every import of an option in the seam (`conftest.py` and `files`) by a file that is not that option's, and of
    such a file by another one."""
    files = [folder / "conftest.py", *sorted((folder / "files").glob("*.py"))]
    plugins = tuple(f"tests.snappi_tests.pfc.qualification.{name[:-3].replace('/', '.')}" for name in SEAM_OF_OPTIONS)
    for path in files:
        name = path.relative_to(folder).as_posix()
        own = (f"tests.common.pfc.{SEAM_OF_OPTIONS[name]}",) if name in SEAM_OF_OPTIONS else ()
        for module, line in imports(path):
            option = within(module, ("tests.common.pfc",)) and not within(module, (*CORE, *own))
            if option or within(module, plugins):
                yield f"{name}:{line} imports {module}"


def test_the_seam_imports_no_option():
    """The file of each option apart."""
    folder = ROOT / "tests" / "snappi_tests" / "pfc" / "qualification"
    found = list(seam_violations(folder))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("conftest.py", "tests.common.pfc.sweep.plan.Bench"),
        ("conftest.py", "tests.snappi_tests.pfc.qualification.files.sweep.Sweeps"),
        ("files/session.py", "tests.common.pfc.sweep.plan.Bench"),
        ("files/sweep.py", "tests.common.pfc.evidence.files.plain"),
    ],
)
def test_an_option_in_the_seam_is_found(tmp_path, name, module):
    """Also inside a function."""
    (tmp_path / "files").mkdir()
    for file in ("conftest.py", "files/session.py", "files/sweep.py"):
        (tmp_path / file).write_text("from tests.common.pfc.lab.dut import Dut\n")
    assert not list(seam_violations(tmp_path)), "the core is refused"
    package, _, attribute = module.rpartition(".")
    (tmp_path / name).write_text(f"def late():\n    from {package} import {attribute}\n")
    assert list(seam_violations(tmp_path)) == [f"{name}:2 imports {module}"], f"{module} was not found in {name}"


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
