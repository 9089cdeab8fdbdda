"""What a suite tells its verdicts to: each goes to a file first, then to the database, and no run stops for either.

    listener = Listener(Path("results/20260131T130000Z"), say=print)
    listener.start({"run_id": "20260131T130000Z", "testbed": "vtb-t0"})
    listener.record(record)                 # as often as there are verdicts
    outcome = listener.finish()             # outcome.status, outcome.metrics
"""
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .database import database_url, open_store
from .errors import RecordError, ReportingError, SpoolError, StoreError
from .record import VERDICT, Record, encode_line, parse_line
from .run import Key, Run, check_run, run_of, write_run
from .spool import Spool
from .verdict import Status, Verdict, aggregate

if TYPE_CHECKING:
    from .store import Store

Say = Callable[[str], None]


@dataclass(frozen=True)
class MetricVerdict:
    """The verdict of one metric of one port, as its row in the database says it."""

    device_id: str
    port_id: str
    metric_name: str
    status: Status
    cause: str | None


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        metrics: one verdict of each device, port and metric.
        stored: whether the database has everything; if not, `sync` delivers it later.
        lost: records that are neither in the file nor in the database, as JSON lines. With any, nothing is PASS.
    """

    status: Status
    cause: str | None
    metrics: tuple[MetricVerdict, ...]
    stored: bool
    lost: tuple[bytes, ...] = ()


class Listener:
    """The reporting end of one run. Its methods raise only for records that are wrong in themselves."""

    def __init__(self, directory: Path | str, database: str | None = None, say: Say | None = None) -> None:
        """Nothing is written yet.

        Args:
            directory: the run's own folder, for instance `results/<run_id>`.
            database: a database URL; None for $PFC_REPORT_DB, else `results/pfc.db`.
            say: takes a sentence for the user; by default it goes to this module's logger as a warning.
        """
        self.directory = Path(directory).absolute()
        self._url = database_url(database)
        self._say = say or logging.getLogger(__name__).warning
        self._spool = Spool(self.directory)
        self._run: Run | None = None
        self._seen: set[str] = set()
        self._verdicts: dict[Key, list[Verdict]] = {}
        self._homeless: list[tuple[bytes, Record]] = []  # records that the file did not take
        self._bad: list[RecordError] = []  # lines of the file that are no records
        self._store: Store | None = None
        self._behind = False  # the database lacks something that the file has; it is asked again at the end only

    def start(self, run: Mapping[str, Any]) -> None:
        """Begin a run.

        Args:
            run: `run_id`, `testbed` and, optionally, `started`, `job_id`, `software_version`,
                `expected` (a list of [device, port, metric]); anything else is kept with the run.

        Raises:
            RecordError: the run info is wrong.
        """
        self._run = run_of(run)
        self._write_run()
        self._deliver([])

    def expect(self, keys: Iterable[Key]) -> None:
        """Announce (device, port, metric) that will be measured: each is an ERROR unless a record comes.

        Raises:
            RecordError: the run was not started.
        """
        self._run = self._started().expecting(keys)
        self._write_run()
        self._deliver([])

    def record(self, record: Mapping[str, Any]) -> None:
        """Keep one verdict record.

        Raises:
            RecordError: it is not what the schema says, or of another run.
        """
        self.record_all([record])

    def record_all(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Keep several records, which is faster than one at a time. All of them are checked before any is kept.

        Raises:
            RecordError: one of them is not what the schema says, or of another run.
        """
        run = self._started()
        pairs = [(line, parse_line(line)) for line in map(encode_line, records)]
        for _, record in pairs:
            check_run(record, run, "record")
        self._take_in_lines()
        new = [(line, record) for line, record in pairs if self._is_new(record)]
        self._keep(new)
        self._deliver([record for _, record in pairs])

    def finish(self) -> Outcome:
        """End the run: judge it, and bring what is still missing to the file and to the database.

        Raises:
            RecordError: the run was not started.
        """
        run = self._started()
        self._take_in_lines()
        homeless, self._homeless = self._homeless, []
        self._keep(homeless)
        ended = run if self._bad else replace(run, finished=datetime.now(timezone.utc))
        stored = self._deliver_all(ended)
        lost = () if stored else tuple(line for line, _ in self._homeless)
        self._run = run if lost else ended
        self._write_run()
        return self._outcome(stored, lost)

    def _started(self) -> Run:
        if self._run is None:
            raise RecordError("the listener was not started: start() comes before everything else")
        return self._run

    def _outcome(self, stored: bool, lost: tuple[bytes, ...]) -> Outcome:
        run = self._started()
        problems = [str(error) for error in self._bad]
        if lost:
            problems.append(f"{len(lost)} records of run {run.run_id} are neither in a file nor in a database")
        for problem in problems:
            self._say(problem)
        for key in run.expected:
            self._verdicts.setdefault(key, [])
        judged = ((key, aggregate(verdicts, not problems)) for key, verdicts in self._verdicts.items())
        metrics = tuple(MetricVerdict(*key, verdict.status, verdict.cause) for key, verdict in judged)
        verdict = aggregate(Verdict(metric.status, metric.cause) for metric in metrics)
        cause = problems[0] if problems and verdict.status is not Status.FAIL else verdict.cause
        return Outcome(verdict.status, cause, metrics, stored, lost)

    def _is_new(self, record: Record) -> bool:
        """Count a record that was not seen before; returns whether it is one."""
        if record.record_id in self._seen:
            return False
        self._seen.add(record.record_id)
        if record.kind == VERDICT:
            self._verdicts.setdefault(record.key, []).append(record.verdict)
        return True

    def _take_in_lines(self) -> None:
        """Count the lines that someone else appended to the file: they are brought to the database at the end."""
        with suppress(SpoolError):  # appending to the same file fails too, and says so
            for line in self._spool.new_lines():
                try:
                    record = parse_line(line, str(self._spool.path))
                    check_run(record, self._started(), str(self._spool.path))
                    self._behind |= self._is_new(record)
                except RecordError as error:
                    self._bad.append(error)

    def _keep(self, pairs: Sequence[tuple[bytes, Record]]) -> None:
        if not pairs:
            return
        try:
            self._spool.append([line for line, _ in pairs])
        except SpoolError as error:
            if not self._homeless:
                self._say(f"{error}; records are kept in memory and tried again at the end of the run")
            self._homeless += pairs

    def _write_run(self) -> None:
        try:
            write_run(self.directory, self._started())
        except SpoolError as error:
            self._say(f"{error}; the run goes on")

    def _deliver(self, records: Sequence[Record]) -> None:
        if self._behind:
            return
        try:
            self._store = self._store or open_store(self._url)
            self._store.deliver(self._started(), records)
        except StoreError as error:
            self._behind, self._store = True, None
            self._say(f"{error}; the run goes on, its records are in {self._spool.path} and tried again at the end")

    def _deliver_all(self, run: Run) -> bool:
        """Bring everything to the database, and the end of the run last; returns whether it is there."""
        try:
            store = self._store or open_store(self._url)
            store.deliver(self._started(), [record for _, record in self._homeless])
            if self._behind:
                from .sync import deliver_folder
                deliver_folder(self.directory, store)
            store.deliver(run, [])
        except ReportingError as error:
            self._say(f"{error}; deliver the records later with: python -m test_reporting.pfc sync "
                      f"--results {self.directory.parent}")
            return False
        return True
