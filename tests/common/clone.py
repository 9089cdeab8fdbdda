"""Where a run keeps what it writes when no sonic-mgmt is around: in the clone, wherever it was started."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "results"
KEPT = ROOT / ".venv"
DATABASES = "PFC_REPORT_DB"
RELATIVE = re.compile(r"((?:sqlite|kusto):///)([^/:\s][^\s?]*)")


def keep_in_clone(results: Path = RESULTS) -> None:
    """Sets what this process and its children keep their files by.

    The reporting database is the results' own, unless the user named some: files among them are in the current folder,
    also for children that run in another one. Caches and settings of libraries (scapy's)
    are beside the installed packages, never in the user's home.

    Args:
        results: the folder that holds the runs' folders.
    """
    named = os.environ.get(DATABASES) or f"sqlite:///{results / 'pfc.db'}"
    os.environ[DATABASES] = RELATIVE.sub(lambda found: f"{found[1]}{Path.cwd() / found[2]}", named)
    os.environ["XDG_CACHE_HOME"] = str(KEPT / "cache")
    os.environ["XDG_CONFIG_HOME"] = str(KEPT / "config")
