"""A public class name has one meaning in the project: no two modules define classes of the same name."""
import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("ansible", "pfctest", "scripts", "sonic_mgmt_pfc", "test_reporting", "tests", "virtual_testbed")
TEST_FOLDERS = ("tests", "unit_tests")
TEST_MODULES = ("test_", "unit_test_", "conftest.py")
SONICS = "swsscommon"
"""A package of SONiC's: what stands in its place has the classes that SONiC's has."""


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
        if not is_test(file) and SONICS not in file.parts:
            for name in classes_of(path):
                modules.setdefault(name, []).append(str(file))
    return {name: tuple(files) for name, files in modules.items() if len(files) > 1}


def test_a_class_name_has_one_meaning():
    found = names_with_several_meanings(ROOT)
    assert len(list((ROOT / "virtual_testbed").rglob("*.py"))) > 100, "the modules are not looked at"
    assert not found, f"give the class of one of these modules a name of its own: {found}"


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
