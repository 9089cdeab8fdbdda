"""Tests that interrupt processes work in a shell's background too, where interrupts are ignored."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHOWN = "import conftest, signal; print(signal.getsignal(signal.{0}) == signal.SIG_IGN)"


@pytest.mark.parametrize("name", ["INT", "QUIT"])
def test_a_background_job_heeds_interrupts(name: str) -> None:
    command = ["sh", "-c", f"trap '' {name}; exec \"$@\"", "sh", sys.executable, "-c", SHOWN.format(f"SIG{name}")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
