"""sonic-utilities' commands, installed beside the virtual environment so that a virtual switch can run them."""
from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.against_sonic.checkout import Checkout
from tests.common.clone import ROOT

STAND_IN = Path(__file__).resolve().parent / "stand_in"
PACKAGES = ("click<8.2", "lazy-object-proxy", "natsort", "netaddr", "netifaces", "pyroute2", "PyYAML", "redis",
            "tabulate==0.9.0", "jsonpatch", "lxml")
"""What the compared commands import, as sonic-utilities' `setup.py` pins it."""
SCRIPTS = ("pfcstat", "portstat", "queuestat", "watermarkstat", "pg-drop", "intfutil", "intfstat", "watermarkcfg",
           "mmuconfig")
CLICK = ("pfcwd", "pfc", "counterpoll", "show")
_LEFT_OUT = shutil.ignore_patterns(".git", "tests", "doc")
_FROM_BUILDIMAGE = ("src/sonic-py-common/sonic_py_common", "src/sonic-config-engine/portconfig.py")


class InstallationError(Exception):
    """Packages that cannot be installed; `str()` is one sentence."""


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
        self._environment, self._code, self.programs = folder / "env", folder / "code", folder / "bin"
        self._install_packages(folder / "packages")
        shutil.rmtree(self._code, ignore_errors=True)
        shutil.copytree(utilities.folder, self._code, ignore=_LEFT_OUT, ignore_dangling_symlinks=True)
        for name in _FROM_BUILDIMAGE:
            source = buildimage.folder / name
            if source.is_dir():
                shutil.copytree(source, self._code / source.name)
            else:
                shutil.copy(source, self._code)
        self._write_programs()

    def _install_packages(self, done: Path) -> None:
        wanted = "\n".join(PACKAGES)
        if done.is_file() and done.read_text(encoding="utf-8") == wanted:
            return
        print(f"  installing the packages that sonic-utilities needs in {self._environment}", flush=True)
        shutil.rmtree(self._environment, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", str(self._environment)],
                        [str(self._environment / "bin/pip"), "install", "-q", *PACKAGES]):
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                lines = ended.stderr.strip().splitlines() or ["no reason given"]
                raise InstallationError(f"{shlex.join(command)}: {lines[-1]}")
        done.write_text(wanted, encoding="utf-8")

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
