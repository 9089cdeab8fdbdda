"""Virtual environments beside the project's own, for packages that SONiC pins otherwise."""
from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FEW = 8
"""How many packages a line names."""


class InstallationError(Exception):
    """Packages that cannot be installed; `str()` is one sentence."""


def make_environment(folder: Path, packages: Sequence[str], python: str = sys.executable) -> None:
    """Make a virtual environment with packages from the package index, unless it is there with the same ones.

    Args:
        folder: of the environment.
        packages: as pip takes them.
        python: that the environment is of.

    Raises:
        InstallationError: pip failed.
        OSError: nothing can be written.
    """
    done = folder.with_name(f"{folder.name}.packages")
    wanted = "\n".join(packages)
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return
    print(f"  installing {named(packages)} in {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([python, "-m", "venv", str(folder)],
                    [str(folder / "bin/pip"), "install", "-q", *packages]):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["no reason given"]
            said = shlex.join([*command[:FEW], *(["..."] if len(command) > FEW else [])])
            raise InstallationError(f"{said}: {lines[-1]}")
    done.write_text(wanted, encoding="utf-8")


def named(packages: Sequence[str]) -> str:
    """Some of them, for a line."""
    more = len(packages) - FEW
    return ", ".join(packages[:FEW]) + (f" and {more} more" if more > 0 else "")
