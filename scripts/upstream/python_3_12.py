"""The Python that sonic-mgmt needs, and an environment with the packages that its conftest imports."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.against_sonic.environment import InstallationError, make_environment
from scripts.testbeds import Failure, Refusal
from tests.common.clone import ROOT

WANTED = "3.12"
PACKAGES = Path(__file__).with_name("packages.txt")
ENVIRONMENT = ROOT / ".venv-upstream"
ASKED = "import sys, venv; print('.'.join(map(str, sys.version_info[:2])))"
WHY = ("sonic-mgmt needs Python 3.12, no other one (3.11 does not understand its files, 3.13 has no"
       " `logging._acquireLock`, which they call)")


def find_python(given: str) -> Path:
    """Python 3.12.

    Args:
        given: by the user, a program; empty: it is looked for, on the PATH and in pyenv's folder.

    Raises:
        Refusal: there is none, or the one that is given is another.
    """
    if given:
        program = shutil.which(given)
        if program is None:
            raise Refusal(f"{given} is not a program: expected Python {WANTED}")
        if (found := version_of(program)) != WANTED:
            raise Refusal(f"{WHY}; {given} is {f'Python {found}' if found else 'none that can make an environment'}")
        return Path(program)
    for candidate in _candidates():
        if version_of(candidate) == WANTED:
            return Path(candidate)
    raise Refusal(f"{WHY}, and there is none here, neither on the PATH nor in ~/.pyenv: install it, or name it:"
                  " `make upstream PYTHON_3_12=<a program>`, or --python")


def _candidates() -> Iterator[str]:
    yield sys.executable
    if found := shutil.which(f"python{WANTED}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{WANTED}*/bin/python")))


def version_of(program: str) -> str:
    """`3.12`; empty: it is no Python that can make a virtual environment."""
    try:
        asked = subprocess.run([program, "-c", ASKED], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def packages() -> list[str]:
    """What is installed, `name==version` each."""
    lines = (line.partition("#")[0].strip() for line in PACKAGES.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def environment_of_theirs(python: Path, folder: Path = ENVIRONMENT) -> Path:
    """Makes the environment, unless it is there; returns its Python.

    Args:
        python: Python 3.12.
        folder: where.

    Raises:
        Failure: the packages cannot be installed.
    """
    try:
        make_environment(folder, packages(), str(python))
    except InstallationError as error:
        raise Failure(f"the packages that sonic-mgmt needs cannot be installed: {error}") from error
    return folder / "bin/python"
