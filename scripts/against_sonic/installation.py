"""sonic-utilities' commands, installed beside the virtual environment so that a virtual switch can run them."""
from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from scripts.against_sonic.checkout import Checkout
from scripts.against_sonic.environment import make_environment
from tests.common.clone import ROOT

STAND_IN = Path(__file__).resolve().parent / "stand_in"
PACKAGES = ("click<8.2", "lazy-object-proxy", "natsort", "netaddr", "netifaces", "pyroute2", "PyYAML", "redis",
            "tabulate==0.9.0", "jsonpatch", "lxml")
"""What the compared commands import, as sonic-utilities' `setup.py` pins it."""
SCRIPTS = ("pfcstat", "portstat", "queuestat", "watermarkstat", "pg-drop", "intfutil", "intfstat", "watermarkcfg",
           "mmuconfig", "buffershow", "ecnconfig", "dropstat", "dropconfig", "portconfig")
CLICK = ("pfcwd", "pfc", "counterpoll", "show")
_LEFT_OUT = shutil.ignore_patterns(".git", "tests", "doc")
FROM_BUILDIMAGE = ("src/sonic-py-common/sonic_py_common", "src/sonic-config-engine/portconfig.py")


def copy_modules(buildimage: Checkout, folder: Path) -> None:
    """Copy what a switch's Python modules import of sonic-buildimage.

    Raises:
        OSError: a part of the checkout is missing, or nothing can be written.
    """
    for name in FROM_BUILDIMAGE:
        source = buildimage.folder / name
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
        else:
            shutil.copy(source, folder)


class Installation:
    """The commands and where they are; made anew from the checkouts each time, but for the packages from PyPI.

    Attributes:
        programs: the folder of the commands.
    """

    def __init__(self, utilities: Checkout, buildimage: Checkout, folder: Path = ROOT / ".venv/real-sonic") -> None:
        """Install.

        Raises:
            InstallationError: pip failed.
            OSError: a part of a checkout is missing, or nothing can be written.
        """
        self._environment = folder / "env"
        self._code = folder / "code"
        self.programs = folder / "bin"
        make_environment(self._environment, PACKAGES)
        shutil.rmtree(self._code, ignore_errors=True)
        shutil.copytree(utilities.folder, self._code, ignore=_LEFT_OUT, symlinks=True)
        copy_modules(buildimage, self._code)
        self._write_programs()

    def _write_programs(self) -> None:
        shutil.rmtree(self.programs, ignore_errors=True)
        self.programs.mkdir(parents=True)
        python = self._environment / "bin/python"
        for name in SCRIPTS:
            self._write(name, f"exec {python} {self._code / 'scripts' / name} \"$@\"")
        for name in CLICK:
            start = f"import sys; sys.argv[0] = '{name}'; from {name}.main import cli; cli()"
            self._write(name, f"exec {python} -c {shlex.quote(start)} \"$@\"")

    def _write(self, name: str, line: str) -> None:
        """A command; those that it calls are SONiC's too, and its snapshots have a folder of their own."""
        path = self.programs / name
        path.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={STAND_IN}:{self._code} PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore\n"
            f"export SONIC_CLI_CACHE_DIR=/tmp/cache-of-sonic/ PATH={self.programs}:$PATH\n{line}\n", encoding="utf-8")
        path.chmod(0o755)
