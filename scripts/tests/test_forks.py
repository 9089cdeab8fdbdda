"""No process forks without an exec where gRPC may have threads: it aborts in what is forked, now and then."""
from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scripts.campaign.broken_testbed import broken_testbed
from scripts.campaign.entries import ROOT

# Files that fork, and what they do it for. Each is a program that runs in a process of its own.
FORKING = {
    "pfctest/workers.py": "the workers of a storm",
    "test_reporting/tests/samples.py": "a process that was forked beside an open database",
    "virtual_testbed/sonic/command_server.py": "a command of a switch",
    "virtual_testbed/sonic/root_view.py": "the processes of a switch's own view",
    "virtual_testbed/supervision/supervisor.py": "to be nobody's child",
}
FORKS = {"fork", "forkpty"}  # of os; and of pty
SUBPROCESS = {"preexec_fn", "user", "group", "extra_groups"}  # with one of these, `subprocess` forks
STARTERS = {"Popen", "run", "call", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell"}
POOLS = {"ProcessPoolExecutor", "Pool", "Process", "Manager"}
NO_FORK = {"spawn", "forkserver"}


def forks(text: str) -> Iterator[str]:
    """The places of a module that fork and go on in Python, as `line what`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in FORKS and ast.unparse(node.value) in ("os", "pty"):
            yield f"{node.lineno} {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and node.module in ("os", "pty"):
            yield from (f"{node.lineno} {name.name}" for name in node.names if name.name in FORKS)
        elif isinstance(node, ast.ImportFrom) and node.module == "multiprocessing":
            yield from (f"{node.lineno} multiprocessing.{name.name}" for name in node.names if name.name in POOLS)
        elif isinstance(node, ast.Call):
            yield from _forking_call(node)
        elif isinstance(node, ast.Dict):
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            yield from (f"{node.lineno} {key}" for key in sorted({"preexec_fn", "extra_groups"} & keys))


def _forking_call(node: ast.Call) -> Iterator[str]:
    words = ast.unparse(node.func).split(".")
    contexts = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
    keywords = {one.arg for one in node.keywords}
    if words[-1] in STARTERS:
        yield from (f"{node.lineno} {keyword}=" for keyword in sorted(SUBPROCESS & keywords))
    elif "preexec_fn" in keywords or words == ["pty", "spawn"]:
        yield f"{node.lineno} {words[-1]}"
    elif words[-1] == "get_context" and not contexts & NO_FORK:
        yield f"{node.lineno} get_context"
    elif words[0] == "multiprocessing" and words[-1] in POOLS:
        yield f"{node.lineno} {'.'.join(words)}"
    elif words[-1] == "ProcessPoolExecutor" and not contexts & NO_FORK:
        yield f"{node.lineno} ProcessPoolExecutor"


@pytest.mark.parametrize("text", [
    "os.fork()", "pty.fork()", "from os import fork", "pty.spawn('sh')", "subprocess.Popen(['x'], preexec_fn=f)",
    "subprocess.run(['x'], user=1)", "start(preexec_fn=f)", "options = {'extra_groups': []}", "get_context('fork')",
    "multiprocessing.get_context()", "multiprocessing.Process(target=f)", "from multiprocessing import Pool",
    "ProcessPoolExecutor(2)", "ProcessPoolExecutor(2, get_context('fork'))"])
def test_the_rule_sees_a_fork(text: str) -> None:
    assert list(forks(text))


@pytest.mark.parametrize("text", [
    "subprocess.Popen(['x'], start_new_session=True)", "ProcessPoolExecutor(2, get_context('spawn'))",
    "multiprocessing.get_context('forkserver')", "connect(user='me')"])
def test_the_rule_lets_pass_what_execs_at_once(text: str) -> None:
    assert not list(forks(text))


def test_nothing_else_forks() -> None:
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name[0] != "."]
    found = {str(path.relative_to(ROOT)): list(forks(path.read_text(encoding="utf-8")))
             for folder in folders for path in folder.rglob("*.py")}
    assert len(found) > 300, "not all modules were looked at"
    wrong = [f"{path}:{place}" for path, places in found.items() for place in places if path not in FORKING]
    assert not wrong, "\n".join(wrong)
    assert {path for path in FORKING if not found[path]} == set(), "these do not fork: the list is too long"


@pytest.mark.parametrize("path", FORKING)
def test_what_forks_has_no_grpc(path: str) -> None:
    module = path.removesuffix(".py").replace("/", ".")
    body = f"import sys, {module}; print(*(name for name in sys.modules if name.partition('.')[0] == 'grpc'))"
    done = subprocess.run([sys.executable, "-c", body], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("body, outcome", [("pass\nos.waitpid(os.fork() or os._exit(0), 0)", "no tests ran"),
                                           ("os.waitpid(os.fork() or os._exit(0), 0)", "1 failed"),
                                           ("subprocess.run(['true'], preexec_fn=f)", "1 failed"),
                                           ("subprocess.run(['true'])", "1 passed")])
def test_a_test_that_forks_fails(tmp_path: Path, body: str, outcome: str) -> None:
    (tmp_path / "test_it.py").write_text(f"import os, subprocess\ndef f(): pass\ndef test(): {body}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", tmp_path, "-p", "no:cacheprovider",
         "-p", "scripts.tests.fork_guard", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert outcome in done.stdout, done.stdout
    assert ("test_it.py" in done.stdout + done.stderr) == (done.returncode != 0) == ("passed" not in outcome)


MODULES = """
import json
from tests.common.standalone import lab_of
def test_it(request):
    localhost = lab_of(request.config).localhost
    assert localhost.command("echo here")["stdout"] == "here"
    assert localhost.shell("pwd; id -u", chdir="/")["stdout_lines"][0] == "/"
    failed = localhost.shell("echo why >&2; exit 3", module_ignore_errors=True)
    assert failed["failed"] and failed["rc"] == 3 and failed["stderr"] == "why" and json.dumps(failed)
"""


def test_modules_of_ansible_fork_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(MODULES, encoding="utf-8")
    (tmp_path / "inventory").touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "pytest.ini", "-p", "no:cacheprovider",
         "-p", "scripts.tests.fork_guard", "--inventory", tmp_path / "inventory", "--host-pattern", "all", tmp_path],
        cwd=ROOT / "tests", env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow("the whole way of a healthy port, once more: twenty seconds")
def test_a_qualification_over_grpc_forks_nothing(tmp_path: Path) -> None:
    """Commands, modules of Ansible on the switch and on this machine, and OTG over gRPC, in one process."""
    with broken_testbed(tmp_path, []) as testbed:
        entries = yaml.safe_load(Path(testbed["testbed_file"]).read_text(encoding="utf-8"))
        for entry in entries:
            entry |= {"tg_api_transport": "grpc", "tg_api_server": testbed["otg"]["grpc"]}
        file = Path(testbed["testbed_file"]).with_name("over_grpc.yaml")
        file.write_text(yaml.safe_dump(entries), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-c", "pytest.ini", "-p", "scripts.tests.fork_guard",
             "snappi_tests/pfc/qualification", "--testbed", "vtb-t0", "--testbed_file", file, "--inventory",
             testbed["inventory"], "--host-pattern", "all", "--pfc-results", tmp_path / "results",
             "--pfc-scenario=PFC-1"], cwd=ROOT / "tests", capture_output=True, text=True,
            env={**testbed["environment"], "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
