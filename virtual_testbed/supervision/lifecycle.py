"""What `virtual-testbed` does with a testbed: bring it up, look at it, take it down."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from virtual_testbed.lab_files.description import Testbed
from virtual_testbed.process import RUN_VARIABLE, identify
from virtual_testbed.supervision.plan import Options, make_plan
from virtual_testbed.supervision.state import (
    DEFAULT_STATE, STATE_VARIABLE, TestbedFolder, clean_up, locked, make_run_folder, read_json, write_json)

_POLL_S = 0.05
_DOWN_S = 20.0
_KILLED_S = 5.0
_CLOCK_TIMEOUT_S = 5.0


class LifecycleError(Exception):
    """A testbed that cannot be brought up or down; the text is one sentence."""


def bring_up(testbed: Testbed, folder: TestbedFolder, options: Options) -> dict[str, Any]:
    """Start a testbed and wait until all of it is up.

    Args:
        testbed: its description.
        folder: where it keeps its files.
        options: clock, faults.

    Returns:
        What runtime.json says.

    Raises:
        LifecycleError: it is up already, or a part of it did not start; nothing runs then that did not before.
        StateError: something of an earlier run cannot be ended.
    """
    with _locked_when_free(folder) as lock:
        if lock is None:
            running = folder.supervisor()
            who = f"supervisor {running.pid}" if running else "it is being started or stopped"
            raise LifecycleError(f"testbed {testbed.name} is up already ({who}): "
                                 f"stop it with `{down_command(folder)}`")
        clean_up(folder)  # a killed run's
        run_folder = make_run_folder()
        write_json(folder.run, {"run_folder": str(run_folder), "inventory": testbed.inv_name, "supervisor": None})
        try:
            plan = make_plan(testbed, folder, run_folder, options)
            write_json(folder.plan, plan.to_json(), mode=0o600)
            _start_supervisor(folder, run_folder, lock)
        except BaseException:
            _end_supervisor(folder)
            clean_up(folder)
            raise
    return folder.read_runtime()


@contextlib.contextmanager
def _locked_when_free(folder: TestbedFolder) -> Iterator[int | None]:
    """The lock, waited for while a supervisor is on its way out; None when the testbed is up."""
    deadline = time.monotonic() + _DOWN_S
    while True:
        with locked(folder) as lock:
            if lock is not None or folder.supervisor() is not None or time.monotonic() > deadline:
                yield lock
                return
        time.sleep(_POLL_S)


def _start_supervisor(folder: TestbedFolder, run_folder: Path, lock: int) -> None:
    """Start the supervisor, which gets the lock, and wait for its answer."""
    folder.logs.mkdir(parents=True, exist_ok=True)
    for log in folder.logs.glob("*.log"):
        log.replace(log.with_suffix(".log.1"))  # a log is of one run; the one before is kept
    with folder.log("supervisor").open("ab") as log_file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "virtual_testbed.supervision.supervisor", str(folder.plan)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log_file, pass_fds=(lock,),
            env={**os.environ, RUN_VARIABLE: str(run_folder)})
    answer, _ = process.communicate()  # the process detaches at once; this waits for the answer
    try:
        reply = json.loads(answer)
    except ValueError:
        raise LifecycleError(f"testbed {folder.name}: its supervisor ended without an answer, "
                             f"see {folder.log('supervisor')}") from None
    if not reply.get("ready"):
        raise LifecycleError(f"testbed {folder.name} did not come up: {reply.get('error')}")


def _end_supervisor(folder: TestbedFolder) -> None:
    """End the supervisor of this folder, gently, then not."""
    for number, patience_s in ((signal.SIGTERM, _DOWN_S), (signal.SIGKILL, _KILLED_S)):
        supervisor = folder.supervisor()
        if supervisor is None:
            return
        supervisor.send(number)
        if _until(lambda: not supervisor.is_alive(), patience_s):
            return


def _until(condition: Callable[[], bool], patience_s: float) -> bool:
    """Poll a condition; False when it did not come true in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def take_down(folder: TestbedFolder, purge: bool = False) -> bool:
    """Stop a testbed, whatever state it is in; its switches keep their configuration unless `purge`.

    Returns:
        True when it was running.

    Raises:
        LifecycleError: it does not end.
        StateError: a process of it cannot be ended.
    """
    if not folder.path.is_dir():
        return False
    was_up = folder.supervisor() is not None
    _end_supervisor(folder)
    deadline = time.monotonic() + _DOWN_S
    while True:
        with locked(folder) as lock:
            if lock is not None:
                clean_up(folder)
                if purge:
                    _remove(folder.path)
                return was_up
        if time.monotonic() > deadline:
            raise LifecycleError(f"testbed {folder.name} is being started or stopped by someone else: try again")
        time.sleep(_POLL_S)
        _end_supervisor(folder)  # one that was just being started


def down_command(folder: TestbedFolder) -> str:
    """What a user types, from the current folder, to stop a testbed."""
    state = folder.path.parent
    default = Path(os.environ.get(STATE_VARIABLE) or DEFAULT_STATE).resolve()
    script = Path(sys.executable).with_name("virtual-testbed")
    program = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
    return shlex.join([str(program), "down", folder.name, *(["--state", str(state)] if state != default else [])])


def _remove(path: Path) -> None:
    """Remove a folder with all in it; a switch's programs may have closed folders to everyone."""
    for parent, folders, _ in os.walk(path):
        for name in folders:
            if not os.path.islink(os.path.join(parent, name)):
                os.chmod(os.path.join(parent, name), 0o700)
    shutil.rmtree(path)


@dataclass(frozen=True)
class ChildStatus:
    """One child as `status` shows it; `state` is `up` or what is wrong."""

    name: str
    state: str
    pid: int | None
    restarts: int
    last_death: str


@dataclass(frozen=True)
class TestbedStatus:
    """A testbed as `status` shows it.

    Attributes:
        state: `up`, `down`, `failed`, or `degraded` when not all of it is up.
        reason: a sentence, empty when all is up.
        clock: `mode`, `now_ns`, `lag_ns` as the clock says them; empty when it was not asked.
    """

    __test__ = False  # the name is not pytest's

    name: str
    state: str
    reason: str
    children: tuple[ChildStatus, ...] = ()
    clock: dict[str, Any] | None = None
    runtime: dict[str, Any] | None = None


def inspect(folder: TestbedFolder) -> TestbedStatus:
    """Look at a testbed: the supervisor, every child, and whether the clock answers."""
    runtime = folder.read_runtime()
    if runtime.get("failure"):
        return TestbedStatus(folder.name, "failed", str(runtime["failure"]))
    if folder.supervisor() is None:
        return _not_running(folder)
    if not runtime:
        return TestbedStatus(folder.name, "degraded", "it is being started")
    children = tuple(_child_status(name, row) for name, row in runtime.get("children", {}).items())
    reasons = [f"{child.name} is {child.state}" for child in children if child.state != "up"]
    clock = ask_clock(runtime["clock"]["url"])
    if clock is None:
        reasons.append(f"the clock does not answer at {runtime['clock']['url']}")
    state = "degraded" if reasons else "up"
    return TestbedStatus(folder.name, state, "; ".join(reasons), children, clock, runtime)


def _not_running(folder: TestbedFolder) -> TestbedStatus:
    """What is known of a testbed without supervisor."""
    if read_json(folder.run):
        reason = "its supervisor was killed; the next `up` or `down` takes away what is left"
        return TestbedStatus(folder.name, "down", reason)
    return TestbedStatus(folder.name, "down", "it is not up")


def _child_status(name: str, row: dict[str, Any]) -> ChildStatus:
    """A child of runtime.json; the supervisor's word is checked against /proc."""
    pid = row.get("pid")
    state = str(row.get("status"))
    if state == "up" and (pid is None or identify(int(pid)) is None):
        state = "down"
    return ChildStatus(name, state, pid, int(row.get("restarts", 0)), str(row.get("last_death") or ""))


def ask_clock(url: str) -> dict[str, Any] | None:
    """What the clock says: {"mode", "now_ns", "lag_ns"}; None when it does not answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on loopback: no proxy
    with contextlib.suppress(OSError, ValueError, urllib.error.URLError):
        with opener.open(url, timeout=_CLOCK_TIMEOUT_S) as answer:
            value = json.load(answer)
            return value if isinstance(value, dict) else None
    return None
