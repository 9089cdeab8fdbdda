"""The real testbed vtb-t0 with its real children, through the command, OpenSSH and Ansible."""
from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from virtual_testbed.process import processes_of_run
from virtual_testbed.supervision.state import TestbedFolder, read_json

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
PATIENCE_S = 60


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A home of its own: whatever is written there would show."""
    home = tmp_path_factory.mktemp("home")
    return {**os.environ, "HOME": str(home), "ANSIBLE_HOME": str(home / ".ansible"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible" / "ansible.cfg"), "ANSIBLE_DEPRECATION_WARNINGS": "False"}


@pytest.fixture
def run(environment, tmp_path):
    """Run a program of the virtual environment, or ssh, in an empty folder."""
    def run(program, *arguments, check=True):
        path = BIN / program if (BIN / program).exists() else program
        done = subprocess.run([path, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True,
                              timeout=120)
        assert not check or done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done
    return run


@pytest.fixture
def start(run, tmp_path):
    """Bring vtb-t0 up."""
    state = tmp_path / "a state folder"

    def start(*options):
        places = ["--state", state, "--testbed-file", ROOT / "ansible" / "testbed.yaml"]
        runtime = json.loads(run("virtual-testbed", "up", "vtb-t0", *places, "--json", *options).stdout)
        folder = TestbedFolder(state / "vtb-t0")
        assert runtime == folder.read_runtime()
        return folder
    yield start
    run("virtual-testbed", "down", "--state", state)


@pytest.fixture
def folder(start):
    """vtb-t0, up with a virtual clock."""
    return start("--clock", "virtual")


def command_lines(part):
    """Processes of any kind that have this in their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if part.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(path.parent.name)
        except OSError:
            continue  # gone, or another user's
    return found


def until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_up_ssh_ansible_down(run, folder, environment):
    advance = urllib.request.Request(folder.read_runtime()["clock"]["url"] + "/advance", b'{"nanoseconds": 1500000000}',
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(advance) as answer:
        assert json.load(answer)["now_ns"] == 1_500_000_000
    status = run("virtual-testbed", "status", "--state", folder.path.parent)
    assert "testbed vtb-t0: up" in status.stdout and "clock: virtual, at 1.500 s" in status.stdout
    seen = run("ssh", "-F", folder.ssh / "config", "vtb-t0-01", "hostname; id -un; show version | head -n 3")
    assert seen.stdout.split()[:2] == ["vtb-t0-01", "admin"] and "SONiC" in seen.stdout
    for _ in range(2):  # the second goes through the connection that the first left open
        done = run("ansible", "-i", folder.path / "vtb", "sonic", "-b", "-m", "command", "-a", "hostname")
        assert "vtb-t0-01 | CHANGED" in done.stdout and done.stdout.split()[-1] == "vtb-t0-01"
    run_folder = read_json(folder.run)["run_folder"]
    assert list(Path(run_folder, "cp").iterdir()) and command_lines(f"{run_folder}/cp")
    assert run("virtual-testbed", "down", "vtb-t0", "--state", folder.path.parent).stdout.endswith("is down now\n")
    until(lambda: not command_lines(run_folder) and not processes_of_run(run_folder))
    assert not Path(run_folder).exists()
    assert [path.name for path in Path(environment["HOME"]).rglob("known_hosts")] == []


@pytest.mark.parametrize("view", ["auto", "environment"])
def test_kill_9_leaves_nothing_that_the_next_up_does_not_end(start, run, environment, view):
    folder = start("--root-view", view)
    all_at_once = folder.read_runtime()["root_view"] == "namespace"
    assert not (all_at_once and view == "environment")
    word = f"600.{secrets.randbelow(10 ** 9):09}"
    arguments = ["ssh", "-F", folder.ssh / "config", "vtb-t0-01", f"sleep {word} & echo started; wait"]
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as session:
        try:
            assert session.stdout.readline() == b"started\n"
            until(lambda: len(command_lines(word)) >= 3)  # ssh, the shell, and then the sleep
            run_folder = read_json(folder.run)["run_folder"]
            folder.supervisor().send(signal.SIGKILL)
        except BaseException:
            session.kill()  # or it would be waited for
            raise
    if all_at_once:
        until(lambda: not command_lines(word) and not processes_of_run(run_folder))
    assert run("virtual-testbed", "status", "--state", folder.path.parent, check=False).returncode == 1
    start("--root-view", view)
    assert not command_lines(word) and not processes_of_run(run_folder) and not Path(run_folder).exists()
    assert run("ssh", "-F", folder.ssh / "config", "vtb-t0-01", "echo well").stdout == "well\n"


def test_children_that_die_while_in_use(folder, run):
    def ssh(command):
        return run("ssh", "-F", folder.ssh / "config", "vtb-t0-01", command).stdout
    ssh("sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' description kept")
    for name in ("vtb-t0-01.redis", "vtb-t0-01.ssh", "engine"):
        os.kill(folder.read_runtime()["children"][name]["pid"], signal.SIGKILL)
        until(lambda: folder.read_runtime()["children"][name]["restarts"] == 1
              and folder.read_runtime()["children"][name]["status"] == "up")
    assert "kept" in ssh("sonic-db-cli CONFIG_DB HGET 'PORT|Ethernet0' description")
    status = run("virtual-testbed", "status", "--state", folder.path.parent).stdout
    assert status.count("SIGKILL") == 3
