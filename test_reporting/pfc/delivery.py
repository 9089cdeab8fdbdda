"""The databases that a run is delivered to while it goes on; one that is in trouble stops neither it nor the others."""
from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.record_file import Say
from tests.common.pfc.record.records import Record
from tests.common.pfc.record.run import Run

from .database import Sink, Urls, database_file, database_urls, open_sink
from .errors import StoreError

SLOW_SECONDS = 2
"""What a delivery may take while a run waits for it."""


class RunDelivery:
    """Delivers one run to all databases. One that refuses something is not asked again before the end of the run."""

    def __init__(self, directory: Path, say: Say, urls: Urls = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is opened yet.

        Args:
            directory: the run's folder, which has all records.
            say: takes a sentence for the user.
            urls: as `database_urls` takes them.
            clock: seconds, by which a slow database is known.
        """
        self._clock = clock
        self._directory = directory.absolute()
        self._say = say
        self._destinations = [_Destination(url) for url in database_urls(urls)]

    def deliver(self, run: Run, records: Sequence[Record]) -> None:
        """Deliver to each database that has everything so far; one that is slow gets the rest at the end."""
        for destination in self._destinations:
            if destination.behind:
                continue
            before = self._clock()
            self._try(lambda: destination.deliver(run, records))
            took = self._clock() - before
            if took > SLOW_SECONDS and records and not destination.behind:
                destination.behind = True
                self._say(f"database {destination.name} took {took:.1f} s for {len(records)} records; the run goes on, "
                          f"its records are in {self._directory} and delivered at the end")

    def catch_up(self) -> None:
        """Deliver the whole folder to each database: a run begins that was there before."""
        for destination in self._destinations:
            self._try(lambda: destination.deliver_folder(self._directory))

    def _try(self, deliver: Callable[[], None]) -> None:
        try:
            deliver()
        except RecordError as error:
            self._say(f"{error}; the run goes on, its records are in {self._directory} and tried again at the end")

    def finish(self, run: Run, ended: Run, unspooled: Sequence[Record]) -> bool:
        """Bring everything to each database, the end of the run last; returns whether it is there everywhere.

        Args:
            run: the run, not ended.
            ended: the run as it ended.
            unspooled: records that the folder did not take.
        """
        return all([self._finish(destination, run, ended, unspooled) for destination in self._destinations])

    def _finish(self, destination: _Destination, run: Run, ended: Run, unspooled: Sequence[Record]) -> bool:
        try:
            if destination.behind:
                destination.deliver_folder(self._directory)
            destination.deliver(run, unspooled)
            destination.deliver(ended, [])
        except RecordError as error:
            self._say(f"{error}; deliver the records later with: {sync_command(destination.url)} "
                      f"--results {shlex.quote(str(self._directory.parent))}")
            return False
        return True


class _Destination:
    """One database; `behind`: it lacks something that the folder has."""

    def __init__(self, url: str) -> None:
        self.url = url
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
            self._sink = self._sink or open_sink(self.url)
            deliver(self._sink)
        except StoreError:
            self._sink = None
            self.behind = True
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


def sync_command(url: str = "") -> str:
    """What a user types to deliver records later; where the project is not installed the module does what it does.

    Args:
        url: of the database; that of a server, which may have a password, is left to the environment.
    """
    script = Path(sys.executable).with_name("pfc-report")
    program = [str(script)] if script.is_file() else ["python", "-m", "test_reporting.pfc"]
    return shlex.join([*program, *(["--db", url] if database_file(url) else []), "sync"])
