"""One run: who measured what, when, and what it set out to measure. Kept as `run.json` beside the run's records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import RecordError, RecordsUnwritable
from .records import SCHEMA, SeriesKey, format_moment

RUN_FILE = "run.json"
QUALIFICATION, TELEMETRY = ORIGINS = ("qualification", "telemetry")


@dataclass(frozen=True)
class Run:
    """One run. `expected` lists (device, port, metric): each gets a row, an ERROR when nothing was measured of it.
    `faults` lists what was broken on purpose in the testbed, as it says it."""

    run_id: str
    testbed: str = ""
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    finished: datetime | None = None
    origin: str = QUALIFICATION
    job_id: str = ""
    software_version: str = ""
    expected: tuple[SeriesKey, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The run as it is written to `run.json`."""
        return {"schema": SCHEMA, "run_id": self.run_id, "testbed": self.testbed, "origin": self.origin,
                "started": format_moment(self.started), "finished": self.finished and format_moment(self.finished),
                "job_id": self.job_id, "software_version": self.software_version,
                "expected": [list(key) for key in self.expected], "faults": list(self.faults), "info": dict(self.info)}

    def expecting(self, keys: Iterable[SeriesKey]) -> Run:
        """The same run, expecting these too."""
        return replace(self, expected=tuple(dict.fromkeys([*self.expected, *keys])))

    def broken_by(self, faults: Iterable[str]) -> Run:
        """The same run, with these faults too."""
        return replace(self, faults=tuple(dict.fromkeys([*self.faults, *faults])))


def write_run(directory: Path, run: Run) -> None:
    """Writes `run.json` so that a kill leaves the old one or the new one, whole.

    Raises:
        RecordError: `info` holds something that JSON cannot express.
        RecordsUnwritable: the file cannot be written.
    """
    path = directory / RUN_FILE
    new = directory / f".{RUN_FILE}.{os.getpid()}"
    try:
        text = json.dumps(run.document(), indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RecordError(f"{path}: the run cannot be written as JSON: {error}") from error
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with new.open("w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise RecordsUnwritable(f"{path} cannot be written: {error.strerror}") from error
