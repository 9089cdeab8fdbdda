"""Keeps what a run finds: its records on the disk first, then in the databases; no run stops for either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from ..record.errors import RecordsUnwritable
from ..record.record_file import RecordWriter, RunEnd, Say
from ..record.records import SOFTWARE, Record
from ..record.run import Run, write_run


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


class RunWriter(RecordWriter):
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
        super().__init__(folder, run.run_id, say)
        self._run = _going_on(run if run.software_version else replace(run, software_version=SOFTWARE), earlier)
        self._delivery = delivery

    @property
    def run(self) -> Run:
        """The run as it is now."""
        return self._run

    def start(self) -> bool:
        """Begins the run, or goes on with it; returns which."""
        self._write_run()
        goes_on = super().start()
        if self._delivery is not None and goes_on:
            self._delivery.catch_up()
        elif self._delivery is not None:
            self._delivery.deliver(self._run, [])
        return goes_on

    def write(self, records: Sequence[Record]) -> list[Record]:
        """Keeps records, and offers those that JSON can express to the databases; returns these.

        Raises:
            RecordError: one of them is of another run.
        """
        kept = super().write(records)
        if self._delivery is not None and kept:
            self._delivery.deliver(self._run, kept)
        return kept

    def broken_by(self, faults: Sequence[str]) -> None:
        """Says from now on that the testbed is broken on purpose by these faults too."""
        self._run = self._run.broken_by(faults)
        self._write_run()

    def conclude(self, sentences: Sequence[str]) -> None:
        """Says in the run's `info` what its failed checks come to."""
        self._run = replace(self._run, info={**self._run.info, "diagnosis": "; ".join(sentences)})

    def finish(self) -> RunEnd:
        """Ends the run: tries once more what the disk did not take, and brings everything to the databases."""
        self._append_again()
        ended = replace(self._run, finished=datetime.now(timezone.utc))
        stored = self._delivery is None or self._delivery.finish(self._run, ended, self._unspooled)
        in_databases = self._delivery is not None and stored
        lost = tuple(self._lost) if in_databases else self._missing()
        self._tell_lost(lost)
        if not lost:
            self._run = ended
        self._write_run()
        return RunEnd(stored, self._missing(), lost)

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
