"""The file of JSON lines that every record is in, safely on disk, before anything else is done with it."""
from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import SpoolError

RECORDS_FILE = "records.jsonl"
BLOCK = 65536


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
            with locked(self.path) as file:
                is_new = not cut_torn_line(file)
                append_durably(file, b"".join(lines))
                if is_new:
                    sync_folder(self.path.parent)
        except OSError as error:
            raise SpoolError(f"{self.path} cannot be written: {error.strerror}") from error

    def mend(self) -> None:
        """Cut off a last line that its writer was killed in, so that it does not swallow whatever is appended next.

        Raises:
            SpoolError: the file cannot be written.
        """
        try:
            if self.path.exists():
                with locked(self.path) as file:
                    cut_torn_line(file)
        except OSError as error:
            raise SpoolError(f"{self.path} cannot be written: {error.strerror}") from error

    def new_lines(self) -> Iterator[bytes]:
        """Yield the complete lines, without their ends, that were appended since the last one that this method yielded.

        Raises:
            SpoolError: the file cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self._read_to += len(line)
                    yield line[:-1]
        except FileNotFoundError:
            return
        except OSError as error:
            raise SpoolError(f"{self.path} cannot be read: {error.strerror}") from error


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
    """Cut off what follows the last line end: a line that its writer was killed in. It was never acknowledged.

    Returns:
        The size of the file then.
    """
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
    """Append all of a text and wait until it is on the disk.

    Raises:
        OSError: it could not be written; the file is as it was.
    """
    size = os.fstat(file).st_size
    try:
        while text:
            text = text[os.write(file, text):]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
