"""The single file: what it needs, and that it is the same command."""
from __future__ import annotations

import ast
import shutil
import subprocess
import sys

import pytest

from scripts.build_pfctest import build, main, sources

OLDEST = (3, 8)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The file."""
    target = tmp_path_factory.mktemp("zipapp") / "pfctest.pyz"
    assert main(["--output", str(target)]) == 0
    return target


def run(archive, *options):
    """Run it alone: an empty environment, a Python without site packages."""
    return subprocess.run([sys.executable, "-I", "-S", archive, *options], capture_output=True, text=True, timeout=30,
                          check=False, cwd=archive.parent, env={})


def test_it_runs_with_python_alone(archive):
    assert run(archive, "--version").stdout == "pfctest 2.0\n"
    done = run(archive, "-d", "eth0", "--p3", "--q3=9", "--dry-run", "--source-mac=02:00:00:00:00:01", "--speed=100G")
    assert done.returncode == 0 and "0180c2000001020000000001" in done.stdout, done.stderr
    assert run(archive, "-d", "eth0").returncode == 2


def test_it_is_executable_and_says_which_python(archive):
    assert archive.stat().st_mode & 0o111 and archive.read_bytes().startswith(b"#!/usr/bin/env python3\n")


def test_the_same_sources_give_the_same_file(archive, tmp_path):
    build(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == archive.read_bytes()


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_every_module_is_written_for_the_oldest_python_of_a_switch(path):
    tree = ast.parse(path.read_text(), feature_version=OLDEST)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert all(name.split(".")[0] in {*sys.stdlib_module_names, "pfctest"} for name in imported), imported
    if path.name not in ("__main__.py", "__init__.py"):
        assert "__future__" in imported, "annotations of today, not evaluated there"


def test_an_older_python_is_refused_in_one_sentence():
    path = next(path for path in sources() if path.name == "__main__.py")
    ast.parse(path.read_text(), feature_version=(3, 4))
    code = f"import sys; sys.version_info = (3, 6, 9); exec(compile(open({str(path)!r}).read(), 'main', 'exec'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1 and done.stderr == "error: Python 3.6 found: pfctest needs 3.8 or newer\n"


@pytest.mark.parametrize("minor", range(OLDEST[1], sys.version_info[1]))
def test_it_runs_with_older_pythons(archive, minor):
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-V"], capture_output=True, check=False).returncode:
        pytest.skip(f"Python 3.{minor} is not installed")
    done = subprocess.run([python, "-I", "-S", archive, "-V"], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "pfctest 2.0\n", done.stderr
