"""What a suite tells its verdicts to: each goes to a file first, then to the database, and no run stops for either.

    listener = Listener(Path("results/20260131T130000Z"), say=print)
    listener.start({"run_id": "20260131T130000Z", "testbed": "vtb-t0"})
    listener.record(record)                 # as often as there are verdicts
    outcome = listener.finish()             # outcome.status, outcome.metrics
"""
from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .database import Urls
from .errors import RecordError, ReportingError, SpoolError
from .judging import Outline, judge
from .record import VERDICT, Record, encode_line, format_moment, parse_line
from .run import Key, Run, check_run, read_run, run_of, software_version, write_run
from .spool import Spool
from .storable import series_id, storable_key
from .targets import Say, Targets
from .verdict import Status, Verdict, aggregate


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
        stored: whether every database has everything; if not, `sync` delivers it later.
        lost: records that are neither in the file nor in every database, as JSON lines. With any, nothing is PASS.
    """

    status: Status
    cause: str | None
    metrics: tuple[MetricVerdict, ...]
    stored: bool
    lost: tuple[bytes, ...] = ()


class Listener:
    """The reporting end of one run. Its methods raise only for records that are wrong in themselves."""

    def __init__(self, directory: Path | str, database: Urls = None,
                 say: Say | None = None) -> None:
        """Nothing is written yet.

        Args:
            directory: the run's own folder, for instance `results/<run_id>`.
            database: URLs of databases, one or several; None for $PFC_REPORT_DB, else `results/pfc.db`.
            say: takes a sentence for the user; by default it goes to this module's logger as a warning.
        """
        self.directory = Path(directory).absolute()
        self._say = say or logging.getLogger(__name__).warning
        self._targets = Targets(database, self.directory, self._say)
        self._spool = Spool(self.directory)
        self._run: Run | None = None
        self._seen: set[str] = set()
        self._outlines: dict[Key, list[Outline]] = {}
        self._homeless: list[tuple[bytes, Record]] = []  # records that the file did not take
        self._bad: list[RecordError] = []  # lines of the file that are no records

    def start(self, run: Mapping[str, Any]) -> None:
        """Begin a run, or go on with one whose folder is there: its records count, what it expected stays expected.

        Args:
            run: `run_id`, `testbed` and, optionally, `started`, `job_id`, `software_version` (this project's unless
                given), `expected` (a list of [device, port, metric]); anything else is kept with the run.

        Raises:
            RecordError: the run info is wrong.
        """
        self._run = self._resumed(run_of({"software_version": software_version(), **run}), "started" in run)
        self._write_run()
        with suppress(SpoolError):  # the first record fails too, and says so
            self._spool.mend()
        if sum(1 for _ in self._new_lines()):
            self._targets.catch_up()
        else:
            self._targets.deliver(self._run, [])

    def expect(self, keys: Iterable[Key]) -> None:
        """Announce (device, port, metric) that will be measured: each is an ERROR unless a record comes.

        Raises:
            RecordError: the run was not started.
        """
        self._run = self._started().expecting(keys)
        self._write_run()
        self._targets.deliver(self._run, [])

    def record(self, record: Mapping[str, Any]) -> str:
        """Keep one verdict record; returns its id, which a later one may say to replace.

        Raises:
            RecordError: it is not what the schema says, or of another run.
        """
        return self.record_all([record])[0]

    def record_all(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Keep several records, which is faster than one at a time. All of them are checked before any is kept.

        Returns:
            Their ids.

        Raises:
            RecordError: one of them is not what the schema says, or of another run.
        """
        run = self._started()
        pairs = [(line, parse_line(line)) for line in map(encode_line, records)]
        for _, record in pairs:
            check_run(record, run, "record")
        taken_in = list(self._new_lines())
        new = [(line, record) for line, record in pairs if self._is_new(record)]
        self._keep(new)
        self._targets.deliver(run, [*taken_in, *(record for _, record in pairs)])
        return [record.record_id for _, record in pairs]

    def take_in(self) -> None:
        """Bring what the suite itself appended to `records.jsonl` to the databases, now and not only at the end.

        Raises:
            RecordError: the run was not started.
        """
        self._targets.deliver(self._started(), list(self._new_lines()))

    def finish(self) -> Outcome:
        """End the run: judge it, and bring what is still missing to the file and to the database.

        Raises:
            RecordError: the run was not started.
        """
        run = self._started()
        if sum(1 for _ in self._new_lines()):
            self._targets.fall_behind()
        homeless, self._homeless = self._homeless, []
        self._keep(homeless)
        ended = run if self._bad else replace(run, finished=datetime.now(timezone.utc))
        stored = self._targets.finish(run, ended, [record for _, record in self._homeless])
        lost = () if stored else tuple(line for line, _ in self._homeless)
        self._run = run if lost else ended
        self._write_run()
        return self._outcome(stored, lost)

    def _started(self) -> Run:
        if self._run is None:
            raise RecordError("the listener was not started: start() comes before everything else")
        return self._run

    def _resumed(self, run: Run, has_started: bool) -> Run:
        """The run, with what its folder says that it began with."""
        try:
            earlier = read_run(self.directory, [])
        except ReportingError as error:
            self._say(f"{error}; it is written anew")
            return run
        if earlier is None or earlier.run_id != run.run_id:
            return run
        return replace(run if has_started else replace(run, started=earlier.started),
                       job_id=run.job_id or earlier.job_id, expected=earlier.expected).expecting(run.expected)

    def _outcome(self, stored: bool, lost: tuple[bytes, ...]) -> Outcome:
        run = self._started()
        problems = [str(error) for error in self._bad]
        if lost:
            problems.append(f"{len(lost)} records of run {run.run_id} are neither in a file nor in every database")
        for problem in problems:
            self._say(problem)
        for key in run.expected:
            self._outlines.setdefault(key, [])
        judged = ((key, judge(outlines, not problems)) for key, outlines in self._outlines.items())
        metrics = tuple(MetricVerdict(*key, verdict.status, verdict.cause) for key, verdict in judged)
        verdict = aggregate(Verdict(metric.status, metric.cause) for metric in sorted(metrics, key=self._order))
        cause = problems[0] if problems and verdict.status is not Status.FAIL else verdict.cause
        return Outcome(verdict.status, cause, metrics, stored, lost)

    def _order(self, metric: MetricVerdict) -> tuple[str, str]:
        """The database's order of metrics, so that both name the same cause: by time, those never measured last."""
        key = metric.device_id, metric.port_id, metric.metric_name
        last = max((outline.timestamp for outline in self._outlines[key]), default=None)
        return (format_moment(last) if last else "~"), series_id(*storable_key(key))

    def _is_new(self, record: Record) -> bool:
        """Count a record that was not seen before; returns whether it is one."""
        if record.record_id in self._seen:
            return False
        self._seen.add(record.record_id)
        if record.kind == VERDICT:
            self._outlines.setdefault(record.key, []).append(Outline.of(record))
        return True

    def _new_lines(self) -> Iterator[Record]:
        """Count the lines that someone else appended to the file, and yield their records."""
        with suppress(SpoolError):  # appending to the same file fails too, and says so
            for line in self._spool.new_lines():
                try:
                    record = parse_line(line, str(self._spool.path))
                    check_run(record, self._started(), str(self._spool.path))
                except RecordError as error:
                    self._bad.append(error)
                else:
                    if self._is_new(record):
                        yield record

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
