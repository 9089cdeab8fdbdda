"""Workers of Dask that die, end, are not fit or do not reach what a part needs; commands that die."""
from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.parts.cluster import DaskExecutor
from scripts.parts.executors import executor
from scripts.parts.part import JobPart, read_end
from scripts.parts.running import run_parts
from scripts.parts.stop import StopSignal
from scripts.parts.worker_parts import CODE
from scripts.testbeds import Refusal
from scripts.tests.dask_cluster import HANG_S, LOOPBACK, DaskCluster, dask_cluster
from scripts.tests.small_lab import ROOT
from scripts.tests.test_parts import LASTING, Notes, script

pytestmark = pytest.mark.slow("a scheduler of Dask and workers for each test")

ONCE_LASTING = f"test -e again && {{ echo done; exit 0; }}; touch again; {LASTING}"
"""Lasts until it is interrupted, and does not the second time."""
COMMAND = """
import sys
from pathlib import Path
from scripts.parts.executors import executor
from scripts.parts.part import JobPart
from scripts.parts.running import PartObserver, run_parts
from scripts.parts.stop import StopSignal
address, folder, text = sys.argv[1:]
part = JobPart("a", ("sh", "-c", text), Path(folder) / "a")
with executor(address, Path(folder), [part]) as made:
    run_parts(made, [part], 1, StopSignal(), PartObserver())
"""


@pytest.fixture(name="cluster")
def fixture_cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """Two workers, one of which reaches a testbed."""
    with dask_cluster(tmp_path / "cluster") as cluster:
        cluster.add("left")
        cluster.add("right", "--testbed", "lab-1")
        yield cluster


def log_of(part: JobPart) -> list[str]:
    """The lines that a part printed."""
    path = part.folder / part.log
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def wait_for(part: JobPart, line: str) -> None:
    """Returns when a part has printed a line."""
    deadline = time.monotonic() + HANG_S
    while line not in log_of(part):
        assert time.monotonic() < deadline, log_of(part)
        time.sleep(0.05)


class Ending(Notes):
    """Ends the worker of a part once that is ready."""

    def __init__(self, cluster: DaskCluster, signum: int) -> None:
        super().__init__()
        self.ended_workers: list[str] = []
        self._cluster = cluster
        self._signum = signum
        self._worker = ""

    def began(self, part: JobPart, worker: str) -> None:
        super().began(part, worker)
        self._worker = worker

    def looked(self, part: JobPart) -> None:
        if not self.ended_workers and "ready" in log_of(part):
            self.ended_workers.append(self._worker)
            self._cluster.kill(self._worker, self._signum)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_the_part_of_a_worker_that_ends_goes_to_another_one(
        cluster: DaskCluster, tmp_path: Path, signum: int) -> None:
    """Once what it had started there has put back what it changed."""
    part = script(tmp_path, "a", ONCE_LASTING)
    notes = Ending(cluster, signum)
    with executor(cluster.address, tmp_path, [part]) as made:
        run_parts(made, [part], 1, StopSignal(), notes)
    died = [line for line in notes.lines if "died" in line]
    worker, = notes.ended_workers
    assert len(died) == 1 and died[0].startswith(f"a died: worker {worker} "), notes.lines
    assert notes.lines[-1] == "a ended: 0" and notes.ends["a"].worker == ({"left", "right"} - {worker}).pop()
    assert log_of(part) == ["ready", "put back", "done"] and read_end(part) is not None
    assert cluster.workers[worker].returncode == (0 if signum == signal.SIGTERM else -signum)


def test_a_part_whose_only_worker_is_gone_is_not_waited_for_for_ever(cluster: DaskCluster, tmp_path: Path) -> None:
    part = JobPart("a", ("sh", "-c", LASTING), tmp_path / "a", needs=("lab-1",))
    notes = Ending(cluster, signal.SIGKILL)
    with DaskExecutor(cluster.address, tmp_path, gone_s=0) as made:
        run_parts(made, [part], 1, StopSignal(), notes)
    assert notes.lines[-1] == (
        f"a ended: it could not be started: no worker of Dask's scheduler at {cluster.address} reaches lab-1, which 'a'"
        " needs (left reaches none)")


def test_a_worker_that_comes_back_gets_the_part(cluster: DaskCluster, tmp_path: Path) -> None:
    part = JobPart("a", ("sh", "-c", f"cd {tmp_path}; {ONCE_LASTING}"), tmp_path / "a", needs=("lab-1",))

    class Again(Ending):
        """Another worker reaches the testbed then."""

        def died(self, part: JobPart, end: object) -> None:
            cluster.add("third", "--testbed", "lab-1")

    notes = Again(cluster, signal.SIGKILL)
    with executor(cluster.address, tmp_path, [part]) as made:
        run_parts(made, [part], 1, StopSignal(), notes)
    assert notes.ends["a"].worker == "third" and notes.ends["a"].status == 0


@pytest.mark.parametrize("victim", ["command", "scheduler"])
def test_what_nobody_waits_for_any_more_is_ended_in_order(cluster: DaskCluster, tmp_path: Path, victim: str) -> None:
    part = script(tmp_path, "a", LASTING)
    with subprocess.Popen([sys.executable, "-c", COMMAND, cluster.address, str(tmp_path), part.command[-1]],
                          cwd=ROOT) as command:
        wait_for(part, "ready")
        (command if victim == "command" else cluster.scheduler).kill()
        wait_for(part, "put back")
        command.kill()
    assert read_end(part) is None


def refusal_of(address: str, folder: Path, *parts: JobPart) -> str:
    """Why parts are not carried out."""
    with pytest.raises(Refusal) as refused, executor(address, folder, parts):
        pass
    return str(refused.value)


def test_what_no_worker_can_do_is_refused_by_name(cluster: DaskCluster, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    part = JobPart("a", ("true",), tmp_path / "a", needs=("lab-1", "lab-2"))
    assert refusal_of(cluster.address, tmp_path, part) == (
        f"no worker of Dask's scheduler at {cluster.address} reaches lab-1, lab-2, which 'a' needs (left reaches none;"
        " right reaches lab-1)")
    monkeypatch.chdir(tmp_path)
    own = Path("/proc/self/cwd")  # another folder for each process
    assert refusal_of(cluster.address, own) == (
        f"worker left does not see the folder {own} of this machine (No such file or directory)")
    for name in cluster.workers:
        cluster.kill(name)
    assert refusal_of(cluster.address, tmp_path) == (
        f"Dask's scheduler at {cluster.address} has no worker: start one with `pfc-worker {cluster.address}`")
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    assert refusal_of(cluster.address, tmp_path).startswith(
        f"Dask's scheduler at {cluster.address} does not answer: ")


def test_a_worker_of_another_version_is_refused_and_gets_nothing(
        cluster: DaskCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clone = tmp_path / "clone"
    for folder in CODE:
        shutil.copytree(ROOT / folder, clone / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "constraints.txt", clone)
    with (clone / "scripts/output.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    parts = [script(tmp_path, name, "true") for name in "abcdefgh"]

    class Late(Notes):
        """The worker comes when the first part has begun."""

        def began(self, part: JobPart, worker: str) -> None:
            super().began(part, worker)
            if "other" not in cluster.workers:
                cluster.add("other", "--at-once", "8", clone=clone)

    notes = Late()
    with executor(cluster.address, tmp_path, parts) as made:
        run_parts(made, parts, 4, StopSignal(), notes)
    assert {end.status for end in notes.ends.values()} == {0}
    assert {end.worker for end in notes.ends.values()} == {"left", "right"}
    said = capsys.readouterr().err
    assert said.startswith("note: worker other runs another version of the clone (commit unknown, here it is ")
    assert refusal_of(cluster.address, tmp_path) in said


@pytest.mark.parametrize(("words", "sentence"), [
    ([f"tcp://{LOOPBACK}:1", "--at-once", "0"], "--at-once is 0, it takes a number from 1 on"),
    ([f"tcp://{LOOPBACK}:1", "--testbed", "a,,b"],
     "--testbed is 'a,,b', it takes names of testbeds with commas between them"),
    ([], "the following arguments are required: ADDRESS"),
    (["lab"], "worker of lab: "),
])
def test_a_worker_refuses_in_one_sentence(words: list[str], sentence: str) -> None:
    ended = subprocess.run([sys.executable, str(ROOT / "scripts/worker.py"), *words], capture_output=True, text=True,
                           check=False, timeout=2 * HANG_S)
    assert ended.returncode == 3 and ended.stderr.splitlines()[-1].startswith(f"error: {sentence}"), ended.stderr
