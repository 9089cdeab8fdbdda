"""Parts of a job, here and on workers of Dask: how many at once, what an observer is told, deaths, signals."""
from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from scripts.parts import local
from scripts.parts.executors import executor
from scripts.parts.local import LOCK_FILE, LocalExecutor, last_words
from scripts.parts.part import PYTHON, JobPart, PartEnd, read_end
from scripts.parts.running import PartObserver, run_parts
from scripts.parts.stop import StopSignal
from scripts.tests.dask_cluster import DaskCluster, dask_cluster
from scripts.tests.handlers import handlers_put_back
from scripts.tests.small_lab import ROOT

LASTING = "trap 'echo put back; exit 7' INT; echo ready; while :; do sleep 0.05; done"
"""A script that lasts until it is interrupted."""


def script(folder: Path, name: str, text: str) -> JobPart:
    """A part that is a shell script, in a folder of its name."""
    return JobPart(name, ("sh", "-c", f"cd {folder / name}; {text}"), folder / name)


class Notes(PartObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ends: dict[str, PartEnd] = {}
        self.most = 0
        self._running: set[str] = set()

    def began(self, part: JobPart, worker: str) -> None:
        self.lines.append(f"{part.name} began")
        self._running.add(part.name)
        self.most = max(self.most, len(self._running))

    def died(self, part: JobPart, end: PartEnd) -> None:
        self.lines.append(f"{part.name} died: {end.cause}")
        self._running.discard(part.name)

    def ended(self, part: JobPart, end: PartEnd) -> None:
        self.lines.append(f"{part.name} ended: {end.cause or end.status}")
        self.ends[part.name] = end
        self._running.discard(part.name)


class CarryOut(Protocol):
    """Carries parts out, and returns what was said."""

    def __call__(self, parts: list[JobPart], at_once: int = 8, notes: Notes | None = None,
                 stop: StopSignal | None = None) -> Notes: ...


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers, one of which reaches a testbed."""
    with dask_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.add("left", "--at-once", "4")
        cluster.add("right", "--at-once", "4", "--testbed", "lab-1")
        yield cluster


@pytest.fixture(name="carried_out", params=["here", "dask"])
def fixture_carried_out(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CarryOut]:
    """By processes of this machine, and by workers of Dask."""
    scheduler = None if request.param == "here" else request.getfixturevalue("cluster").address
    with executor(scheduler, tmp_path, []) as made:
        def carry_out(parts: list[JobPart], at_once: int = 8, notes: Notes | None = None,
                      stop: StopSignal | None = None) -> Notes:
            notes = notes or Notes()
            run_parts(made, parts, at_once, stop or StopSignal(), notes)
            return notes

        yield carry_out


def test_each_part_is_carried_out_and_no_more_at_once_than_that(tmp_path: Path, carried_out: CarryOut) -> None:
    parts = [script(tmp_path, str(number), f"echo {number}; exit {number}") for number in range(4)]
    notes = carried_out(parts, at_once=2)
    assert notes.most == 2 and {name: end.status for name, end in notes.ends.items()} == {
        "0": 0, "1": 1, "2": 2, "3": 3}
    assert [last_words(part) for part in parts] == ["0", "1", "2", "3"]
    assert [read_end(part) for part in parts] == [notes.ends[part.name] for part in parts]


def test_what_has_ended_is_not_carried_out_again(tmp_path: Path, carried_out: CarryOut) -> None:
    parts = [script(tmp_path, "a", "true"), script(tmp_path, "b", "true")]
    carried_out(parts[:1])
    assert [part for part in parts if read_end(part) is None] == parts[1:]


def test_the_interpreter_and_variables_are_those_of_who_carries_it_out(tmp_path: Path, carried_out: CarryOut) -> None:
    words = (PYTHON, "-c", "import os, sys; print(sys.executable, os.getcwd(), os.environ['TOLD'])")
    part = JobPart("a", words, tmp_path / "a", environment=(("TOLD", "this"),))
    carried_out([part])
    assert last_words(part) == f"{sys.executable} {ROOT} this"


def test_a_part_that_cannot_be_started_stops_no_other(tmp_path: Path, carried_out: CarryOut) -> None:
    (tmp_path / "a").touch()
    notes = carried_out([script(tmp_path, "a", "true"), script(tmp_path, "b", "true")])
    assert sorted(line for line in notes.lines if line != "a began") == [  # Dask's worker has to try
        f"a ended: it could not be started: {tmp_path / 'a'}: File exists", "b began", "b ended: 0"]


def test_a_part_that_was_killed_is_begun_anew_and_its_log_goes_on(tmp_path: Path, carried_out: CarryOut) -> None:
    once = "echo begun; test -e again || { touch again; kill -KILL $$; }; echo done"
    part = script(tmp_path, "a", once)
    notes = carried_out([part])
    assert notes.lines == ["a began", "a died: its process was killed by SIGKILL", "a began", "a ended: 0"]
    assert (part.folder / part.log).read_text(encoding="utf-8") == "begun\nbegun\ndone\n"


def test_a_part_that_is_killed_each_time_ends(tmp_path: Path, carried_out: CarryOut) -> None:
    part = script(tmp_path, "a", "kill -KILL $$")
    notes = carried_out([part])
    assert notes.lines.count("a began") == 3 and notes.lines[-1] == "a ended: its process was killed by SIGKILL"
    assert read_end(part) is None


def test_a_signal_ends_what_runs_in_order_and_nothing_more_is_begun(tmp_path: Path, carried_out: CarryOut) -> None:
    stop = StopSignal()

    class Stopping(Notes):
        """Ctrl-C once both are ready."""

        def looked(self, part: JobPart) -> None:
            if all(last_words(one) == "ready" for one in parts[:2]) and not stop.asked:
                os.kill(os.getpid(), signal.SIGINT)

    parts = [script(tmp_path, name, LASTING) for name in "abc"]
    notes = Stopping()
    with handlers_put_back():
        stop.catch()
        carried_out(parts, 2, notes, stop)
    assert sorted(notes.lines) == ["a began", "a ended: interrupted", "b began", "b ended: interrupted"]
    assert [last_words(part) for part in parts[:2]] == ["put back"] * 2 and not any(map(read_end, parts))


def test_a_part_whose_earlier_process_lives_is_not_begun_beside_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "ENDING_S", 1)
    notes = Notes()
    part = script(tmp_path, "a", "touch begun")
    part.folder.mkdir()
    with (part.folder / LOCK_FILE).open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("process 1 on elsewhere\n")
        lock.flush()
        run_parts(LocalExecutor(), [part], 1, StopSignal(), notes)
    assert notes.lines[-1] == (f"a ended: {part.folder / LOCK_FILE}: process 1 on elsewhere carries this part out, and"
                               " has not ended within 1 s")
    assert not (part.folder / "begun").exists() and read_end(part) is None


def test_the_folder_is_held_by_what_outlives_the_part(tmp_path: Path, carried_out: CarryOut) -> None:
    """What a part started, and gave its descriptors to, has the folder until it ends."""
    part = script(tmp_path, "a", "test -e again && test -e over && exit 0; touch again;"
                                 " (sleep 0.5; touch over) & kill -KILL $$")
    assert carried_out([part]).lines == [
        "a began", "a died: its process was killed by SIGKILL", "a began", "a ended: 0"]


def test_without_dask_its_scheduler_is_refused() -> None:
    lines = ("import sys", "sys.modules['distributed'] = None", "from pathlib import Path",
             "from scripts.parts.executors import executor", "from scripts.testbeds import Refusal",
             "try:", "    executor('tcp://lab:8786', Path(), []).__enter__()",
             "except Refusal as refusal:", "    print(refusal)")
    ended = subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True,
                           check=True)
    assert ended.stdout == ("--scheduler needs the extra `cluster` of this package, distributed is not installed:"
                            " pip install -c constraints.txt -e '.[cluster]'\n")
