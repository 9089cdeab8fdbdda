"""A checkout of sonic-mgmt, and the copy of it that is run: nothing is written into the checkout."""
from __future__ import annotations

import ast
import filecmp
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from scripts.against_sonic.checkout import Checkout, CheckoutError, checkout
from scripts.testbeds import Refusal

SUITES = ("tests/snappi_tests/pfc", "tests/snappi_tests/pfcwd")
"""What is run of it."""
OVER_SSH = (
    "tests/generic_config_updater/test_ecn_config_update.py",
    "tests/generic_config_updater/test_incremental_qos.py",
    "tests/generic_config_updater/test_mmu_dynamic_threshold_config_update.py",
    "tests/generic_config_updater/test_pfcwd_interval.py",
    "tests/generic_config_updater/test_pfcwd_status.py",
    "tests/generic_config_updater/test_pg_headroom_update.py",
    "tests/pfcwd/test_pfc_config.py",
    "tests/platform_tests/counterpoll/test_counterpoll_watermark.py",
    "tests/portstat/test_portstat.py",
    "tests/qos/test_buffer.py",
    "tests/qos/test_buffer_traditional.py",
)
"""What is run of it instead with `--over-ssh`: tests that concern PFC and need no traffic generator."""
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


def changed_in(copy: Path, tree: Checkout) -> list[str]:
    """Files of the checkout that differ in its copy, or are missing there; what the copy has besides does not count."""
    paths = (path for name in COPIED for path in sorted((tree.folder / name).rglob("*")) if path.is_file())
    files = [path.relative_to(tree.folder) for path in paths]
    copied = (file for file in files if not any(fnmatch(part, left) for part in file.parts for left in LEFT))
    return [str(file) for file in copied
            if not (copy / file).is_file() or not filecmp.cmp(tree.folder / file, copy / file, shallow=False)]


def functions_of(tree: Checkout, suites: Sequence[str] = SUITES) -> list[str]:
    """The tests of suites without their parameters: `snappi_tests/pfc/test_x.py::test_y`, `...::TestZ::test_y`.

    Args:
        tree: the checkout.
        suites: folders and files of it.

    Raises:
        Refusal: a file cannot be read.
    """
    return [f"{path.relative_to(tree.folder / 'tests')}::{name}"
            for suite in suites for path in _files(tree.folder / suite)
            for name in _functions(path)]


def _files(suite: Path) -> list[Path]:
    return sorted(suite.rglob("test_*.py")) if suite.is_dir() else [suite]


def _functions(path: Path) -> Iterator[str]:
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise Refusal(f"{path} cannot be read: {error}") from error
    yield from _tests_in(body)
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from (f"{node.name}::{name}" for name in _tests_in(node.body))


def _tests_in(body: Sequence[ast.stmt]) -> Iterator[str]:
    yield from (node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def check_names(names: Sequence[str], tree: Checkout, suites: Sequence[str] = SUITES) -> None:
    """Refuses names that no test has.

    Args:
        names: parts of a test's path, function or parameters; what is after a bracket is known only when pytest
            collects.
        tree: the checkout.
        suites: folders and files of it.

    Raises:
        Refusal: no test has one of them.
    """
    functions = functions_of(tree, suites)
    for name in names:
        if not any(name.partition("[")[0] in function for function in functions):
            there = ", ".join(sorted({function.rpartition("::")[2] for function in functions}))
            raise Refusal(f"no test of {' and '.join(suites)} has {name!r} in its name; there are {there}")
