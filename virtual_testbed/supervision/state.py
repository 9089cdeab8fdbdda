"""The state folder: where a testbed keeps its files, who runs it now, and what a dead run left behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from virtual_testbed.process import ProcessIdentity, end_run

STATE_VARIABLE, DEFAULT_STATE = "VIRTUAL_TESTBED_STATE", ".virtual_testbed"
RUN_FOLDER_PREFIX = "vtb-"
# A unix socket's path has room for 107 characters; ssh adds 17 to a control path while it makes one.
_LONGEST_TEMPORARY_FOLDER = 40


class StateError(Exception):
    """A state folder that cannot be used; the text is one sentence."""


@dataclass(frozen=True)
class TestbedFolder:
    """The files of one testbed below the state folder."""

    __test__ = False  # the name is not pytest's

    path: Path

    @property
    def name(self) -> str:
        """The testbed's name."""
        return self.path.name

    @property
    def runtime(self) -> Path:
        """What runs where; it exists only while the testbed is up, or after it failed."""
        return self.path / "runtime.json"

    @property
    def run(self) -> Path:
        """Who runs it: the supervisor's identity and the temporary folder of its sockets."""
        return self.path / "run.json"

    @property
    def plan(self) -> Path:
        """The plan that the supervisor runs."""
        return self.path / "plan.json"

    @property
    def testbed_file(self) -> Path:
        """The rendered testbed file."""
        return self.path / "testbed.yaml"

    @property
    def ssh(self) -> Path:
        """Client key, password, known hosts and ssh configuration."""
        return self.path / "ssh"

    @property
    def logs(self) -> Path:
        """One log a child, and the supervisor's."""
        return self.path / "log"

    def log(self, child: str) -> Path:
        """Log of one child, or of `supervisor`."""
        return self.logs / f"{child}.log"

    def switch(self, name: str) -> Path:
        """What a switch keeps from one run to the next."""
        return self.path / "switches" / name

    def read_runtime(self) -> dict[str, Any]:
        """runtime.json; empty when the testbed is not up."""
        return read_json(self.runtime)

    def supervisor(self) -> ProcessIdentity | None:
        """The supervisor that runs this testbed now, None when none is alive."""
        known = read_json(self.run).get("supervisor") or {}
        try:
            identity = ProcessIdentity(int(known["pid"]), int(known["start_time"]))
        except (KeyError, TypeError, ValueError):
            return None
        return identity if identity.is_alive() else None


def folders_of(state: Path) -> list[TestbedFolder]:
    """The testbeds that a state folder knows, by name."""
    if not state.is_dir():
        return []
    return [TestbedFolder(path) for path in sorted(state.iterdir()) if (path / "lock").exists()]


def write_text(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old one or the whole new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: Path, value: Mapping[str, Any], mode: int = 0o644) -> None:
    """Write a JSON file as `write_text` does."""
    write_text(path, json.dumps(value, indent=1, default=str) + "\n", mode)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty when there is none or it is something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


@contextlib.contextmanager
def locked(folder: TestbedFolder) -> Iterator[int | None]:
    """Hold the testbed's lock; None when someone else has it.

    The lock lives as long as any process that has the descriptor: `up` hands it to the supervisor, and the kernel
    frees it however that ends.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield handle
    finally:
        os.close(handle)


def make_run_folder() -> Path:
    """A new temporary folder with a path short enough for sockets."""
    base = Path(tempfile.gettempdir())
    if len(str(base)) > _LONGEST_TEMPORARY_FOLDER:
        base = Path("/tmp")
    return Path(tempfile.mkdtemp(prefix=RUN_FOLDER_PREFIX, dir=base))


def remove_run_folder(path: Path) -> None:
    """Remove a temporary folder that `make_run_folder` made; anything else is left alone."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if path.name.startswith(RUN_FOLDER_PREFIX) and stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
        shutil.rmtree(path)


def clean_up(folder: TestbedFolder, keep_runtime: bool = False) -> None:
    """Take away what a run leaves that must not outlive it; the caller holds the lock. The switches stay.

    Args:
        folder: the testbed's.
        keep_runtime: leave runtime.json, which says why the testbed failed.

    Raises:
        StateError: a process of the run cannot be ended.
    """
    run = read_json(folder.run)
    run_folder = str(run.get("run_folder") or "")
    if run_folder:
        left = end_run(run_folder)
        if left:
            raise StateError(f"testbed {folder.name}: process {left[0].pid} of an earlier run cannot be ended")
        remove_run_folder(Path(run_folder))
    stale = [folder.testbed_file, folder.ssh / "known_hosts", folder.ssh / "config"]
    if run.get("inventory"):
        stale.append(folder.path / Path(run["inventory"]).name)
    if not keep_runtime:
        stale.append(folder.runtime)
    for path in (*stale, folder.run):
        path.unlink(missing_ok=True)
