"""What a worker of Dask that `pfc-worker` started does: it carries parts out, one in each of its threads."""
from __future__ import annotations

import hashlib
import os
import select
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin

from scripts.parts.local import PartProcess
from scripts.parts.part import JobPart, PartEnd
from scripts.parts.running import ENDING_S, POLL_S
from test_reporting.pfc.provenance import suite_commit
from tests.common.clone import ROOT

PLUGIN = "pfc-parts"
REACHES = "testbed:"
"""Begins the names of Dask's resources that say what a worker reaches."""
CODE = ("ansible", "pfctest", "scripts", "sonic_mgmt_pfc", "test_reporting", "tests", "virtual_testbed")
SUFFIXES = (".py", ".j2", ".json", ".yml")


class WorkerParts(WorkerPlugin):
    """The parts that a worker carries out."""

    name = PLUGIN

    def __init__(self) -> None:
        """None runs yet."""
        self._running: set[str] = set()
        self._unwanted: set[str] = set()
        self._is_ending = False

    def setup(self, worker: Worker) -> None:
        """Is there from now on."""
        self._worker = worker

    def carry_out(self, told: Mapping[str, Any], is_retry: bool, key: str) -> dict[str, Any]:
        """Carries a part out, in the thread of a task.

        It is interrupted when the client that asked for it gives it up or is gone, and when this worker ends.

        Args:
            told: the fields of the part.
            is_retry: whether it died before.
            key: of the task.

        Returns:
            The fields of its `PartEnd`.

        Raises:
            OSError: it cannot be started.
        """
        part = JobPart(**{**told, "folder": Path(told["folder"])})
        process = PartProcess(part, is_retry, str(self._worker.name))
        self._running.add(key)
        unwanted_s: float | None = None
        try:
            while (end := process.poll()) is None:
                if unwanted_s is None and not self._is_wanted(key):
                    unwanted_s = time.monotonic()
                    process.interrupt()
                elif unwanted_s is not None and time.monotonic() - unwanted_s > ENDING_S:
                    process.kill()
                descriptor = process.fileno()
                select.select([] if descriptor is None else [descriptor], [], [], POLL_S)
        finally:
            self._running.discard(key)
            process.close()
        if self._is_ending and end.cause:
            end = PartEnd(None, end.seconds, end.worker, f"worker {end.worker} was ended", died=True)
        return asdict(end)

    def interrupt(self, key: str) -> None:
        """Interrupts the process of a task within a second, or as soon as there is one; later it is killed."""
        self._unwanted.add(key)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is carried out."""
        return not self._running

    def end(self) -> None:
        """The worker ends: what is carried out is interrupted."""
        self._is_ending = True

    def teardown(self, worker: Worker) -> None:
        """As `end`."""
        self.end()

    def _is_wanted(self, key: str) -> bool:
        task = self._worker.state.tasks.get(key)
        is_given_up = key in self._unwanted or task is None or task.state == "cancelled"
        return not self._is_ending and not is_given_up


def interrupt(key: str, dask_worker: Worker) -> None:
    """Has a worker end the process of a task."""
    _parts_of(dask_worker).interrupt(key)


def examine(token: str, content: str, version: str, commit: str, dask_worker: Worker) -> str:
    """Returns why a worker cannot carry out parts, in the end of a sentence that begins with its name; empty: it can.

    Args:
        token: path of a file in the folder of the parts' folders.
        content: of that file.
        version, commit: of the clone of who asks.
        dask_worker: that is asked.
    """
    folder = Path(token).parent
    try:
        _parts_of(dask_worker)
        if Path(token).read_text(encoding="utf-8") != content:
            return f"has another folder {folder} than this machine"
    except OSError as error:
        return f"does not see the folder {folder} of this machine ({error.strerror})"
    except LookupError:
        return "was not started by pfc-worker"
    if not os.access(folder, os.W_OK):
        return f"may not write in {folder}"
    if clone_version() != version:
        mine, other = clone_commit(), commit
        which = f"commit {mine}, here it is {other}" if mine != other else f"commit {mine}, with other changes"
        return f"runs another version of the clone ({which})"
    return ""


def _parts_of(worker: Worker) -> WorkerParts:
    parts = worker.plugins.get(PLUGIN)
    if not isinstance(parts, WorkerParts):
        raise LookupError(f"worker {worker.name} was not started by pfc-worker")
    return parts


def clone_version() -> str:
    """A digest of the clone's code: what parts run."""
    digest = hashlib.sha256((ROOT / "constraints.txt").read_bytes())
    for path in sorted(path for folder in CODE for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES):
        if path.is_file():
            digest.update(f"{path.relative_to(ROOT)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def clone_commit() -> str:
    """The commit of the clone, for people."""
    return suite_commit(ROOT) or "unknown"
