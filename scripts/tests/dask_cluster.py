"""A scheduler of Dask and its workers on free ports of the loopback interface. They end with the process that started
them: pytest-xdist kills its own where pytest is interrupted."""
from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.tests.small_lab import ROOT
from virtual_testbed.process import command_tied_to

HANG_S = 60
LOOPBACK = "127.0.0.1"


class DaskCluster:
    """A scheduler, and the workers that were started."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        """Starts the scheduler.

        Args:
            folder: for what all of them write.
            stack: ends what was started.
        """
        self._folder = folder
        self._stack = stack
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "-m", "distributed.cli.dask_scheduler", "--host", LOOPBACK, "--port", "0",
            "--dashboard-address", f"{LOOPBACK}:0", "--no-show", "--scheduler-file", str(file))
        self._wait(file, "address")
        self.address = str(json.loads(file.read_text(encoding="utf-8"))["address"])

    def add(self, name: str, *options: str, clone: Path = ROOT) -> None:
        """Starts a worker in a clone, and waits until it is one."""
        self.workers[name] = self._start(name, str(clone / "scripts/worker.py"), self.address, "--host", LOOPBACK,
                                         "--name", name, *options)
        self._wait(self._log(name), f"worker {name} of")

    def kill(self, name: str, signum: int = signal.SIGKILL) -> None:
        """Ends a worker, and waits for its end."""
        self.workers[name].send_signal(signum)
        self.workers[name].wait(HANG_S)

    def said(self, name: str) -> str:
        """What a worker printed."""
        return self._log(name).read_text(encoding="utf-8")

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with self._log(name).open("wb") as log:
            child = subprocess.Popen(
                command_tied_to(os.getpid(), signal.SIGTERM, [sys.executable, *words]),
                cwd=self._folder, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(self._folder), "PYTHONUNBUFFERED": "1"})
        self._stack.callback(_end, child)
        return child

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.txt"

    def _wait(self, file: Path, text: str) -> None:
        deadline = time.monotonic() + HANG_S
        while not file.exists() or text not in file.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline, "".join(one.read_text() for one in self._folder.glob("*.txt"))
            time.sleep(0.05)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(HANG_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextlib.contextmanager
def dask_cluster(folder: Path) -> Iterator[DaskCluster]:
    """A scheduler without a worker; all is ended with the `with` block."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        yield DaskCluster(folder, stack)
