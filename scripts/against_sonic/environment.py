"""Virtual environments beside the project's own, for packages that SONiC pins otherwise."""
from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


class InstallationError(Exception):
    """Packages that cannot be installed; `str()` is one sentence."""


def make_environment(folder: Path, packages: Sequence[str]) -> None:
    """Make a virtual environment with packages from the package index, unless it is there with the same ones.

    Raises:
        InstallationError: pip failed.
        OSError: nothing can be written.
    """
    done = folder.with_name(f"{folder.name}.packages")
    wanted = "\n".join(packages)
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return
    print(f"  installing {', '.join(packages)} in {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", str(folder)],
                    [str(folder / "bin/pip"), "install", "-q", *packages]):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["no reason given"]
            raise InstallationError(f"{shlex.join(command)}: {lines[-1]}")
    done.write_text(wanted, encoding="utf-8")
