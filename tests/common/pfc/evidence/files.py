"""The files behind verdicts: what was sent, what the switch's commands printed, what was captured. They lie in the
folder `evidence` of a run; each is there whole and on the disk, or not at all."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

FOLDER = "evidence"
MOST_BYTES_OF_A_FILE = 64 * 2**20
"""The largest are captures: a generator port's buffer, some MB."""
MOST_BYTES = 2**30
"""Of all files of a run. A whole plan on one port takes some MB."""


class EvidenceFiles:
    """The evidence of one run.

    Attributes:
        notes: what was left out because it is too large; the user is told, and the verdicts stand.
        lost: why files could not be written: then the run is not PASS, as where records are lost.
    """

    def __init__(
        self, run_folder: Path, most_bytes_of_a_file: int = MOST_BYTES_OF_A_FILE, most_bytes: int = MOST_BYTES
    ) -> None:
        """Nothing is written yet; what an earlier part of the run left in `run_folder` counts."""
        self._folder = run_folder / FOLDER
        self._most_bytes_of_a_file = most_bytes_of_a_file
        self._most_bytes = most_bytes
        self._known: dict[str, str] | None = None  # digest -> name; made when it is needed first
        self._bytes = 0
        self.notes: list[str] = []
        self.lost: list[str] = []

    def section(self, name: str) -> Section:
        """A folder for what belongs together; it is made with its first file."""
        return Section(self, name)

    def make_folder(self, name: str) -> Path:
        """A folder that nobody else writes to.

        Raises:
            OSError: it cannot be made.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        taken = [int(found[1]) for path in self._folder.iterdir() if (found := re.match(r"(\d+)-", path.name))]
        number = max(taken, default=0) + 1
        while True:
            folder = self._folder / f"{number:04}-{plain(name)}"
            try:
                folder.mkdir()
                return folder
            except FileExistsError:
                number += 1

    def find(self, data: bytes) -> str | None:
        """The name of a file that has the same content."""
        if self._known is None:
            self._known = {}
            for path in sorted(self._folder.rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    self._remember(path, path.read_bytes())
        return self._known.get(sha256(data).hexdigest())

    def refusal(self, name: str, data: bytes) -> str | None:
        """Why a file is too large to be kept, which is noted; None: it is not."""
        if len(data) > self._most_bytes_of_a_file:
            note = (f"evidence: {name} is not kept: it has {len(data)} bytes, a file may have"
                    f" {self._most_bytes_of_a_file}")
        elif self._bytes + len(data) > self._most_bytes:
            note = f"evidence: the run has its {self._most_bytes} bytes, files that go beyond are not kept"
        else:
            return None
        self.notes += [] if note in self.notes else [note]
        return note

    def write(self, path: Path, data: bytes) -> str:
        """Writes a file; returns its name as records have it, relative to the run's folder.

        Raises:
            OSError: it is not there.
        """
        new = path.with_name(f".{path.name}")
        try:
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError:
            with suppress(OSError):
                new.unlink()
            raise
        return self._remember(path, data)

    def unwritable(self, error: OSError) -> str:
        """One sentence, the same for all files."""
        sentence = f"the evidence {self._folder} cannot be written: {error.strerror}"
        self.lost += [] if sentence in self.lost else [sentence]
        return sentence

    def _remember(self, path: Path, data: bytes) -> str:
        name = str(PurePosixPath(FOLDER, *path.relative_to(self._folder).parts))
        self._bytes += len(data)
        if self._known is not None:
            self._known.setdefault(sha256(data).hexdigest(), name)
        return name


class Section:
    """The files of one measurement, or of a session.

    Attributes:
        names: the files, relative to the run's folder, in their order; also those that another section has.
        lacks: why some are missing.
    """

    def __init__(self, files: EvidenceFiles, name: str) -> None:
        """`name` becomes a part of the folder's name."""
        self._files = files
        self._name = name
        self._folder: Path | None = None
        self._counts: dict[str, int] = {}
        self.names: list[str] = []
        self.lacks: list[str] = []

    def keep(self, name: str, suffix: str, data: bytes, shared: bool = True) -> str | None:
        """Keeps a file, unless the run has one of the same content.

        Args:
            name: what it is; it gets a number.
            suffix: `.json`.
            data: its content.
            shared: False: it gets a name of its own whatever its content.

        Returns:
            Its name; None: it is not kept, and `lacks` says why.
        """
        try:
            found = self._files.find(data)
            found = found if shared else None
            if found is None and (refused := self._files.refusal(f"{self._name} {name}", data)):
                self.lacks.append(refused)
                return None
            found = found or self._files.write(self._path(name, suffix), data)
        except OSError as error:
            self.lacks.append(self._files.unwritable(error))
            return None
        if found not in self.names:
            self.names.append(found)
        return found

    def _path(self, name: str, suffix: str) -> Path:
        if self._folder is None:
            self._folder = self._files.make_folder(self._name)
        self._counts[name] = self._counts.get(name, 0) + 1
        return self._folder / f"{plain(name)}-{self._counts[name]}{suffix}"


def plain(name: str) -> str:
    """A file name for any text: letters, digits, `.`, `_` and `-`, at most 80 of them."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80].strip(".-") or "unnamed"
