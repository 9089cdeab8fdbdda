"""What fails while a sweep lasts, other than what it measures: it costs one testbed at most, the status stays right."""
import errno
import io
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scripts import sweep, testbeds
from scripts.parts.local import LocalExecutor
from scripts.parts.stop import StopSignal
from scripts.sweeping import testbed_run
from scripts.sweeping.job import Job, create, load
from scripts.output import put
from scripts.sweeping.progress import Progress
from scripts.sweeping.summary import exit_status
from scripts.sweeping.tally import DevicePort
from scripts.suite import Ended
from tests.common.pfc.lease.lease import Lease, LeaseOwner, Seen, refusal
from scripts.sweeping.watch import TestbedRun, watch
from scripts.tests.handlers import handlers_put_back

READY = "ready"
CLEAN_UP = f"""
trap 'echo \\{{\\"pytest\\": null, \\"cause\\": \\"put back\\"\\}} > testbed_run.json; exit' INT
echo "== {READY}"
while :; do sleep 0.05; done
"""
QUICK = "echo '{\"pytest\": 0}' > testbed_run.json"
HANG_S = 60


class Scripted(TestbedRun):
    """Its process is a shell script in its folder."""

    def __init__(self, job: Job, testbed: str, script: str) -> None:
        super().__init__(job, testbed)
        self._script = script

    def command(self) -> list[str]:
        """The script."""
        return ["sh", "-c", f"cd {self.folder}; {self._script}"]


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


def job_in(folder: Path, *names: str) -> Job:
    """A job on some testbeds."""
    return Job("night", str(folder), names, str(folder / "testbed.yaml"))


def show_nothing(run: TestbedRun, news: Sequence[DevicePort]) -> None:
    """Nobody listens."""


def test_a_part_that_cannot_be_started_is_an_error_and_the_others_go_on(tmp_path: Path) -> None:
    job = job_in(tmp_path, "vtb-a", "vtb-b", "vtb-c")
    job.folder.mkdir()
    job.folder_of("vtb-b").touch()
    runs = [Scripted(job, name, QUICK) for name in job.testbeds]
    watch(runs, LocalExecutor(), 3, StopSignal(), show_nothing)
    assert [run.ended for run in runs] == [
        Ended(0), Ended(None, f"it could not be started: {runs[1].folder}: File exists"), Ended(0)]
    assert exit_status(runs) == 2


def test_progress_that_cannot_be_written_is_dropped(tmp_path: Path) -> None:
    for columns in (None, 40):
        run = Scripted(job_in(tmp_path, "vtb-a"), "vtb-a", QUICK)
        watch([run], LocalExecutor(), 1, StopSignal(), Progress([run], Gone(), columns).update)
        assert run.ended == Ended(0)


def test_after_a_failure_the_parts_that_run_put_back_what_they_changed(tmp_path: Path) -> None:
    job = job_in(tmp_path, "vtb-a", "vtb-b")
    runs = [Scripted(job, name, CLEAN_UP) for name in job.testbeds]

    def update(run: TestbedRun, news: Sequence[DevicePort]) -> None:
        if all(run.step == READY for run in runs):
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        watch(runs, LocalExecutor(), 2, StopSignal(), update)
    assert [run.ended for run in runs] == [Ended(None, "put back")] * 2


def test_a_signal_to_a_command_whose_terminal_is_gone_ends_its_part_cleanly(tmp_path: Path) -> None:
    run = Scripted(job_in(tmp_path, "vtb-a"), "vtb-a", CLEAN_UP)
    stop = StopSignal()
    progress = Progress([run], Gone(), 40)

    def update(run: TestbedRun, news: list[DevicePort]) -> None:
        if run.step == READY and not stop.asked:
            os.kill(os.getpid(), signal.SIGHUP)
        progress.update(run, news)

    with handlers_put_back():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as without `nohup`
        stop.catch()
        watch([run], LocalExecutor(), 1, stop, update)
    assert run.ended == Ended(None, "put back")


def test_what_was_measured_gives_the_status_whatever_failed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    job = job_in(tmp_path, "vtb-a")
    create(job)
    monkeypatch.setattr("scripts.sweep.watch", fail)
    assert sweep.carry_out(job, None, None, StopSignal()) == 2
    said = capsys.readouterr()
    assert "No space left on device" in said.err and "ERROR vtb-a: not started" in said.out


@pytest.mark.parametrize("where", ["full", "pipe", "closed"])
def test_a_summary_that_cannot_be_printed_leaves_the_status_as_it_is(tmp_path: Path, where: str) -> None:
    (tmp_path / "testbed.yaml").write_text("- {conf-name: lab-1, inv_name: lab, dut: [switch-a]}\n", encoding="utf-8")
    (tmp_path / "lab").touch()
    body = ("import sys; from scripts import sweep\nsweep.watch = lambda *arguments: None\n"
            f"sys.exit(sweep.main({['--testbed-file', str(tmp_path / 'testbed.yaml'), '--testbed', 'lab-1']!r}"
            f" + ['--results', {str(tmp_path / 'results')!r}]))")
    to = {"full": ">/dev/full 2>&1", "pipe": "2>&1", "closed": ">&- 2>&-"}[where]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody_reads:
        ended = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {to}', sys.executable, body], stdout=nobody_reads,
                               env=buffered, cwd=testbeds.ROOT, check=False, timeout=HANG_S)
    assert ended.returncode == 2


def test_what_is_no_text_of_the_terminal_is_written_in_other_letters() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    put("Gerät\n", out)
    assert raw.getvalue() == b"Ger\\xe4t\n"
    put("nowhere\n", None)


def carried_out(folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> Ended:
    """How a run ends when a step of it fails so."""
    def fail(*arguments: object) -> None:
        raise error

    job = job_in(folder, "lab-1")
    job.folder_of("lab-1").mkdir(parents=True)
    (folder / "testbed.yaml").write_text("- {conf-name: lab-1, inv_name: lab}\n", encoding="utf-8")
    (folder / "lab").touch()
    monkeypatch.setattr(testbeds, "run", fail)
    return testbed_run.carry_out(job, "lab-1")


@pytest.mark.parametrize(("error", "cause", "refused"), [
    (OSError(28, "No space left on device"), "testbed 'lab-1' was not swept to its end: No space left on device",
     False),
    (IsADirectoryError(21, "Is a directory", "/night/deploy.log"),
     "testbed 'lab-1' was not swept to its end: /night/deploy.log: Is a directory", False),
    (testbeds.Failure("the virtual testbed 'lab-1' did not come up"), "the virtual testbed 'lab-1' did not come up",
     False),
    (testbeds.Refusal("no such testbed"), "no such testbed", True),
])
def test_only_what_is_wrong_in_what_was_told_is_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, cause: str, refused: bool) -> None:
    assert carried_out(tmp_path, monkeypatch, error) == Ended(None, cause, refused)


def test_a_virtual_testbed_that_does_not_come_up_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(testbeds.Failure), testbeds.virtual_testbed("vtb-t0", tmp_path, []):
        pass


@pytest.mark.parametrize(("run_id", "waited"), [("night-lab-1", [600.0]), ("day-lab-1", [])])
def test_only_the_lease_of_the_same_part_is_waited_for(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_id: str, waited: list[float]) -> None:
    """A part that is carried out anew because a machine is gone does not go round what that one left on the switch."""
    seen = Seen(Lease(LeaseOwner("root", "gone", 4711, "another boot", 1), run_id, watchdog={}), 0, "")
    refused = Ended(4, refusal("switch-a", seen), refused=True)
    slept: list[float] = []
    ends = [refused, Ended(0)]
    monkeypatch.setattr(testbeds, "deploy", lambda *arguments: None)
    monkeypatch.setattr(testbed_run, "measure", lambda *arguments: 0)
    monkeypatch.setattr(testbed_run, "how_it_ended", lambda *arguments: ends.pop(0))
    monkeypatch.setattr(testbed_run.WallClock, "sleep", lambda clock, seconds: slept.append(seconds))
    (tmp_path / "testbed.yaml").write_text("- {conf-name: lab-1, inv_name: lab}\n", encoding="utf-8")
    (tmp_path / "lab").touch()
    assert testbed_run.carry_out(job_in(tmp_path, "lab-1"), "lab-1") == (Ended(0) if waited else refused)
    assert slept == waited


@pytest.mark.parametrize(("results", "sentence"), [
    ("/proc/foo", "results folder /proc/foo cannot be written: No such file or directory"),
    ("/dev/null", "results folder /dev/null/night cannot be written: Not a directory"),
])
def test_a_results_folder_that_cannot_be_written_is_refused(results: str, sentence: str) -> None:
    with pytest.raises(testbeds.Refusal) as refused:
        create(job_in(Path(results), "vtb-a"))
    assert str(refused.value) == sentence


def test_a_job_that_is_half_written_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    job = job_in(tmp_path, "vtb-a")
    with monkeypatch.context() as patched, pytest.raises(testbeds.Refusal) as refused:
        patched.setattr(os, "fsync", full)
        create(job)
    assert str(refused.value) == f"results folder {job.folder} cannot be written: No space left on device"
    create(job)


def test_a_job_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    job = job_in(tmp_path, "vtb-a")
    job.path.mkdir(parents=True)
    with pytest.raises(testbeds.Refusal) as refused:
        load(tmp_path, "night")
    assert str(refused.value) == f"job 'night' cannot be read: {job.path}: Is a directory"
