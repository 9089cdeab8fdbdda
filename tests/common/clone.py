"""Where a run keeps what it writes when no sonic-mgmt is around: in the clone, wherever it was started."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "results"
KEPT = ROOT / ".venv"


def keep_in_clone(results: Path = RESULTS) -> None:
    """Sets what this process and its children keep their files by.

    The reporting database is the results' own, unless the user named one. Caches and settings of libraries (scapy's)
    are beside the installed packages, never in the user's home.

    Args:
        results: the folder that holds the runs' folders.
    """
    os.environ.setdefault("PFC_REPORT_DB", f"sqlite:///{results / 'pfc.db'}")
    os.environ["XDG_CACHE_HOME"] = str(KEPT / "cache")
    os.environ["XDG_CONFIG_HOME"] = str(KEPT / "config")
