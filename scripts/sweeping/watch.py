"""Starts the testbeds' runs of a job, several at the same time, watches what they write, and ends them."""
from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.sweeping.eta import Eta, News
from scripts.sweeping.job import Job
from scripts.sweeping.tally import DevicePort, VerdictTally
from scripts.suite import Ended
from scripts.sweeping.testbed_run import LOG, MEASURING, RUN_FILE, read_ended
from scripts.testbeds import CLEAN_UP_SECONDS, reason
from tests.common.clone import ROOT
from tests.common.pfc.record.verdict import Status, combine
from virtual_testbed.process import command_tied_to

POLL_S = 1.0
ENDING_S = 2 * CLEAN_UP_SECONDS  # pytest puts the switch back, then the testbed is taken down


class TestbedRun:
    """One testbed's share of a job: its process, and the verdicts that it has written so far."""

    __test__ = False  # the name is not pytest's

    def __init__(self, job: Job, testbed: str) -> None:
        """Not started; what an earlier command left in its folder is read."""
        self.testbed = testbed
        self.folder = job.folder_of(testbed)
        self.tally = VerdictTally(self.folder)
        self.tally.read()
        self.ended = read_ended(self.folder)
        if not self.is_finished:
            self.tally.forget_errors()
        self.before: list[DevicePort] = self.tally.done
        self.began: float | None = None
        self.eta = Eta(one_by_one=job.both or job.concurrency == "1")
        self.seconds = 0.0
        self._job = job
        self._child: subprocess.Popen[bytes] | None = None
        self._asked_to_end: float | None = None

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to measure."""
        said = self.ended is not None and not self.ended.cause
        known = said and not self.tally.problem and bool(self.tally.places)
        statuses = [self.tally.verdict(place) for place in self.tally.places]
        passed = self.ended is not None and self.ended.pytest == 0
        return known and Status.ERROR not in statuses and (passed or Status.FAIL in statuses)

    def start(self) -> None:
        """Starts its process; if that cannot be done, it has ended, and `cause` says why."""
        self.ended = None
        self.began = time.monotonic()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / RUN_FILE).unlink(missing_ok=True)
            with (self.folder / LOG).open("wb") as log:
                self._child = subprocess.Popen(
                    command_tied_to(os.getpid(), signal.SIGINT, self.command()), cwd=ROOT, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            self.ended = Ended(None, f"it could not be started: {reason(error)}")

    def command(self) -> list[str]:
        """Its process."""
        return [sys.executable, "-m", "scripts.sweeping.testbed_run", str(Path(self._job.results)), self._job.job_id,
                self._job.shard, self.testbed]

    def process(self) -> int | None:
        """A file descriptor that is readable when its process ends; None: there are too many open files for one."""
        assert self._child is not None, f"{self.testbed} was not started"
        try:
            return os.pidfd_open(self._child.pid)
        except OSError:
            return None

    def look(self) -> list[DevicePort]:
        """Takes in what its process wrote and whether it ended; returns ports with a new verdict."""
        assert self._child is not None and self.began is not None, f"{self.testbed} was not started"
        has_ended = self._child.poll() is not None
        before = self.began + self.seconds
        now = time.monotonic()
        self.seconds = now - self.began
        if has_ended:
            self.ended = read_ended(self.folder) or Ended(None, f"its process ended early: {self._last_words()}")
        news = self.tally.read()
        if self.eta.measuring is None and MEASURING in self._steps():
            self.eta.measuring = before if news else now  # ports were not measured in no time
        if news:
            self.eta.take(News(now, len(self.tally.done) - len(self.before)))
        return news

    def end(self) -> None:
        """Asks its process to end, once: the switch is put back. One that does not within a while is killed."""
        assert self._child is not None, f"{self.testbed} was not started"
        if self._asked_to_end is None:
            self._asked_to_end = time.monotonic()
            self._child.send_signal(signal.SIGINT)
        elif time.monotonic() - self._asked_to_end > ENDING_S:
            self._child.kill()

    def wait(self) -> None:
        """Returns when its process, which was asked to end, has."""
        assert self._child is not None, f"{self.testbed} was not started"
        while self._child.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(POLL_S)
            self.end()

    @property
    def step(self) -> str:
        """What it is doing."""
        return (self._steps() or ["start"])[-1]

    @property
    def status(self) -> Status:
        """Its verdict: of all ports together; ERROR if it did not come to its end."""
        statuses = [self.tally.verdict(place) for place in self.tally.places]
        return combine([*statuses, Status.ERROR] if self.cause else statuses)

    @property
    def cause(self) -> str:
        """Why it says less than it should; empty: it does not."""
        if self.ended is None:
            return "not started"
        statuses = {self.tally.verdict(place) for place in self.tally.places}
        if self.ended.cause or self.tally.problem:
            return self.ended.cause or self.tally.problem
        if not statuses:
            return f"no port was measured ({self.folder / 'pytest.log'})"
        if statuses == {Status.PASS} and self.ended.pytest != 0:
            return f"every port is PASS, but not the session: {self.folder / 'pytest.log'} says why"
        return ""

    def _steps(self) -> list[str]:
        return [line[3:] for line in self._log() if line.startswith("== ")]

    def _log(self) -> list[str]:
        try:
            return (self.folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def _last_words(self) -> str:
        return (self._log() or ["it said nothing"])[-1]


class StopSignal:
    """Whether a signal asked for the end of the job."""

    def __init__(self) -> None:
        """No signal is caught yet."""
        self.asked = False
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Is readable once a signal came, so that waiting for a process ends."""
        return self._woken

    def catch(self) -> None:
        """Ctrl-C and the like ask for the end; a terminal that is closed too, unless `nohup` was said."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:
                signal.signal(signum, self._ask)

    def _ask(self, signum: int, frame: object) -> None:
        if not self.asked:
            os.write(self._wake, b"!")
        self.asked = True


class RunningTestbeds:
    """The testbeds whose processes run; `sleep` ends when one of them ends, or a signal comes."""

    def __init__(self, stop: StopSignal) -> None:
        """None runs yet."""
        self.runs: list[TestbedRun] = []
        self._stop = stop
        self._processes: dict[TestbedRun, int | None] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(stop, selectors.EVENT_READ)

    def start(self, run: TestbedRun) -> None:
        """One more, if it can be started."""
        run.start()
        if run.ended is not None:
            return
        self.runs.append(run)
        process = self._processes[run] = run.process()
        if process is not None:
            self._selector.register(process, selectors.EVENT_READ)

    def sleep(self) -> None:
        """Returns after a while, or as soon as a process ended or a signal came."""
        if self.runs and self._stop in [key.fileobj for key, _ in self._selector.select(POLL_S)]:
            self._selector.unregister(self._stop)

    def drop(self, run: TestbedRun) -> None:
        """Its process has ended."""
        self.runs.remove(run)
        process = self._processes.pop(run)
        if process is not None:
            self._selector.unregister(process)
            os.close(process)

    def end(self) -> None:
        """Ends all that run, at the same time, and waits for them."""
        for run in self.runs:
            run.end()
        for run in self.runs:
            run.wait()
        for run in self.runs[:]:
            run.look()
            self.drop(run)

    def close(self) -> None:
        """Nobody waits any more."""
        self._selector.close()


def watch(runs: Sequence[TestbedRun], at_once: int, stop: StopSignal,
          update: Callable[[TestbedRun, list[DevicePort]], None]) -> None:
    """Carries out runs of testbeds, so many at the same time; returns, or raises, when all have ended.

    Args:
        runs: none is started yet.
        at_once: the limit.
        stop: when that is asked for, those that run are ended and the others are not started.
        update: called for each running testbed, about once a second, with the ports that have a new verdict.
    """
    waiting = list(runs)
    running = RunningTestbeds(stop)
    try:
        while running.runs or (waiting and not stop.asked):
            while waiting and len(running.runs) < at_once and not stop.asked:
                running.start(waiting.pop(0))
            running.sleep()
            for run in running.runs[:]:
                if stop.asked:
                    run.end()
                update(run, run.look())
                if run.ended is not None:
                    running.drop(run)
    finally:
        running.end()  # after an exception: what is on a switch is put back whatever went wrong here
        running.close()
