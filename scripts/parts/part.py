"""A part of a job: a command line that a process of its own carries out, and a folder for what that writes."""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

PYTHON = "python"
"""As the first word of a part's command: the interpreter of the clone that carries it out."""
END_FILE = "ended.json"


@dataclass(frozen=True)
class JobPart:
    """What one process does.

    Attributes:
        name: unique in the job.
        command: program and arguments; it is run in the root of the clone. `PYTHON` as the first word is that clone's.
        folder: for what it writes; every worker has it under this path.
        needs: names of what its worker has to reach (testbeds); empty: any worker will do.
        log: file of the folder that takes what the process prints.
        environment: variables that the process gets beside those that its worker has.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    needs: tuple[str, ...] = ()
    log: str = "part.log"
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PartEnd:
    """How a part ended.

    Attributes:
        status: exit status of its process, negative where a signal killed it; None: there is none.
        seconds: that it lasted, since it was started the last time.
        worker: the machine, or Dask's worker, that carried it out.
        cause: why there is no exit status, in one sentence; empty: there is one.
        died: whether its process was killed or its worker is gone: nothing is known against the part itself.
    """

    status: int | None
    seconds: float
    worker: str
    cause: str = ""
    died: bool = False


def write_end(part: JobPart, end: PartEnd) -> None:
    """Keeps how a part ended: the old text or the new one, whole.

    Raises:
        OSError: it cannot be written.
    """
    new = part.folder / f".{END_FILE}"
    new.write_text(json.dumps(asdict(end)) + "\n", encoding="utf-8")
    new.replace(part.folder / END_FILE)


def read_end(part: JobPart) -> PartEnd | None:
    """How a part ended; None: it was not begun, it lasts, or it was ended before it had done."""
    try:
        return PartEnd(**json.loads((part.folder / END_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
