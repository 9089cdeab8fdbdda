"""Who carries the parts of a command out: this machine, or the workers of Dask."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.parts.local import LocalExecutor
from scripts.parts.part import JobPart
from scripts.parts.running import PartExecutor
from scripts.testbeds import Refusal

SCHEDULER_HELP = ("address of Dask's scheduler (tcp://HOST:8786), whose workers (pfc-worker) do the work; default: this"
                  " machine does")
"""Of the option that says it."""


@contextlib.contextmanager
def executor(scheduler: str | None, folder: Path, parts: Sequence[JobPart]) -> Iterator[PartExecutor]:
    """The executor that a user asked for.

    Args:
        scheduler: address of Dask's scheduler; None or empty: this machine carries the parts out.
        folder: that holds the parts' folders; it is there.
        parts: that are going to be carried out.

    Raises:
        Refusal: Dask is not installed, its scheduler does not answer, a worker is not fit, or none reaches what a part
            needs.
    """
    if not scheduler:
        yield LocalExecutor()
        return
    try:
        from scripts.parts.cluster import DaskExecutor
    except ModuleNotFoundError as error:
        raise Refusal(f"--scheduler needs the extra `cluster` of this package, {error.name} is not installed:"
                      " pip install -c constraints.txt -e '.[cluster]'") from error
    with DaskExecutor(scheduler, folder) as made:
        made.check(parts)
        yield made
