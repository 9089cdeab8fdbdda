"""Keeps the records of a run: on the disk, or in memory until the disk takes them; no run stops for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import RecordError, RecordsUnwritable
from .record_file import RecordFile
from .records import Record, encode_line

Say = Callable[[str], None]


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


class RecordWriter:
    """The records of one run, in the file of its folder. An option may keep more of a run than that."""

    def __init__(self, folder: Path, run_id: str, say: Say) -> None:
        """Nothing is written yet.

        Args:
            folder: the run's own, for instance `results/<run id>`.
            run_id: the run.
            say: takes a sentence for the user.
        """
        self.folder = folder.absolute()
        self._run_id = run_id
        self._say = say
        self._file = RecordFile(self.folder)
        self._unspooled: list[Record] = []  # that the file did not take
        self._is_told = False
        self._lost: list[Record] = []  # that cannot be written at all

    def start(self) -> bool:
        """Begins the run, or goes on with it: then the file has records already, and ends with a whole line. Returns
        whether it goes on."""
        if not self._file.has_records:
            return False
        with suppress(RecordsUnwritable):  # the first record fails too, and says so
            self._file.create()
        return True

    def write(self, records: Sequence[Record]) -> list[Record]:
        """Keeps records: they are on the disk when this returns. What the disk does not take is kept in memory until it
        does, or until the run ends. Returns those that JSON can express.

        Raises:
            RecordError: one of them is of another run.
        """
        for record in records:
            record.check_run(self._run_id, "record")
        return self._append(records)

    def broken_by(self, faults: Sequence[str]) -> None:
        """The testbed is broken on purpose by these faults too, which each record says from now on."""

    def conclude(self, sentences: Sequence[str]) -> None:
        """The failed checks of the run come to this."""

    def finish(self) -> RunEnd:
        """Ends the run: tries once more what the disk did not take."""
        self._append_again()
        lost = self._missing()
        self._tell_lost(lost)
        return RunEnd(True, lost, lost)

    def _append_again(self) -> None:
        waiting = self._unspooled
        self._unspooled = []
        self._append(waiting)

    def _missing(self) -> tuple[Record, ...]:
        """The records that the file lacks."""
        return *self._lost, *self._unspooled

    def _tell_lost(self, lost: Sequence[Record]) -> None:
        if lost:
            self._say(f"{len(lost)} records of run {self._run_id} are neither in a file nor in every database")

    def _append(self, records: Sequence[Record]) -> list[Record]:
        kept: list[Record] = []
        lines: list[bytes] = []
        for record in records:
            try:
                lines.append(encode_line(record.document(), f"record of {record.device_id} {record.port_id}"))
                kept.append(record)
            except RecordError as error:
                self._say(str(error))
                self._lost.append(record)
        try:
            if lines:
                self._file.append(lines)
        except RecordsUnwritable as error:
            if not self._is_told:
                self._say(f"{error}; records are kept in memory and tried again at the end of the run")
            self._is_told = True
            self._unspooled += kept
        return kept
