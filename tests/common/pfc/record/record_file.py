"""`records.jsonl`: the file that every record of a run is in, safely on disk, before anything else is done with it.
What the disk does not take is kept in memory until it does; no run stops for that."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import RecordError, RecordsUnwritable
from .records import Record, encode_line

RECORDS_FILE = "records.jsonl"
BLOCK = 65536
Say = Callable[[str], None]


class RecordFile:
    """`records.jsonl` of one run. Other writers may append to it too; a line is written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        """Nothing is written yet; the folder, which is that of the run, need not be there."""
        self.path = folder / RECORDS_FILE

    @property
    def has_records(self) -> bool:
        """Whether something was appended to it, by whomever."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def create(self) -> None:
        """Makes the file unless it is there, and cuts off a last line that its writer was killed in, so that it does
        not swallow whatever is appended next. Raises RecordsUnwritable where it cannot be written."""
        self.append([])

    def append(self, lines: Sequence[bytes]) -> None:
        """Appends lines, each with its line end, and returns when they are on the disk.

        Raises:
            RecordsUnwritable: they could not be written. The file is as it was; where it cannot be cut, whole lines
                stay, and come once more with the same `record_id` when they are written again.
        """
        try:
            with locked(self.path) as file:
                is_new = not cut_torn_line(file)
                append_durably(file, b"".join(lines))
                if is_new:
                    sync_folder(self.path.parent)
        except OSError as error:
            raise RecordsUnwritable(f"the records {self.path} cannot be written: {error.strerror}") from error


def refuse_records(folder: Path, way_on: str = "") -> None:
    """Refuses the folder of a new run (RecordsUnwritable) that has a run's records: its verdicts may mean something
    else. `way_on`: by what a run goes on that was left in a folder; empty: by nothing."""
    file = RecordFile(folder)
    if file.has_records:
        others = f"go on with it by {way_on}, or name another folder" if way_on else "name another folder"
        raise RecordsUnwritable(f"{file.path} has the records of a run: {others}")


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
        """Nothing is written yet; `folder`: the run's own, for instance `results/<run id>`; `say` takes a sentence for
        the user."""
        self.folder = folder.absolute()
        self._run_id = run_id
        self._say = say
        self._file = RecordFile(self.folder)
        self._unspooled: list[Record] = []  # that the file did not take
        self._is_told = False
        self._lost: list[Record] = []  # that cannot be written at all

    def start(self) -> bool:
        """Begins the run, or goes on with it: then the file has records already. Returns whether it goes on."""
        return self._file.has_records

    def write(self, records: Sequence[Record]) -> list[Record]:
        """Keeps records: they are on the disk when this returns. What the disk does not take is kept in memory until it
        does, or until the run ends. Returns those that JSON can express; raises RecordError where one is of another
        run."""
        for record in records:
            record.check_run(self._run_id, "record")
        self._append_again()
        return self._append(records)

    def broken_by(self, faults: Sequence[str]) -> None:
        """Notes faults by which the testbed is broken on purpose; each record says them from now on."""

    def conclude(self, sentences: Sequence[str]) -> None:
        """Notes what the failed checks of the run come to."""

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
                self._say(f"{error}; records are kept in memory and tried again with the next ones")
            self._is_told = True
            self._unspooled += kept
        return kept


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """A file to append to, created where it is missing; one writer at a time, in whatever process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def cut_torn_line(file: int) -> int:
    """Cuts off what follows the last line end: a line that its writer was killed in. It was never acknowledged. Returns
    the size of the file then."""
    size = end = os.fstat(file).st_size
    while end:
        start = max(0, end - BLOCK)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)
    return end


def append_durably(file: int, text: bytes) -> None:
    """Appends all of a text and waits until it is on the disk; raises OSError where it could not be written: then the
    file is as it was, unless it cannot be cut either."""
    size = os.fstat(file).st_size
    try:
        while text:
            text = text[os.write(file, text):]
        os.fsync(file)
    except OSError:
        with suppress(OSError):  # the first error says more
            os.ftruncate(file, size)
        raise


def sync_folder(folder: Path) -> None:
    """Makes a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
