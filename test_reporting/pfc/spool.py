"""The file of JSON lines that every record is in, safely on disk, before anything else is done with it."""
from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import SpoolError

RECORDS_FILE = "records.jsonl"


class Spool:
    """`records.jsonl` of one run. Other writers may append to it too; a line is written whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / RECORDS_FILE
        self._read_to = 0

    def append(self, lines: Sequence[bytes]) -> None:
        """Append lines, each with its line end, and return when they are on the disk.

        Raises:
            SpoolError: they could not be written; the file is as it was.
        """
        try:
            with self._locked() as file:
                self._append(file, b"".join(lines))
        except OSError as error:
            raise SpoolError(f"{self.path} cannot be written: {error.strerror}") from error

    def new_lines(self) -> list[bytes]:
        """Return the complete lines that were appended since this method was called last.

        Raises:
            SpoolError: the file cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                text = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SpoolError(f"{self.path} cannot be read: {error.strerror}") from error
        complete = text[:text.rfind(b"\n") + 1]
        self._read_to += len(complete)
        return complete.splitlines()

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _append(self, file: int, text: bytes) -> None:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            text = b"\n" + text  # its last writer was killed in the middle of a line, which must not swallow this one
        try:
            while text:
                text = text[os.write(file, text):]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
        if not size:
            _sync_folder(self.path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
