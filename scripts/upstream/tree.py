"""A checkout of sonic-mgmt, and the copy of it that is run: nothing is written into the checkout."""
from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.against_sonic.checkout import Checkout, CheckoutError, checkout
from scripts.testbeds import Refusal

SUITES = ("tests/snappi_tests/pfc", "tests/snappi_tests/pfcwd")
"""What is run of it."""
COPIED = ("ansible", "test_reporting", "tests")
LEFT = ("__pycache__", "*.pyc", ".pytest_cache", "_cache", "logs")
"""What an earlier run in the checkout left there."""
GROUPS = "ansible/files/graph_groups.yml"


def find_tree(folder: str) -> Checkout:
    """The checkout in a folder.

    Raises:
        Refusal: there is none of sonic-mgmt.
    """
    if not folder:
        raise Refusal("no checkout given: `make upstream SONIC_MGMT=<a checkout of sonic-mgmt>`")
    if not Path(folder).expanduser().is_dir():
        raise Refusal(f"{folder} is not a folder: expected a checkout of sonic-mgmt")
    try:
        for landmark in (*SUITES, "tests/common/snappi_tests", GROUPS):
            found = checkout("sonic-mgmt", folder, landmark)
    except CheckoutError as error:
        raise Refusal(str(error)) from error
    return found


def state_of(tree: Checkout) -> str:
    """What `git status` says of a checkout, which ignores what its own `.gitignore` names; of one without git, size and
    time of each of its files. Equal before and after a run: the run changed nothing."""
    asked = subprocess.run(["git", "--no-optional-locks", "-C", str(tree.folder), "status", "--porcelain",
                            "--untracked-files=all"], capture_output=True, text=True, check=False)
    if asked.returncode == 0:
        return asked.stdout
    stats = ((path, path.lstat()) for path in sorted(tree.folder.rglob("*")) if not path.is_dir())
    return "".join(f"{path} {stat.st_size} {stat.st_mtime_ns}\n" for path, stat in stats)


def copy_tree(tree: Checkout, to: Path) -> None:
    """Copies what the tests need.

    Args:
        tree: to copy.
        to: a new folder.
    """
    for name in COPIED:
        if (tree.folder / name).is_dir():
            shutil.copytree(tree.folder / name, to / name, symlinks=True, ignore=shutil.ignore_patterns(*LEFT))


def functions_of(tree: Checkout) -> list[str]:
    """The tests of the suites without their parameters: `snappi_tests/pfc/test_x.py::test_y`.

    Raises:
        Refusal: a file cannot be read.
    """
    return [f"{path.relative_to(tree.folder / 'tests')}::{name}"
            for suite in SUITES for path in sorted((tree.folder / suite).rglob("test_*.py"))
            for name in _functions(path)]


def _functions(path: Path) -> Iterator[str]:
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    except (SyntaxError, UnicodeDecodeError) as error:
        raise Refusal(f"{path} cannot be read: {error}") from error
    yield from (node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def check_names(names: Sequence[str], tree: Checkout) -> None:
    """Refuses names that no test has.

    Args:
        names: parts of a test's path, function or parameters; what is after a bracket is known only when pytest
            collects.
        tree: the checkout.

    Raises:
        Refusal: no test has one of them.
    """
    functions = functions_of(tree)
    for name in names:
        if not any(name.partition("[")[0] in function for function in functions):
            there = ", ".join(sorted({function.rpartition("::")[2] for function in functions}))
            raise Refusal(f"no test of {' and '.join(SUITES)} has {name!r} in its name; there are {there}")
