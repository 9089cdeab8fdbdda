"""The databases that a run is delivered to while it goes on; one that is in trouble stops neither it nor the others."""
from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .database import Sink, Urls, database_urls, open_sink
from .errors import ReportingError, StoreError
from .record import Record
from .run import Run

Say = Callable[[str], None]
SLOW_SECONDS = 2
"""What a delivery may take while a run waits for it."""


class Targets:
    """All databases of one run. One that took something not is not asked again before the end of the run."""

    def __init__(self, urls: Urls, directory: Path, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is opened yet.

        Args:
            urls: as `database_urls` takes them.
            directory: the run's folder, which has all records.
            say: takes a sentence for the user.
            clock: seconds, by which a slow database is known.
        """
        self._clock = clock
        self._directory = directory
        self._say = say
        self._targets = [_Target(url) for url in database_urls(urls)]

    def deliver(self, run: Run, records: Sequence[Record]) -> None:
        """Deliver to each that has everything so far; one that is slow gets the rest at the end."""
        for target in self._targets:
            if target.behind:
                continue
            before = self._clock()
            self._try(lambda: target.deliver(run, records))
            took = self._clock() - before
            if took > SLOW_SECONDS and records and not target.behind:
                target.behind = True
                self._say(f"database {target.name} took {took:.1f} s for {len(records)} records; the run goes on, its "
                          f"records are in {self._directory} and delivered at the end")

    def catch_up(self) -> None:
        """Deliver the whole folder to each: a run begins that was there before."""
        for target in self._targets:
            self._try(lambda: target.deliver_folder(self._directory))

    def _try(self, deliver: Callable[[], None]) -> None:
        try:
            deliver()
        except ReportingError as error:
            self._say(f"{error}; the run goes on, its records are in {self._directory} and tried again at the end")

    def fall_behind(self) -> None:
        """The folder has records that no database was given."""
        for target in self._targets:
            target.behind = True

    def finish(self, run: Run, ended: Run, homeless: Sequence[Record]) -> bool:
        """Bring everything to each, and the end of the run last; returns whether it is there everywhere.

        Args:
            run: the run, not ended.
            ended: the run as it ended.
            homeless: records that the folder did not take.
        """
        return all([self._finish(target, run, ended, homeless) for target in self._targets])

    def _finish(self, target: _Target, run: Run, ended: Run, homeless: Sequence[Record]) -> bool:
        try:
            if target.behind:
                target.deliver_folder(self._directory)
            target.deliver(run, homeless)
            target.deliver(ended, [])
        except ReportingError as error:
            self._say(f"{error}; deliver the records later with: {sync_command()} "
                      f"--results {self._directory.parent}")
            return False
        return True


class _Target:
    """One database; `behind`: it lacks something that the folder has."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._sink: Sink | None = None
        self.behind = False

    @property
    def name(self) -> str:
        """Its URL, without password."""
        return self._sink.url if self._sink else ""

    def deliver(self, run: Run, records: Sequence[Record]) -> None:
        self._use(lambda sink: sink.deliver(run, records))

    def deliver_folder(self, directory: Path) -> None:
        from .sync import deliver_folder
        self.behind = True
        self._use(lambda sink: deliver_folder(directory, sink))
        self.behind = False

    def _use(self, deliver: Callable[[Sink], object]) -> None:
        try:
            self._sink = self._sink or open_sink(self._url)
            deliver(self._sink)
        except StoreError:
            self._sink, self.behind = None, True
            raise


def deliver_once(run: Run, records: Sequence[Record], urls: Urls = None) -> list[StoreError]:
    """Deliver a whole run to all databases; returns what those said that did not take it."""
    problems = []
    for url in database_urls(urls):
        try:
            open_sink(url).deliver(run, records)
        except StoreError as error:
            problems.append(error)
    return problems


def sync_command() -> str:
    """What a user types to deliver records later; where the project is not installed the module does what it does."""
    return "pfc-report sync" if shutil.which("pfc-report") else "python -m test_reporting.pfc sync"
