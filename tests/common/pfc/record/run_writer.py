"""Keeps what a run finds: its records on the disk first, then in the databases; no run stops for either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from .errors import RecordError, RecordsUnwritable
from .record_file import RecordFile
from .records import SOFTWARE, Record, encode_line
from .run import Run, write_run

Say = Callable[[str], None]


class Delivery(Protocol):
    """Databases that a run is delivered to. None of them stops the run: what one does not take it gets at the end."""

    def catch_up(self) -> None:
        """Delivers everything that the run's folder has: a run begins that was there before."""

    def deliver(self, run: Run, records: Sequence[Record]) -> None:
        """Delivers a run as it is now, and new records of it."""

    def finish(self, run: Run, ended: Run, unspooled: Sequence[Record]) -> bool:
        """Delivers what is still missing, the run's end last; returns whether every database has everything.

        Args:
            run: the run, not ended.
            ended: the run as it ended.
            unspooled: records that the folder did not take.
        """


@dataclass(frozen=True)
class RunEnd:
    """What became of a run's records.

    Attributes:
        stored: whether every database has all of them; what one lacks is delivered from the folder later.
        unspooled: those that the folder lacks: a run that goes on with this one does not know them.
        lost: those among them that are not in every database either. With any, nothing is PASS.
    """

    stored: bool
    unspooled: tuple[Record, ...] = ()
    lost: tuple[Record, ...] = ()


class RunWriter:
    """The files and the databases of one run."""

    def __init__(
        self, folder: Path, run: Run, say: Say, delivery: Delivery | None = None, earlier: Run | None = None
    ) -> None:
        """Nothing is written yet.

        Args:
            folder: the run's own, for instance `results/<run id>`.
            run: the run.
            say: takes a sentence for the user.
            delivery: the databases; None: there are none.
            earlier: an earlier part of the run, whose start, job, expected verdicts and faults stay; None: it begins.
        """
        self.folder = folder.absolute()
        self._run = _going_on(run if run.software_version else replace(run, software_version=SOFTWARE), earlier)
        self._say = say
        self._delivery = delivery
        self._file = RecordFile(self.folder)
        self._unspooled: list[Record] = []  # that the file did not take
        self._is_told = False
        self._lost: list[Record] = []  # that cannot be written at all

    @property
    def run(self) -> Run:
        """The run as it is now."""
        return self._run

    def start(self) -> None:
        """Begins the run, or goes on with it."""
        self._write_run()
        goes_on = self._mended()
        if self._delivery is None:
            return
        if goes_on:
            self._delivery.catch_up()
        else:
            self._delivery.deliver(self._run, [])

    def write(self, records: Sequence[Record]) -> None:
        """Keeps records: they are on the disk when this returns, and offered to the databases. What the disk does not
        take is kept in memory until it does, or until the run ends.

        Raises:
            RecordError: one of them is of another run.
        """
        for record in records:
            record.check_run(self._run.run_id, "record")
        kept = self._append(records)
        if self._delivery is not None and kept:
            self._delivery.deliver(self._run, kept)

    def broken_by(self, faults: Sequence[str]) -> None:
        """Says from now on that the testbed is broken on purpose by these faults too."""
        self._run = self._run.broken_by(faults)
        self._write_run()

    def conclude(self, sentences: Sequence[str]) -> None:
        """Says in the run's `info` what its failed checks come to."""
        self._run = replace(self._run, info={**self._run.info, "diagnosis": "; ".join(sentences)})

    def finish(self) -> RunEnd:
        """Ends the run: tries once more what the disk did not take, and brings everything to the databases."""
        waiting = self._unspooled
        self._unspooled = []
        self._append(waiting)
        ended = replace(self._run, finished=datetime.now(timezone.utc))
        stored = self._delivery is None or self._delivery.finish(self._run, ended, self._unspooled)
        in_databases = self._delivery is not None and stored
        unspooled = [*self._lost, *self._unspooled]
        lost = self._lost if in_databases else unspooled
        if lost:
            self._say(f"{len(lost)} records of run {self._run.run_id} are neither in a file nor in every database")
        else:
            self._run = ended
        self._write_run()
        return RunEnd(stored, tuple(unspooled), tuple(lost))

    def _mended(self) -> bool:
        """Whether the file has records already; it ends with a whole line then."""
        if not self._file.has_records:
            return False
        with suppress(RecordsUnwritable):  # the first record fails too, and says so
            self._file.create()
        return True

    def _append(self, records: Sequence[Record]) -> list[Record]:
        """Writes records to the file; returns those that JSON can express."""
        kept: list[Record] = []
        lines: list[bytes] = []
        for record in records:
            try:
                lines.append(encode_line(record.document(), f"record of {record.device_id} {record.port_id}"))
                kept.append(record)
            except RecordError as error:
                self._say(str(error))
                self._lost.append(record)
        self._spool(kept, lines)
        return kept

    def _spool(self, records: Sequence[Record], lines: Sequence[bytes]) -> None:
        if not records:
            return
        try:
            self._file.append(lines)
        except RecordsUnwritable as error:
            if not self._is_told:
                self._say(f"{error}; records are kept in memory and tried again at the end of the run")
            self._is_told = True
            self._unspooled += records

    def _write_run(self) -> None:
        try:
            write_run(self.folder, self._run)
        except RecordsUnwritable as error:
            self._say(f"{error}; the run goes on")


def _going_on(run: Run, earlier: Run | None) -> Run:
    """The run, with what an earlier part of it began with."""
    if earlier is None or earlier.run_id != run.run_id:
        return run
    begun = replace(run, started=earlier.started, job_id=run.job_id or earlier.job_id, expected=earlier.expected)
    return begun.expecting(run.expected).broken_by(earlier.faults)
