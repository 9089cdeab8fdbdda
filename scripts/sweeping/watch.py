"""Watches what the testbeds' runs of a job write while they are carried out."""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from scripts.parts.local import last_words
from scripts.parts.part import PYTHON, JobPart, PartEnd
from scripts.parts.running import PartExecutor, PartObserver, run_parts
from scripts.parts.stop import StopSignal
from scripts.suite import Ended
from scripts.sweeping.eta import Eta, News
from scripts.sweeping.job import Job
from scripts.sweeping.tally import DevicePort, VerdictTally
from scripts.sweeping.testbed_run import LOG, MEASURING, read_ended
from tests.common.pfc.record.verdict import Status, combine

TOLD = ("PFC_COMMAND", "PFC_OPERATOR", "PFC_REPORT_DB")
"""Variables that a run reads, wherever it is carried out."""


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

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to measure."""
        said = self.ended is not None and not self.ended.cause
        known = said and not self.tally.problem and bool(self.tally.places)
        statuses = [self.tally.verdict(place) for place in self.tally.places]
        passed = self.ended is not None and self.ended.pytest == 0
        return known and Status.ERROR not in statuses and (passed or Status.FAIL in statuses)

    @property
    def part(self) -> JobPart:
        """Its process, for whoever carries it out."""
        told = tuple((name, os.environ[name]) for name in TOLD if name in os.environ)
        needs = (self.testbed,) if self.testbed in self._job.hardware else ()
        return JobPart(self.testbed, tuple(self.command()), self.folder, needs, LOG, told)

    def command(self) -> list[str]:
        """Its process."""
        return [PYTHON, "-m", "scripts.sweeping.testbed_run", self._job.results, self._job.job_id, self.testbed]

    def start(self) -> None:
        """Its process was started, the first time or anew."""
        self.ended = None
        self.began = time.monotonic() if self.began is None else self.began

    def end(self, end: PartEnd) -> None:
        """Its process has ended, and is not started again."""
        if end.status == 0:
            self.ended = read_ended(self.folder)
        self.ended = self.ended or Ended(None, end.cause or f"its process ended early: {last_words(self.part)}")

    def look(self) -> list[DevicePort]:
        """Takes in what its process wrote; returns ports with a new verdict."""
        assert self.began is not None, f"{self.testbed} was not started"
        before = self.began + self.seconds
        now = time.monotonic()
        self.seconds = now - self.began
        news = self.tally.read()
        if self.eta.measuring is None and MEASURING in self._steps():
            self.eta.measuring = before if news else now  # ports were not measured in no time
        if news:
            self.eta.take(News(now, len(self.tally.done) - len(self.before)))
        return news

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
        try:
            log = (self.folder / LOG).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return [line[3:] for line in log.splitlines() if line.startswith("== ")]


Update = Callable[[TestbedRun, list[DevicePort]], None]


class _Watcher(PartObserver):
    def __init__(self, runs: Sequence[TestbedRun], update: Update) -> None:
        self._runs = {run.testbed: run for run in runs}
        self._update = update

    def began(self, part: JobPart, worker: str) -> None:
        self._runs[part.name].start()

    def looked(self, part: JobPart) -> None:
        run = self._runs[part.name]
        self._update(run, run.look())

    def ended(self, part: JobPart, end: PartEnd) -> None:
        self._runs[part.name].end(end)


def watch(runs: Sequence[TestbedRun], executor: PartExecutor, at_once: int, stop: StopSignal, update: Update) -> None:
    """Carries out runs of testbeds, so many at the same time; returns, or raises, when all have ended.

    Args:
        runs: none is started yet.
        executor: starts their processes.
        at_once: the limit.
        stop: when that is asked for, those that run are ended and the others are not started.
        update: called for each running testbed, about once a second, with the ports that have a new verdict.
    """
    run_parts(executor, [run.part for run in runs], at_once, stop, _Watcher(runs, update))
