"""A public class name has one meaning in the project: no two modules define classes of the same name."""
import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("ansible", "pfctest", "scripts", "sonic_mgmt_pfc", "test_reporting", "tests", "virtual_testbed")
TEST_FOLDERS = ("tests", "unit_tests")
TEST_MODULES = ("test_", "unit_test_", "conftest.py")
QUALIFICATION, DATA_PLANE = "tests/common/pfc", "virtual_testbed/dataplane"
OPEN = {
    "Capture": (f"{QUALIFICATION}/lab/capture.py", f"{DATA_PLANE}/capture.py"),
    "ControlFrame": (f"{QUALIFICATION}/lab/capture.py", f"{DATA_PLANE}/control.py"),
    "Hop": (f"{QUALIFICATION}/switch_chain/hops.py", f"{DATA_PLANE}/forwarding.py"),
    "Host": (f"{QUALIFICATION}/lab/dut.py", f"{DATA_PLANE}/traffic.py"),
    "PauseSender": (f"{QUALIFICATION}/lab/generator.py", f"{DATA_PLANE}/pause.py"),
    "Place": (f"{QUALIFICATION}/model/checking.py", f"{DATA_PLANE}/hooks.py"),
    "Pool": (f"{QUALIFICATION}/sweep/watermarks.py", f"{DATA_PLANE}/buffer.py"),
    "Schedule": (f"{DATA_PLANE}/levels.py", f"{DATA_PLANE}/units.py"),
    "Scheduler": (f"{QUALIFICATION}/cases/scheduler_shares.py", f"{DATA_PLANE}/scheduler.py"),
    "Session": ("tests/snappi_tests/pfc/qualification/files/session.py", f"{DATA_PLANE}/apart.py"),
    "Storm": (f"{QUALIFICATION}/model/scenario.py", f"{DATA_PLANE}/storm.py"),
    "Watchdog": (f"{QUALIFICATION}/lab/watchdog.py", f"{DATA_PLANE}/watchdog.py"),
}
"""Names that mean something else in the data plane: no name is added here, and one with one meaning is taken out."""


def is_test(file):
    """Whether a module, relative to the root, belongs to the tests of a part; `tests` itself is one of the parts."""
    return file.name.startswith(TEST_MODULES) or any(folder in TEST_FOLDERS for folder in file.parts[1:-1])


def classes_of(path):
    """Returns the public classes that a module defines at its top level."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def names_with_several_meanings(root):
    """Returns each public class name that several modules define, with these modules relative to the root, sorted."""
    modules = {}
    for path in sorted(path for part in PARTS for path in (root / part).rglob("*.py")):
        file = path.relative_to(root)
        if not is_test(file):
            for name in classes_of(path):
                modules.setdefault(name, []).append(str(file))
    return {name: tuple(files) for name, files in modules.items() if len(files) > 1}


def test_a_class_name_has_one_meaning():
    found = names_with_several_meanings(ROOT)
    assert len(list((ROOT / "virtual_testbed").rglob("*.py"))) > 100, "the modules are not looked at"
    added = {name: files for name, files in found.items() if OPEN.get(name) != files}
    assert not added, f"give the class of one of these modules a name of its own: {added}"


def test_what_is_still_open_is_open():
    closed = sorted(OPEN.keys() - names_with_several_meanings(ROOT).keys())
    assert not closed, f"these names have one meaning now: take them out of OPEN: {closed}"


@pytest.mark.parametrize("name", OPEN)
def test_only_names_of_the_data_plane_are_open(name):
    assert any(file.startswith(f"{DATA_PLANE}/") for file in OPEN[name])


def test_a_name_in_two_modules_is_found(tmp_path):
    """Private classes, inner ones and those of tests do not count."""
    text = "class Report:\n    class Line: ...\nclass _Part: ...\n"
    for file in (
        "pfctest/one.py",
        "tests/common/two.py",
        "tests/common/unit_tests/pfc/fakes.py",
        "scripts/tests/lab.py",
        "tests/conftest.py",
        "virtual_testbed/tests/otg/test_it.py",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    assert names_with_several_meanings(tmp_path) == {"Report": ("pfctest/one.py", "tests/common/two.py")}
