"""Console scripts whose code is in the clone, not in the package: they need its `tests/` and `ansible/` too."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent


def restore() -> None:
    """`pfc-restore`: runs `scripts/restore.py`."""
    runpy.run_path(str(_of_the_clone("pfc-restore", "scripts/restore.py")), run_name="__main__")


def sweep() -> None:
    """`pfc-sweep`: runs `scripts/sweep.py`."""
    script = _of_the_clone("pfc-sweep", "scripts/sweep.py")
    sys.path.insert(0, str(script.parent))  # as if Python had been given the script
    runpy.run_path(str(script), run_name="__main__")


def report() -> None:
    """`pfc-report`: runs `test_reporting.pfc`."""
    _of_the_clone("pfc-report", "test_reporting/pfc/__main__.py")
    sys.path.insert(0, str(CLONE))
    runpy.run_module("test_reporting.pfc", run_name="__main__", alter_sys=True)


def _of_the_clone(command: str, path: str) -> Path:
    """A file of the clone that this package was installed from (`pip install -e`)."""
    file = CLONE / path
    if not file.is_file():
        sys.exit(f"error: {command} needs the clone of the project, and {file} is not there: install the package"
                 " from a clone with pip install -e")
    return file
