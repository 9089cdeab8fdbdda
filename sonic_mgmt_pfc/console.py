"""Console scripts whose code is in the clone, not in the package: they need its `tests/` and `ansible/` too."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent


def restore() -> None:
    """`pfc-restore`: runs `scripts/restore.py` of the clone that this package was installed from (`pip install -e`)."""
    script = CLONE / "scripts" / "restore.py"
    if not script.is_file():
        sys.exit(f"error: pfc-restore needs the clone of the project, and {script} is not there: install the package"
                 " from a clone with pip install -e")
    runpy.run_path(str(script), run_name="__main__")
