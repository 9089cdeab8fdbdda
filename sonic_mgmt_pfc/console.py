"""Console scripts: those whose code is in the clone, not in the package (they need its `tests/` and `ansible/` too),
and the virtual testbed's, whose libraries are an extra."""

from __future__ import annotations

import os
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


def worker() -> None:
    """`pfc-worker`: runs `scripts/worker.py`."""
    runpy.run_path(str(_of_the_clone("pfc-worker", "scripts/worker.py")), run_name="__main__")


def qualify() -> None:
    """`pfc-qualify`: runs `scripts/qualify.py`."""
    runpy.run_path(str(_of_the_clone("pfc-qualify", "scripts/qualify.py")), run_name="__main__")


def campaign() -> None:
    """`pfc-campaign`: runs `scripts.campaign`."""
    _of_the_clone("pfc-campaign", "scripts/campaign/__main__.py")
    sys.path.insert(0, str(CLONE))
    runpy.run_module("scripts.campaign", run_name="__main__", alter_sys=True)


def report() -> None:
    """`pfc-report`: runs `test_reporting.pfc`, on the clone's own results unless the user names a database."""
    _of_the_clone("pfc-report", "test_reporting/pfc/__main__.py")
    if not os.environ.get("PFC_REPORT_DB"):
        os.environ["PFC_REPORT_DB"] = f"sqlite:///{os.path.relpath(CLONE / 'results' / 'pfc.db')}"
    sys.path.insert(0, str(CLONE))
    runpy.run_module("test_reporting.pfc", run_name="__main__", alter_sys=True)


def virtual_testbed() -> None:
    """`virtual-testbed`: brings virtual testbeds up and down."""
    try:
        from virtual_testbed.supervision.cli import main
    except ModuleNotFoundError as error:
        sys.exit(f"error: virtual-testbed needs the extra `virtual` of this package, {error.name} is not installed:"
                 " pip install -c constraints.txt -e '.[virtual]'")
    main(prog_name="virtual-testbed")


def _of_the_clone(command: str, path: str) -> Path:
    """A file of the clone that this package was installed from (`pip install -e`)."""
    file = CLONE / path
    if not file.is_file():
        sys.exit(f"error: {command} needs the clone of the project, and {file} is not there: install the package"
                 " from a clone with pip install -e")
    return file
